"""merge-slices: two Slice in a row along different axes become one."""

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
from maxfold.passes.slices import INPUTS_OPSET, Bounds, bounds


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
    """Slice(Slice(x)) with constant bounds and no axis in common is one Slice. Removes one node."""

    name: ClassVar[str] = "merge-slices"
    summary: ClassVar[str] = "make one Slice of two in a row along different axes"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Slice")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where bounds are not constant, axes may be the same, and where others read the inner result."""
        inner = node_before(node, ("Slice",), view)
        opset = view.opset(node)
        if inner is None or opset is None:
            return None
        first, second = bounds(inner, view), bounds(node, view)
        if first is None or second is None:
            return Decline("the bounds are not constant")
        axes = _places((*first.axes, *second.axes), view.rank(inner.inputs[0]))
        if axes is None:
            return Decline("the rank of the tensor is not known")
        if len(set(axes)) != len(axes):
            return Decline("both cut one axis")
        reason = why_not_absorbed([inner], node, view)
        if reason is not None:
            return Decline(reason)
        joined = Bounds(axes, first.starts + second.starts, first.ends + second.ends, first.steps + second.steps)
        return JoinedSlices(node, inner, joined, opset >= INPUTS_OPSET)


def _places(axes: tuple[int, ...], rank: int | None) -> tuple[int, ...] | None:
    """The axes counted from the front."""
    if all(axis >= 0 for axis in axes):
        return axes
    return None if rank is None else tuple(axis + rank if axis < 0 else axis for axis in axes)
