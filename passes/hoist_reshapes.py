"""hoist-reshapes: a Reshape behind elementwise operators on a constant goes into the constant."""

from __future__ import annotations

import math
from collections import Counter
from typing import ClassVar

from maxfold.model.data import TensorData, reshaped
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass, named_results
from maxfold.passes.nodes import (
    growth_bytes,
    integer,
    known_integers,
    operand,
    other_power,
    too_large,
    why_not_absorbed,
)
from maxfold.passes.operands import Growing, why_not_merged
from maxfold.passes.rule import Decline, Match, frozen

# From this operator set on the target is an input of Reshape; from 7 on binary operators broadcast as numpy does.
_BROADCASTING_OPSET = 7
_LONGEST_CHAIN = 16
_UNARY = frozenset(
    (
        "Abs", "Cast", "Ceil", "Erf", "Exp", "Floor", "Identity", "Log", "Neg", "Not", "Reciprocal", "Relu", "Round",
        "Sigmoid", "Sign", "Sqrt", "Tanh",
    )
)  # fmt: skip
_BINARY = frozenset(("Add", "Sub", "Mul", "Div", "Pow", "Mod"))


@frozen
class _Hoisted:
    """A Reshape, the nodes before it from the first one on, and the constant that they begin with, reshaped."""

    reshape: Node
    chain: tuple[Node, ...]
    constant: Constant
    value: TensorData

    def apply(self, edit: Edit) -> None:
        """Makes the chain anew, of other shapes; the Reshape becomes its last node."""
        old: Tensor = self.constant
        new: Tensor = edit.add_constant(self.value, like=self.reshape.outputs[0])
        for node in self.chain[:-1]:
            inputs = [new if tensor is old else tensor for tensor in node.inputs]
            made = edit.add_node(node.op, inputs, before=self.reshape, attributes=dict(node.attrs))
            old, new = node.outputs[0], made.outputs[0]
        last = self.chain[-1]
        inputs = [new if tensor is old else tensor for tensor in last.inputs]
        edit.become(self.reshape, last.op, inputs, dict(last.attrs))
        edit.remove_unused([last])


class HoistReshapes(Growing, SingleRulePass):
    """Reshape(f(c)) is f(Reshape(c)) for elementwise f, also with operands of one element.

    Removes the Reshape. Powers of floats, which ONNX Runtime computes by the shape, need `--math relaxed`.
    `max_growth_bytes`: how much the file may grow where the constant is used elsewhere too.
    """

    name: ClassVar[str] = "hoist-reshapes"
    summary: ClassVar[str] = "move a Reshape through elementwise operators into the constant they begin with"
    mode: ClassVar[str] = "exact, more with relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Reshape")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where an inner result is needed elsewhere, or the file would grow."""
        opset = view.opset(node)
        if opset is None or opset < _BROADCASTING_OPSET or operand(node, 0) is None:
            return None
        chain: list[Node] = []
        tensor = node.inputs[0]
        while not isinstance(tensor, Constant):
            maker = view.producer(tensor)
            source = None if maker is None else _source(maker, view)
            if maker is None or source is None or len(chain) == _LONGEST_CHAIN:
                return None
            chain.insert(0, maker)
            tensor = source
        dtype = tensor.data.dtype
        if not chain or dtype is None or dtype.is_packed or dtype.kind not in ("int", "uint", "float", "bool"):
            return None
        shape = _target(node, tensor.data.shape, view)
        if shape is None or not shape:
            return None
        reason = why_not_merged(tensor, view) or why_not_absorbed(chain, node, view)
        if reason is not None:
            return Decline(reason)
        refusals = [refusal for maker in chain if (refusal := other_power(maker, view, 1)) is not None]
        if refusals:
            return refusals[-1]
        growth = growth_bytes([(dtype, shape)], Counter([tensor]), view)
        if growth > self.max_growth_bytes:
            return Decline(too_large(growth, self.max_growth_bytes))
        return _Hoisted(node, tuple(chain), tensor, reshaped(tensor.data, shape))


def _source(node: Node, view: View) -> Tensor | None:
    """The operand of an elementwise node that has its result's shape, others having one element and no more rank."""
    if not view.is_operator(node, node.op) or named_results(node) != 1:
        return None
    if node.op in _UNARY and len(node.inputs) == 1:
        return node.inputs[0]
    if node.op not in _BINARY or len(node.inputs) != 2 or node.inputs[0] is node.inputs[1]:
        return None
    left, right = node.inputs
    if view.shape(right) == ():
        return left
    return right if view.shape(left) == () else None


def _target(node: Node, shape: tuple[int, ...], view: View) -> tuple[int, ...] | None:
    """The shape that a Reshape gives to a tensor of known shape without empty axes."""
    target = known_integers(operand(node, 1), view)
    count = math.prod(shape)
    if target is None or not count or integer(node, "allowzero", 0) or any(item < -1 for item in target):
        return None
    if any(item == 0 and index >= len(shape) for index, item in enumerate(target)) or target.count(-1) > 1:
        return None
    sizes = [shape[index] if item == 0 else item for index, item in enumerate(target)]
    known = math.prod(item for item in sizes if item != -1)
    sizes = [count // known if item == -1 else item for item in sizes]
    return tuple(sizes) if math.prod(sizes) == count else None
