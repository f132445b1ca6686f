"""Rows of elementwise operators with one input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset15 as ov
import pytest

from tests.passes.conversion import elementwise, harness, judged

EXACT = ("Abs", "Neg", "Sign", "Ceil", "Floor", "Round", "IsNaN", "IsInf")
ROUNDED = (
    "Reciprocal", "Sqrt", "Exp", "Log", "Erf", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh",
    "Acosh", "Atanh",
)  # fmt: skip
SPECIAL = np.array([np.inf, -np.inf, np.nan, 0, -0.0, 1.5], np.float32)


@pytest.mark.parametrize(("way", "case"), judged.parameters(*EXACT))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    elementwise.judge(way, case, tmp_path)


@pytest.mark.parametrize(("way", "case"), judged.parameters(*ROUNDED))
def test_node_cases_of_rounded_ones(way: str, case: harness.Case, tmp_path: Path) -> None:
    elementwise.judge(way, case, tmp_path, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", ["Abs", "Neg", "Ceil", "Floor", "Exp", "Log", "Sqrt", "Reciprocal"])
def test_the_hint_of_the_first_operator_set(op: str, tmp_path: Path) -> None:
    function: Any = {"Neg": np.negative}.get(op) or getattr(np, op.lower())
    x = np.abs(judged.floats(2, 3)) + 1
    model, inputs = judged.one_node(op, {"x": x}, opset=1, consumed_inputs=[0])
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[function(x)], rtol=1e-5)


def test_an_operator_older_than_itself(tmp_path: Path) -> None:
    model, _ = judged.one_node("Sign", {"x": judged.floats(3)}, opset=8)
    judged.assert_refused_in_openvino(model, tmp_path, "it does not exist in operator set 8")


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.int32, np.int64])
@pytest.mark.parametrize("op", ["Abs", "Neg", "Sign"])
def test_other_types(op: str, dtype: Any, tmp_path: Path) -> None:
    x = np.array([-3, 0, 100, 7], dtype)
    function = {"Abs": np.abs, "Neg": np.negative, "Sign": np.sign}[op]
    model, inputs = judged.one_node(op, {"x": x}, opset=13)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[function(x)], rtol=0, atol=0)


@pytest.mark.parametrize("operation", [ov.ceiling, ov.floor, lambda x: ov.round(x, "half_to_even")])
def test_integers_are_their_own_rounding(operation: Any, tmp_path: Path) -> None:
    values = np.array([-3, 0, 1 << 30], np.int32)
    x = ov.parameter([3], np.int32)
    operators, (result,) = elementwise.run_in_onnx([operation(x)], [x], [values], tmp_path)
    np.testing.assert_array_equal(result, values)
    assert operators == ["Identity"]


def test_operations_on_integers_that_onnx_has_for_others(tmp_path: Path) -> None:
    x = ov.parameter([3], np.int32)
    judged.assert_refused_in_onnx([ov.sqrt(x)], [x], tmp_path, "Sqrt of operator set 17 has no int32")
    x = ov.parameter([3], np.uint8)
    judged.assert_refused_in_onnx([ov.negative(x)], [x], tmp_path, "Neg of operator set 17 has no uint8")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_half_away_from_zero(dtype: Any, tmp_path: Path) -> None:
    below_half = np.nextafter(dtype(0.5), dtype(0))
    values = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, below_half, -below_half, 0.2, -0.8, *SPECIAL, 8388607.5], dtype)
    expected = np.array([1, 2, 3, -1, -2, -3, 0, 0, 0, -1, np.inf, -np.inf, np.nan, 0, 0, 2, 8388608], dtype)
    x = ov.parameter([len(values)], dtype)
    rounded = [ov.round(x, "half_away_from_zero")]
    _, (result,) = elementwise.run_in_onnx(rounded, [x], [values], tmp_path, opset=13)
    np.testing.assert_array_equal(result, expected)


def test_a_mode_of_round_that_does_not_exist(tmp_path: Path) -> None:
    x = ov.parameter([3], np.float32)
    edits = {'mode="half_to_even"': 'mode="up"'}
    with pytest.raises(judged.ModelError, match="its mode 'up' is not covered"):
        elementwise.run_in_onnx([ov.round(x, "half_to_even")], [x], [], tmp_path, edits=edits)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("opset", [13, 21])
def test_kinds_of_numbers(dtype: Any, opset: int, tmp_path: Path) -> None:
    values = SPECIAL.astype(dtype)
    x = ov.parameter([len(values)], dtype)
    results = [ov.is_nan(x), ov.is_inf(x), ov.is_finite(x)]
    _, actual = elementwise.run_in_onnx(results, [x], [values], tmp_path, opset=opset)
    harness.assert_close(actual, [np.isnan(values), np.isinf(values), np.isfinite(values)], rtol=0, atol=0)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("positive", [False, True])
def test_one_kind_of_infinity(negative: bool, positive: bool, tmp_path: Path) -> None:
    expected = [(np.isposinf(SPECIAL) & positive) | (np.isneginf(SPECIAL) & negative)]
    model, inputs = judged.one_node(
        "IsInf", {"x": SPECIAL}, opset=13, detect_negative=int(negative), detect_positive=int(positive)
    )
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=expected)
    case = harness.Case("is_inf", model, inputs, expected)
    harness.assert_close(harness.round_trip(case, tmp_path), expected, rtol=0, atol=0)


def test_erf_of_integers(tmp_path: Path) -> None:
    model, _ = judged.one_node("Erf", {"x": np.array([1], np.int32)}, opset=9)
    judged.assert_refused_in_openvino(model, tmp_path, "type INT32 has gone")


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_reciprocal_of_other_types(dtype: Any, tmp_path: Path) -> None:
    x = np.array([[0.5, -4, 3]], dtype)
    model, inputs = judged.one_node("Reciprocal", {"x": x}, opset=13, dynamic=["x"])
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[1 / x], rtol=1e-3)
