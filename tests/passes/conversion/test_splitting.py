"""Rows of Concat, Split and VariadicSplit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino
import openvino.opset1 as ov
import pytest

from tests.passes.conversion import bound, harness, judged

# OpenVINO drops an input of which no element is used.
_WITHOUT_ELEMENTS = bound.both(
    {("onnx", f"split_zero_size_splits_opset{opset}"): "its input is gone" for opset in (13, 18)}
)


@pytest.mark.parametrize(("way", "case"), bound.parameters("Concat", "Split"))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    bound.judge(way, case, tmp_path, limited=_WITHOUT_ELEMENTS, opset=13 if len(case.outputs) % 2 else 18)


def test_concat_without_an_axis(tmp_path: Path) -> None:
    a, b = judged.floats(2, 3), judged.floats(2, 1, seed=1)
    model, inputs = judged.one_node("Concat", {"a": a, "b": b}, opset=1)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[np.concatenate([a, b], 1)], rtol=0, atol=0)


@pytest.mark.parametrize("opset", [1, 2, 11])
@pytest.mark.parametrize("lengths", [None, [1, 3]])
def test_split_by_attribute(opset: int, lengths: list[int] | None, tmp_path: Path) -> None:
    values = judged.floats(2, 4)
    attributes = {"axis": 1} if lengths is None else {"axis": 1, "split": lengths}
    model, inputs = judged.one_node("Split", {"x": values}, opset=opset, outputs=2, **attributes)
    expected = np.split(values, [2 if lengths is None else lengths[0]], 1)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=expected, rtol=0, atol=0)


def test_split_by_input_before_version_2(tmp_path: Path) -> None:
    values = judged.floats(4)
    model, inputs = judged.one_node(
        "Split", {"x": values, "split": np.array([1, 3], np.float32)}, opset=1, outputs=2, constants=["split"]
    )
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=np.split(values, [1]), rtol=0, atol=0)


@pytest.mark.parametrize(("length", "parts"), [(7, 3), (6, 3), (5, 1), (7, 2)])
def test_split_into_a_number_of_parts(length: int, parts: int, tmp_path: Path) -> None:
    model, inputs = judged.one_node(
        "Split", {"x": judged.floats(2, length)}, opset=18, outputs=parts, axis=-1, num_outputs=parts
    )
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


def test_split_of_an_unknown_dimension(tmp_path: Path) -> None:
    model, inputs = judged.one_node("Split", {"x": judged.floats(4)}, opset=13, outputs=2, dynamic=["x"])
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("opset", [13, 17, 18, 21])
@pytest.mark.parametrize("count", [1, 2])
def test_split_to_onnx(opset: int, count: int, tmp_path: Path) -> None:
    x = ov.parameter([2, 4], np.float32)
    node = ov.split(x, ov.constant(np.array(-1, np.int32)), count)
    judged.assert_same_in_onnx(list(node.outputs()), [x], [judged.floats(2, 4)], tmp_path, opset=opset, rtol=0, atol=0)


@pytest.mark.parametrize("dimension", [6, -1])
@pytest.mark.parametrize("lengths", [[1, 2, 3], [1, -1, 2], [6]])
@pytest.mark.parametrize("is_constant", [True, False])
def test_variadic_split_to_onnx(dimension: int, lengths: list[int], is_constant: bool, tmp_path: Path) -> None:
    x = ov.parameter(openvino.PartialShape([2, dimension]), np.float32)
    values = np.array(lengths, np.int32)
    operand = ov.constant(values) if is_constant else ov.parameter([len(lengths)], np.int32)
    node = ov.variadic_split(x, ov.constant(np.array(1)), operand)
    parameters = [x] if is_constant else [x, operand]
    inputs = [judged.floats(2, 6)] if is_constant else [judged.floats(2, 6), values]
    judged.assert_same_in_onnx(list(node.outputs()), parameters, inputs, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("opset", [13, 21])
def test_concat_to_onnx(opset: int, tmp_path: Path) -> None:
    a, b = ov.parameter([2, 3], np.float32), ov.parameter([2, 1], np.float32)
    values = [judged.floats(2, 3), judged.floats(2, 1)]
    judged.assert_same_in_onnx([ov.concat([a, b], -1)], [a, b], values, tmp_path, opset=opset, rtol=0, atol=0)


@pytest.mark.parametrize(("length", "parts"), [(4, 2), (5, 2), (7, 3), (3, 3), (0, 2)])
def test_parts_of_a_length_that_is_not_known(length: int, parts: int, tmp_path: Path) -> None:
    model, inputs = judged.one_node(
        "Split", {"x": judged.floats(2, length)}, opset=18, outputs=parts, axis=-1, num_outputs=parts, dynamic=["x"]
    )  # fmt: skip
    size = -(-length // parts)
    expected = [inputs[0][:, size * part : size * (part + 1)] for part in range(parts)]
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=expected, rtol=0, atol=0)
