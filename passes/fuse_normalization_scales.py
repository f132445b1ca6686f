"""fuse-normalization-scales: what scales or shifts behind a normalization goes into its scale and its bias."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from maxfold.model.broadcast import BroadcastError, numpy_shape
from maxfold.model.data import Array
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.affine import is_precise, why_not_weight
from maxfold.passes.driver import SingleRulePass, named_results
from maxfold.passes.nodes import growth_bytes, operand, too_large
from maxfold.passes.operands import Growing
from maxfold.passes.patterns import BROADCASTING_OPSET, orders
from maxfold.passes.root_mean_square import root_mean_square
from maxfold.passes.rule import Decline, Match, frozen
from maxfold.passes.runtime_patterns import NORMALIZATIONS, pattern_of, why_protected

_RELAXED = "a scale that takes in a factor rounds differently; only with --math relaxed"


@frozen_value
class _Place:
    """An input of a node that holds the scale or the bias; `constant` is None where a bias can be added."""

    node: Node
    index: int
    constant: Constant | None


@frozen_value
class _Ends:
    """The scale and the bias of a normalization that is one operator, or has them in nodes behind its parts."""

    scale: _Place | None
    bias: _Place | None


@frozen
class _TakenIn:
    """A node that goes, what it reads, and the new constants in their places."""

    node: Node
    variable: Tensor
    constants: tuple[tuple[_Place, Array], ...]

    def apply(self, edit: Edit) -> None:
        """The result is made by the normalization from now on; what is between is another tensor."""
        for place, values in self.constants:
            inputs = list(place.node.inputs)
            inputs[place.index : place.index + 1] = [edit.add_constant(values, like=place.node.outputs[0])]
            edit.set_inputs(place.node, inputs)
            if place.node.outputs[0] is not self.variable:
                edit.renew(place.node.outputs[0])
        edit.take_place(self.node.outputs[0], self.variable)
        edit.remove_node(self.node)


class FuseNormalizationScales(Growing, SingleRulePass):
    """A product with a constant, a sum, or a quotient, behind LayerNormalization, RMSNormalization, or their parts.

    Removes one node. The constant is one number or one for each of the elements that are normalized together; the new
    scale and bias are computed in float64 and rounded once.
    `max_growth_bytes`: how much the file may grow where the constants are used elsewhere too.
    """

    name: ClassVar[str] = "fuse-normalization-scales"
    summary: ClassVar[str] = "take what scales or shifts behind a normalization into its scale and bias"
    mode: ClassVar[str] = "relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset(("", name) for name in ("Add", "Div", "Mul", "Sub"))

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines in exact mode, where the normalization is needed elsewhere, and where a constant would overflow."""
        opset = view.opset(node)
        if opset is None or opset < BROADCASTING_OPSET or len(node.inputs) != 2:
            return None
        variable, constant = node.inputs
        if isinstance(variable, Constant) and node.op in ("Add", "Mul"):
            variable, constant = constant, variable
        if not isinstance(constant, Constant) or isinstance(variable, Constant):
            return None
        ends = _ends(variable, view)
        if ends is None or why_protected(node, view) is not None:
            return None
        places = [ends.bias] if node.op in ("Add", "Sub") else [ends.scale, ends.bias]
        if places[0] is None:
            return None
        reason = _why_not_taken(node, variable, constant, ends, view)
        if reason is not None:
            return Decline(reason)
        known = [place for place in places if place is not None and (place.constant is not None or len(places) == 1)]
        made = [(place, _combined(node.op, place, constant, ends)) for place in known]
        taken = tuple((place, values) for place, values in made if values is not None)
        if len(taken) < len(made):
            return Decline(f"a scale or bias with {constant.name!r} would have another shape, or not be finite")
        return self._taken(node, variable, constant, taken, view)

    def _taken(
        self,
        node: Node,
        variable: Tensor,
        constant: Constant,
        constants: tuple[tuple[_Place, Array], ...],
        view: View,
    ) -> Match | Decline:
        dtype = constant.data.dtype
        assert dtype is not None
        dying = Counter([constant, *(place.constant for place, _ in constants if place.constant is not None)])
        growth = growth_bytes([(dtype, values.shape) for _, values in constants], dying, view)
        if growth > self.max_growth_bytes:
            return Decline(too_large(growth, self.max_growth_bytes))
        if view.math == "exact":
            return Decline(_RELAXED, relaxed_gain=1)
        return _TakenIn(node, variable, constants)


