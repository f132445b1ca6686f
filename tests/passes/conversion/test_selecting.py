"""Rows of TopK, Unique, OneHot and Trilu."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset1 as ov1
import openvino.opset3 as ov3
import openvino.opset10 as ov10
import openvino.opset11 as ov11
import openvino.opset16 as ov16
import pytest

from tests.passes.conversion import bound, built, harness, judged

_BFLOAT16 = {
    (way, case)
    for way in judged.WAYS
    for case in ("onehot_with_bfloat16_values", "unique_bfloat16_sorted_without_axis")
}
_LIMITED = bound.both(
    {
        **dict.fromkeys(_BFLOAT16, "neither judge takes bfloat16 from Python"),
    }
)


@pytest.mark.parametrize(("way", "case"), bound.parameters("TopK", "Unique", "OneHot", "Trilu"))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    bound.judge(way, case, tmp_path, limited=_LIMITED)


@pytest.mark.parametrize(
    ("opset", "attributes"), [(1, {"k": 3}), (1, {"k": 2, "axis": 0}), (10, {}), (11, {"largest": 0, "sorted": 0})]
)
def test_versions_of_top_k(opset: int, attributes: dict[str, Any], tmp_path: Path) -> None:
    values = np.random.default_rng(0).permutation(20).astype(np.float32).reshape(4, 5)
    operands = {"x": values} if opset < 10 else {"x": values, "k": np.array([3])}
    model, inputs = judged.one_node("TopK", operands, opset=opset, outputs=2, **attributes)
    count, axis = attributes.get("k", 3), attributes.get("axis", -1)
    order = np.argsort(values if attributes.get("largest") == 0 else -values, axis, "stable")
    indices = np.take(order, range(count), axis)
    expected = [np.take_along_axis(values, indices, axis), indices]
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=expected, rtol=0, atol=0)


@pytest.mark.parametrize("mode", ["max", "min"])
@pytest.mark.parametrize("sort", ["value", "index", "none"])
@pytest.mark.parametrize("made", [ov1, ov3, ov11])
def test_top_k_to_onnx(mode: str, sort: str, made: Any, tmp_path: Path) -> None:
    x = ov1.parameter([4, 5], np.float32)
    node = made.topk(x, np.array(3, np.int32), 1, mode, sort)
    values = np.random.default_rng(0).permutation(20).astype(np.float32).reshape(4, 5)
    judged.assert_same_in_onnx(list(node.outputs()), [x], [values], tmp_path, opset=13, rtol=0, atol=0)


@pytest.mark.parametrize("axis", [None, 1, -2])
@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("result", ["i32", "i64"])
def test_unique_to_onnx(axis: int | None, is_sorted: bool, result: str, tmp_path: Path) -> None:
    x = ov10.parameter([2, 4], np.float32)
    extra = [] if axis is None else [np.array(axis)]
    node = ov10.unique(x, *extra, sorted=is_sorted, index_element_type=result, count_element_type=result)
    values = np.array([[3, 1, 3, 2], [3, 1, 3, 2]], np.float32)
    judged.assert_same_in_onnx(list(node.outputs()), [x], [values], tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int32, np.bool_, np.float16])
@pytest.mark.parametrize("constants", [["i", "depth", "values"], ["depth"]])
def test_one_hot(dtype: Any, constants: list[str], tmp_path: Path) -> None:
    operands = {"i": np.array([-3, -1, 0, 2, 5, -9]), "depth": np.array([3]), "values": np.array([0, 1], dtype)}
    model, inputs = judged.one_node("OneHot", operands, opset=11, constants=constants)
    expected = np.zeros((6, 3), dtype)
    expected[[0, 1, 2, 3], [0, 2, 0, 2]] = 1
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[expected], rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int32, np.float16])
@pytest.mark.parametrize("mode", [None, "ignore_negative", "normalize"])
@pytest.mark.parametrize("is_constant", [True, False])
def test_one_hot_to_onnx(dtype: Any, mode: str | None, is_constant: bool, tmp_path: Path) -> None:
    indices, values = ov1.parameter([4], np.int32), np.array([-1, 0, 2, 3], np.int32)
    numbers = [np.array(5, dtype), np.array(1, dtype)]
    operands = numbers if is_constant else [ov1.parameter([], dtype) for _ in numbers]
    arguments = (indices, np.array(3, np.int32), *operands, 0)
    node = ov1.one_hot(*arguments) if mode is None else ov16.one_hot(*arguments, negative_indices_mode=mode)
    parameters = [indices] if is_constant else [indices, *operands]
    inputs = [values] if is_constant else [values, *numbers]
    expected = np.full((3, 4), 1, dtype)
    expected[[0, 2], [1, 2]] = 5
    if mode == "normalize":
        expected[2, 0] = 5
    judged.assert_same_in_onnx([node], parameters, inputs, tmp_path, expected=[expected], rtol=0, atol=0)


@pytest.mark.parametrize("mode", ["max", "min"])
def test_the_largest_of_the_widest_integers(mode: str, tmp_path: Path) -> None:
    values = np.array([3, 2**63, 2**64 - 1, 0, 2**63 - 1], np.uint64)
    expected = np.sort(values)[::-1][:3] if mode == "max" else np.sort(values)[:3]
    order = np.argsort(values)[::-1][:3] if mode == "max" else np.argsort(values)[:3]
    built.assert_converts(
        lambda x: ov11.topk(x, np.int64(3), 0, mode, "value", "i64"), [values], tmp_path, expected=[expected, order]
    )
