"""merge-reductions: a reduction gives its result with the axes that Unsqueeze would add, or without those that go."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.chains import node_before
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.merge_reshapes import normalized, squeezed_axes
from maxfold.passes.nodes import axes, integer, why_not_absorbed
from maxfold.passes.rule import Decline, Match, frozen

_PICKING = ("ArgMax", "ArgMin")
_REDUCING = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare", *_PICKING,
)  # fmt: skip


@frozen
class OtherRank:
    """A Squeeze or Unsqueeze, and the reduction before it."""

    node: Node
    inner: Node

    def apply(self, edit: Edit) -> None:
        """The node becomes the reduction, which keeps the axes after Unsqueeze and drops them after Squeeze."""
        keeps = int(self.node.op == "Unsqueeze")
        edit.become(self.node, self.inner.op, self.inner.inputs, {**self.inner.attrs, "keepdims": keeps})
        edit.remove_unused([self.inner])


class MergeReductions(SingleRulePass):
    """Unsqueeze of Reduce*, ArgMax or ArgMin with keepdims=0 and the same axes is the reduction with keepdims=1;
    Squeeze of one with keepdims=1 is that with keepdims=0. Removes one node.
    """

    name: ClassVar[str] = "merge-reductions"
    summary: ClassVar[str] = "let reductions keep or drop their axes instead of Unsqueeze or Squeeze"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Squeeze"), ("", "Unsqueeze")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where axes are not known to be the same, and where others read the inner result."""
        inner = node_before(node, _REDUCING, view)
        if inner is None or integer(inner, "keepdims", 1) != int(node.op == "Squeeze"):
            return None
        named = squeezed_axes(node, view) if node.op == "Squeeze" else axes(node, 1, view)
        reduced = _reduced(inner, view)
        if not named or not reduced:
            return None
        # Unsqueeze counts in its result, and Squeeze in what it reads: both have the rank of what is reduced.
        rank = view.rank(inner.inputs[0])
        if rank is None and (node.op == "Unsqueeze" or min(*named, *reduced) < 0):
            # Kernels reduce a scalar along any axis, and leave it one whatever keepdims says.
            return Decline("the rank of the tensor is not known")
        places = [normalized(item, max(*named, *reduced) + 1 if rank is None else rank) for item in (named, reduced)]
        if None in places or places[0] != places[1]:
            return None
        reason = why_not_absorbed([inner], node, view)
        return OtherRank(node, inner) if reason is None else Decline(reason)


def _reduced(node: Node, view: View) -> list[int] | None:
    """The axes that a node reduces, None where they are not known or none are named for what may be all or none."""
    if node.op in _PICKING:
        return [integer(node, "axis", 0)]
    named = axes(node, 1, view)
    if named is not None:
        # An empty list is all axes, or none with a flag that not all versions have.
        return named or None
    rank = view.rank(node.inputs[0])
    is_all = rank is not None and not integer(node, "noop_with_empty_axes", 0)
    return list(range(rank or 0)) if is_all else None
