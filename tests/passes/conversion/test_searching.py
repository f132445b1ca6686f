"""Bucketize and SearchSorted to ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset15 as ov
import pytest

from tests.passes.conversion.built import assert_converts

TYPES = [np.float32, np.float16, np.int32, np.int64, np.int8, np.uint8]


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("is_right", [False, True])
@pytest.mark.parametrize("bounds", [np.float32, np.int32])
@pytest.mark.parametrize("dtype", TYPES)
def test_buckets(dtype: Any, bounds: Any, is_right: bool, is_dynamic: bool, tmp_path: Path) -> None:
    values = [np.array([[1, 0, 1, 2], [3, 5, 100, 4]], dtype), np.array([0, 1, 1, 3, 5], bounds)]
    kind = "i32" if is_dynamic else "i64"
    assert_converts(lambda x, b: ov.bucketize(x, b, kind, is_right), values, tmp_path, is_dynamic=is_dynamic)


@pytest.mark.parametrize("is_right", [False, True])
@pytest.mark.parametrize("bounds", [[0, 1], []])
def test_special_numbers_in_buckets(bounds: list[int], is_right: bool, tmp_path: Path) -> None:
    values = [np.array([np.nan, np.inf, -np.inf, -0.0], np.float32), np.array(bounds, np.float32)]
    assert_converts(lambda x, b: ov.bucketize(x, b, "i64", is_right), values, tmp_path, constants=[1])


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("is_right", [False, True])
@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_sorted_sequences(dtype: Any, is_shared: bool, is_right: bool, is_dynamic: bool, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    ordered = np.sort(random.integers(0, 5, (2, 3, 6)), axis=-1).astype(dtype)
    values = [ordered[0, 0] if is_shared else ordered, random.integers(0, 7, (2, 3, 4)).astype(dtype)]
    assert_converts(lambda s, v: ov.search_sorted(s, v, is_right), values, tmp_path, is_dynamic=is_dynamic)
