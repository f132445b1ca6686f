"""remove-no-op-split: Split into one part, and Concat of all parts of a Split, give what is split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.chains import cancelled, node_before
from maxfold.passes.driver import RulePass
from maxfold.passes.nodes import bypassed, integer, is_same_axis, operand
from maxfold.passes.remove_no_op_concat import concat_axis
from maxfold.passes.rule import Decline, Match, Rule, frozen


@frozen
class OnePart(Rule):
    """Split with one result, which has to be the whole. Removes one node."""

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Split")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the input cannot take the result's place."""
        source = operand(node, 0)
        return None if source is None or len(node.outputs) != 1 else bypassed(node, source, view)


@frozen
class AllParts(Rule):
    """Concat of every result of a Split, in order and along its axis. Removes the Concat, and the Split if unused."""

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Concat")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where axes may not be the same, or what is split cannot take the result's place."""
        split = node_before(node, ("Split",), view)
        if split is None or len(split.outputs) != len(node.inputs):
            return None
        if any(own is not part for own, part in zip(node.inputs, split.outputs, strict=True)):
            return None
        is_same = is_same_axis(concat_axis(node, view), integer(split, "axis", 0), view.rank(split.inputs[0]))
        if not is_same:
            return Decline("the rank of the tensors is not known") if is_same is None else None
        return cancelled(node, split, view)


class RemoveNoOpSplit(RulePass):
    """See the rules."""

    name: ClassVar[str] = "remove-no-op-split"
    summary: ClassVar[str] = "remove Split into one part, and Split that Concat undoes"

    def rules(self) -> Sequence[Rule]:
        """One for each operator."""
        return (OnePart(), AllParts())
