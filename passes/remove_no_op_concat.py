"""remove-no-op-concat: Concat of one tensor gives the tensor, and empty operands go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import bypassed, integer
from maxfold.passes.rule import Decline, Match, frozen

# Before this operator set Concat had a default axis.
_AXIS_OPSET = 4


@frozen
class LeftOperands:
    """A Concat and the operands that are not empty."""

    node: Node
    operands: tuple[Tensor, ...]

    def apply(self, edit: Edit) -> None:
        """What made the empty operands goes with them if nothing else needs it."""
        makers = [edit.producer(tensor) for tensor in self.node.inputs if tensor not in self.operands]
        edit.set_inputs(self.node, self.operands)
        edit.remove_unused([maker for maker in makers if maker is not None])


class RemoveNoOpConcat(SingleRulePass):
    """An operand is empty if its dimension along the axis is 0 in every run. Removes an operand, or the node."""

    name: ClassVar[str] = "remove-no-op-concat"
    summary: ClassVar[str] = "remove Concat of one tensor, and empty operands of Concat"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Concat")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the operand that is left cannot take the result's place."""
        if not node.inputs or not all(tensor.name for tensor in node.inputs):
            return None
        left = _not_empty(node, view) or node.inputs[:1]
        if len(left) == 1:
            return bypassed(node, left[0], view)
        return LeftOperands(node, tuple(left)) if len(left) < len(node.inputs) else None


def concat_axis(node: Node, view: View) -> int:
    """The axis as the node has it, which may count from the back. ModelError where there is none."""
    return integer(node, "axis", 1 if (view.opset(node) or 0) < _AXIS_OPSET else None)


def _not_empty(node: Node, view: View) -> Sequence[Tensor]:
    if len(node.inputs) == 1:
        return node.inputs
    axis = concat_axis(node, view)
    left: list[Tensor] = []
    for tensor in node.inputs:
        dims = view.dims(tensor)
        if dims is None or not -len(dims) <= axis < len(dims) or dims[axis] != 0:
            left.append(tensor)
    return left
