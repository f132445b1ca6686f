"""remove-no-op-pad: Pad by nothing gives its input."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import bypassed, integers, operand
from maxfold.passes.rule import Decline, Match

# From these operator sets on the attribute had another name, and then was an input.
_RENAMED_OPSET = 2
_INPUT_OPSET = 11


class RemoveNoOpPad(SingleRulePass):
    """Every pad is 0, as a constant or as derived, whatever the mode. Removes one node."""

    name: ClassVar[str] = "remove-no-op-pad"
    summary: ClassVar[str] = "remove Pad that pads by nothing"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Pad")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the input cannot take the result's place."""
        source = operand(node, 0)
        if source is None or not _pads_nothing(node, view):
            return None
        return bypassed(node, source, view)


def _pads_nothing(node: Node, view: View) -> bool:
    opset = view.opset(node)
    if opset is None:
        return False
    if opset < _INPUT_OPSET:
        return not any(integers(node, "paddings" if opset < _RENAMED_OPSET else "pads"))
    pads = operand(node, 1)
    value = None if pads is None else view.value(pads)
    return value is not None and all(element == 0 for element in value.elements)