def _ends(tensor: Tensor, view: View) -> _Ends | None:
    """Where the normalization that a tensor is the result of has its scale and bias, None for anything else."""
    maker = view.producer(tensor)
    if maker is None or named_results(maker) != 1:
        return None
    if any(view.is_operator(maker, operator) for operator in NORMALIZATIONS):
        scale, bias = operand(maker, 1), operand(maker, 2)
        if not isinstance(scale, Constant) or not (bias is None or isinstance(bias, Constant)):
            return None
        has_bias = maker.op == "LayerNormalization"
        return _Ends(_Place(maker, 1, scale), _Place(maker, 2, bias) if has_bias else None)
    if pattern_of(maker, view) not in NORMALIZATIONS:
        return None
    scale_node, bias_place = maker, None
    found = _with_constant(maker, "Add", view)
    if found is not None:
        inner, bias_place = view.producer(found[0]), found[1]
        if inner is None or not view.is_single_use(found[0]) or view.why_fixed(found[0]) is not None:
            return None
        scale_node = inner
    found = _with_constant(scale_node, "Mul", view)
    before = None if found is None else view.producer(found[0])
    if before is not None and view.is_operator(before, "Cast"):
        before = view.producer(before.inputs[0])
    if found is None or before is None or root_mean_square(before, view) is None:
        return None
    return _Ends(found[1], bias_place)


def _with_constant(node: Node, operator: str, view: View) -> tuple[Tensor, _Place] | None:
    """The other operand of an operator with a constant, and where the constant stands."""
    for variable, constant in orders(node, operator, view):
        if isinstance(constant, Constant) and not isinstance(variable, Constant):
            return variable, _Place(node, 0 if node.inputs[0] is constant else 1, constant)
    return None


def _why_not_taken(node: Node, variable: Tensor, constant: Constant, ends: _Ends, view: View) -> str | None:
    rank = view.rank(variable)
    if rank is None or len(constant.data.shape) > rank:
        return f"{constant.name!r} may give the result more dimensions"
    owned = [place.node for place in (ends.scale, ends.bias) if place is not None]
    if any(item.scope is not node.scope or view.is_kept(item) for item in owned):
        return f"{variable.name!r} is made in another graph, or to be kept"
    if not view.is_single_use(variable):
        return f"{variable.name!r} is used elsewhere"
    for place in (ends.scale, ends.bias):
        reason = None if place is None or place.constant is None else why_not_weight(place.constant, view)
        if reason is not None:
            return reason
    return (
        why_not_weight(constant, view)
        or view.why_fixed(variable)
        or view.why_not_replaceable(node.outputs[0], variable)
    )


def _combined(operator: str, place: _Place, constant: Constant, ends: _Ends) -> Array | None:
    """The new scale or bias; None where it is no vector of the old one's size, or not precise in its type."""
    scale = None if ends.scale is None else ends.scale.constant
    old = place.constant if place.constant is not None else scale
    if old is None or old.data.dtype is not constant.data.dtype:
        return None
    shape = _without_leading_ones(constant.data.shape)
    try:
        result = numpy_shape(old.data.shape, shape)
    except BroadcastError:
        return None
    if result != old.data.shape and (old.data.shape != () or len(result) != 1 or place.node.op in NORMALIZATIONS):
        return None
    values = constant.values.reshape(shape).astype(np.float64)
    own = old.values.astype(np.float64) if place.constant is not None else np.zeros(old.data.shape)
    with np.errstate(all="ignore"):
        exact = _apply(operator, own, values)
        rounded = exact.astype(old.values.dtype)
    return rounded if is_precise(rounded, exact) else None


def _apply(operator: str, own: Array, values: Array) -> Array:
    if operator in ("Add", "Sub"):
        return np.asarray(own + values if operator == "Add" else own - values)
    return np.asarray(own * values if operator == "Mul" else own / values)


def _without_leading_ones(shape: Sequence[int]) -> tuple[int, ...]:
    first = next((place for place, size in enumerate(shape) if size != 1), len(shape))
    return tuple(shape[first:])
