"""Rows of the Gather family."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset1 as ov1
import openvino.opset5 as ov5
import openvino.opset6 as ov6
import openvino.opset7 as ov7
import openvino.opset8 as ov8
import pytest

from tests.passes.conversion import bound, harness, judged


@pytest.mark.parametrize(("way", "case"), bound.parameters("Gather", "GatherElements", "GatherND"))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    bound.judge(way, case, tmp_path, opset=13)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_gather_by_a_scalar(axis: int, dtype: Any, tmp_path: Path) -> None:
    model, inputs = judged.one_node(
        "Gather", {"x": judged.floats(2, 3), "i": np.array(-1, dtype)}, opset=11, axis=axis, constants=["i"]
    )
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("made", [ov1, ov7, ov8])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_gather_to_onnx(made: Any, dtype: Any, tmp_path: Path) -> None:
    x, indices = ov8.parameter([2, 3, 4], np.float32), ov8.parameter([2, 2], dtype)
    picked = made.gather(x, indices, ov8.constant(np.array([1])))
    values = [judged.floats(2, 3, 4), np.array([[0, 2], [1, 1]], dtype)]
    judged.assert_same_in_onnx([picked], [x, indices], values, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("shape", "index_shape", "axis", "batch_dims"),
    [
        ([2, 3, 4], [2, 2], 1, 1),
        ([2, 3, 4], [2, 2], 2, 1),
        ([2, 3, 4, 5], [2, 3, 2], 3, -1),
        ([2, 3, 4, 5], [2, 1, 2], -1, 1),
        ([2, 3, 4], [2, 3], 2, 2),
        ([2, 3, 4], [2], -2, 1),
    ],
)
def test_gather_in_batches(
    shape: list[int], index_shape: list[int], axis: int, batch_dims: int, tmp_path: Path
) -> None:
    x, indices = ov8.parameter(shape, np.float32), ov8.parameter(index_shape, np.int32)
    values = [judged.floats(*shape), np.random.default_rng(0).integers(-3, 3, index_shape, np.int32)]
    picked = ov8.gather(x, indices, ov8.constant(np.array(axis)), batch_dims)
    judged.assert_same_in_onnx([picked], [x, indices], values, tmp_path, opset=13, rtol=0, atol=0)


def test_gather_refusals(tmp_path: Path) -> None:
    x, axis = ov8.parameter([2, 3], np.float32), ov8.parameter([], np.int64)
    for made in (ov1, ov7):
        picked = made.gather(x, ov8.constant(np.array([-1])), ov8.constant(np.array(0)))
        judged.assert_refused_in_onnx([picked], [x], tmp_path, "negative indices, which give 0 before version 8")
    picked = ov8.gather(x, ov8.constant(np.array([1])), axis)
    judged.assert_refused_in_onnx([picked], [x, axis], tmp_path, "its axis is computed at run time")


@pytest.mark.parametrize("made", [ov5, ov8])
@pytest.mark.parametrize("batch_dims", [0, 1, 2])
def test_gather_nd_to_onnx(made: Any, batch_dims: int, tmp_path: Path) -> None:
    x, indices = ov8.parameter([2, 3, 4, 5], np.float32), ov8.parameter([2, 3, 1], np.int32)
    values = [judged.floats(2, 3, 4, 5), np.array([0, -1, 1, 0, 1, 0], np.int32).reshape(2, 3, 1)]
    node = made.gather_nd(x, indices, batch_dims)
    judged.assert_same_in_onnx([node], [x, indices], values, tmp_path, opset=13, rtol=0, atol=0)


def test_gather_elements_to_onnx(tmp_path: Path) -> None:
    x, indices = ov6.parameter([2, 3], np.float32), ov6.parameter([2, 2], np.int32)
    values = [judged.floats(2, 3), np.array([[-1, 0], [1, 2]], np.int32)]
    judged.assert_same_in_onnx([ov6.gather_elements(x, indices, -1)], [x, indices], values, tmp_path, rtol=0, atol=0)
