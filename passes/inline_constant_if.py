"""inline-constant-if: an If whose condition is known becomes the branch that it takes."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Graph, Node, Tensor
from maxfold.model.splice import why_not_moved, why_not_replaced
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.rule import Decline, Match, frozen


@frozen
class Taken:
    """An If and the branch that it always takes."""

    node: Node
    branch: Graph

    def apply(self, edit: Edit) -> None:
        """Moves the branch's nodes in the place of the If."""
        edit.replace_results(self.node, edit.inline_graph(self.branch, before=self.node))


class InlineConstantIf(SingleRulePass):
    """The condition is a constant, or computed from sizes that are the same in every run.

    Removes one node a match. What the other branch read of the graph around it may become unused.
    """

    name: ClassVar[str] = "inline-constant-if"
    summary: ClassVar[str] = "replace an If of known condition by the branch that it takes"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "If")})
    results: ClassVar[int | None] = None

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the condition may be overridden, or the branch cannot stand outside."""
        if len(node.inputs) != 1:
            return Decline("it has not one condition")
        condition = known_condition(node.inputs[0], view)
        if condition is None:
            tensor = node.inputs[0]
            reason = view.why_not_constant(tensor) if isinstance(tensor, Constant) else None
            return None if reason is None else Decline(reason)
        branch = node.attrs.get("then_branch" if condition else "else_branch")
        if not isinstance(branch, Graph) or len(branch.outputs) != len(node.outputs):
            return Decline("the branch that it takes does not give its results")
        reason = why_not_moved(branch, node, view) or why_not_replaced(node, branch.outputs, view, branch)
        reason = reason or view.why_not_settled(node)
        return Taken(node, branch) if reason is None else Decline(reason)


def known_condition(tensor: Tensor, view: View) -> bool | None:
    """The value of a condition, a tensor of one BOOL, where it is the same in every run."""
    value = view.value(tensor)
    if value is None or len(value.elements) != 1 or not isinstance(value.elements[0], bool):
        return None
    return value.elements[0]
