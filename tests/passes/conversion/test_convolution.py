"""Rows of convolutions and transposed convolutions."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import openvino.opset8 as ov
import pytest

from maxfold.model.data import StoredData
from maxfold.optimizer import load
from maxfold.optimizer.api import convert
from tests.passes.conversion import harness, judged


@pytest.mark.parametrize(("way", "case"), judged.parameters("Conv", "ConvTranspose"))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    judged.judge(way, case, tmp_path, refused={}, limited={}, rtol=1e-4, atol=1e-5, opset=17)


def _conv(op: str, spatial: list[int], **attributes: Any) -> tuple[onnx.ModelProto, list[Any]]:
    group = attributes.get("group", 1)
    inputs = {"x": judged.floats(1, 4, *spatial), "w": judged.floats(4, 4 // group, *[3] * len(spatial), seed=1)}
    inputs["b"] = judged.floats(4, seed=2)
    return judged.one_node(op, inputs, opset=attributes.pop("opset", 11), constants=["w", "b"], **attributes)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("strides", [[1, 1], [2, 3]])
def test_automatic_padding(auto_pad: str, strides: list[int], tmp_path: Path) -> None:
    model, inputs = _conv("Conv", [7, 8], auto_pad=auto_pad, strides=strides)
    judged.assert_same_in_openvino(model, inputs, tmp_path)
    case = harness.Case("padding", model, inputs, harness.run_onnx(tmp_path / "made.onnx", inputs))
    harness.assert_close(harness.to_onnx(case, tmp_path), case.outputs, rtol=1e-4, atol=1e-5)
    harness.assert_close(harness.round_trip(case, tmp_path), case.outputs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("auto_pad", ["same_upper", "same_lower"])
def test_dilated_automatic_padding(auto_pad: str, tmp_path: Path) -> None:
    filters, none = judged.floats(4, 4, 3, 3, seed=1), [0, 0]
    x = ov.parameter([-1, 4, -1, -1], np.float32)
    made = ov.convolution(x, filters, [1, 1], none, none, [2, 2], auto_pad)
    judged.assert_same_in_onnx([made], [x], [judged.floats(2, 4, 8, 9)], tmp_path)
    made = ov.convolution(x, filters, [2, 2], none, none, [2, 2], auto_pad)
    judged.assert_refused_in_onnx([made], [x], tmp_path, "needs an input of a known shape")
    filter_input = ov.parameter([4, 4, -1, -1], np.float32)
    made = ov.convolution(x, filter_input, [1, 1], none, none, [2, 2], auto_pad)
    judged.assert_refused_in_onnx([made], [x, filter_input], tmp_path, "needs a kernel of a known shape")


@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("spatial", [[6], [6, 5], [4, 5, 6]])
@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_groups_and_dimensions(op: str, spatial: list[int], group: int, tmp_path: Path) -> None:
    rank = len(spatial)
    model, inputs = _conv(
        op, spatial, group=group, pads=[1] * rank + [0] * rank, strides=[2] * rank, kernel_shape=[3] * rank
    )
    judged.assert_same_in_openvino(model, inputs, tmp_path)
    case = harness.Case("groups", model, inputs, harness.run_onnx(tmp_path / "made.onnx", inputs))
    harness.assert_close(harness.round_trip(case, tmp_path), case.outputs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_filters_computed_at_run_time(op: str, tmp_path: Path) -> None:
    inputs = {"x": judged.floats(1, 4, 5, 5), "w": judged.floats(4, 2, 3, 3, seed=1)}
    model, values = judged.one_node(op, inputs, opset=11, group=2, dynamic=["x"])
    judged.assert_same_in_openvino(model, values, tmp_path)
    case = harness.Case("run time", model, values, harness.run_onnx(tmp_path / "made.onnx", values))
    harness.assert_close(harness.round_trip(case, tmp_path), case.outputs, rtol=1e-4, atol=1e-5)


def test_grouped_filters_stay_in_the_file(tmp_path: Path) -> None:
    inputs = {"x": judged.floats(1, 64, 5, 5), "w": judged.floats(64, 1, 9, 9, seed=1)}
    model, _ = judged.one_node("Conv", inputs, opset=11, group=64, constants=["w"], pads=[4] * 4)
    judged.converted_to_openvino(model, tmp_path)
    for name, to in (("made.onnx", "openvino"), ("made.xml", "onnx")):
        source = load(tmp_path / name)
        stored = [item.data for item in source.graph.constants if item.data.nbytes == 64 * 81 * 4]
        made = [item.data for item in convert(source, to=to).graph.constants if item.data.nbytes == 64 * 81 * 4]
        views = [data for data in made if isinstance(data, StoredData)]
        assert len(views) == len(made)
        assert {data.region.offset for data in views} == {data.region.offset for data in stored}


def test_refused_convolutions(tmp_path: Path) -> None:
    model, _ = _conv("Conv", [6, 6], kernel_shape=[3, 3])
    model.graph.node[0].attribute[0].ints[0] = 2
    judged.assert_refused_in_openvino(model, tmp_path, "its kernel_shape [2, 3] is not the shape of its filter")
    model, _ = judged.one_node(
        "Conv", {"x": judged.floats(1, 1, 2, 2, 2, 2), "w": judged.floats(1, 1, 1, 1, 1, 1)}, opset=11
    )
    judged.assert_refused_in_openvino(model, tmp_path, "it has 4 spatial dimensions")


@pytest.mark.parametrize("auto_pad", ["explicit", "valid", "same_upper", "same_lower"])
def test_padding_of_openvino(auto_pad: str, tmp_path: Path) -> None:
    x, w = ov.parameter([1, 2, 7, 8], np.float32), ov.constant(judged.floats(3, 2, 3, 2, seed=1))
    plain = ov.convolution(x, w, [2, 2], [1, 0], [0, 1], [1, 1], auto_pad)
    filters = ov.constant(judged.floats(2, 3, 1, 3, 2))
    grouped = ov.group_convolution(x, filters, [2, 1], [1, 1], [0, 0], [1, 2], auto_pad)
    judged.assert_same_in_onnx([plain, grouped], [x], [judged.floats(1, 2, 7, 8)], tmp_path, opset=13)


TRANSPOSED = [
    {"auto_pad": auto_pad, **more}
    for auto_pad, more in itertools.product(
        ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"),
        ({}, {"output_shape": [11, 12]}, {"output_shape": [9, 9]}, {"output_padding": [1, 1]}, {"dilations": [2, 1]}),
    )
]


@pytest.mark.parametrize("attributes", TRANSPOSED, ids=str)
def test_transposed_padding(attributes: dict[str, Any], tmp_path: Path) -> None:
    model, inputs = _conv("ConvTranspose", [5, 5], strides=[2, 2], **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path)
    case = harness.Case("padding", model, inputs, harness.run_onnx(tmp_path / "made.onnx", inputs))
    harness.assert_close(harness.round_trip(case, tmp_path), case.outputs, rtol=1e-4, atol=1e-5)


def test_refused_transposed(tmp_path: Path) -> None:
    inputs = {"x": judged.floats(1, 1, 5, 5), "w": judged.floats(1, 1, 3, 3, seed=1)}
    model, _ = judged.one_node("ConvTranspose", inputs, opset=11, output_shape=[7, 7], dynamic=["x"])
    judged.assert_refused_in_openvino(model, tmp_path, "needs an input of a known shape")
    model, _ = judged.one_node("ConvTranspose", inputs, opset=1, output_shape=[6, 6])
    judged.assert_refused_in_openvino(model, tmp_path, "how 'output_shape' divides the padding was written differently")
    model, _ = judged.one_node("ConvTranspose", inputs, opset=11, auto_pad="SAME_UPPER", strides=[4, 4])
    judged.assert_refused_in_openvino(model, tmp_path, "strides are larger than the kernel")


@pytest.mark.parametrize("auto_pad", ["explicit", "valid", "same_upper", "same_lower"])
@pytest.mark.parametrize("shape", [None, [10, 9], [9, 10]])
@pytest.mark.parametrize("output_padding", [[0, 0], [1, 0]])
def test_transposed_padding_of_openvino(
    auto_pad: str, shape: list[int] | None, output_padding: list[int], tmp_path: Path
) -> None:
    x = ov.parameter([1, 2, 5, 5], np.float32)
    plain, grouped = ov.constant(judged.floats(2, 3, 3, 3, seed=1)), ov.constant(judged.floats(2, 1, 3, 3, 3, seed=1))
    wanted = None if shape is None else ov.constant(np.array(shape))
    common = [[2, 2], [1, 0], [0, 1], [1, 1], auto_pad, output_padding]
    results = [
        ov.convolution_backprop_data(x, plain, common[0], wanted, *common[1:]),
        ov.group_convolution_backprop_data(x, grouped, common[0], wanted, *common[1:]),
    ]
    judged.assert_same_in_onnx(results, [x], [judged.floats(1, 2, 5, 5)], tmp_path)


def test_half_precision_weights(tmp_path: Path) -> None:
    """A filter that is stored in f16 and converted: a Cast and, with groups, a Reshape."""
    x = ov.parameter([1, 2, 5, 5], np.float32)
    w = ov.convert(ov.constant(judged.floats(2, 1, 1, 3, 3).astype(np.float16)), openvino.Type.f32)
    result = ov.group_convolution(x, w, [1, 1], [0, 0], [0, 0], [1, 1])
    judged.assert_same_in_onnx([result], [x], [judged.floats(1, 2, 5, 5)], tmp_path)


def test_filters_larger_than_the_input(tmp_path: Path) -> None:
    inputs = {"x": judged.floats(1, 2, 4, 9), "w": judged.floats(3, 2, 3, 3)}
    model, _ = judged.one_node("Conv", inputs, opset=11, constants=["w"], dilations=[3, 1], pads=[1, 0, 1, 0])
    judged.assert_refused_in_openvino(model, tmp_path, "its window of [7, 3] is larger than its padded input")
    model, values = judged.one_node("Conv", inputs, opset=11, constants=["w"], dilations=[2, 1], pads=[1, 0, 1, 0])
    judged.assert_same_in_openvino(model, values, tmp_path)
