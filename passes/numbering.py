"""What nodes compute, by numbers: two values of one number are equal in every run.

Nodes are compared by operator, attributes, operands and named results; graphs inside them by what they return.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable
from typing import Any

from google.protobuf.message import Message

from maxfold.model.attributes import AttributeRef
from maxfold.model.data import SparseData
from maxfold.model.equality import equal_groups
from maxfold.model.graph import Constant, Graph, Node, Tensor
from maxfold.model.inference import microsoft
from maxfold.model.order import in_order
from maxfold.model.view import View, domain_of

# Dropout draws where it trains; where not, it goes by another pass.
_DRAWS = {
    "Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
}  # fmt: skip
# The bits of the result do not depend on the order of the two operands, payloads of NaN aside.
_COMMUTATIVE = {"Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Mul", "Or", "Xor"}
# Before this operator set the second operand of these was broadcast to the first alone.
_BROADCASTING_OPSET = 7
# Beside them there are ONNX Runtime's own operators that have a row, none of which draws.
_DOMAINS = ("", "ai.onnx.ml")
# Tensors in attributes of more bytes are weights, which nobody reads for this.
_SMALL_BYTES = 4096
# How many bytes of two constants of one size have to agree before all are compared.
_SAMPLE_BYTES = 64


class _Incomparable(Exception):  # noqa: N818  # no error: such a node is like no other
    """An attribute that nodes are not compared by."""


def node_key(
    node: Node,
    view: View,
    number: Callable[[Tensor], int],
    contents: Callable[[str, Graph], Hashable] | None = None,
) -> Hashable:
    """What a node computes, None where it is like no other: it draws, or nobody knows what it does.

    `number` gives equal values equal numbers; `contents` says what a graph in an attribute computes. Without it, nodes
    with graphs inside are like no other.
    """
    opset = view.opset(node)
    domain = domain_of(node)
    is_known = domain in _DOMAINS or microsoft.row_of(domain, node.op) is not None
    if opset is None or not is_known or view.is_function_call(node) or node.op in _DRAWS:
        return None
    if not any(tensor.name for tensor in node.outputs):
        return None
    operands = [number(tensor) if tensor.name else None for tensor in node.inputs]
    while operands and operands[-1] is None:
        operands.pop()
    if not domain and node.op in _COMMUTATIVE and opset >= _BROADCASTING_OPSET and None not in operands:
        operands.sort(key=lambda item: item or 0)
    try:
        attributes = frozenset((name, _attribute(name, value, contents)) for name, value in node.attrs.items())
    except _Incomparable:
        return None
    named = tuple(bool(tensor.name) for tensor in node.outputs)
    return domain, node.op, tuple(operands), attributes, named


def _attribute(name: str, value: Any, contents: Callable[[str, Graph], Hashable] | None) -> Hashable:
    """What an attribute is compared by: floats by their bits, small tensors by their bytes."""
    if isinstance(value, float):
        return "float", struct.pack("<d", value)
    if isinstance(value, (bool, int, str, bytes)):
        return type(value).__name__, value
    if isinstance(value, AttributeRef):
        return "reference", value.name, str(value.type)
    if isinstance(value, (list, tuple)):
        # Most lists are of integers: no need to say that of each.
        if all(type(item) is int for item in value):
            return "integers", tuple(value)
        return "list", tuple(_attribute(name, item, contents) for item in value)
    if isinstance(value, Message):
        return type(value).__name__, value.SerializeToString(deterministic=True)
    if isinstance(value, Constant):
        return _tensor(value)
    if isinstance(value, Graph) and contents is not None:
        return "graph", contents(name, value)
    raise _Incomparable


def _tensor(constant: Constant) -> Hashable:
    data = constant.data
    if data.dtype is None or isinstance(data, SparseData) or data.nbytes > _SMALL_BYTES:
        raise _Incomparable
    return "tensor", data.dtype.name, data.shape, data.contents().key()


class Numbering:
    """Numbers for the values of several graphs that see the same outer tensors."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[Tensor, int] = {}
        self._alike: dict[Hashable, list[Constant]] = {}
        self._samples: dict[Constant, tuple[str, bytes]] = {}

    def number(self, tensor: Tensor) -> int:
        """The number of a value; a tensor of which nothing else is known has its own."""
        found = self._known.get(tensor)
        if found is None:
            found = self._known[tensor] = self._of(tensor)
        return found

    def nodes_of(self, graph: Graph, depth: int = 0) -> dict[Hashable, list[Node]]:
        """Numbers all that a graph computes; its nodes in their order by what they compute.

        Nodes that are like no other are left out.
        """
        for index, tensor in enumerate(graph.inputs):
            self._known[tensor] = self._of(("input", depth, index))
        for constant in graph.constants:
            if constant not in graph.inputs:
                self._known[constant] = self._of_constant(constant)
        found: dict[Hashable, list[Node]] = {}
        for node in in_order(graph):
            key = node_key(node, self._view, self.number, lambda name, inner: self._contents(name, inner, depth + 1))
            if key is None:
                continue
            found.setdefault(key, []).append(node)
            for index, tensor in enumerate(node.outputs):
                self._known[tensor] = self._of((key, index))
        return found

    def _contents(self, name: str, graph: Graph, depth: int) -> Hashable:
        # What stands in another attribute gets its inputs from elsewhere.
        self.nodes_of(graph, depth)
        return name, depth, len(graph.inputs), tuple(self.number(tensor) for tensor in graph.outputs)

    def _of(self, item: Hashable) -> int:
        return self._numbers.setdefault(item, len(self._numbers))

    def _of_constant(self, constant: Constant) -> int:
        data = constant.data
        if data.dtype is None or isinstance(data, SparseData) or self._view.constant(constant) is None:
            return self._of(constant)
        # What stands alone in its size is not read.
        alike = self._alike.setdefault((data.dtype.name, data.shape, data.nbytes), [])
        twin = next((item for item in alike if self._is_twin(item, constant)), None)
        if twin is not None:
            return self._of(twin)
        alike.append(constant)
        return self._of(constant)

    def _is_twin(self, constant: Constant, other: Constant) -> bool:
        if self._sample(constant) != self._sample(other):
            return False
        return bool(equal_groups([constant.data.contents(), other.data.contents()]))

    def _sample(self, constant: Constant) -> tuple[str, bytes]:
        found = self._samples.get(constant)
        if found is None:
            contents = constant.data.contents()
            found = self._samples[constant] = (contents.form, bytes(contents.region.sample(_SAMPLE_BYTES)))
        return found
