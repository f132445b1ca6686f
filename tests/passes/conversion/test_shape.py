"""Rows that keep the elements and change the shape."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset1 as ov
import openvino.opset15 as ov15
import pytest
from onnx import TensorProto, helper

from tests.passes.conversion import bound, harness, judged


@pytest.mark.parametrize(("way", "case"), bound.parameters("Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze"))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    # Dimensions of 0 are copied before; axes computed at run time become a Reshape that copies none.
    needs_14 = "allowzero" in case.name or (way == "round" and "unsqueeze" in case.name)
    bound.judge(way, case, tmp_path, limited={}, opset=14 if needs_14 else 13)


@pytest.mark.parametrize(
    ("op", "opset", "attributes", "shape", "result"),
    [
        ("Reshape", 1, {"shape": [0, -1], "consumed_inputs": [0]}, (2, 3, 1), (2, 3)),
        ("Squeeze", 1, {"axes": [0, 2]}, (1, 2, 1, 1), (2, 1)),
        ("Squeeze", 11, {"axes": [-1]}, (1, 2, 1), (1, 2)),
        ("Squeeze", 1, {}, (1, 2, 1), (2,)),
        ("Unsqueeze", 1, {"axes": [0, 3]}, (2, 3), (1, 2, 3, 1)),
        ("Unsqueeze", 11, {"axes": [-1, 0]}, (2, 3), (1, 2, 3, 1)),
        ("Flatten", 1, {"axis": 2}, (2, 3, 4), (6, 4)),
    ],
)
def test_attribute_forms(
    op: str, opset: int, attributes: dict[str, Any], shape: tuple[int, ...], result: tuple[int, ...], tmp_path: Path
) -> None:
    values = judged.floats(*shape)
    model, inputs = judged.one_node(op, {"x": values}, opset=opset, **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[values.reshape(result)], rtol=0, atol=0)


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 0, 4)])
def test_flatten_of_unknown_dimensions(axis: int, shape: tuple[int, ...], tmp_path: Path) -> None:
    model, inputs = judged.one_node("Flatten", {"x": judged.floats(*shape)}, opset=13, axis=axis, dynamic=["x"])
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("opset", [13, 21])
def test_unsqueeze_of_a_scalar_axis(opset: int, tmp_path: Path) -> None:
    """As the function of AffineGrid has it; every runtime takes it."""
    inputs = {"x": judged.floats(2, 3), "axes": np.int64(1)}
    model, feeds = judged.one_node("Unsqueeze", inputs, opset=opset, constants=["axes"])
    case = harness.Case("scalar", model, feeds, [inputs["x"][:, None]])
    for run in (harness.to_openvino, harness.round_trip):
        harness.assert_close(run(case, tmp_path), case.outputs, rtol=0, atol=0)


def test_empty_axes_are_refused(tmp_path: Path) -> None:
    inputs = {"x": judged.floats(1, 2), "axes": np.zeros(0, np.int64)}
    model, _ = judged.one_node("Squeeze", inputs, opset=13, constants=["axes"])
    judged.assert_refused_in_openvino(model, tmp_path, "its axes are an empty list, which is read in two ways")


@pytest.mark.parametrize(
    ("target", "special_zero", "opset", "shape"),
    [
        ([3, -1], False, 13, (2, 3)),
        ([0, 5], False, 14, (0, 3)),
        ([0, 3, -1], True, 13, (2, 6)),
        ([], False, 13, (1,)),
    ],
)
def test_reshape_to_onnx(
    target: list[int], special_zero: bool, opset: int, shape: tuple[int, ...], tmp_path: Path
) -> None:
    x = ov.parameter(list(shape), np.float32)
    reshaped = ov.reshape(x, np.array(target, np.int32), special_zero)
    expected = [judged.floats(*shape).reshape([2 if dim == 0 and special_zero else dim for dim in target])]
    judged.assert_same_in_onnx(
        [reshaped], [x], [judged.floats(*shape)], tmp_path, opset=opset, expected=expected, rtol=0, atol=0
    )


def test_reshape_refused_in_onnx(tmp_path: Path) -> None:
    x, target = ov.parameter([0, 3], np.float32), ov.parameter([2], np.int64)
    fixed = ov.reshape(x, ov.constant(np.array([0, -1])), False)
    judged.assert_refused_in_onnx([fixed], [x], tmp_path, "has a 0 that is meant as such beside a -1")
    computed = ov.reshape(x, target, False)
    judged.assert_refused_in_onnx([computed], [x, target], tmp_path, "needs operator set 14", opset=13)


def test_reshape_to_a_computed_shape(tmp_path: Path) -> None:
    x, target = ov.parameter([2, 3], np.float32), ov.parameter([2], np.int32)
    values = [judged.floats(2, 3), np.array([3, -1], np.int32)]
    for special_zero in (True, False):
        judged.assert_same_in_onnx([ov.reshape(x, target, special_zero)], [x, target], values, tmp_path, rtol=0, atol=0)


def test_transpose_without_an_order(tmp_path: Path) -> None:
    x = ov.parameter([2, 3, 4], np.float32)
    reversed_ = ov.transpose(x, np.zeros(0, np.int64))
    judged.assert_same_in_onnx([reversed_], [x], [judged.floats(2, 3, 4)], tmp_path, rtol=0, atol=0)
    order = ov.parameter([3], np.int64)
    judged.assert_refused_in_onnx([ov.transpose(x, order)], [x, order], tmp_path, "its order is computed at run time")


@pytest.mark.parametrize(
    ("shape", "axes", "skips"),
    [
        ([1, 2, 1], [0, 1], None),
        ([1, 2, 1], [1], None),
        ([1, 2, 1], None, False),
        ([1, 2, 1], [], None),
        ([1, 2, 1], [-1, 1], True),
        ([1, 2, 1], [-1], False),
    ],
)
def test_squeeze_to_onnx(shape: list[int], axes: list[int] | None, skips: bool | None, tmp_path: Path) -> None:
    x = ov.parameter(shape, np.float32)
    operands = [x] if axes is None else [x, np.array(axes, np.int32)]
    squeezed = ov.squeeze(*operands) if skips is None else ov15.squeeze(*operands, allow_axis_skip=skips)
    judged.assert_same_in_onnx([squeezed], [x], [judged.floats(*shape)], tmp_path, rtol=0, atol=0)


def test_skipped_axes_of_unknown_length_are_refused(tmp_path: Path) -> None:
    axes = ov.constant(np.array([0]))
    for shape in (openvino.PartialShape([-1, 2]), openvino.PartialShape.dynamic()):
        x = ov.parameter(shape, np.float32)
        squeezed = ov15.squeeze(x, axes, allow_axis_skip=True)
        judged.assert_refused_in_onnx([squeezed], [x], tmp_path, "allow_axis_skip is 'true' and the shape is not known")
    computed = ov.parameter([1], np.int64)
    squeezed = ov15.squeeze(x, computed, allow_axis_skip=True)
    judged.assert_refused_in_onnx([squeezed], [x, computed], tmp_path, "its axes are computed at run time")


@pytest.mark.parametrize("axes", [[3, -4, 2], [0], [-1]])
def test_unsqueeze_to_onnx(axes: list[int], tmp_path: Path) -> None:
    x = ov.parameter([2, 3], np.float32)
    wider = ov.unsqueeze(x, ov.constant(np.array(axes, np.int32)))
    judged.assert_same_in_onnx([wider], [x], [judged.floats(2, 3)], tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("opset", [13, 17])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_flatten_without_elements(shape: tuple[int, int], axis: int, opset: int, tmp_path: Path) -> None:
    model, inputs = judged.one_node("Flatten", {"x": np.zeros(shape, np.float32)}, opset=opset, axis=axis)
    expected = np.zeros((math.prod(shape[:axis]), math.prod(shape[axis:])), np.float32)
    case = harness.Case("flatten", model, inputs, [expected])
    if opset < 14 and not all(size or shape[place] == 0 for place, size in enumerate(expected.shape)):
        with pytest.raises(harness.ModelError, match="needs operator set 14"):
            harness.round_trip(case, tmp_path, opset=opset)
        return
    harness.assert_close(harness.round_trip(case, tmp_path, opset=opset), [expected], rtol=0, atol=0)


def test_flatten_without_elements_and_with_an_open_dimension(tmp_path: Path) -> None:
    for axis, expected in ((1, (2, 0)), (0, (1, 0)), (2, (0, 1))):
        model, inputs = judged.one_node("Flatten", {"x": np.zeros((2, 0), np.float32)}, opset=14, axis=axis)
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
        model.graph.output[0].type.tensor_type.shape.dim[0].Clear()
        case = harness.Case("flatten", model, inputs, [np.zeros(expected, np.float32)])
        harness.assert_close(harness.round_trip(case, tmp_path), case.outputs, rtol=0, atol=0)


@pytest.mark.parametrize("declared", [["M"], None, []])
def test_squeeze_of_what_is_declared(declared: list[str] | None, tmp_path: Path) -> None:
    """Of an open dimension that no axis names the rank of the result says whether it stays."""
    node = helper.make_node("Squeeze", ["x"], ["y"])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, declared)
    model = helper.make_model(helper.make_graph([node], "g", [x], [y]), opset_imports=[helper.make_opsetid("", 17)],
                              ir_version=9)  # fmt: skip
    path = judged.converted_to_openvino(model, tmp_path)
    shape = openvino.Core().read_model(path).output(0).get_partial_shape()
    assert shape.rank.is_static == (declared == ["M"])
    if declared == ["M"]:
        judged.assert_same_in_openvino(model, [judged.floats(4, 1)], tmp_path)


def test_squeeze_of_nothing(tmp_path: Path) -> None:
    """An empty list of axes would be all that turn out to be 1, and of a rank that OpenVINO's CPU does not load."""
    model, _ = judged.one_node("Squeeze", {"x": judged.floats(4, 3)}, opset=17, dynamic=["x"])
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y0", TensorProto.FLOAT, ["N", "M"]))
    judged.assert_same_in_openvino(model, [judged.floats(4, 3)], tmp_path)
