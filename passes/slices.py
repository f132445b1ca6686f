"""What a Slice node with constant bounds takes, in all versions of the operator."""

from __future__ import annotations

from collections.abc import Sequence

from maxfold.model.graph import Node
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.nodes import integers, known_integers, operand

# Before this operator set bounds were attributes, and there were no steps.
INPUTS_OPSET = 10
# Ends from here on mean "to the end", as exporters write it; dimensions are taken to be smaller.
_TO_THE_END = (1 << 31) - 1
_FAR = (1 << 63) - 1

Cut = tuple[int, int, int]
"""First and last (exclusive) index, and step, as a Slice has them."""


@frozen_value
class Bounds:
    """Of each axis that a Slice names: first and last (exclusive) index, and step, as the node has them."""

    axes: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    steps: tuple[int, ...]


def bounds(node: Node, view: View) -> Bounds | None:
    """The bounds of a Slice, None where they are not all constant. ModelError for attributes of other kinds."""
    opset = view.opset(node)
    if opset is None:
        return None
    if opset < INPUTS_OPSET:
        starts, ends = integers(node, "starts"), integers(node, "ends")
        return _checked(integers(node, "axes", list(range(len(starts)))), starts, ends, [1] * len(starts))
    first, last = (known_integers(operand(node, index), view) for index in (1, 2))
    if first is None or last is None:
        return None
    axes = list(range(len(first))) if operand(node, 3) is None else known_integers(operand(node, 3), view)
    steps = [1] * len(first) if operand(node, 4) is None else known_integers(operand(node, 4), view)
    return None if axes is None or steps is None else _checked(axes, first, last, steps)


def _checked(axes: Sequence[int], starts: Sequence[int], ends: Sequence[int], steps: Sequence[int]) -> Bounds | None:
    if not len(axes) == len(starts) == len(ends) == len(steps):
        return None
    return Bounds(tuple(axes), tuple(starts), tuple(ends), tuple(steps))


def cut_of_cut(first: Cut, second: Cut, size: int | None) -> Cut | None:
    """What takes at once what two cuts of one axis take, None where that cannot be told for every size it may have."""
    if size is not None:
        return _of_size(first, second, size)
    (start, end, step), (other_start, other_end, other_step) = first, second
    is_forward = step > 0 and other_step > 0 and 0 <= start < _TO_THE_END and 0 <= other_start < _TO_THE_END
    last = _last(start, end, step, other_end) if is_forward else None
    if last is None or step >= _TO_THE_END or other_step >= _TO_THE_END:
        return None
    return start + other_start * step, last, step * other_step


def _last(start: int, end: int, step: int, other_end: int) -> int | None:
    """Where a cut of a cut ends; ends are counted from the front, or both from the back."""
    if other_end >= _TO_THE_END:
        return end
    if other_end >= 0:
        last = start + other_end * step
        return last if end >= _TO_THE_END else min(last, end) if end >= 0 else None
    if step != 1 or other_end <= -_TO_THE_END:
        return None
    if end >= _TO_THE_END:
        return other_end
    return end + other_end if -_TO_THE_END < end < 0 else None


def _of_size(first: Cut, second: Cut, size: int) -> Cut | None:
    taken = _taken(first, range(size))
    taken = None if taken is None else _taken(second, taken)
    if taken is None:
        return None
    if not taken:
        return 0, 0, 1
    if len(taken) == 1:
        return taken[0], taken[0] + 1, 1
    # Before the first element there is no index but one that is clamped to it.
    end = taken[-1] + (1 if taken.step > 0 else -1)
    return taken[0], end if end >= 0 else -_FAR, taken.step


def _taken(cut: Cut, places: range) -> range | None:
    """The places that are taken, None where runtimes differ: backwards from before the first, or to the far end."""
    start, end, step = cut
    if step == 0 or (step < 0 and (start < -len(places) or end >= _TO_THE_END)):
        return None
    return places[slice(start, end, step)]
