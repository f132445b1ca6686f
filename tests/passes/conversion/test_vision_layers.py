"""Layers of OpenVINO that pool and move parts of images, to ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset1 as ov1
import openvino.opset2 as ov2
import openvino.opset3 as ov3
import openvino.opset8 as ov8
import openvino.opset9 as ov9
import pytest
from openvino.op import Parameter, Result

from tests.passes.conversion.judged import assert_refused_in_onnx, assert_same_in_onnx, floats


def parameter(*shape: int, dtype: Any = np.float32) -> Any:
    return Parameter(openvino.Type(dtype), openvino.PartialShape(list(shape)))


def same(
    node: Any, inputs: list[Any], values: list[Any], folder: Path, tolerance: float = 1e-5, opset: int = 17
) -> list[str]:
    """The operators of the ONNX model that gives the same."""
    results = [Result(node.output(0))]
    model = assert_same_in_onnx(results, inputs, values, folder, opset=opset, rtol=tolerance, atol=tolerance / 10)
    return [item.op_type for item in model.graph.node]


@pytest.mark.parametrize(
    ("shape", "open_"), [((2, 6, 3, 4), ()), ((2, 6, 3, 4), (0, 2, 3)), ((3, 6), ()), ((4, 6, 5), (0, 2))]
)
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_shuffle_channels(shape: tuple[int, ...], open_: tuple[int, ...], groups: int, tmp_path: Path) -> None:
    x = parameter(*(-1 if axis in open_ else size for axis, size in enumerate(shape)))
    assert same(ov3.shuffle_channels(x, 1, groups), [x], [floats(*shape)], tmp_path).count("Transpose") == 1


@pytest.mark.parametrize("batch", [2, -1])
@pytest.mark.parametrize("stride", [1, 2])
def test_reorg_yolo(stride: int, batch: int, tmp_path: Path) -> None:
    x = parameter(batch, 8, 4, 6)
    same(ov2.reorg_yolo(x, [stride]), [x], [floats(2, 8, 4, 6)], tmp_path)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(("is_softmax", "axis", "end"), [(True, 1, 3), (True, 1, 1), (True, 2, 3), (False, 1, 3)])
@pytest.mark.parametrize("coords", [2, 4])
def test_region_yolo(coords: int, is_softmax: bool, axis: int, end: int, is_open: bool, tmp_path: Path) -> None:
    classes, boxes = 3, 2
    value = floats(2, boxes * (coords + 1 + classes), 3, 5)
    x = parameter(*([-1, value.shape[1], -1, -1] if is_open else value.shape))
    node = ov1.region_yolo(x, coords, classes, boxes if is_softmax else 9, is_softmax, [0, 1], axis, end, [1.0, 2.0])
    same(node, [x], [value], tmp_path)


@pytest.mark.parametrize(
    ("shape", "blocks", "begin", "end"),
    [
        ((2, 3, 4, 6), [1, 1, 2, 3], [0, 0, 0, 0], [0, 0, 0, 0]),
        ((1, 2, 3, 5), [1, 1, 2, 3], [0, 0, 1, 0], [0, 0, 0, 1]),
        ((2, 4, 6), [1, 2, 3], [0, 0, 0], [0, 0, 0]),
        ((2, 1, 2, 2, 4), [1, 1, 2, 1, 2], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),
    ],
)
def test_space_and_batch(
    shape: tuple[int, ...], blocks: list[int], begin: list[int], end: list[int], tmp_path: Path
) -> None:
    value = floats(*shape)
    x = parameter(-1, *shape[1:])
    constants = [ov2.constant(np.array(item, np.int64)) for item in (blocks, begin, end)]
    there = ov2.space_to_batch(x, *constants)
    same(there, [x], [value], tmp_path)
    blocked = np.zeros(openvino.Model([there.output(0)], [x]).output(0).get_partial_shape().get_min_shape()[1:] or 0)
    y = parameter(-1, *blocked.shape)
    count = shape[0] * int(np.prod(blocks))
    same(ov2.batch_to_space(y, *constants), [y], [floats(count, *blocked.shape)], tmp_path)


@pytest.mark.parametrize("padding", ["valid", "same_upper", "same_lower"])
@pytest.mark.parametrize(("sizes", "strides", "rates"), [([3, 2], [2, 1], [1, 1]), ([2, 2], [1, 3], [2, 1])])
def test_extract_image_patches(
    sizes: list[int], strides: list[int], rates: list[int], padding: str, tmp_path: Path
) -> None:
    x = parameter(-1, 3, -1 if max(rates) == 1 else 7, 8)
    node = ov3.extract_image_patches(x, sizes, strides, rates, padding)
    assert same(node, [x], [floats(2, 3, 7, 8)], tmp_path) == ["Conv"]


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3)])
def test_grn(shape: tuple[int, ...], tmp_path: Path) -> None:
    x = parameter(*[-1] * len(shape))
    same(ov1.grn(x, 0.7), [x], [floats(*shape)], tmp_path)


@pytest.mark.parametrize(
    ("shape", "cells"),
    [
        ((2, 3, 7, 9), [3, 4]),
        ((2, 3, 6, 8), [3, 4]),
        ((2, 3, 5), [7]),
        ((1, 2, 5, 4, 7), [2, 3, 7]),
        ((2, 3, 7, 9), [1, 1]),
    ],
)
def test_adaptive_pooling(shape: tuple[int, ...], cells: list[int], tmp_path: Path) -> None:
    x = parameter(-1, *shape[1:])
    same(ov8.adaptive_avg_pool(x, ov8.constant(np.array(cells, np.int32))), [x], [floats(*shape)], tmp_path)
    y = parameter(-1, *shape[1:])
    same(ov8.adaptive_max_pool(y, ov8.constant(np.array(cells, np.int32)), "i32"), [y], [floats(*shape)], tmp_path)


def test_adaptive_pooling_of_open_sizes(tmp_path: Path) -> None:
    x = parameter(2, 3, -1, -1)
    node = ov8.adaptive_avg_pool(x, ov8.constant(np.array([1, 1], np.int32)))
    assert same(node, [x], [floats(2, 3, 7, 5)], tmp_path) == ["GlobalAveragePool"]
    node = ov8.adaptive_avg_pool(x, ov8.constant(np.array([2, 1], np.int32)))
    assert_refused_in_onnx([Result(node.output(0))], [x], tmp_path, "the sizes of its data are not known")
    most = ov8.adaptive_max_pool(x, ov8.constant(np.array([1, 1], np.int32)), "i32")
    assert_refused_in_onnx([Result(most.output(1))], [x], tmp_path, "the places of its maxima are not covered")


REGIONS = np.array([[0, 1, 2, 9, 11], [1, 0, 0, 5, 3], [0, 4, 4, 4, 4], [1, 3, 1, 30, 8]], np.float32)


@pytest.mark.parametrize("scale", [1.0, 0.5, 0.25])
def test_roi_pooling(scale: float, tmp_path: Path) -> None:
    data, regions = parameter(-1, 3, 12, 14), parameter(-1, 5)
    node = ov2.roi_pooling(data, regions, [3, 2], scale, "max")
    assert same(node, [data, regions], [floats(2, 3, 12, 14), REGIONS], tmp_path) == ["MaxRoiPool"]


@pytest.mark.parametrize("ratio", [0, 2])
@pytest.mark.parametrize("aligned", ["asymmetric", "half_pixel_for_nn", None])
def test_roi_align(aligned: str | None, ratio: int, tmp_path: Path) -> None:
    data, regions, images = parameter(-1, 3, 12, 14), parameter(-1, 4), parameter(-1, dtype=np.int32)
    operands = [data, regions, images]
    if aligned is None:
        node = ov3.roi_align(*operands, 3, 2, ratio, 0.5, "avg")
    else:
        node = ov9.roi_align(*operands, 3, 2, ratio, 0.5, "avg", aligned)
    # Of a region without extent there is no mean.
    chosen = REGIONS if ratio else REGIONS[[0, 1, 3]]
    values = [floats(2, 3, 12, 14), chosen[:, 1:], chosen[:, 0].astype(np.int32)]
    assert "RoiAlign" in same(node, operands, values, tmp_path, 1e-4)


@pytest.mark.parametrize(("mode", "aligned"), [("max", "asymmetric"), ("avg", "half_pixel")])
def test_roi_align_otherwise(mode: str, aligned: str, tmp_path: Path) -> None:
    operands = [parameter(1, 3, 12, 14), parameter(4, 4), parameter(4, dtype=np.int32)]
    node = ov9.roi_align(*operands, 3, 2, 2, 0.5, mode, aligned)
    assert_refused_in_onnx([Result(node.output(0))], operands, tmp_path, "ONNX Runtime computes its mode 'max'")


@pytest.mark.parametrize("has_mask", [False, True])
@pytest.mark.parametrize(("groups", "bent"), [(1, 1), (2, 1), (1, 2)])
@pytest.mark.parametrize(("strides", "pads", "dilations"), [([1, 1], [0, 0], [1, 1]), ([2, 1], [1, 2], [1, 2])])
def test_deformable_convolution(
    strides: list[int], pads: list[int], dilations: list[int], groups: int, bent: int, has_mask: bool, tmp_path: Path
) -> None:
    kernel, sizes = (3, 2), (7, 8)
    spans = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
    out = [(size + 2 * pad - span) // stride + 1
           for size, pad, span, stride in zip(sizes, pads, spans, strides, strict=True)]  # fmt: skip
    count = bent * kernel[0] * kernel[1]
    values = [floats(2, 4, *sizes), 2 * floats(2, 2 * count, *out, seed=1)]
    values += [np.abs(floats(2, count, *out, seed=2))] if has_mask else []
    operands = [parameter(-1, *value.shape[1:]) for value in values]
    filters = ov8.constant(floats(6, 4 // groups, *kernel, seed=3))
    mask = operands[2] if has_mask else None
    node = ov8.deformable_convolution(
        operands[0], operands[1], filters, strides, pads, pads, dilations, mask, "explicit", groups, bent, True
    )
    assert "DeformConv" in same(node, operands, values, tmp_path, 1e-4, 19)


def test_deformable_convolution_without_its_padding(tmp_path: Path) -> None:
    operands = [parameter(1, 4, 7, 8), parameter(1, 12, 5, 7)]
    filters = ov8.constant(floats(6, 4, 3, 2))
    node = ov8.deformable_convolution(*operands, filters, [1, 1], [0, 0], [0, 0], [1, 1])
    assert_refused_in_onnx([Result(node.output(0))], operands, tmp_path, "without its bilinear_interpolation_pad")
