"""merge-clips: bounds of two Clip in a row, in order, and Clip without bounds."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import model

F32 = np.float32
BOUNDS = (None, -1.0, 2.0, 5.0)
X = np.array([-np.inf, -3, -1, -0.5, -0.0, 0.0, 1, 2, 3, 5, 7, np.inf], F32)


def clips(body: str, *, kind: str = "float", opset: int = 17, math: str = "exact", **constants: Any) -> Outcome:
    source = model(
        f"g ({kind}[N] a, {kind} p) => ({kind}[N] y) {{ {body} y = Identity(c) }}",
        opset=opset,
        constants={name: np.asarray(value) for name, value in constants.items()},
    )
    return outcome("merge-clips", source, math=math)


def call(low: float | None, high: float | None, prefix: str) -> tuple[str, dict[str, Any]]:
    named = {f"{prefix}l": low, f"{prefix}h": high}
    listed = ", ".join("" if value is None else name for name, value in named.items())
    return listed, {name: F32(value) for name, value in named.items() if value is not None}


@pytest.mark.parametrize("first", list(itertools.product(BOUNDS, repeat=2)))
def test_every_pair_of_intervals(first: tuple[float | None, float | None]) -> None:
    for second in itertools.product(BOUNDS, repeat=2):
        inner, constants = call(*first, "i")
        outer, more = call(*second, "o")
        result = clips(f"b = Clip(a, {inner}) c = Clip(b, {outer})", **constants, **more)
        in_order = all(None in pair or pair[0] <= pair[1] for pair in (first, second))  # type: ignore[operator]
        assert bool(result.changes) is in_order
        assert_same_results(result, a=X, p=np.array(0, F32))


def test_a_bound_of_either_is_kept() -> None:
    result = clips("b = Clip(a, l, m) c = Clip(b, k, h)", l=F32(0), m=F32(9), k=F32(-1), h=F32(6))
    assert nodes(result) == "c = Clip(a, l, h)\ny = Identity(c)"
    result = clips("b = Clip(a, , m) c = Clip(b, , h)", m=F32(9), h=F32(6))
    assert nodes(result) == "c = Clip(a, , h)\ny = Identity(c)"
    result = clips("b = Clip(a, l) c = Clip(b, k)", l=F32(1), k=F32(0))
    assert nodes(result) == "c = Clip(a, l)\ny = Identity(c)"


def test_intervals_apart_leave_one_number() -> None:
    result = clips("b = Clip(a, l, m) c = Clip(b, k, h)", l=F32(0), m=F32(1), k=F32(5), h=F32(6))
    assert nodes(result) == "c = Clip(a, k, k)\ny = Identity(c)"
    assert_same_results(result, a=X, p=np.array(0, F32))


ZEROS = (None, -2.0, -1.0, 0.0, 1.0, 2.0)
_IN_ORDER = [pair for pair in itertools.product(ZEROS, repeat=2) if None in pair or pair[0] <= pair[1]]  # type: ignore[operator]


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("first", _IN_ORDER)
def test_zeros_keep_their_sign(first: tuple[float | None, float | None], zero: float) -> None:
    declined = 0
    for second in _IN_ORDER:
        inner, constants = call(*first, "i")
        outer, more = call(*second, "o")
        every = {name: value or F32(zero) for name, value in (constants | more).items()}
        result = clips(f"b = Clip(a, {inner}) c = Clip(b, {outer})", **every)
        declined += not result.changes
        assert_same_results(result, a=np.append(X, F32(np.nan)), p=np.array(0, F32))
    assert declined <= 4


def test_attributes_before_operator_set_11() -> None:
    result = clips("b = Clip<min = 0.0>(a) c = Clip<min = -1.0, max = 6.0>(b)", opset=6)
    assert nodes(result) == "c = Clip<max=6.0, min=0.0>(a)\ny = Identity(c)"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("b = Clip(a, p) c = Clip(b, one)", "the bounds are not constant"),
        ("b = Clip(a, one) c = Clip(b, zero, p)", "the bounds are not constant"),
        ("b = Clip(a, one, zero) c = Clip(b, zero, one)", "a lower bound is above the upper one"),
        ("b = Clip(a, zero, one) c = Clip(b, one, zero)", "a lower bound is above the upper one"),
        ("b = Clip(a, nan, one) c = Clip(b, zero, one)", "a lower bound is above the upper one"),
        ("b = Clip(a, zero, one) c = Clip(b, minus, one)", "bounds are zeros of different signs"),
        (
            "b = Clip(a, one) c = Clip(b, , zero)",
            "the result is 0 for every number, which one Clip would not make of -0.0",
        ),
        (
            "b = Clip(a, , less) c = Clip(b, zero)",
            "the result is 0 for every number, which one Clip would not make of -0.0",
        ),
    ],
)
def test_reasons(body: str, reason: str) -> None:
    constants = {"zero": F32(0), "one": F32(1), "nan": F32(np.nan), "minus": F32(-0.0), "less": F32(-1)}
    result = clips(body, **{name: value for name, value in constants.items() if name in body})
    assert (result.changes, result.reasons) == (0, [reason])


def test_without_bounds_integers_are_as_before_and_floats_only_relaxed() -> None:
    assert nodes(clips("c = Clip(a)", kind="int32")) == "y = Identity(a)"
    exact = clips("c = Clip(a)")
    assert exact.reasons == ["Clip without bounds changes infinities; only with --math relaxed"]
    assert exact.declines[0].relaxed_gain == 1
    assert nodes(clips("c = Clip(a)", math="relaxed")) == "y = Identity(a)"


@pytest.mark.parametrize(
    ("body", "kind", "constants", "goes"),
    [
        ("c = Clip(a, l, h)", "float", {"l": F32(-np.inf), "h": F32(np.inf)}, True),
        ("c = Clip(a, l)", "uint8", {"l": np.uint8(0)}, True),
        ("c = Clip(a, l)", "int8", {"l": np.int8(0)}, False),
        ("c = Clip(a, l, h)", "int64", {"l": np.int64(-(1 << 63)), "h": np.int64((1 << 63) - 1)}, True),
        ("c = Clip(a, l, h)", "int64", {"l": np.int64(-(1 << 63)), "h": np.int64((1 << 63) - 2)}, False),
        ("c = Clip(a, l)", "float", {"l": F32(np.nan)}, False),
    ],
)
def test_bounds_that_are_none(body: str, kind: str, constants: dict[str, Any], goes: bool) -> None:
    result = clips(body, kind=kind, **constants)
    assert (nodes(result) == "y = Identity(a)", result.reasons) == (goes, [])


def test_the_first_version_has_no_default_bounds() -> None:
    source = model("g (float[N] a) => (float[N] y) { b = Clip(a) y = Neg(b) }", opset=5)
    assert nodes(outcome("merge-clips", source)) == "y = Neg(a)"
    source = model("g (float[N] a) => (float[N] y) { b = Clip(a) y = Neg(b) }", opset=6)
    assert outcome("merge-clips", source).changes == 0
