"""Rows of operators that make tensors of shapes and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset1 as ov1
import openvino.opset3 as ov3
import openvino.opset9 as ov9
import openvino.opset12 as ov12
import pytest
from onnx import helper

from tests.passes.conversion import bound, harness, judged

# Neither judge takes bfloat16 from Python.
_BFLOAT16 = bound.both({(way, "range_bfloat16_type_positive_delta"): "bfloat16" for way in judged.WAYS})


@pytest.mark.parametrize(
    ("way", "case"), bound.parameters("Shape", "Size", "ConstantOfShape", "Range", "EyeLike", "NonZero")
)
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    rtol = 1e-6 if case.operators == {"Range"} else 0
    bound.judge(way, case, tmp_path, limited=_BFLOAT16, rtol=rtol, opset=13)


@pytest.mark.parametrize(("start", "end"), [(0, 2), (-2, -1), (1, 100), (-100, 1), (2, 1), (None, 1), (1, None)])
def test_part_of_an_unknown_shape(start: int | None, end: int | None, tmp_path: Path) -> None:
    bounds: dict[str, Any] = {key: value for key, value in (("start", start), ("end", end)) if value is not None}
    model, inputs = judged.one_node("Shape", {"x": judged.floats(2, 3, 4)}, opset=15, dynamic=["x"], **bounds)
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


def test_bounds_of_a_shape_need_their_version(tmp_path: Path) -> None:
    model, _ = judged.one_node("Shape", {"x": judged.floats(2, 3)}, opset=13)
    model.graph.node[0].attribute.append(helper.make_attribute("start", 1))
    judged.assert_refused_in_openvino(model, tmp_path, "its attribute 'start' does not exist in operator set 13")


def test_shape_of_to_onnx(tmp_path: Path) -> None:
    x = ov1.parameter(openvino.PartialShape([-1, 3]), np.float32)
    results = [ov1.shape_of(x), ov3.shape_of(x, "i32"), ov3.shape_of(x, "i64")]
    judged.assert_same_in_onnx(results, [x], [judged.floats(2, 3)], tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int32, np.uint8, np.bool_])
@pytest.mark.parametrize("shape", [[2, 3], [0], []])
def test_constant_of_shape(dtype: Any, shape: list[int], tmp_path: Path) -> None:
    value = helper.make_tensor("value", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [1], [1])
    model, inputs = judged.one_node("ConstantOfShape", {"shape": np.array(shape, np.int64)}, opset=9, value=value)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[np.ones(shape, dtype)], rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64, np.int16])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_range(dtype: Any, shape: tuple[int, ...], tmp_path: Path) -> None:
    numbers = {name: np.full(shape, value, dtype) for name, value in (("start", 9), ("limit", 1), ("delta", -2))}
    model, inputs = judged.one_node("Range", numbers, opset=11)
    expected = [np.arange(9, 1, -2).astype(dtype)]
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=expected, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("dtype", "result"),
    [
        (np.float32, "f32"),
        (np.int32, "i32"),
        (np.int64, "f32"),
        (np.int32, "i64"),
        (np.int64, "u8"),
        (np.float16, "f16"),
        (np.int32, "f16"),
    ],
)
@pytest.mark.parametrize("opset", [13, 21])
def test_range_to_onnx(dtype: Any, result: str, opset: int, tmp_path: Path) -> None:
    parameters = [ov12.parameter([], dtype) for _ in range(3)]
    node = ov12.range(*parameters, result)
    values = [np.array(value, dtype) for value in (1, 10, 2)]
    judged.assert_same_in_onnx([node], parameters, values, tmp_path, opset=opset, rtol=0, atol=0)


def test_range_of_version_1_to_onnx(tmp_path: Path) -> None:
    parameters = [ov1.parameter([], np.float32) for _ in range(3)]
    values = [np.array(value, np.float32) for value in (0, 1, 0.25)]
    judged.assert_same_in_onnx([ov1.range(*parameters)], parameters, values, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("result", ["f16", "f32", "f64"])
@pytest.mark.parametrize(
    "values",
    [
        (np.float32(0.5), np.int32(5), np.float32(1.25)),
        (np.int32(0), np.float32(5.5), np.int64(2)),
        (np.int32(1), np.int32(9), np.int32(3)),
        (np.float16(0.5), np.float32(4), np.float16(0.5)),
        (np.float32(4), np.float32(-1), np.float32(-0.5)),
    ],
)
def test_range_of_floats_made_of_several_types(values: Any, result: str, tmp_path: Path) -> None:
    parameters = [ov12.parameter([], value.dtype) for value in values]
    node = ov12.range(*parameters, result)
    inputs = [np.asarray(value) for value in values]
    judged.assert_same_in_onnx([node], parameters, inputs, tmp_path, rtol=1e-6, atol=0)


def test_range_of_integers_made_of_floats_is_refused(tmp_path: Path) -> None:
    parameters = [ov12.parameter([], np.float32) for _ in range(3)]
    node = ov12.range(*parameters, "i64")
    judged.assert_refused_in_onnx([node], parameters, tmp_path, "which ONNX does not")


@pytest.mark.parametrize("diagonal", [-1, 0, 2])
@pytest.mark.parametrize("result", ["f32", "i32", "i64", "u8", "f16"])
@pytest.mark.parametrize("batch", [None, [2], [2, 1]])
def test_eye_to_onnx(diagonal: int, result: str, batch: list[int] | None, tmp_path: Path) -> None:
    rows = ov9.parameter([], np.int32)
    extra = [] if batch is None else [np.array(batch, np.int32)]
    node = ov9.eye(rows, np.array(4, np.int32), np.array(diagonal, np.int32), result, *extra)
    eye = np.broadcast_to(np.eye(3, 4, diagonal), [*(batch or []), 3, 4]).astype(
        {"f32": np.float32, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "f16": np.float16}[result]
    )
    judged.assert_same_in_onnx([node], [rows], [np.array(3, np.int32)], tmp_path, expected=[eye], rtol=0, atol=0)


@pytest.mark.parametrize("result", ["i32", "i64"])
def test_non_zero_to_onnx(result: str, tmp_path: Path) -> None:
    x = ov3.parameter([2, 3], np.float32)
    values = np.array([[0, 1, 0], [2, 0, -0.0]], np.float32)
    judged.assert_same_in_onnx([ov3.non_zero(x, result)], [x], [values], tmp_path, rtol=0, atol=0)
