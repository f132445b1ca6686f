"""merge-casts: which inner casts lose nothing, and that every pair that is merged gives the same values."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import model

NUMBER = {
    name: TensorProto.DataType.Value(name.upper())
    for name in (
        "bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float",
        "double",
    )
}  # fmt: skip
FITS = "does not hold every"
DIFFERS = "for values that do not fit"


def cast_twice(source: str, between: str, wanted: str) -> Outcome:
    text = f"b = Cast<to = {NUMBER[between]}>(a) c = Cast<to = {NUMBER[wanted]}>(b) y = Identity(c)"
    return outcome("merge-casts", model(f"g ({source}[N] a) => ({wanted}[N] y) {{ {text} }}"))


@pytest.mark.parametrize(
    ("source", "between", "wanted"),
    [
        ("int32", "int64", "float"),
        ("int8", "int32", "int64"),
        ("uint8", "int16", "float16"),
        ("bool", "float", "int64"),
        ("bool", "bool", "float"),
        ("float16", "float", "double"),
        ("float", "double", "float16"),
        ("int64", "int64", "int8"),
        ("bfloat16", "float", "float16"),
        ("int16", "float", "int32"),
        ("int32", "int64", "bool"),
        ("int32", "double", "int64"),
        ("uint32", "int64", "int32"),
        ("float", "float", "int32"),
        ("float", "double", "bool"),
    ],
)
def test_an_inner_cast_that_loses_nothing_goes(source: str, between: str, wanted: str) -> None:
    result = cast_twice(source, between, wanted)
    assert nodes(result) == f"c = Cast<to={NUMBER[wanted]}>(a)\ny = Identity(c)"


@pytest.mark.parametrize(
    ("source", "between"),
    [
        ("float", "double"),
        ("float16", "float"),
        ("bfloat16", "double"),
        ("int32", "int64"),
        ("int32", "double"),
        ("uint8", "float16"),
        ("bool", "int8"),
        ("int16", "float"),
        ("uint32", "int64"),
        ("uint32", "double"),
    ],
)
def test_there_and_back_is_the_input(source: str, between: str) -> None:
    assert nodes(cast_twice(source, between, source)) == "y = Identity(a)"


@pytest.mark.parametrize(
    ("source", "between", "wanted", "reason"),
    [
        ("float", "float16", "float", FITS),
        ("float16", "bfloat16", "float", FITS),
        ("bfloat16", "float16", "float", FITS),
        ("int32", "float", "int32", FITS),
        ("int64", "double", "int64", FITS),
        ("uint64", "int64", "uint64", FITS),
        ("int8", "uint8", "int32", FITS),
        ("int16", "float16", "int32", FITS),
        ("float", "int64", "float", FITS),
        ("int32", "bool", "int32", FITS),
        ("float", "double", "int32", DIFFERS),
        ("int32", "double", "int8", DIFFERS),
        ("int8", "float", "uint8", DIFFERS),
    ],
)
def test_others_stay(source: str, between: str, wanted: str, reason: str) -> None:
    result = cast_twice(source, between, wanted)
    assert result.changes == 0
    assert [reason in given for given in result.reasons] == [True]


def extremes(name: str) -> Any:
    """Values of a type that other types round, wrap or lose."""
    if name == "bool":
        return np.array([False, True])
    dtype = np.dtype({"float": "float32", "double": "float64"}.get(name, name))
    if dtype.kind == "f":
        limits = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
        values = [0.0, -0.0, 1.5, -2.5, 3.0000001, 65519.0, limits.max, limits.smallest_subnormal, np.inf, np.nan]
        with np.errstate(over="ignore"):
            return np.array(values).astype(dtype)
    bounds = np.iinfo(dtype)
    values = {bounds.min, bounds.max, bounds.max - 1, 0, 1, min(bounds.max, 16777217), min(bounds.max, 4097)}
    return np.array(sorted(values), dtype)


RUNNABLE = [name for name in NUMBER if name != "bfloat16"]


@pytest.mark.parametrize("source", RUNNABLE)
def test_what_is_merged_gives_the_same_values(source: str) -> None:
    for between, wanted in itertools.product(RUNNABLE, RUNNABLE):
        result = cast_twice(source, between, wanted)
        if result.changes:
            assert_same_results(result, a=extremes(source))


def test_an_inner_cast_that_others_read_stays() -> None:
    source = model("""
        g (int32[N] a) => (float[N] y, int64[N] z) { b = Cast<to = 7>(a) y = Cast<to = 1>(b) z = Neg(b) }""")
    assert nodes(outcome("merge-casts", source)) == "b = Cast<to=7>(a)\ny = Cast<to=1>(a)\nz = Neg(b)"


def test_a_long_chain_ends_in_one() -> None:
    source = model("""
        g (int8[N] a, double d) => (double[N] y) {
            b = Cast<to = 5>(a) c = Cast<to = 6>(b) e = CastLike(c, d) y = CastLike(e, d)
        }""")
    assert nodes(outcome("merge-casts", source)) == "y = CastLike(a, d)"


def test_a_round_trip_that_is_an_output() -> None:
    source = model("g (float[N] a) => (float[N] y) { n = Neg(a) b = Cast<to = 11>(n) y = Cast<to = 1>(b) }")
    assert nodes(outcome("merge-casts", source)) == "y = Neg(a)"


def test_a_round_trip_from_input_to_output_stays() -> None:
    source = model("g (float[N] a) => (float[N] y) { b = Cast<to = 11>(a) y = Cast<to = 1>(b) }")
    assert outcome("merge-casts", source).reasons == ["'y' is a graph output and 'a' is not made by a node beside it"]


def test_narrow_types_stay() -> None:
    source = model("g (int4[N] a) => (float[N] y) { b = Cast<to = 3>(a) y = Cast<to = 1>(b) }", opset=21, ir_version=10)
    assert outcome("merge-casts", source).reasons == ["int8 does not hold every int4"]


def test_casts_in_different_graphs_stay_apart() -> None:
    source = model("""
        g (bool c, int32[N] a) => (float[N] y) {
            b = Cast<to = 7>(a)
            y = If (c) <
                then_branch = t () => (float[N] u) { u = Cast<to = 1>(b) },
                else_branch = e () => (float[N] v) { v = Cast<to = 1>(b) }
            >
        }""")
    assert outcome("merge-casts", source).changes == 0
