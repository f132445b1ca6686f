"""Proposal to ONNX: boxes, their order and what is behind them, as OpenVINO gives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset1 as ov1
import openvino.opset4 as ov4
import pytest
from openvino.op import Parameter, Result
from openvino.utils.node_factory import NodeFactory

from tests.passes.conversion.judged import assert_refused_in_onnx, assert_same_in_onnx

ANCHORS, HEIGHT, WIDTH = 6, 3, 4
REAL: dict[str, Any] = {
    "base_size": np.uint32(16), "pre_nms_topn": np.uint32(40), "post_nms_topn": np.uint32(12),
    "nms_thresh": np.float32(0.5), "feat_stride": np.uint32(16), "min_size": np.uint32(4),
    "ratio": np.asarray([0.5, 1, 2], np.float32), "scale": np.asarray([1, 2], np.float32), "framework": "",
}  # fmt: skip
IMAGE = [50.0, 64.0, 1.0]
FRAMEWORKS = ["", "tensorflow"]


def values(seed: int, *, images: int = 1, image: Any = IMAGE, spread: float = 0.3) -> list[Any]:
    """Scores of background and boxes, moves, and the size of the image."""
    random = np.random.default_rng(seed)
    scores = random.permutation(images * 2 * ANCHORS * HEIGHT * WIDTH).reshape(images, -1, HEIGHT, WIDTH)
    moves = random.standard_normal((images, 4 * ANCHORS, HEIGHT, WIDTH)) * spread
    return [(scores / scores.size).astype(np.float32), moves.astype(np.float32), np.asarray(image, np.float32)]


def check(
    inputs: list[Any], data: dict[str, Any], folder: Path, *, shapes: list[list[int]] | None = None, rtol: float = 1e-5
) -> None:
    """Boxes are those of OpenVINO, and scores as far as there are boxes."""
    parameters = [
        Parameter(openvino.Type(value.dtype), openvino.PartialShape(shapes[index] if shapes else list(value.shape)))
        for index, value in enumerate(inputs)
    ]
    # OpenVINO's own function refuses values of 0, which its reader of files takes.
    node = NodeFactory("opset4").create("Proposal", [item.output(0) for item in parameters], data)
    boxes, scores = node.output(0), node.output(1)
    # What is behind the last box is not defined: rows of no box begin with -1, or are 0.
    kind = ov4.constant(np.asarray(0, inputs[0].dtype))
    size = ov4.reduce_max(ov4.abs(boxes), ov4.constant(np.int64([1])), False)
    image = ov4.gather(boxes, ov4.constant(np.int64(0)), ov4.constant(np.int64(1)))
    is_box = ov4.logical_and(ov4.greater(size, kind), ov4.greater_equal(image, kind))
    known = ov4.select(is_box, scores, kind)
    results = [Result(boxes), Result(known.output(0))]
    assert_same_in_onnx(results, parameters, inputs, folder, rtol=rtol, atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("images", [1, 3])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_boxes_are_those_of_openvino(framework: str, images: int, seed: int, tmp_path: Path) -> None:
    check(values(seed, images=images), {**REAL, "framework": framework}, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"clip_before_nms": False},
        {"clip_after_nms": True, "clip_before_nms": False},
        {"normalize": True},
        {"box_size_scale": np.float32(2), "box_coordinate_scale": np.float32(5)},
        {"min_size": np.uint32(14)},
        {"min_size": np.uint32(0)},
        {"nms_thresh": np.float32(0)},
        {"nms_thresh": np.float32(1)},
        {"pre_nms_topn": np.uint32(14)},
        {"pre_nms_topn": np.uint32(6000), "post_nms_topn": np.uint32(100), "min_size": np.uint32(0)},
        {"post_nms_topn": np.uint32(1)},
        {"base_size": np.uint32(7), "ratio": np.asarray([0.3, 1.7], np.float32), "scale": np.float32([0.5, 1.5, 3])},
        {"feat_stride": np.uint32(8)},
    ],
    ids=str,
)
@pytest.mark.parametrize("images", [1, 2])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_attribute_changes_what_it_changes_in_openvino(
    framework: str, images: int, change: dict[str, Any], tmp_path: Path
) -> None:
    check(values(5, images=images), {**REAL, "framework": framework, **change}, tmp_path)


@pytest.mark.parametrize("image", [[50.0, 64.0, 1.5], [50.0, 64.0, 1.0, 3.0], [500.0, 640.0, 2.0, 1.0]], ids=str)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_sizes_that_boxes_must_have(framework: str, image: list[float], tmp_path: Path) -> None:
    # All boxes that are too small have the score 0; OpenVINO sorts them no further, so few enough are compared.
    data = {**REAL, "framework": framework, "min_size": np.uint32(6), "pre_nms_topn": np.uint32(24)}
    check(values(6, image=image), data, tmp_path)


@pytest.mark.parametrize("images", [1, 2])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_sizes_may_be_dynamic(framework: str, images: int, tmp_path: Path) -> None:
    shapes = [[-1, 2 * ANCHORS, -1, -1], [-1, 4 * ANCHORS, -1, -1], [3]]
    check(values(7, images=images), {**REAL, "framework": framework}, tmp_path, shapes=shapes)


def test_half_precision_is_computed_in_single(tmp_path: Path) -> None:
    inputs = [value.astype(np.float16) for value in values(8)]
    check(inputs, REAL, tmp_path, rtol=2e-3)


def test_the_version_of_one_result(tmp_path: Path) -> None:
    inputs = values(9)
    parameters = [Parameter(openvino.Type.f32, openvino.Shape(value.shape)) for value in inputs]
    node = ov1.proposal(*parameters, REAL)
    assert_same_in_onnx([Result(node.output(0))], parameters, inputs, tmp_path, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("change", "length", "reason"),
    [
        ({"nms_thresh": np.float32(1.5)}, 3, "its nms_thresh 1.5 is not covered"),
        ({"ratio": np.asarray([1, -2], np.float32)}, 3, "a ratio that is not positive"),
        ({}, -1, "its input of the image's size has unknown numbers"),
    ],
)
def test_what_is_not_covered_is_refused(change: dict[str, Any], length: int, reason: str, tmp_path: Path) -> None:
    shapes = [list(value.shape) for value in values(0)[:2]]
    parameters = [Parameter(openvino.Type.f32, openvino.PartialShape(shape)) for shape in (*shapes, [length])]
    node = ov4.proposal(*parameters, {**REAL, **change})
    assert_refused_in_onnx([Result(node.output(0))], parameters, tmp_path, reason)
