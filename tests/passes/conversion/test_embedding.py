"""The EmbeddingBag family, EmbeddingSegmentsSum and SegmentMax to ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset3 as ov3
import openvino.opset15 as ov
import openvino.opset16 as ov16
import pytest

from tests.passes.conversion.built import assert_converts

TABLE = np.random.default_rng(0).integers(-8, 8, (5, 3, 2)).astype(np.float32) / 4
PLACES = np.array([0, 2, 3, 4, 1, 1])
# The second bag is empty.
OFFSETS = np.array([0, 2, 2, 4])
WEIGHTS = np.array([0.5, 2, 3, -1, 1.5, 2])
TABLES = [TABLE, TABLE[:, 0, 0], TABLE[:, :, 0].astype(np.float16), (TABLE * 4).astype(np.int32)]


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("table", TABLES, ids=str)
@pytest.mark.parametrize("default", [None, 1, -1])
def test_bags_by_offsets(default: int | None, table: Any, kind: Any, is_dynamic: bool, tmp_path: Path) -> None:
    values = [table, PLACES.astype(kind), OFFSETS.astype(kind), *([] if default is None else [kind(default)])]
    assert_converts(ov3.embedding_bag_offsets_sum, values, tmp_path, constants=[3], is_dynamic=is_dynamic)


@pytest.mark.parametrize("default", [1, -1])
def test_weights(default: int, tmp_path: Path) -> None:
    """The default row has none."""
    values = [TABLE, PLACES, OFFSETS, np.int64(default), WEIGHTS.astype(np.float32)]
    assert_converts(ov3.embedding_bag_offsets_sum, values, tmp_path, constants=[3], rtol=1e-6)


def test_a_default_that_is_computed(tmp_path: Path) -> None:
    assert_converts(ov3.embedding_bag_offsets_sum, [TABLE, PLACES, OFFSETS, np.int64(2)], tmp_path)


def test_numbers_of_one_bag_reach_no_other(tmp_path: Path) -> None:
    table = TABLE.copy()
    table[0], table[1] = np.nan, np.inf
    assert_converts(ov3.embedding_bag_offsets_sum, [table, PLACES, OFFSETS], tmp_path)


def test_rows_before_the_first_bag(tmp_path: Path) -> None:
    assert_converts(ov3.embedding_bag_offsets_sum, [TABLE, PLACES, np.array([1, 3])], tmp_path)


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_bags_with_a_reduction(reduction: str, is_dynamic: bool, tmp_path: Path) -> None:
    assert_converts(
        lambda t, i, o, d: ov.embedding_bag_offsets(t, i, o, d, reduction=reduction),
        [TABLE, PLACES, OFFSETS, np.int64(1)], tmp_path, constants=[3], is_dynamic=is_dynamic, rtol=1e-6,
    )  # fmt: skip
    assert_converts(
        lambda t, i: ov.embedding_bag_packed(t, i, reduction=reduction),
        [TABLE, PLACES.reshape(2, 3)], tmp_path, is_dynamic=is_dynamic, rtol=1e-6,
    )  # fmt: skip


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_packed_bags(table: Any, tmp_path: Path) -> None:
    places, weights = PLACES.reshape(2, 3), WEIGHTS.astype(table.dtype).reshape(2, 3)
    assert_converts(ov3.embedding_bag_packed_sum, [table, places], tmp_path, is_dynamic=True, rtol=1e-6)
    assert_converts(ov3.embedding_bag_packed_sum, [table, places, weights], tmp_path, rtol=1e-3)


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_segments(table: Any, is_dynamic: bool, tmp_path: Path) -> None:
    values = [table, PLACES, np.array([0, 0, 1, 3, 3, 3]), np.int64(5), np.int64(2)]
    for count in (4, 5):
        assert_converts(ov3.embedding_segments_sum, values[:count], tmp_path, constants=[3, 4], is_dynamic=is_dynamic)


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("mode", ["ZERO", "LOWEST"])
@pytest.mark.parametrize("count", [None, 2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int8])
def test_the_largest_of_segments(dtype: Any, count: int | None, mode: str, is_dynamic: bool, tmp_path: Path) -> None:
    data = np.random.default_rng(0).integers(-9, 9, (3, 4)).astype(dtype)
    lowest = np.finfo(dtype).min if np.issubdtype(dtype, np.floating) else np.iinfo(dtype).min
    nothing = np.full(4, 0 if mode == "ZERO" else lowest, dtype)
    expected = np.stack([data[0], nothing, data[1:].max(axis=0), nothing])[: 3 if count is None else count]
    values = [data, np.array([0, 2, 2], np.int32), *([] if count is None else [np.int32(count)])]

    def make(*given: Any) -> Any:
        return ov16.segment_max(*given, fill_mode=mode)

    options: dict[str, Any] = {"constants": [2], "is_dynamic": is_dynamic, "opset": 18}
    assert_converts(make, values, tmp_path, expected=[expected], **options)
