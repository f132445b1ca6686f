"""How the benchmark compares results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.judge import compare


def _floats(*values: float) -> Any:
    return np.array(values, np.float32)


def test_the_same_bits_are_the_same() -> None:
    assert compare([_floats(1, -0.0, np.inf)], [_floats(1, -0.0, np.inf)]).same


def test_any_nan_equals_any_nan() -> None:
    other = np.array([0x7FC00001, 0xFFC00000], np.uint32).view(np.float32)
    assert compare([_floats(np.nan, np.nan)], [other]).same


def test_zeros_of_different_sign_differ_by_nothing() -> None:
    found = compare([_floats(0.0)], [_floats(-0.0)])
    assert not found.same
    assert (found.max_abs, found.max_rel) == (0.0, 0.0)


def test_a_difference_is_measured() -> None:
    found = compare([_floats(2, 100, np.nan)], [_floats(2.5, 101, np.nan)])
    assert not found.same
    assert (found.max_abs, found.max_rel) == (1.0, 0.25)


@pytest.mark.parametrize(("before", "after"), [(np.nan, 1.0), (1.0, np.nan), (np.inf, 1.0), (np.inf, -np.inf)])
def test_a_special_value_against_another_is_infinitely_far(before: float, after: float) -> None:
    found = compare([_floats(before)], [_floats(after)])
    assert not found.same
    assert found.max_abs == np.inf


@pytest.mark.parametrize(
    ("before", "after", "detail"),
    [
        ([_floats(1)], [], "1 values became 0"),
        ([_floats(1)], [np.array([1.0])], "dtype float32 became float64"),
        ([_floats(1)], [_floats(1, 1)], r"shape [1] became [2]"),
        ([np.array(["a"], object)], [np.array(["b"], object)], "strings differ"),
        ([np.array([True])], [np.array([False])], "booleans differ"),
    ],
)
def test_a_difference_of_kind_is_named(before: list[Any], after: list[Any], detail: str) -> None:
    found = compare(before, after)
    assert not found.same
    assert found.detail == detail


def test_integers_are_measured() -> None:
    found = compare([np.array([4, 8])], [np.array([4, 10])])
    assert (found.same, found.max_abs, found.max_rel) == (False, 2.0, 0.25)


def test_sequences_and_maps_are_compared_by_value() -> None:
    assert compare([[_floats(1), _floats(2)]], [[_floats(1), _floats(2)]]).same
    assert not compare([[_floats(1), _floats(2)]], [[_floats(2), _floats(1)]]).same
    assert compare([[{1: 0.5, 2: 0.25}]], [[{2: 0.25, 1: 0.5}]]).same
    assert not compare([[{1: 0.5}]], [[{1: 0.75}]]).same
