"""What fuse-max does in OpenVINO IR, where Maximum stays binary: repeated operands go, constants merge.

OpenVINO's CPU gives the second operand where either is NaN. A rewrite is done only where that stays so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from maxfold.model.data import Array, TensorData
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.view import IR_DOMAIN, View
from maxfold.passes import kernels
from maxfold.passes.nodes import GivesOperand
from maxfold.passes.operands import (
    merge_constants,
    why_not_inlined,
    why_not_merged,
)
from maxfold.passes.rule import Decline, Match, Rule, frozen

_OPERATOR = "Maximum"
_MODE = "auto_broadcast"


@frozen
class MergedMaximum:
    """Two Maximum nodes in a row with a constant each: the outer one takes the merged constant, the inner one goes."""

    outer: Node
    inner: Node
    variable: Tensor
    value: TensorData

    def apply(self, edit: Edit) -> None:
        """Puts the merged constant where the outer constant stood."""
        merged = edit.add_constant(self.value, like=self.outer.outputs[0])
        operands = [merged if isinstance(operand, Constant) else self.variable for operand in self.outer.inputs]
        edit.set_inputs(self.outer, operands)
        edit.remove_node(self.inner)


@frozen
class FuseMaximum(Rule):
    """max(x, x) is x; max(max(x, y), y) and max(y, max(x, y)) are max(x, y); max(max(x, c), d) is max(x, max(c, d)).

    Removes one node a match.
    """

    max_growth_bytes: int
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({(IR_DOMAIN, _OPERATOR)})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where inner results are needed elsewhere, or OpenVINO's own results would differ."""
        if not _is_maximum(node, view):
            return None
        repeated = _repeated(node, view)
        if repeated is not None:
            blocked = view.why_not_replaceable(node.outputs[0], repeated)
            return GivesOperand(node, repeated) if blocked is None else Decline(blocked)
        place = _constant_place(node)
        inner = view.producer(node.inputs[1 - place]) if place is not None else None
        if place is None or inner is None or not _is_maximum(inner, view) or _constant_place(inner) is None:
            return None
        return self._merge(node, inner, place, view)

    def _merge(self, outer: Node, inner: Node, place: int, view: View) -> Match | Decline:
        refusal = why_not_inlined(inner.outputs[0], outer, view)
        if refusal is not None:
            return Decline(refusal)
        if _constant_place(inner) != place:
            return Decline("where x is NaN, OpenVINO gives another operand if the constants change sides")
        operands = (inner.inputs[place], outer.inputs[place])
        constants = [operand for operand in operands if isinstance(operand, Constant)]
        for constant in constants:
            refusal = why_not_merged(constant, view)
            if refusal is not None:
                return Decline(refusal)
        if "pdpd" in (_mode(inner), _mode(outer)) or _mode(inner) != _mode(outer):
            return Decline("only chains of one auto_broadcast, numpy or none, are merged")
        kernel = kernels.find(IR_DOMAIN, _OPERATOR, view.opset(outer) or 1)
        if kernel is None:
            return Decline("no kernel for this version of Maximum")
        refusal = kernels.check(kernel, [constant.data.dtype for constant in constants], 1)
        if refusal is not None:
            return Decline(refusal)
        evaluate, attributes = kernel.apply, {_MODE: _mode(outer)}

        def combine(arrays: Sequence[Array]) -> Array:
            return evaluate(arrays, attributes, 1)

        merged, reason = merge_constants(constants, Counter(constants), combine, view, self.max_growth_bytes)
        if not merged:
            return Decline(reason or "the constants cannot be merged")
        return MergedMaximum(outer, inner, inner.inputs[1 - place], merged[0].data)


def _is_maximum(node: Node, view: View) -> bool:
    if not view.is_operator(node, _OPERATOR, IR_DOMAIN) or len(node.inputs) != 2 or len(node.outputs) != 1:
        return False
    return set(node.attrs) <= {_MODE, f"{_MODE}.auto_broadcast_axis"}


def _mode(node: Node) -> str:
    return str(node.attrs.get(_MODE, "numpy")).lower()


def _constant_place(node: Node) -> int | None:
    """Which operand is constant, None where none or both are."""
    places = [index for index, operand in enumerate(node.inputs) if isinstance(operand, Constant)]
    return places[0] if len(places) == 1 else None


def _repeated(node: Node, view: View) -> Tensor | None:
    """The operand that a Maximum gives whatever the values, NaN included."""
    first, second = node.inputs
    if first is second:
        return first
    if _mode(node) == "pdpd":
        return None
    for inner, other, is_first in ((first, second, True), (second, first, False)):
        maker = view.producer(inner)
        if maker is None or not _is_maximum(maker, view) or _mode(maker) == "pdpd":
            continue
        # max(max(x, y), x) is left alone: for a NaN in x the inner one gives y, the outer one x.
        if other is maker.inputs[1] or (other is maker.inputs[0] and not is_first):
            return inner
    return None
