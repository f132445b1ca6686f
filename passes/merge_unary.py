"""merge-unary: of two operators in a row on one operand, those that undo or repeat each other."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.chains import ReadsThrough, cancelled, node_before
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import bypassed
from maxfold.passes.rule import Decline, Match

# Twice is nothing, also for the lowest integer, whose negative is itself.
_UNDO_THEMSELVES = ("BitwiseNot", "Neg", "Not")
_ROUNDING = ("Ceil", "Floor", "Round")
# The operators after which another one changes nothing: it gives its operand for all that they can give.
_CHANGE_NOTHING_AFTER = {
    "Abs": ("Abs",),
    "Relu": ("Relu",),
    "Sign": ("Sign",),
    **dict.fromkeys(_ROUNDING, _ROUNDING),
}
# The operators that make no difference before another one.
_MAKE_NO_DIFFERENCE_BEFORE = {"Abs": ("Neg",)}


class MergeUnary(SingleRulePass):
    """Neg(Neg(x)) and Not(Not(x)) are x; Relu(Relu(x)), Abs(Abs(x)) and Floor(Ceil(x)) are the inner one;
    Abs(Neg(x)) is Abs(x). Shortens a path by one node or two.
    """

    name: ClassVar[str] = "merge-unary"
    summary: ClassVar[str] = "remove repeated Relu, Abs, Floor and the like, and two Neg or Not in a row"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset(
        ("", name) for name in (*_UNDO_THEMSELVES, *_CHANGE_NOTHING_AFTER)
    )

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where what is left cannot take the result's place."""
        if node.op in _UNDO_THEMSELVES:
            inner = node_before(node, (node.op,), view)
            return None if inner is None else cancelled(node, inner, view)
        inner = node_before(node, _CHANGE_NOTHING_AFTER[node.op], view)
        if inner is not None:
            return bypassed(node, inner.outputs[0], view)
        inner = node_before(node, _MAKE_NO_DIFFERENCE_BEFORE.get(node.op, ()), view)
        return None if inner is None else ReadsThrough(node, inner)
