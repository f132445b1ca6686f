"""Rows of Slice and StridedSlice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset1 as ov
import openvino.opset8 as ov8
import pytest

from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert
from tests.passes.conversion import bound, harness, judged


@pytest.mark.parametrize(("way", "case"), bound.parameters("Slice"))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    bound.judge(way, case, tmp_path, opset=13)


@pytest.mark.parametrize("axes", [None, [1, 0]])
def test_slice_by_attributes(axes: list[int] | None, tmp_path: Path) -> None:
    values = judged.floats(4, 5)
    attributes: dict[str, Any] = {"starts": [1, -3], "ends": [1000, -1]}
    expected = values[1:, -3:-1]
    if axes is not None:
        attributes["axes"], expected = axes, values[-3:-1, 1:]
    model, inputs = judged.one_node("Slice", {"x": values}, opset=1, **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[expected], rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("is_constant", [True, False])
def test_slice_without_steps_or_axes(dtype: Any, is_constant: bool, tmp_path: Path) -> None:
    bounds = {"starts": np.array([0, 1], dtype), "ends": np.array([2, np.iinfo(np.int32).max], dtype)}
    model, inputs = judged.one_node(
        "Slice", {"x": judged.floats(4, 5), **bounds}, opset=10, constants=list(bounds) if is_constant else []
    )
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("has_axes", [True, False])
def test_slice_to_onnx(has_axes: bool, tmp_path: Path) -> None:
    x = ov.parameter([4, 5], np.float32)
    start, stop, step = (ov.constant(np.array(item, np.int32)) for item in ([-1, 0], [-100, 4], [-2, 3]))
    axes = [ov.constant(np.array([1, 0], np.int64))] if has_axes else []
    sliced = ov8.slice(x, start, stop, step, *axes)
    judged.assert_same_in_onnx([sliced], [x], [judged.floats(4, 5)], tmp_path, rtol=0, atol=0)


# begin, end, strides and the masks begin, end, new_axis, shrink_axis, ellipsis, of data of 2, 3 and 4 elements.
_CUTS: list[tuple[list[int], ...]] = [
    ([0, 1, 0], [2, 3, 4], [1, 1, 2], [0, 0, 0], [0, 0, 0], [], [], []),
    ([1, 2, 1], [0, 0, 3], [1, 1, 1], [0, 1, 0], [0, 0, 0], [], [1, 1, 0], []),
    ([1, 2], [2, 3], [1, 1], [1, 1], [0, 0], [], [0, 1], []),
    ([-1], [0], [-1], [0], [0], [], [1], []),
    ([-1, -1], [-9, -9], [-1, -1], [0, 0], [0, 0], [], [], []),
    ([0, 0], [0, 0], [-1, -2], [1, 1], [1, 1], [], [], []),
    ([-9, 5], [1, 9], [1, 1], [0, 0], [0, 0], [], [], []),
    ([0, 0, 1], [0, 0, 2], [1, 1, 1], [0, 0, 0], [0, 0, 0], [1, 1, 0], [], [0, 1, 0]),
    ([0, 0, -1], [0, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 0], [], [0, 0, 1], [0, 1, 0]),
    ([0, 1, 0], [0, 2, 0], [1, 1, 1], [0, 0, 0], [0, 0, 1], [1, 0, 0], [], []),
    ([0, 0, 0, 1], [0, 0, 0, 3], [1, 1, 1, 2], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [], [0, 1, 0, 0]),
    ([0], [0], [1], [0], [0], [1], [], []),
    ([0], [0], [1], [0], [0], [], [], [1]),
    ([1, 0], [0, 2], [1, 1], [0], [0], [], [1], []),
]


@pytest.mark.parametrize("cut", _CUTS)
@pytest.mark.parametrize("is_constant", [True, False])
def test_strided_slice_to_onnx(cut: tuple[list[int], ...], is_constant: bool, tmp_path: Path) -> None:
    begin, end, strides, *masks = cut
    x = ov.parameter([2, 3, 4], np.float32)
    bounds = [np.array(item, np.int64) for item in (begin, end)]
    operands = [ov.constant(item) if is_constant else ov.parameter([len(item)], np.int64) for item in bounds]
    constants = [ov.constant(item) for item in bounds]
    values = judged.floats(2, 3, 4)
    openvino.serialize(
        openvino.Model([ov.strided_slice(x, *constants, ov.constant(np.array(strides)), *masks)], [x]),
        tmp_path / "constant.xml",
    )
    expected = harness.run_openvino(tmp_path / "constant.xml", [values])
    sliced = ov.strided_slice(x, *operands, ov.constant(np.array(strides)), *masks)
    parameters = [x] if is_constant else [x, *operands]
    inputs = [values] if is_constant else [values, *bounds]
    judged.assert_same_in_onnx([sliced], parameters, inputs, tmp_path, expected=expected, rtol=0, atol=0)


def test_strided_slice_of_unknown_rank(tmp_path: Path) -> None:
    x = ov.parameter(openvino.PartialShape.dynamic(), np.float32)
    begin, end, strides = (ov.constant(np.array(item)) for item in ([1, 0], [2, -1], [1, 1]))
    sliced = ov.strided_slice(x, begin, end, strides, [0, 0], [0, 0], [], [1, 0], [])
    # onnx's checker wants graph inputs to have a rank, ONNX Runtime does not.
    openvino.serialize(openvino.Model([sliced], [x]), tmp_path / "made.xml")
    save(convert(load(tmp_path / "made.xml"), to="onnx"), tmp_path / "made.onnx")
    values = judged.floats(2, 3, 4)
    harness.assert_close(harness.run_onnx(tmp_path / "made.onnx", [values]), [values[1, :-1]], rtol=0, atol=0)


def test_strides_say_how_many_entries_there_are(tmp_path: Path) -> None:
    values = [judged.floats(3, 4), np.array([1, -1]), np.array([3, 0])]
    x = ov.parameter(openvino.PartialShape([-1, -1]), np.float32)
    begin, end = (ov.parameter(openvino.PartialShape([-1]), np.int64) for _ in range(2))
    cut = ov.strided_slice(x, begin, end, ov.constant(np.array([1, -2])), [0, 0], [0, 0])
    judged.assert_same_in_onnx([cut], [x, begin, end], values, tmp_path, rtol=0, atol=0)


def test_strided_slice_refusals(tmp_path: Path) -> None:
    x = ov.parameter([2, 3], np.float32)
    unknown = ov.parameter(openvino.PartialShape([-1]), np.int64)
    known, strides = ov.parameter([2], np.int64), ov.parameter([2], np.int64)
    cut = ov.strided_slice(x, unknown, unknown, unknown, [0], [0])
    judged.assert_refused_in_onnx([cut], [x, unknown], tmp_path, "the length of its begin is not known")
    cut = ov.strided_slice(x, known, known, strides, [0], [0])
    judged.assert_refused_in_onnx([cut], [x, known, strides], tmp_path, "its strides are computed at run time")
