"""What a Slice node with constant bounds takes, in all versions of the operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.nodes import integers, known_integers, operand

# Before this operator set bounds were attributes, and there were no steps.
INPUTS_OPSET = 10


@dataclass(frozen=True, slots=True)
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
