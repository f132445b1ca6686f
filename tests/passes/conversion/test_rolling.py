"""Roll and SliceScatter to ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset15 as ov
import pytest

from tests.passes.conversion.built import assert_converts

TYPES = [np.float32, np.float16, np.int32, np.int64, np.int8, np.bool_]
DATA = np.random.default_rng(0).integers(0, 9, (3, 4, 5))


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize(
    ("shifts", "axes"), [([1], [0]), ([2, -1], [0, 2]), ([3, -5, 1], [1, -1, 1]), ([0], [0]), ([8], [1])]
)
@pytest.mark.parametrize("dtype", TYPES)
def test_roll(dtype: Any, shifts: Any, axes: Any, is_dynamic: bool, tmp_path: Path) -> None:
    values = [DATA.astype(dtype), np.array(shifts), np.array(axes)]
    assert_converts(ov.roll, values, tmp_path, constants=[1, 2], is_dynamic=is_dynamic)
    if dtype is np.float32:
        assert_converts(ov.roll, values, tmp_path, constants=[2], is_dynamic=is_dynamic)


def test_one_shift_of_two_axes(tmp_path: Path) -> None:
    """Which OpenVINO's CPU does not run."""
    values = [DATA, np.array(2), np.array([0, -1])]
    for is_dynamic in (False, True):
        options: dict[str, Any] = {"is_dynamic": is_dynamic, "expected": [np.roll(DATA, (2, 2), (0, -1))]}
        assert_converts(ov.roll, values, tmp_path, constants=[1, 2], **options)
        assert_converts(ov.roll, values, tmp_path, constants=[2], **options)


def test_roll_of_nothing(tmp_path: Path) -> None:
    for is_dynamic in (False, True):
        values = [np.zeros((0, 2), np.float32), np.array([1]), np.array([0])]
        expected = [np.zeros((0, 2), np.float32)]
        assert_converts(ov.roll, values, tmp_path, constants=[1, 2], is_dynamic=is_dynamic, expected=expected)


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize(
    ("starts", "ends", "steps", "axes", "shape"),
    [
        ([1], [3], [1], [1], (3, 2, 5)),
        ([-1], [-100], [-2], [2], (3, 4, 3)),
        ([0, 1], [100, 4], [2, 2], [0, -1], (2, 4, 2)),
        ([1, 1, 1], [3, 3, 3], [1, 1, 1], None, (2, 2, 2)),
        ([2], [2], [1], [1], (3, 0, 5)),
    ],
)
@pytest.mark.parametrize("dtype", TYPES)
def test_slice_scatter(
    dtype: Any, starts: Any, ends: Any, steps: Any, axes: Any, shape: Any, is_dynamic: bool, tmp_path: Path
) -> None:
    updates = np.random.default_rng(1).integers(0, 9, shape).astype(dtype)
    lists = [np.array(item) for item in (starts, ends, steps, axes) if item is not None]
    values = [DATA.astype(dtype), updates, *lists]
    assert_converts(ov.slice_scatter, values, tmp_path, constants=range(2, 6), is_dynamic=is_dynamic)
