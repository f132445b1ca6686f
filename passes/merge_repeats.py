"""merge-repeats: Tile of Tile, and Expand of Expand, are one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from maxfold.model.broadcast import BroadcastError, numpy_shape
from maxfold.model.edit import Edit
from maxfold.model.graph import Node
from maxfold.model.inference import Dim
from maxfold.model.inference.elementwise import broadcast_dims
from maxfold.model.view import View
from maxfold.passes.chains import ReadsThrough, node_before
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import known_integers, operand, why_not_absorbed
from maxfold.passes.rule import Decline, Match, frozen

_BEYOND = 1 << 63


@frozen
class Repeated:
    """A Tile or Expand that does what it and the one before it do."""

    node: Node
    inner: Node
    counts: tuple[int, ...]

    def apply(self, edit: Edit) -> None:
        """The repeats, or the shape, are a new constant."""
        counts = edit.add_constant(np.array(self.counts, np.int64), like=self.node.outputs[0])
        edit.set_inputs(self.node, [self.inner.inputs[0], counts])
        edit.remove_unused([self.inner])


class MergeRepeats(SingleRulePass):
    """Repeats of Tile multiply; of two shapes of Expand the larger dimension holds, or the second shape alone does all.

    Shortens a path by one node.
    """

    name: ClassVar[str] = "merge-repeats"
    summary: ClassVar[str] = "make one Tile or Expand of two in a row"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Tile"), ("", "Expand")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where repeats or shapes are not constant, and where others read the inner result."""
        inner = node_before(node, (node.op,), view)
        if inner is None or len(node.inputs) != 2 or len(inner.inputs) != 2:
            # The first version of Tile has an axis too.
            return None
        if node.op == "Expand" and _does_all(node, inner, view):
            return ReadsThrough(node, inner)
        first, second = (known_integers(operand(item, 1), view) for item in (inner, node))
        if first is None or second is None:
            return Decline("the repeats are not constant" if node.op == "Tile" else "the shapes are not constant")
        counts = _multiplied(first, second) if node.op == "Tile" else _broadcast(first, second)
        if counts is None:
            return None
        reason = why_not_absorbed([inner], node, view)
        return Repeated(node, inner, tuple(counts)) if reason is None else Decline(reason)


def _does_all(node: Node, inner: Node, view: View) -> bool:
    """Whether the second shape expands what the first one is given to what the result is."""
    value, source = view.value(node.inputs[1]), view.dims(inner.inputs[0])
    if value is None or source is None:
        return False
    wanted: list[Dim] = []
    for element in value.elements:
        if element is None or isinstance(element, float) or (isinstance(element, int) and element < 0):
            return False
        wanted.append(element)
    try:
        return broadcast_dims([source, tuple(wanted)]) == view.dims(node.outputs[0])
    except ValueError:
        return False


def _multiplied(first: Sequence[int], second: Sequence[int]) -> list[int] | None:
    if len(first) != len(second) or min(*first, *second, 0) < 0:
        return None
    counts = [one * other for one, other in zip(first, second, strict=True)]
    return counts if math.prod(max(count, 1) for count in counts) < _BEYOND else None


def _broadcast(first: Sequence[int], second: Sequence[int]) -> Sequence[int] | None:
    if min(*first, *second, 0) < 0:
        return None
    try:
        return numpy_shape(tuple(first), tuple(second))
    except BroadcastError:
        return None
