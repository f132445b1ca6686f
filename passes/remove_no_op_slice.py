"""remove-no-op-slice: Slice of everything gives its input."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import bypassed, operand
from maxfold.passes.remove_no_op_reshape import has_dims_of
from maxfold.passes.rule import Decline, Match
from maxfold.passes.slices import INPUTS_OPSET, bounds

# The operator's document has exporters write the largest integer, of either width, for "to the end".
_TO_THE_END = (1 << 31) - 1


class RemoveNoOpSlice(SingleRulePass):
    """Every step is 1, and each dimension stays as it is or is cut from its begin to its end. Removes one node."""

    name: ClassVar[str] = "remove-no-op-slice"
    summary: ClassVar[str] = "remove Slice that takes everything"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Slice")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the input cannot take the result's place."""
        source = operand(node, 0)
        if source is None or not _takes_everything(node, view):
            return None
        return bypassed(node, source, view)


def _takes_everything(node: Node, view: View) -> bool:
    found = bounds(node, view)
    if found is not None and any(step != 1 for step in found.steps):
        return False
    has_steps = (view.opset(node) or 0) >= INPUTS_OPSET and operand(node, 4) is not None
    if (found is not None or not has_steps) and has_dims_of(node.outputs[0], node.inputs[0], view):
        # What is as long as the whole, and goes forward one by one, is the whole.
        return True
    return found is not None and all(
        (start == 0 or start <= -_TO_THE_END) and end >= _TO_THE_END
        for start, end in zip(found.starts, found.ends, strict=True)
    )
