"""Rows of Softmax, LogSoftmax and Hardmax."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset1 as ov1
import openvino.opset8 as ov
import pytest

from tests.passes.conversion import elementwise, harness, judged

OPERATORS = ("Softmax", "LogSoftmax", "Hardmax")


def _along(op: str, x: Any, axis: int) -> Any:
    if op == "Hardmax":
        return np.moveaxis(np.arange(x.shape[axis]) == np.argmax(x, axis)[..., None], -1, axis) * 1.0
    shifted = x - x.max(axis, keepdims=True)
    sums = np.exp(shifted).sum(axis, keepdims=True)
    return np.exp(shifted) / sums if op == "Softmax" else shifted - np.log(sums)


@pytest.mark.parametrize(("way", "case"), judged.parameters("Softmax", "LogSoftmax"))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    elementwise.judge(way, case, tmp_path, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("way", "case"), judged.parameters("Hardmax"))
def test_node_cases_of_exact_ones(way: str, case: harness.Case, tmp_path: Path) -> None:
    elementwise.judge(way, case, tmp_path)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize(
    ("shape", "axis", "opset"),
    [
        ((2, 3, 4), None, 1), ((2, 3, 4), 0, 7), ((2, 3, 4), 2, 11), ((2, 3, 4), -2, 11), ((2, 3, 1, 1), 1, 11),
        ((2, 1, 1), 1, 9), ((2, 3), None, 11), ((3,), 0, 11),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_dynamic", [False, True])
def test_flattened(
    op: str, shape: tuple[int, ...], axis: int | None, opset: int, is_dynamic: bool, tmp_path: Path
) -> None:
    x = judged.floats(*shape)
    flat = x.reshape(int(np.prod(shape[: 1 if axis is None else axis % len(shape)])), -1)
    expected = [_along(op, flat, 1).reshape(shape)]
    model, inputs = judged.one_node(
        op, {"x": x}, opset=opset, dynamic=["x"] if is_dynamic else [], **({} if axis is None else {"axis": axis})
    )
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=expected)
    case = harness.Case(op, model, inputs, expected)
    harness.assert_close(harness.round_trip(case, tmp_path), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", OPERATORS)
def test_flattening_is_left_out_where_it_changes_nothing(op: str, tmp_path: Path) -> None:
    model, _ = judged.one_node(op, {"x": judged.floats(2, 3, 1, 1)}, opset=11)
    operations = [name for name, _ in elementwise.layers(judged.converted_to_openvino(model, tmp_path))]
    assert "Reshape" not in operations


@pytest.mark.parametrize("shape", [(2, 0, 3), (2, 3, 0)])
def test_flattening_nothing(shape: tuple[int, ...], tmp_path: Path) -> None:
    x = np.zeros(shape, np.float32)
    model, inputs = judged.one_node("Softmax", {"x": x}, opset=11)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[x])


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("axis", [-1, 1, 2])
def test_flattened_without_a_known_rank(op: str, axis: int, tmp_path: Path) -> None:
    x = judged.floats(2, 3, 4)
    model, inputs = judged.one_node(op, {"x": x}, opset=11, axis=axis)
    model.graph.input[0].type.tensor_type.ClearField("shape")
    path = judged.converted_to_openvino(model, tmp_path)
    # OpenVINO's CPU wants to know what the conversion did not.
    path.write_text(path.read_text().replace('shape="..."', 'shape="2,3,4"'))
    flat = x.reshape(2, 12) if axis == 1 else x
    actual = harness.run_openvino(path, inputs)
    harness.assert_close(actual, [_along(op, flat, -1).reshape(x.shape)], rtol=1e-5, atol=1e-6)


def test_a_negative_axis_without_a_known_rank(tmp_path: Path) -> None:
    model, _ = judged.one_node("Softmax", {"x": judged.floats(2, 3)}, opset=11, axis=-2)
    model.graph.input[0].type.tensor_type.ClearField("shape")
    judged.assert_refused_in_openvino(model, tmp_path, "the rank of input 0 is not known")


def test_an_axis_that_does_not_exist(tmp_path: Path) -> None:
    model, _ = judged.one_node("Softmax", {"x": judged.floats(2)}, opset=11)
    judged.assert_refused_in_openvino(model, tmp_path, "axis 1 is outside its input of rank 1")


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("axis", [None, 0, 1, -2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_along_one_axis(op: str, axis: int | None, dtype: Any, tmp_path: Path) -> None:
    x = judged.floats(2, 3, 4).astype(dtype)
    model, inputs = judged.one_node(op, {"x": x}, opset=13, dynamic=["x"], **({} if axis is None else {"axis": axis}))
    expected = _along(op, x.astype(np.float64), -1 if axis is None else axis).astype(dtype)
    tolerance = 5e-3 if dtype == np.float16 else 1e-5
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[expected], rtol=tolerance, atol=tolerance)


def test_the_first_of_equals(tmp_path: Path) -> None:
    x = np.array([[1, 3, 3, 2], [0, 0, 0, 0], [-np.inf, np.inf, 0, np.inf]], np.float32)
    model, inputs = judged.one_node("Hardmax", {"x": x}, opset=13)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[_along("Hardmax", x, 1)], rtol=0, atol=0)


@pytest.mark.parametrize(("operation", "axis"), [(ov1.softmax, 1), (ov.softmax, -2), (ov.log_softmax, -1)])
def test_to_onnx(operation: Any, axis: int, tmp_path: Path) -> None:
    x = ov.parameter([2, 3, 4], np.float32)
    values = [judged.floats(2, 3, 4)]
    judged.assert_same_in_onnx([operation(x, axis)], [x], values, tmp_path, opset=13, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("operation", "axis"), [(ov1.softmax, 0), (ov.softmax, 1), (ov.log_softmax, 1)])
def test_a_missing_axis(operation: Any, axis: int, tmp_path: Path) -> None:
    x, values = ov.parameter([2, 3, 4], np.float32), judged.floats(2, 3, 4)
    edits = {'<data axis="2" />': "<data />"}
    _, actual = elementwise.run_in_onnx([operation(x, 2)], [x], [values], tmp_path, edits=edits)
    op = "LogSoftmax" if operation is ov.log_softmax else "Softmax"
    harness.assert_close(actual, [_along(op, values, axis)], rtol=1e-5, atol=1e-6)
    again = harness.run_openvino(tmp_path / "edited.xml", [values])
    harness.assert_close(again, actual, rtol=1e-5, atol=1e-6)


def test_a_negative_axis_of_the_first_version(tmp_path: Path) -> None:
    x = ov.parameter([2, 3], np.float32)
    with pytest.raises(judged.ModelError, match="its axis -1 is negative, which its version does not have"):
        elementwise.run_in_onnx([ov1.softmax(x, 1)], [x], [], tmp_path, edits={'axis="1"': 'axis="-1"'})
