"""The row of Clip and Clamp."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset15 as ov
import pytest

from tests.passes.conversion import elementwise, harness, judged

INF = float("inf")
X = np.array([-INF, -7, -1.5, -0.0, 0.25, 1, 5, INF], np.float32)
LARGEST = np.finfo(np.float32).max


@pytest.mark.parametrize(("way", "case"), judged.parameters("Clip"))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    elementwise.judge(way, case, tmp_path)


@pytest.mark.parametrize("opset", [1, 6])
@pytest.mark.parametrize("attributes", [{"min": -1.0, "max": 0.5}, {"min": 0.0}, {"max": 1.0}, {}])
def test_bounds_as_attributes(opset: int, attributes: dict[str, float], tmp_path: Path) -> None:
    largest = INF if opset == 1 else LARGEST
    expected = np.clip(X, attributes.get("min", -largest), attributes.get("max", largest))
    model, inputs = judged.one_node("Clip", {"x": X}, opset=opset, **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[expected], rtol=0, atol=0)
    case = harness.Case("clip", model, inputs, [expected])
    harness.assert_close(harness.round_trip(case, tmp_path), [expected], rtol=0, atol=0)


def test_bounds_as_attributes_the_wrong_way_round(tmp_path: Path) -> None:
    model, _ = judged.one_node("Clip", {"x": X}, opset=6, min=2.0, max=1.0)
    judged.assert_refused_in_openvino(model, tmp_path, "its min 2.0 is not below its max 1.0")


def test_attributes_where_bounds_are_inputs(tmp_path: Path) -> None:
    model, _ = judged.one_node("Clip", {"x": X}, opset=11, min=1.0)
    judged.assert_refused_in_openvino(model, tmp_path, "its attribute 'min' does not exist in operator set 11")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8])
@pytest.mark.parametrize(("low", "high"), [(1, 5), (1, None), (None, 5), (None, None), (5, 1)])
@pytest.mark.parametrize("are_constant", [True, False])
def test_bounds_as_inputs(dtype: Any, low: int | None, high: int | None, are_constant: bool, tmp_path: Path) -> None:
    x = np.array([0, 1, 2, 5, 100], dtype)
    inputs: dict[str, Any] = {"x": x}
    for name, value in (("low", low), ("high", high)):
        inputs[name] = "" if value is None else np.array(value, dtype)
    names = [name for name in ("low", "high") if not isinstance(inputs[name], str)]
    expected = x if low is None else np.maximum(x, dtype(low))
    expected = expected if high is None else np.minimum(expected, dtype(high))
    model, values = judged.one_node(
        "Clip", inputs, opset=12, constants=names if are_constant else (), dynamic=["x"] if are_constant else ()
    )
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[expected], rtol=0, atol=0)
    case = harness.Case("clip", model, values, [expected])
    harness.assert_close(harness.round_trip(case, tmp_path), [expected], rtol=0, atol=0)


def test_which_operations_bounds_become(tmp_path: Path) -> None:
    def made(dtype: Any, *bounds: Any) -> list[tuple[str, dict[str, str]]]:
        inputs = dict(zip(("x", "low", "high"), (np.array([3], dtype), *bounds), strict=False))
        names = [name for name, value in inputs.items() if name != "x" and not isinstance(value, str)]
        model, _ = judged.one_node("Clip", inputs, opset=12, constants=names)
        return elementwise.layers(judged.converted_to_openvino(model, tmp_path))

    assert made(np.float32, np.float32(0), np.float32(6)) == [("Clamp", {"min": "0", "max": "6"})]
    assert made(np.float32, np.float32(0)) == [("Clamp", {"min": "0", "max": "3.4028234663852886e+38"})]
    assert made(np.float16, "", np.float16(0.1)) == [("Clamp", {"min": "-65504", "max": "0.0999755859375"})]
    assert made(np.float32, np.float32(-INF), np.float32(-0.0)) == [("Clamp", {"min": "-inf", "max": "-0"})]
    assert made(np.float32, np.array([0], np.float32), np.array([6], np.float32))[0][0] == "Clamp"
    assert [op for op, _ in made(np.int64, np.int64(0), np.int64(2**62 + 1))] == ["Maximum", "Minimum"]
    assert [op for op, _ in made(np.int32, np.int32(0))] == ["Maximum"]
    assert [op for op, _ in made(np.float32, np.float32("nan"), np.float32(1))] == ["Maximum", "Minimum"]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int32, np.int64, np.uint8])
@pytest.mark.parametrize(("low", "high"), [(-1.5, 1.5), (0.0, 6.0), (-INF, 3.0), (-3.5e38, 3.5e38), (2.0, INF)])
def test_to_onnx(dtype: Any, low: float, high: float, tmp_path: Path) -> None:
    values = np.array([0, 1, 2, 5, 100], dtype)
    if np.dtype(dtype).kind != "u":
        values[:2] = -2, -1
    x = ov.parameter([5], dtype)
    operators, (result,) = elementwise.run_in_onnx([ov.clamp(x, low, high)], [x], [values], tmp_path, opset=13)
    # Between fractions only the whole numbers are left to integers.
    ends = (low, high) if np.dtype(dtype).kind == "f" else (np.trunc(low), np.trunc(high))
    np.testing.assert_array_equal(result, np.clip(values.astype(np.float64), *ends).astype(dtype))
    assert operators == ["Clip"]


def test_clamps_that_have_no_clip(tmp_path: Path) -> None:
    x = ov.parameter([5], np.float32)
    with pytest.raises(judged.ModelError, match="is not below its max"):
        elementwise.run_in_onnx([ov.clamp(x, 0.5, 1.0)], [x], [], tmp_path, edits={'min="0.5"': 'min="3"'})
    x = ov.parameter([5], np.int32)
    judged.assert_refused_in_onnx([ov.clamp(x, 0.25, 0.75)], [x], tmp_path, "there is no int32 between its min 0.25")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", ["low", "high"])
@pytest.mark.parametrize("is_constant", [True, False])
def test_a_bound_that_is_left_out_is_the_largest_finite_number(
    dtype: Any, name: str, is_constant: bool, tmp_path: Path
) -> None:
    x = np.array([-INF, -1, 2, INF], dtype)
    inputs: dict[str, Any] = {"x": x, "low": "", "high": "", name: np.array(1, dtype)}
    model, values = judged.one_node("Clip", inputs, opset=13, constants=[name] if is_constant else ())
    largest = np.finfo(dtype).max
    expected = np.clip(x, -largest if name == "high" else dtype(1), largest if name == "low" else dtype(1))
    case = harness.Case("clip", model, values, [expected])
    harness.assert_close(harness.round_trip(case, tmp_path), [expected], rtol=0, atol=0)
