"""Rows of comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset15 as ov
import pytest

from tests.passes.conversion import elementwise, harness, judged

FUNCTIONS = {
    "Equal": np.equal, "Less": np.less, "LessOrEqual": np.less_equal, "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
}  # fmt: skip
_STRINGS = ("equal_string", "equal_string_broadcast")
LIMITED = elementwise.every(("openvino",), _STRINGS, "OpenVINO's CPU does not compare strings")
REFUSED = elementwise.every(("onnx",), _STRINGS, "Equal of operator set 17 has no string")


@pytest.mark.parametrize(("way", "case"), judged.parameters(*FUNCTIONS))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    elementwise.judge(way, case, tmp_path, limited=LIMITED, refused=REFUSED)


@pytest.mark.parametrize("op", FUNCTIONS)
def test_nan_and_infinities(op: str, tmp_path: Path) -> None:
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1], np.float32)
    model, inputs = judged.one_node(op, {"a": special[:, None], "b": special}, opset=16)
    expected = [FUNCTIONS[op](special[:, None], special)]
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=expected)
    case = harness.Case(op, model, inputs, expected)
    harness.assert_close(harness.round_trip(case, tmp_path, opset=13), expected, rtol=0, atol=0)


@pytest.mark.parametrize("op", ["Equal", "Less", "Greater"])
@pytest.mark.parametrize("opset", [1, 6])
def test_broadcasting_by_axis(op: str, opset: int, tmp_path: Path) -> None:
    dtype = np.int32 if op == "Equal" else np.float32
    a, b = np.arange(8).reshape(2, 2, 2).astype(dtype), np.array([2, 5], dtype)
    model, inputs = judged.one_node(op, {"a": a, "b": b}, opset=opset, broadcast=1, axis=1)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[FUNCTIONS[op](a, b[:, None])])


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_not_equal(dtype: Any, tmp_path: Path) -> None:
    values = np.array([[1, 0], [0, 1]], dtype), np.array([1, 1], dtype)
    if dtype == np.float32:
        values[0][0, 0] = values[1][0] = np.nan
    a, b = ov.parameter([2, 2], dtype), ov.parameter([2], dtype)
    operators, (result,) = elementwise.run_in_onnx([ov.not_equal(a, b)], [a, b], values, tmp_path, opset=13)
    np.testing.assert_array_equal(result, values[0] != values[1])
    assert operators == ["Equal", "Not"]


def test_booleans_have_no_order(tmp_path: Path) -> None:
    a, b = (ov.parameter([2], np.bool_) for _ in range(2))
    judged.assert_refused_in_onnx([ov.less(a, b)], [a, b], tmp_path, "Less of operator set 17 has no bool")
