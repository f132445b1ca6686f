"""merge-slices: two Slice in a row become one."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from maxfold.model.edit import Edit
from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.chains import node_before
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import why_not_absorbed
from maxfold.passes.rule import Decline, Match, frozen
from maxfold.passes.slices import INPUTS_OPSET, Bounds, Cut, bounds, cut_of_cut


@frozen
class JoinedSlices:
    """Two Slice nodes that become one with the bounds of both."""

    node: Node
    inner: Node
    found: Bounds
    has_inputs: bool

    def apply(self, edit: Edit) -> None:
        """Steps are left out where all are 1."""
        source = self.inner.inputs[0]
        named = {"starts": self.found.starts, "ends": self.found.ends, "axes": self.found.axes}
        if not self.has_inputs:
            edit.become(self.node, "Slice", [source], {name: list(values) for name, values in named.items()})
        else:
            lists = [*named.values()]
            if any(step != 1 for step in self.found.steps):
                lists.append(self.found.steps)
            result = self.node.outputs[0]
            constants = [edit.add_constant(np.array(values, np.int64), like=result) for values in lists]
            edit.become(self.node, "Slice", [source, *constants])
        edit.remove_unused([self.inner])


class MergeSlices(SingleRulePass):
    """Slice(Slice(x)) with constant bounds is one Slice. Removes one node.

    Along one axis both go forward, and the bounds can be told without its size; or the size is known.
    """

    name: ClassVar[str] = "merge-slices"
    summary: ClassVar[str] = "make one Slice of two in a row"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Slice")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where bounds are not constant or cannot be told, and where others read the inner result."""
        inner = node_before(node, ("Slice",), view)
        opset = view.opset(node)
        if inner is None or opset is None:
            return None
        first, second = bounds(inner, view), bounds(node, view)
        if first is None or second is None:
            return Decline("the bounds are not constant")
        shape = view.shape(inner.inputs[0])
        axes = _places((*first.axes, *second.axes), None if shape is None else len(shape))
        if axes is None:
            return Decline("the rank of the tensor is not known")
        cuts, others = _cuts(axes[: len(first.axes)], first), _cuts(axes[len(first.axes) :], second)
        if cuts is None or others is None or min(axes) < 0:
            return None
        for axis, cut in others.items():
            size = None if shape is None or axis >= len(shape) else shape[axis]
            joined = cut if axis not in cuts else cut_of_cut(cuts[axis], cut, size)
            if joined is None:
                return Decline("both cut one axis, by bounds that cannot be told as one")
            cuts[axis] = joined
        reason = why_not_absorbed([inner], node, view)
        if reason is not None:
            return Decline(reason)
        starts, ends, steps = zip(*cuts.values(), strict=True)
        return JoinedSlices(node, inner, Bounds(tuple(cuts), starts, ends, steps), opset >= INPUTS_OPSET)


def _cuts(axes: tuple[int, ...], found: Bounds) -> dict[int, Cut] | None:
    """What is cut of each axis, None where one is named twice, or nothing at all is."""
    cuts = dict(zip(axes, zip(found.starts, found.ends, found.steps, strict=True), strict=True))
    return cuts if len(cuts) == len(axes) > 0 else None


def _places(axes: tuple[int, ...], rank: int | None) -> tuple[int, ...] | None:
    """The axes counted from the front."""
    if rank is None:
        return axes if all(axis >= 0 for axis in axes) else None
    return tuple(axis + rank if axis < 0 else axis for axis in axes)
