"""merge-transposes: two Transpose in a row become one, or none."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.chains import ReadsThrough, cancelled, node_before
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.remove_no_op_transpose import moves_nothing, permutation
from maxfold.passes.rule import Decline, Match


class MergeTransposes(SingleRulePass):
    """Transpose(Transpose(x)) is one Transpose, or x. Shortens a path by one node."""

    name: ClassVar[str] = "merge-transposes"
    summary: ClassVar[str] = "make one Transpose, or none, of two in a row"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Transpose")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where an order is not known, or the input cannot take the result's place."""
        inner = node_before(node, ("Transpose",), view)
        if inner is None:
            return None
        source = inner.inputs[0]
        rank = view.rank(source)
        ranks = [rank, *(len(item.attrs["perm"]) for item in (inner, node) if isinstance(item.attrs.get("perm"), list))]
        known = next((size for size in ranks if size is not None), None)
        first, second = permutation(inner, known), permutation(node, known)
        if first is None or second is None:
            return Decline("the order of the dimensions is not known")
        order = [first[axis] for axis in second]
        if moves_nothing(order, source, view):
            return cancelled(node, inner, view)
        return ReadsThrough(node, inner, {"perm": order})
