"""Rows of the Scatter family."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset3 as ov3
import openvino.opset4 as ov4
import openvino.opset12 as ov12
import openvino.opset15 as ov15
import pytest

from tests.passes.conversion import bound, built, harness, judged


@pytest.mark.parametrize(("way", "case"), bound.parameters("Scatter", "ScatterElements", "ScatterND"))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    bound.judge(way, case, tmp_path, rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_elements_without_a_reduction(axis: int, tmp_path: Path) -> None:
    x, updates = ov3.parameter([2, 3], np.float32), ov3.parameter([2, 2], np.float32)
    indices = ov3.constant(np.array([[1, 0], [0, -1]], np.int32))
    node = ov3.scatter_elements_update(x, indices, updates, ov3.constant(np.array(axis)))
    values = [judged.floats(2, 3), judged.floats(2, 2, seed=1)]
    judged.assert_same_in_onnx([node], [x, updates], values, tmp_path, opset=13, rtol=0, atol=0)


@pytest.mark.parametrize("reduction", ["none", "sum", "prod", "min", "max"])
def test_elements_with_a_reduction(reduction: str, tmp_path: Path) -> None:
    x, updates = ov12.parameter([2, 3], np.float32), ov12.parameter([2, 3], np.float32)
    indices = ov12.constant(np.array([[1, 0, 2], [0, 2, 2]] if reduction != "none" else [[1, 0, 2], [2, 0, 1]]))
    node = ov12.scatter_elements_update(x, indices, updates, ov12.constant(np.array(1)), reduction, True)
    values = [judged.floats(2, 3), judged.floats(2, 3, seed=1)]
    judged.assert_same_in_onnx([node], [x, updates], values, tmp_path, opset=18, rtol=1e-6)


def test_refused_reductions(tmp_path: Path) -> None:
    x = ov12.parameter([2, 3], np.float32)
    operands = [x, ov12.constant(np.zeros((2, 3), np.int64)), x, ov12.constant(np.array(1))]
    for arguments, opset, reason in (
        (("mean", True), 13, "its reduction 'mean' needs operator set 16"),
        (("max", True), 17, "its reduction 'max' needs operator set 18"),
        (("sum", True), 13, "its reduction 'sum' needs operator set 16"),
    ):
        node = ov12.scatter_elements_update(*operands, *arguments)
        judged.assert_refused_in_onnx([node], [x], tmp_path, reason, opset=opset)


@pytest.mark.parametrize("reduction", [None, "none", "sum", "prod", "min", "max"])
def test_nd(reduction: str | None, tmp_path: Path) -> None:
    x, updates = ov15.parameter([4, 3], np.float32), ov15.parameter([3, 3], np.float32)
    indices = ov15.constant(np.array([[1], [3], [0 if reduction in (None, "none") else 1]], np.int32))
    made = ov4.scatter_nd_update if reduction is None else ov15.scatter_nd_update
    node = made(x, indices, updates, *([] if reduction is None else [reduction]))
    values = [judged.floats(4, 3), judged.floats(3, 3, seed=1)]
    judged.assert_same_in_onnx([node], [x, updates], values, tmp_path, opset=18, rtol=1e-6)


def test_subtraction_needs_an_operator_set(tmp_path: Path) -> None:
    x = ov15.parameter([2, 2], np.float32)
    node = ov15.scatter_nd_update(x, ov15.constant(np.array([[0], [1]])), x, "sub")
    judged.assert_refused_in_onnx([node], [x], tmp_path, "its reduction 'sub' needs operator set 16", opset=13)


@pytest.mark.parametrize(
    ("axis", "index_shape"), [(0, [2]), (1, [2]), (2, [2]), (-1, [2, 1]), (1, [1, 2]), (0, [1, 2])]
)
def test_update(axis: int, index_shape: list[int], tmp_path: Path) -> None:
    shape = [2, 3, 4]
    place = axis % 3
    update_shape = [*shape[:place], *index_shape, *shape[place + 1 :]]
    x, updates = ov3.parameter(shape, np.float32), ov3.parameter(update_shape, np.float32)
    indices = ov3.constant(np.array([1, 0], np.int32).reshape(index_shape))
    node = ov3.scatter_update(x, indices, updates, ov3.constant(np.array([axis])))
    values = [judged.floats(*shape), judged.floats(*update_shape, seed=1)]
    judged.assert_same_in_onnx([node], [x, updates], values, tmp_path, opset=13, rtol=0, atol=0)


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("includes", [False, True])
@pytest.mark.parametrize("reduction", ["sum", "prod", "min", "max", "mean"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_reductions_with_and_without_the_data(
    dtype: Any, reduction: str, includes: bool, is_dynamic: bool, tmp_path: Path
) -> None:
    data = np.random.default_rng(0).integers(-9, 9, (3, 4)).astype(dtype)
    places, axis = np.array([[0, 1, 0, 2], [0, 0, -1, 1]], np.int32), np.int64(0)
    updates = np.random.default_rng(1).integers(-9, 9, (2, 4)).astype(dtype)

    def make(*given: Any) -> Any:
        return ov12.scatter_elements_update(*given, reduction, includes)

    options: dict[str, Any] = {"constants": [3], "is_dynamic": is_dynamic, "opset": 18}
    if reduction == "mean" and dtype is np.int32:
        reason = "its reduction 'mean' of int32 is not covered"
        built.assert_refused(make, [data, places, updates, axis], tmp_path, reason, **options)
        return
    built.assert_converts(make, [data, places, updates, axis], tmp_path, rtol=1e-3, **options)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_updates_taken_away(dtype: Any, tmp_path: Path) -> None:
    data, updates = np.arange(12).reshape(3, 4).astype(dtype) + dtype(20), np.arange(12).reshape(3, 4).astype(dtype)
    places = np.array([[0], [2], [0]])
    built.assert_converts(lambda *given: ov15.scatter_nd_update(*given, "sub"), [data, places, updates], tmp_path)
