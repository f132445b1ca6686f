"""What rules for patterns of elementwise operators share: scalar operands, and constants that are about a number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.nodes import made_by, operand, scalar, why_not_absorbed
from maxfold.passes.rule import Decline, Match, frozen

# From this operator set on binary operators broadcast as numpy does, and Clip's bounds become inputs at 11.
BROADCASTING_OPSET = 7
_CLIP_INPUTS_OPSET = 11
_TOLERANCES = {"FLOAT16": 2e-3, "BFLOAT16": 1e-2, "FLOAT": 1e-6, "DOUBLE": 1e-6}


@frozen
class Fused:
    """A pattern's last node becomes an operator over other tensors; the inner nodes go.

    `first`, where there is one, is an operator with its attributes that is put before it over `first_inputs`; its
    result takes the place of None in `inputs`.
    """

    last: Node
    operator: str
    inputs: tuple[Tensor | None, ...]
    attributes: dict[str, Any]
    inner: tuple[Node, ...]
    first: tuple[str, dict[str, Any]] | None = None
    first_inputs: tuple[Tensor, ...] = ()

    def apply(self, edit: Edit) -> None:
        """Rewrites the last node and removes the others."""
        new: Tensor | None = None
        if self.first is not None:
            operator, attributes = self.first
            new = edit.add_node(operator, self.first_inputs, before=self.last, attributes=attributes).outputs[0]
        inputs = [tensor if tensor is not None else new for tensor in self.inputs]
        edit.become(self.last, self.operator, [tensor for tensor in inputs if tensor is not None], self.attributes)
        edit.remove_unused(self.inner)


def absorbed(match: Fused, view: View, reason: str) -> Match | Decline:
    """The match if its inner nodes can go; in exact mode the decline with `reason` and the nodes that would go."""
    if view.is_kept(match.last):
        return Decline(f"{match.last.outputs[0].name!r} is to be kept")
    blocked = why_not_absorbed(match.inner, match.last, view)
    if blocked is not None:
        return Decline(blocked)
    if view.math == "exact":
        return Decline(reason, relaxed_gain=len(match.inner) - (match.first is not None))
    return match


@frozen_value
class ScalarStep:
    """A node that combines `variable` with a constant of one element, which does not raise its rank."""

    node: Node
    variable: Tensor
    value: float
    is_left: bool


def scalar_step(node: Node | None, operator: str, view: View) -> ScalarStep | None:
    """A binary node of an operator with one scalar constant, None for anything else. `is_left`: it comes first."""
    if node is None or not view.is_operator(node, operator) or len(node.inputs) != 2:
        return None
    opset = view.opset(node)
    if opset is None or opset < BROADCASTING_OPSET:
        return None
    left, right = node.inputs
    if isinstance(left, Constant) == isinstance(right, Constant):
        return None
    constant, variable = (left, right) if isinstance(left, Constant) else (right, left)
    value = scalar(constant, view)
    rank = len(constant.data.shape) if isinstance(constant, Constant) else 0
    if value is None or (rank and rank > (view.rank(variable) or 0)):
        return None
    return ScalarStep(node, variable, float(value), constant is left)


def scalar_maker(tensor: Tensor | None, operator: str, view: View) -> ScalarStep | None:
    """The node that makes a tensor as a `scalar_step`."""
    return scalar_step(made_by(tensor, operator, view), operator, view)


def factor(node: Node | None, view: View) -> tuple[Tensor, float] | None:
    """The operand and the number that a Mul multiplies it by, or a Div by its inverse; None for anything else."""
    times = scalar_step(node, "Mul", view)
    if times is not None:
        return times.variable, times.value
    over = scalar_step(node, "Div", view)
    if over is None or over.is_left or over.value == 0:
        return None
    return over.variable, 1.0 / over.value


def is_about(value: float, expected: float, tensor: Tensor, view: View) -> bool:
    """Whether a number is another up to the rounding of a tensor's type."""
    dtype = view.dtype(tensor)
    tolerance = 0.0 if dtype is None else _TOLERANCES.get(dtype.name, 0.0)
    return abs(value - expected) <= tolerance * abs(expected)


def orders(node: Node, operator: str, view: View) -> Iterator[tuple[Tensor, Tensor]]:
    """Both orders of the two operands of a commutative operator; nothing for another node."""
    opset = view.opset(node)
    if opset is None or opset < BROADCASTING_OPSET or not view.is_operator(node, operator) or len(node.inputs) != 2:
        return
    left, right = node.inputs
    yield left, right
    if left is not right:
        yield right, left


def clip_bounds(node: Node, view: View) -> tuple[float, float] | None:
    """The bounds of a Clip whose both bounds are known numbers."""
    opset = view.opset(node)
    if opset is None or not view.is_operator(node, "Clip"):
        return None
    if opset < _CLIP_INPUTS_OPSET:
        low, high = node.attrs.get("min"), node.attrs.get("max")
    else:
        low, high = scalar(operand(node, 1), view), scalar(operand(node, 2), view)
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        return None
    return float(low), float(high)


def is_type(tensor: Tensor, names: tuple[str, ...], view: View) -> bool:
    """Whether a tensor is known to be of one of these element types."""
    dtype = view.dtype(tensor)
    return dtype is not None and dtype.name in names
