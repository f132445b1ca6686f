"""remove-no-op-gather: Gather of all elements of an axis, in their order, gives the tensor."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import bypassed, integer, known_integers, operand
from maxfold.passes.rule import Decline, Match


class RemoveNoOpGather(SingleRulePass):
    """The indices are constant, 0 to n - 1 in a vector, counted from either end, where the axis has n elements.

    Removes one node.
    """

    name: ClassVar[str] = "remove-no-op-gather"
    summary: ClassVar[str] = "remove Gather of everything in its order"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Gather")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the input cannot take the result's place."""
        source, indices = operand(node, 0), operand(node, 1)
        if source is None or indices is None or view.rank(indices) != 1:
            return None
        given, shape = known_integers(indices, view), view.shape(source)
        axis = integer(node, "axis", 0)
        if given is None or not shape or not -len(shape) <= axis < len(shape):
            return None
        size = shape[axis]
        if size != len(given) or any(index not in (place, place - size) for place, index in enumerate(given)):
            return None
        return bypassed(node, source, view)
