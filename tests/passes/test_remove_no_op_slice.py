"""remove-no-op-slice: what provably takes everything goes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import model

INT64_MAX = (1 << 63) - 1
INT32_MAX = (1 << 31) - 1


def sliced(*lists: Sequence[int], a: str = "4,N", kind: type = np.int64) -> Outcome:
    names = [f"l{index}" for index in range(len(lists))]
    source = model(
        f"g (float[{a}] a) => (float[A,B] y) {{ b = Slice(a, {', '.join(names)}) y = Neg(b) }}",
        constants={name: np.array(values, kind) for name, values in zip(names, lists, strict=True)},
    )
    return outcome("remove-no-op-slice", source)


A = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize(
    "lists",
    [
        ([0], [4]),
        ([0], [4], [0], [1]),
        ([0, 0], [INT64_MAX, INT64_MAX]),
        ([0], [INT64_MAX], [1]),
        ([0], [INT32_MAX], [-1]),
        ([-INT64_MAX], [INT64_MAX], [1]),
        ([-4], [100], [-2], [1]),
        ([], [], []),
    ],
)
def test_everything(lists: Sequence[Sequence[int]]) -> None:
    result = sliced(*lists)
    assert nodes(result) == "y = Neg(a)"
    assert_same_results(result, a=A)


@pytest.mark.parametrize(
    "lists",
    [
        ([0], [4], [0], [-1]),
        ([3], [-100], [0], [-1]),
        ([1], [INT64_MAX], [1]),
        ([0], [-1], [1]),
        ([0], [3], [1]),
        ([0], [INT64_MAX], [1], [2]),
        ([0], [3], [0]),
        ([-1], [INT64_MAX], [1]),
    ],
)
def test_not_everything(lists: Sequence[Sequence[int]]) -> None:
    result = sliced(*lists)
    assert (result.changes, result.reasons) == (0, [])


def test_bounds_of_32_bits() -> None:
    assert nodes(sliced([0], [INT32_MAX], [1], kind=np.int32)) == "y = Neg(a)"


@pytest.mark.parametrize(
    ("inputs", "call", "goes"),
    [
        ("int64[1] e", "Slice(a, zero, e, axis)", False),
        ("int64[1] s", "Slice(a, s, end, axis)", False),
        ("int64[1] s", "Slice(a, zero, end, axis, s)", False),
        ("int64[1] s", "Slice(a, zero, end, s)", True),
        ("float[N] o", "Slice(a, zero, n, axis)", True),
    ],
)
def test_bounds_that_are_not_constant(inputs: str, call: str, goes: bool) -> None:
    source = model(
        f"g (float[4,N] a, {inputs}) => (float[A,B] y) {{ m = Shape(a) n = Gather(m, axis) b = {call} y = Neg(b) }}",
        constants={"zero": np.array([0]), "end": np.array([INT64_MAX]), "axis": np.array([1])},
    )
    # An axis that is not known does not matter where nothing is cut, but the file cannot say so to the rule.
    assert (outcome("remove-no-op-slice", source).changes == 1) is (goes and "o" in inputs)


@pytest.mark.parametrize(
    ("attributes", "goes"),
    [
        ("starts = [0], ends = [9223372036854775807], axes = [1]", True),
        ("starts = [0, 0], ends = [4, 2147483647]", True),
        ("starts = [0], ends = [3], axes = [0]", False),
    ],
)
def test_attributes_before_operator_set_10(attributes: str, goes: bool) -> None:
    source = model(f"g (float[4,N] a) => (float[A,B] y) {{ b = Slice<{attributes}>(a) y = Neg(b) }}", opset=9)
    assert (nodes(outcome("remove-no-op-slice", source)) == "y = Neg(a)") is goes


def test_between_input_and_output_it_stays() -> None:
    source = model(
        "g (float[N] a) => (float[N] y) <int64[1] s = {0}, int64[1] e = {2147483647}> { y = Slice(a, s, e) }"
    )
    assert outcome("remove-no-op-slice", source).reasons == [
        "'y' is a graph output and 'a' is not made by a node beside it"
    ]
