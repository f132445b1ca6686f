"""remove-no-op-transpose: Transpose that leaves every element in its place gives its input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import bypassed, integers, operand
from maxfold.passes.rule import Decline, Match


class RemoveNoOpTranspose(SingleRulePass):
    """The permutation is that of nothing, or exchanges dimensions of size 1 alone. Removes one node."""

    name: ClassVar[str] = "remove-no-op-transpose"
    summary: ClassVar[str] = "remove Transpose that moves nothing"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Transpose")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the input cannot take the result's place."""
        source = operand(node, 0)
        order = None if source is None else permutation(node, view.rank(source))
        if source is None or order is None or not moves_nothing(order, source, view):
            return None
        return bypassed(node, source, view)


def permutation(node: Node, rank: int | None) -> list[int] | None:
    """Which dimension of the input each of the result is, None where that is not known or no permutation."""
    if "perm" not in node.attrs:
        return None if rank is None else list(range(rank))[::-1]
    order = integers(node, "perm")
    is_valid = sorted(order) == list(range(len(order))) and rank in (None, len(order))
    return order if is_valid else None


def moves_nothing(order: Sequence[int], source: Tensor, view: View) -> bool:
    """Whether a permutation leaves the shape and the order of all elements as they are."""
    if list(order) == sorted(order):
        return True
    dims = view.dims(source)
    if dims is None or [dims[axis] for axis in order] != list(dims):
        return False
    moved = [axis for axis in order if dims[axis] != 1]
    return moved == sorted(moved)
