"""merge-reshapes: of two nodes in a row that only change the shape one is enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.chains import ReadsThrough, node_before
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import axes, integer, known_integers, operand, why_not_absorbed, why_not_target
from maxfold.passes.remove_no_op_reshape import RESHAPING
from maxfold.passes.rule import Decline, Match, frozen

# Before these operator sets the shape of Reshape, and the axes of Squeeze and Unsqueeze, were attributes.
_SHAPE_INPUT_OPSET = 5
_AXES_INPUT_OPSET = 13


@frozen
class Reshaped:
    """Two nodes that become one Reshape, Squeeze or Unsqueeze with constant integers."""

    node: Node
    inner: Node
    operator: str
    values: tuple[int, ...]
    keeps_zero: bool
    opset: int

    def apply(self, edit: Edit) -> None:
        """The integers are an input or an attribute, as the operator set has it."""
        source = self.inner.inputs[0]
        attributes: dict[str, object] = {"allowzero": 1} if self.keeps_zero else {}
        is_reshape = self.operator == "Reshape"
        if self.opset < (_SHAPE_INPUT_OPSET if is_reshape else _AXES_INPUT_OPSET):
            attributes["shape" if is_reshape else "axes"] = list(self.values)
            edit.become(self.node, self.operator, [source], attributes)
        else:
            values = edit.add_constant(np.array(self.values, np.int64), like=self.node.outputs[0])
            edit.become(self.node, self.operator, [source, values], attributes)
        edit.remove_unused([self.inner])


class MergeReshapes(SingleRulePass):
    """Reshape of Reshape, Flatten, Squeeze or Unsqueeze; Squeeze and Unsqueeze of Reshape and of each other.

    Shapes and axes are constant, or known where Squeeze names none. Shortens a path by one node.
    """

    name: ClassVar[str] = "merge-reshapes"
    summary: ClassVar[str] = "make one of two reshapes, squeezes or unsqueezes in a row"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset(
        ("", name) for name in ("Reshape", "Squeeze", "Unsqueeze")
    )

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where a shape is not constant or copies a dimension of what goes, and where others need that."""
        inner = node_before(node, RESHAPING, view)
        opset = view.opset(node)
        if inner is None or opset is None:
            return None
        if node.op == "Reshape":
            return _reshape_of_any(node, inner, view)
        if inner.op == "Flatten":
            return None
        merged = _axes_of_reshape(node, inner, view) if inner.op == "Reshape" else _axes_of_axes(node, inner, view)
        if merged is None or isinstance(merged, Decline):
            return merged
        reason = why_not_absorbed([inner], node, view)
        if reason is not None:
            return Decline(reason)
        operator, values = merged
        reason = why_not_target(node, inner.inputs[0], values, view) if operator == "Reshape" else None
        if reason is not None:
            return Decline(reason)
        return Reshaped(node, inner, operator, tuple(values), operator == "Reshape" and _keeps_zero(inner), opset)


def _keeps_zero(node: Node) -> bool:
    return bool(integer(node, "allowzero", 0))


def _target(node: Node, view: View) -> list[int] | None:
    """The constant shape of a Reshape."""
    if operand(node, 1) is None:
        return axes(node, 1, view, "shape")
    return known_integers(operand(node, 1), view)


def _reshape_of_any(node: Node, inner: Node, view: View) -> Match | Decline | None:
    target = _target(node, view)
    if target is None:
        return Decline("its shape is not constant")
    reason = why_not_target(node, inner.inputs[0], target, view)
    if reason is not None:
        return Decline(reason)
    if _keeps_zero(node):
        return ReadsThrough(node, inner)
    copied = [axis for axis, size in enumerate(target) if size == 0]
    if copied and not _are_same(copied, node.inputs[0], inner.inputs[0], view):
        return Decline("a 0 in its shape copies a dimension of its own input")
    return ReadsThrough(node, inner)


def _are_same(places: Sequence[int], result: Tensor, source: Tensor, view: View) -> bool:
    own, other = view.dims(result), view.dims(source)
    if own is None or other is None:
        return False
    return all(axis < min(len(own), len(other)) and own[axis] == other[axis] for axis in places)


def _axes_of_reshape(node: Node, inner: Node, view: View) -> tuple[str, list[int]] | Decline | None:
    """The shape that Reshape may give at once where Squeeze or Unsqueeze would follow."""
    target, named = _target(inner, view), squeezed_axes(node, view)
    if target is None or named is None:
        return None if named is None else Decline("the shape of the Reshape before it is not constant")
    if 0 in target and not _keeps_zero(inner):
        return Decline("a 0 in the shape of the Reshape before it copies a dimension by its place")
    rank = len(target) + (len(named) if node.op == "Unsqueeze" else 0)
    places = normalized(named, rank)
    if not places:
        return None
    if node.op == "Unsqueeze":
        sizes = iter(target)
        return "Reshape", [1 if axis in places else next(sizes) for axis in range(rank)]
    if any(target[axis] != 1 for axis in places):
        return None
    return "Reshape", [size for axis, size in enumerate(target) if axis not in places]


def _axes_of_axes(node: Node, inner: Node, view: View) -> tuple[str, list[int]] | Decline | None:
    """Squeeze and Unsqueeze in a row as one of them; where each does something, they stay."""
    first, second = squeezed_axes(inner, view), squeezed_axes(node, view)
    rank = view.rank(inner.inputs[0])
    if not first or not second:
        # Runtimes differ on Squeeze with an empty list of axes.
        return None
    if rank is None:
        return Decline("the rank of the tensor is not known")
    dims = _without(range(rank), first) if inner.op == "Squeeze" else _with(range(rank), first)
    if dims is None:
        return None
    result = _without(dims, second) if node.op == "Squeeze" else _with(dims, second)
    if result is None:
        return None
    left = [axis for axis in result if axis is not None]
    if len(left) == len(result):
        gone = [axis for axis in range(rank) if axis not in left]
        return ("Squeeze", gone) if gone else None
    return ("Unsqueeze", [place for place, axis in enumerate(result) if axis is None]) if len(left) == rank else None


def squeezed_axes(node: Node, view: View) -> list[int] | None:
    """The axes of a Squeeze or Unsqueeze. A Squeeze that names none takes those of size 1, if all sizes are known."""
    named = axes(node, 1, view)
    if named is not None or node.op == "Unsqueeze":
        return named
    shape = view.shape(node.inputs[0])
    if shape is None or None in shape:
        return None
    return [axis for axis, size in enumerate(shape) if size == 1]


def normalized(named: Sequence[int], rank: int) -> set[int] | None:
    """Axes counted from the front, None where they are none of a tensor of that rank."""
    places = {axis + rank if axis < 0 else axis for axis in named}
    return places if len(places) == len(named) and all(0 <= place < rank for place in places) else None


def _without(dims: Sequence[int | None], named: Sequence[int]) -> list[int | None] | None:
    places = normalized(named, len(dims))
    return None if places is None else [axis for place, axis in enumerate(dims) if place not in places]


def _with(dims: Sequence[int | None], named: Sequence[int]) -> list[int | None] | None:
    """Dimensions, each told by its axis in the first tensor, and None for those that Unsqueeze adds."""
    rank = len(dims) + len(named)
    places = normalized(named, rank)
    if places is None:
        return None
    own = iter(dims)
    return [None if place in places else next(own) for place in range(rank)]
