"""Rows of LeakyRelu and PRelu."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import openvino.opset15 as ov
import pytest

from tests.passes.conversion import elementwise, harness, judged


@pytest.mark.parametrize(("way", "case"), judged.parameters("LeakyRelu", "PRelu"))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    elementwise.judge(way, case, tmp_path)


def _expected(x: Any, slope: Any) -> Any:
    return np.where(x < 0, x * slope, x)


def _slope(*shape: int) -> Any:
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize(
    ("x_shape", "slope_shape"),
    [
        ((1, 4, 2, 4), (4,)),
        ((1, 3, 2, 4), (4,)),
        ((2, 4, 4), (4,)),
        ((2, 4), (4,)),
        ((4,), (4,)),
        ((1, 4, 2, 4), (4, 1, 1)),
        ((1, 4, 2, 4), (1,)),
        ((1, 4, 2, 4), ()),
        ((1, 4, 2, 4), (2, 4)),
        ((1, 4, 2, 4), (1, 4, 2, 1)),
    ],
)
@pytest.mark.parametrize("is_constant", [True, False])
def test_slopes_from_the_right(
    x_shape: tuple[int, ...], slope_shape: tuple[int, ...], is_constant: bool, tmp_path: Path
) -> None:
    x, slope = judged.floats(*x_shape), _slope(*slope_shape)
    model, inputs = judged.one_node(
        "PRelu", {"x": x, "slope": slope}, opset=16, constants=["slope"] if is_constant else []
    )
    expected = [_expected(x, slope)]
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=expected, rtol=0, atol=0)
    case = harness.Case("prelu", model, inputs, expected)
    harness.assert_close(harness.round_trip(case, tmp_path, opset=13), expected, rtol=0, atol=0)


@pytest.mark.parametrize("opset", [1, 6])
@pytest.mark.parametrize(("x_shape", "length"), [((1, 4, 2, 4), 4), ((1, 3, 2, 4), 3), ((2, 4), 4), ((2, 3, 4), 1)])
def test_slopes_along_the_channels(opset: int, x_shape: tuple[int, ...], length: int, tmp_path: Path) -> None:
    x, slope = judged.floats(*x_shape), _slope(length)
    attributes = {"consumed_inputs": [0, 1]} if opset == 1 else {}
    model, inputs = judged.one_node("PRelu", {"x": x, "slope": slope}, opset=opset, constants=["slope"], **attributes)
    expected = [_expected(x, slope.reshape(-1, *[1] * (len(x_shape) - 2)))]
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=expected, rtol=0, atol=0)
    case = harness.Case("prelu", model, inputs, expected)
    harness.assert_close(harness.round_trip(case, tmp_path, opset=13), expected, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("x_shape", "slope_shape"),
    [
        ((1, 4, 2, 4), (4,)),
        ((1, 3, 2, 4), (4,)),
        ((1, 4, 2, 4), (2, 1)),
        ((2, 4), (4,)),
        ((4,), (4,)),
        ((2, 3, 4), (1,)),
    ],
)
def test_to_onnx(x_shape: tuple[int, ...], slope_shape: tuple[int, ...], tmp_path: Path) -> None:
    x, slope = ov.parameter(list(x_shape), np.float32), ov.constant(_slope(*slope_shape))
    values = [judged.floats(*x_shape)]
    judged.assert_same_in_onnx([ov.prelu(x, slope)], [x], values, tmp_path, opset=13, rtol=1e-6, atol=0)


def test_a_slope_of_one_element_is_leaky_relu(tmp_path: Path) -> None:
    x = ov.parameter(openvino.PartialShape([-1, -1]), np.float32)
    values = np.array([[-2, 3]], np.float32)
    prelu = ov.prelu(x, ov.constant(np.full((1, 1, 1), 0.25, np.float32)))
    operators, (result,) = elementwise.run_in_onnx([prelu], [x], [values], tmp_path)
    np.testing.assert_array_equal(result, [[-0.5, 3]])
    assert operators == ["LeakyRelu"]


def test_a_slope_of_one_element_of_another_type(tmp_path: Path) -> None:
    x = ov.parameter([2, 3, 4], np.float64)
    prelu = ov.prelu(x, ov.constant(np.array([0.1])))
    path = judged.converted_to_onnx([prelu], [x], tmp_path, 13)
    assert [node.op_type for node in onnx.load(path).graph.node] == ["PRelu"]


def test_slopes_whose_axis_is_not_known(tmp_path: Path) -> None:
    x = ov.parameter(openvino.PartialShape([1, -1, 2, 4]), np.float32)
    slope = ov.constant(_slope(4))
    judged.assert_refused_in_onnx([ov.prelu(x, slope)], [x], tmp_path, "as many elements as its data has channels")
    x = ov.parameter(openvino.PartialShape.dynamic(), np.float32)
    judged.assert_refused_in_onnx([ov.prelu(x, slope)], [x], tmp_path, "the rank of input 0 is not known")
    x = ov.parameter([4], np.float32)
    judged.assert_refused_in_onnx(
        [ov.prelu(x, ov.constant(_slope(1, 4)))], [x], tmp_path, "its slope has 2 dimensions and its data 1"
    )


def test_leaky_relu_before_operator_set_6(tmp_path: Path) -> None:
    x = judged.floats(2, 3)
    model, inputs = judged.one_node("LeakyRelu", {"x": x}, opset=1, consumed_inputs=[0])
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[_expected(x, np.float32(0.01))], rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int32])
def test_other_types(dtype: Any, tmp_path: Path) -> None:
    x, slope = np.array([[-3, 2, -1]], dtype), np.array([2, 3, 4], dtype)
    model, inputs = judged.one_node("PRelu", {"x": x, "slope": slope}, opset=9)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[_expected(x, slope)], rtol=0, atol=0)
