"""hoist-transposes: the Transpose before a normalization goes above the Reshape that joins axes for it.

Below the operator sets that have the normalization, ONNX Runtime moves a Transpose into its parts before it looks for
them, where it knows the rank. It moves none through a Reshape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from maxfold.model.edit import Edit
from maxfold.model.graph import Node
from maxfold.model.inference import Dim
from maxfold.model.inference.symbolic import product
from maxfold.model.view import View
from maxfold.passes.chains import node_before
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import operand, why_not_absorbed
from maxfold.passes.remove_no_op_transpose import permutation
from maxfold.passes.reshape_targets import settled_target
from maxfold.passes.rule import Decline, Match, frozen
from maxfold.passes.runtime_patterns import pattern_of

# From this operator set on ONNX Runtime finds LayerNormalization before it moves Transposes.
_LAYER_NORMALIZATION_OPSET = 17
_NOT_JOINED = "its Transpose cannot go above the Reshape before it, which does not join axes to one of them"


@frozen
class _Hoisted:
    """A Reshape and the Transpose behind it, the order of axes above the Reshape, and the target below."""

    reshape: Node
    transpose: Node
    order: tuple[int, ...]
    target: tuple[int, ...]

    def apply(self, edit: Edit) -> None:
        """Transposes what the Reshape reads; what was the Transpose joins the axes."""
        last = self.transpose
        moved = edit.add_node("Transpose", [self.reshape.inputs[0]], before=last, attributes={"perm": list(self.order)})
        target = edit.add_constant(np.array(self.target, np.int64), like=last.outputs[0])
        edit.become(last, "Reshape", [moved.outputs[0], target])
        edit.remove_unused([self.reshape])


class HoistTransposes(SingleRulePass):
    """Transpose(Reshape(x)) is Reshape(Transpose(x)) where the Reshape joins neighbouring axes to one.

    Reduces the number of Transposes behind such a Reshape.
    """

    name: ClassVar[str] = "hoist-transposes"
    summary: ClassVar[str] = "move the Transpose before a normalization above a Reshape, so that runtimes fuse the rest"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Transpose")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the axes are not known to be joined, or the Reshape is needed elsewhere."""
        reshape = node_before(node, ("Reshape",), view)
        if reshape is None or not _feeds_normalization(node, view):
            return None
        return _hoisted(reshape, node, view)


def why_norm_is_lost(reshape: Node, view: View) -> str | None:
    """Why the rank of what a Reshape makes had better stay unknown to runtimes, None where it need not."""
    for reader in view.consumers(reshape.outputs[0]):
        if not view.is_operator(reader, "Transpose") or not _feeds_normalization(reader, view):
            continue
        if isinstance(_hoisted(reshape, reader, view), Decline):
            return "runtimes that know its rank move the Transpose behind it into a normalization, and do not fuse that"
    return None


def _feeds_normalization(node: Node, view: View) -> bool:
    """Whether a normalization reads what a Transpose makes, and is one that ONNX Runtime looks for after it."""
    opset = view.opset(node)
    found = {pattern_of(reader, view) for reader in view.consumers(node.outputs[0])}
    if "LayerNormalization" in found and opset is not None and opset < _LAYER_NORMALIZATION_OPSET:
        return True
    return "RMSNormalization" in found


def _hoisted(reshape: Node, transpose: Node, view: View) -> Match | Decline:
    if transpose.scope.parent is not None:
        return Decline("a target in a graph inside may not fit, which is found out when the file is loaded")
    data = operand(reshape, 0)
    before = None if data is None else view.dims(data)
    after = view.dims(reshape.outputs[0])
    order = permutation(transpose, None if after is None else len(after))
    place = None if before is None or after is None else _joined(before, after)
    if data is None or before is None or after is None or order is None or place is None:
        return Decline(_NOT_JOINED)
    more = len(before) - len(after)
    above = [item for axis in order for item in _spread(axis, place, more)]
    result = [after[axis] for axis in order]
    target = settled_target(result, [before[axis] for axis in above], result, view)
    if target is None or 0 in result:
        return Decline("the target of the Reshape would have more than one element that is not known")
    reason = why_not_absorbed([reshape], transpose, view) or view.why_fixed(transpose.outputs[0])
    reason = reason or view.why_not_settled(transpose)
    return Decline(reason) if reason is not None else _Hoisted(reshape, transpose, tuple(above), target)


def _joined(before: Sequence[Dim], after: Sequence[Dim]) -> int | None:
    """The axis that a Reshape makes of two or more neighbouring ones, all others staying; None for another Reshape."""
    if len(after) >= len(before):
        return None
    for place, size in enumerate(after):
        behind = len(after) - place - 1
        run = before[place : len(before) - behind]
        if product(run) == size and tuple(before[len(before) - behind :]) == tuple(after[place + 1 :]):
            return place
        if before[place] != size:
            return None
    return None


def _spread(axis: int, place: int, more: int) -> range:
    """The axes before joining that an axis behind it stands for."""
    if axis == place:
        return range(place, place + more + 1)
    return range(axis, axis + 1) if axis < place else range(axis + more, axis + more + 1)
