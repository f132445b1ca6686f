"""merge-clips: two Clip in a row become one, and Clip to all that there is goes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import ml_dtypes
import numpy as np

from maxfold.model.dtypes import DType
from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.chains import node_before
from maxfold.passes.driver import RulePass
from maxfold.passes.nodes import bypassed, number, operand, scalar
from maxfold.passes.rule import Decline, Match, Rule, frozen

# Before this operator set bounds were attributes.
_INPUTS_OPSET = 11
# The first version has no bound where the attribute is left out; the next ones take that of the type.
_DEFAULTS_OPSET = 6


@frozen_value
class Bound:
    """One bound: its value, and what says so in the file (None where it is left out)."""

    value: float
    stated: Tensor | float | None


Interval = tuple[Bound, Bound]


@frozen
class OneClip:
    """Two Clip nodes that become one with bounds that one of them has."""

    node: Node
    inner: Node
    interval: Interval

    def apply(self, edit: Edit) -> None:
        """Bounds are inputs or attributes, as the nodes have them."""
        source = self.inner.inputs[0]
        low, high = (bound.stated for bound in self.interval)
        if isinstance(low, float) or isinstance(high, float):
            named = {"min": low, "max": high}
            edit.become(
                self.node, "Clip", [source], {name: value for name, value in named.items() if value is not None}
            )
        else:
            bounds = [low, high] if high is not None else [] if low is None else [low]
            inputs = [source, *(edit.omitted(source.scope) if bound is None else bound for bound in bounds)]
            edit.become(self.node, "Clip", inputs)
        edit.remove_unused([self.inner])


@frozen
class ClipOfAll(Rule):
    """Clip whose bounds are those of the type, or infinite. Removes one node.

    Without bounds it makes the largest float of an infinite one, so that for floats it takes `--math relaxed` to go.
    """

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Clip")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines for floats in exact mode."""
        source = operand(node, 0)
        dtype = None if source is None else view.dtype(source)
        interval = None if dtype is None else _interval(node, dtype, view)
        if source is None or dtype is None or interval is None:
            return None
        lowest, highest = _limits(dtype)
        if not (interval[0].value <= lowest and highest <= interval[1].value):
            return None
        match = bypassed(node, source, view)
        is_exact = dtype.kind != "float" or (interval[0].value == -math.inf and interval[1].value == math.inf)
        if is_exact or view.math == "relaxed" or isinstance(match, Decline):
            return match
        return Decline("Clip without bounds changes infinities; only with --math relaxed", relaxed_gain=1)


@frozen
class ClipOfClip(Rule):
    """Clip(Clip(x, a, b), c, d) is Clip(x, min(max(a, c), d), min(max(b, c), d)) if a <= b and c <= d.

    Shortens a path by one node.
    """

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Clip")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where bounds are not constant, not in order, or zeros of different signs."""
        inner = node_before(node, ("Clip",), view)
        dtype = None if inner is None else view.dtype(inner.inputs[0])
        if inner is None or dtype is None:
            return None
        first, second = _interval(inner, dtype, view), _interval(node, dtype, view)
        if first is None or second is None:
            return Decline("the bounds are not constant")
        if not first[0].value <= first[1].value or not second[0].value <= second[1].value:
            return Decline("a lower bound is above the upper one")
        zeros = [bound.value for bound in (*first, *second) if bound.value == 0]
        if len({math.copysign(1, zero) for zero in zeros}) > 1:
            return Decline("bounds are zeros of different signs")
        if dtype.kind == "float" and _gives_zero(first, second):
            return Decline("the result is 0 for every number, which one Clip would not make of -0.0")
        return OneClip(node, inner, (_within(first[0], second), _within(first[1], second)))


def _gives_zero(first: Interval, second: Interval) -> bool:
    """Whether the intervals are apart, and the second's bound next to the first one is 0."""
    if first[1].value < second[0].value:
        return second[0].value == 0
    return first[0].value > second[1].value == 0


def _within(bound: Bound, interval: Interval) -> Bound:
    low, high = interval
    return low if bound.value <= low.value else high if bound.value >= high.value else bound


def _interval(node: Node, dtype: DType, view: View) -> Interval | None:
    """The bounds of a Clip, None where one is not constant."""
    opset = view.opset(node)
    if opset is None or dtype.kind not in ("int", "uint", "float") or dtype.is_packed:
        return None
    limits = (-math.inf, math.inf) if opset < _DEFAULTS_OPSET else _limits(dtype)
    found: list[Bound] = []
    for index, name in enumerate(("min", "max")):
        bound = _attribute(node, name) if opset < _INPUTS_OPSET else operand(node, index + 1)
        value = scalar(bound, view) if isinstance(bound, Tensor) else bound
        if bound is not None and value is None:
            return None
        found.append(Bound(limits[index] if value is None else value, bound))
    return found[0], found[1]


def _attribute(node: Node, name: str) -> float | None:
    return number(node, name) if name in node.attrs else None


def _limits(dtype: DType) -> tuple[float, float]:
    """The least and the greatest finite number of a type."""
    if dtype.kind == "float":
        limits = ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]  # ml_dtypes is not
        return float(limits.min), float(limits.max)
    bounds = np.iinfo(dtype.numpy)
    return int(bounds.min), int(bounds.max)


class MergeClips(RulePass):
    """See the rules."""

    name: ClassVar[str] = "merge-clips"
    summary: ClassVar[str] = "make one Clip of two in a row, remove Clip without bounds"
    mode: ClassVar[str] = "exact, more with relaxed"

    def rules(self) -> Sequence[Rule]:
        """What has no bounds goes first."""
        return (ClipOfAll(), ClipOfClip())
