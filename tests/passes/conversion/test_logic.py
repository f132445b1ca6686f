"""Rows of logic on booleans and bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset15 as ov
import pytest

from tests.passes.conversion import elementwise, harness, judged

BITWISE = ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot")
LOGICAL = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}
_BEYOND = ("shift_ge_width", "negative_shift")
_POWERS = "OpenVINO reads a shift as a multiplication or division by a power of two, and divides towards zero"
LIMITED = elementwise.every(
    ("onnx",),
    [
        *(f"bitshift_right_int8_{case}" for case in _BEYOND),
        *(f"bitshift_right_{kind}_negative_input" for kind in ("int8", "int32")),
        *(f"bitshift_{way}_int32_shift_ge_width" for way in ("left", "right")),
        "bitshift_right_int32_negative_shift",
    ],
    _POWERS,
)


@pytest.mark.parametrize(("way", "case"), judged.parameters(*LOGICAL, "Not", "BitShift"))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    elementwise.judge(way, case, tmp_path, limited=LIMITED)


@pytest.mark.parametrize(("way", "case"), judged.parameters(*BITWISE))
def test_node_cases_of_bitwise_ones(way: str, case: harness.Case, tmp_path: Path) -> None:
    if way == "onnx":
        with pytest.raises(judged.ModelError, match="does not exist in operator set 17"):
            harness.to_onnx(case, tmp_path, opset=17)
        harness.assert_close(harness.to_onnx(case, tmp_path, opset=18), case.outputs, rtol=0, atol=0)
        return
    elementwise.judge(way, case, tmp_path)


@pytest.mark.parametrize("op", LOGICAL)
def test_broadcasting_by_axis(op: str, tmp_path: Path) -> None:
    a, b = np.array([[[True, False], [True, False]]] * 2), np.array([True, False])
    model, inputs = judged.one_node(op, {"a": a, "b": b}, opset=6, broadcast=1, axis=1)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[LOGICAL[op](a, b[:, None])])


@pytest.mark.parametrize(
    ("operation", "operator"), [(ov.bitwise_and, "And"), (ov.bitwise_or, "Or"), (ov.bitwise_xor, "Xor")]
)
def test_bitwise_operations_on_booleans(operation: Any, operator: str, tmp_path: Path) -> None:
    values = np.array([[True], [False]]), np.array([True, False])
    a, b = ov.parameter([2, 1], np.bool_), ov.parameter([2], np.bool_)
    operators, (result,) = elementwise.run_in_onnx([operation(a, b)], [a, b], values, tmp_path, opset=13)
    np.testing.assert_array_equal(result, LOGICAL[operator](*values))
    assert operators == [operator]


def test_not_of_booleans_and_others(tmp_path: Path) -> None:
    x = ov.parameter([2], np.bool_)
    operators, _ = elementwise.run_in_onnx([ov.bitwise_not(x)], [x], [np.array([True, False])], tmp_path, opset=13)
    assert operators == ["Not"]
    x = ov.parameter([2], np.int32)
    judged.assert_refused_in_onnx([ov.logical_not(x)], [x], tmp_path, "Not of operator set 17 has no int32")


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint32])
def test_shifts(dtype: Any, tmp_path: Path) -> None:
    values = np.array([1, 100, 127, 5], dtype), np.array([1, 2, 7, 0], dtype)
    if np.dtype(dtype).kind == "i":
        values[0][1:3] = -100, -128
    a, b = (ov.parameter([4], dtype) for _ in range(2))
    results = [ov.bitwise_left_shift(a, b), ov.bitwise_right_shift(a, b)]
    _, actual = elementwise.run_in_onnx(results, [a, b], values, tmp_path, opset=14)
    harness.assert_close(actual, [values[0] << values[1], values[0] >> values[1]], rtol=0, atol=0)


def test_shifts_of_types_that_onnx_has_none_of(tmp_path: Path) -> None:
    import openvino

    a, b = (ov.parameter([4], openvino.Type.i4) for _ in range(2))
    shifted = [ov.bitwise_left_shift(a, b)]
    judged.assert_refused_in_onnx(shifted, [a, b], tmp_path, "ONNX shifts no int4", opset=21)


def test_a_known_amount_needs_no_check(tmp_path: Path) -> None:
    a, b = np.array([1, -2, 3], np.int32), np.array([1, 2, 31], np.int32)
    for amounts, count in ((b, 1), (b + 1, 5)):
        model, inputs = judged.one_node("BitShift", {"a": a, "b": amounts}, opset=28, constants=["b"], direction="LEFT")
        left = np.where(amounts < 32, a << (amounts & 31), 0)
        judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[left], rtol=0, atol=0)
        assert len(elementwise.layers(tmp_path / "made.xml")) == count


def test_a_direction_that_does_not_exist(tmp_path: Path) -> None:
    x = np.array([1], np.uint8)
    model, _ = judged.one_node("BitShift", {"a": x, "b": x}, opset=11, direction="UP")
    judged.assert_refused_in_openvino(model, tmp_path, "its direction 'UP' is neither LEFT nor RIGHT")
