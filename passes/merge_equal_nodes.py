"""merge-equal-nodes: nodes that compute the same from the same become one."""

from __future__ import annotations

import struct
import time
from collections.abc import Hashable
from typing import Any, ClassVar

from google.protobuf.message import Message

from maxfold.model.attributes import AttributeRef
from maxfold.model.data import SparseData
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Graph, Node, Tensor
from maxfold.model.order import in_order
from maxfold.model.view import domain_of
from maxfold.passes.rule import DeclineRecord, Pass, PassResult, Progress

# Dropout draws where it trains; where not, it goes by another pass.
_DRAWS = {
    "Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
}  # fmt: skip
# The bits of the result do not depend on the order of the two operands, payloads of NaN aside.
_COMMUTATIVE = {"Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Mul", "Or", "Xor"}
# Before this operator set the second operand of these was broadcast to the first alone.
_BROADCASTING_OPSET = 7
_DOMAINS = ("", "ai.onnx.ml")
# Tensors in attributes of more bytes are weights, which nobody reads for this.
_SMALL_BYTES = 4096


class _Incomparable(Exception):  # noqa: N818  # no error: such a node is like no other
    """An attribute that nodes are not compared by."""


class MergeEqualNodes(Pass):
    """Equal means: same operator, attributes, input tensors and named results, and nothing random.

    Nodes of different graphs stay apart, as do calls of functions, operators of other domains and nodes with graphs
    inside. Of equal nodes the first stays.
    """

    name: ClassVar[str] = "merge-equal-nodes"
    summary: ClassVar[str] = "keep one of several nodes that compute the same (common subexpressions)"

    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """Looks at each scope in topological order, so that what equal nodes lead to is merged at once."""
        started = time.perf_counter()
        changes = 0
        declines: list[DeclineRecord] = []
        for scope in edit.model.scopes():
            changes += _Scope(edit, declines).merge(scope)
        edit.flush()
        edit.take_touched()
        return PassResult(self.name, changes, tuple(declines), time.perf_counter() - started)


class _Scope:
    """The nodes of one scope met so far, by what they compute."""

    def __init__(self, edit: Edit, declines: list[DeclineRecord]) -> None:
        self._edit = edit
        self._declines = declines
        self._first: dict[Hashable, Node] = {}
        # Where a node that goes makes a graph output, the node that stays takes over its tensor: both are one value.
        self._same_as: dict[Tensor, Tensor] = {}

    def merge(self, scope: Graph) -> int:
        changes = 0
        for node in in_order(scope):
            key = self._key(node)
            if key is None:
                continue
            first = self._first.setdefault(key, node)
            if first is node:
                continue
            reason = self._why_not(first, node)
            if reason is None:
                self._replace(node, first)
                changes += 1
            else:
                shown = node.name or next(tensor.name for tensor in node.outputs if tensor.name)
                self._declines.append(DeclineRecord(MergeEqualNodes.name, shown, node.op, reason))
        return changes

    def _key(self, node: Node) -> Hashable:
        """What a node computes, None where it is to be merged with no other."""
        opset = self._edit.opset(node)
        domain = domain_of(node)
        if opset is None or domain not in _DOMAINS or self._edit.is_function_call(node) or node.op in _DRAWS:
            return None
        if not any(tensor.name for tensor in node.outputs):
            return None
        operands = [self._value(tensor) for tensor in node.inputs]
        while operands and operands[-1] is None:
            operands.pop()
        if not domain and node.op in _COMMUTATIVE and opset >= _BROADCASTING_OPSET:
            operands.sort(key=id)
        try:
            attributes = frozenset((name, _attribute(value)) for name, value in node.attrs.items())
        except _Incomparable:
            return None
        named = tuple(bool(tensor.name) for tensor in node.outputs)
        return domain, node.op, tuple(operands), attributes, named

    def _value(self, tensor: Tensor) -> Tensor | None:
        return self._same_as.get(tensor, tensor) if tensor.name else None

    def _why_not(self, first: Node, node: Node) -> str | None:
        if self._edit.is_kept(node):
            return "it is to be kept"
        for own, other in zip(node.outputs, first.outputs, strict=True):
            reason = self._edit.why_not_replaceable(own, other) if own.name else None
            if reason is not None:
                return reason
        return None

    def _replace(self, node: Node, first: Node) -> None:
        for own, other in zip(list(node.outputs), list(first.outputs), strict=True):
            if own.name:
                self._same_as[own] = self._same_as.get(other, other)
                self._edit.replace_uses(own, other)
        self._edit.remove_node(node)


def _attribute(value: Any) -> Hashable:
    """What an attribute is compared by: floats by their bits, small tensors by their bytes."""
    if isinstance(value, float):
        return "float", struct.pack("<d", value)
    if isinstance(value, (bool, int, str, bytes)):
        return type(value).__name__, value
    if isinstance(value, AttributeRef):
        return "reference", value.name, str(value.type)
    if isinstance(value, (list, tuple)):
        return "list", tuple(_attribute(item) for item in value)
    if isinstance(value, Message):
        return type(value).__name__, value.SerializeToString(deterministic=True)
    if isinstance(value, Constant):
        return _tensor(value)
    raise _Incomparable


def _tensor(constant: Constant) -> Hashable:
    data = constant.data
    if data.dtype is None or isinstance(data, SparseData) or data.nbytes > _SMALL_BYTES:
        raise _Incomparable
    return "tensor", data.dtype.name, data.shape, data.contents().key()
