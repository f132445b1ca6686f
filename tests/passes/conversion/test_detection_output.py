"""DetectionOutput to ONNX: rows, their order and what is behind them, as OpenVINO gives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset8 as ov8
import pytest
from openvino.op import Parameter, Result

from tests.passes.conversion.judged import assert_refused_in_onnx, assert_same_in_onnx

PRIORS, CLASSES = 12, 3
REAL = {
    "background_label_id": 0, "top_k": 10, "variance_encoded_in_target": False, "keep_top_k": [8],
    "code_type": "caffe.PriorBoxParameter.CENTER_SIZE", "share_location": True, "nms_threshold": 0.45,
    "confidence_threshold": 0.05, "clip_after_nms": False, "clip_before_nms": False, "decrease_label_id": False,
    "normalized": True, "input_height": 1, "input_width": 1, "objectness_score": 0.0,
}  # fmt: skip


def values(
    seed: int, *, images: int = 1, classes: int = CLASSES, per_image: bool = False, ties: bool = False, **data: Any
) -> list[Any]:
    """Moves, scores, and boxes with variances."""
    random = np.random.default_rng(seed)
    lists = 1 if data["share_location"] else classes
    moves = random.standard_normal((images, PRIORS * lists * 4)).astype(np.float32) * np.float32(0.7)
    scores = random.uniform(0, 1, (images, PRIORS * classes)).astype(np.float32)
    if ties:
        scores = np.round(scores * 4) / np.float32(4)
    size = 1 if data["normalized"] else 100
    batch = images if per_image else 1
    low = random.uniform(0, 0.6 * size, (batch, PRIORS, 2)).astype(np.float32)
    boxes = np.concatenate([low, low + random.uniform(0.1 * size, 0.4 * size, low.shape).astype(np.float32)], axis=-1)
    if not data["normalized"]:
        boxes = np.concatenate([np.zeros((batch, PRIORS, 1), np.float32), boxes], axis=-1)
    rows = [boxes.reshape(batch, -1)]
    if not data["variance_encoded_in_target"]:
        variances = np.tile(np.asarray([0.1, 0.1, 0.2, 0.2], np.float32), PRIORS)
        rows.append(np.resize(variances, rows[0].shape))
    return [moves, scores, np.stack(rows, axis=1).astype(np.float32)]


def check(
    inputs: list[Any], data: dict[str, Any], folder: Path, *, shapes: list[list[int]] | None = None, rtol: float = 1e-5
) -> None:
    parameters = [
        Parameter(openvino.Type(value.dtype), openvino.PartialShape(shapes[index] if shapes else list(value.shape)))
        for index, value in enumerate(inputs)
    ]
    node = ov8.detection_output(*parameters[:3], data, *parameters[3:])
    assert_same_in_onnx([Result(node.output(0))], parameters, inputs, folder, rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("background", [-1, 0, 1])
def test_rows_are_those_of_openvino(classes: int, background: int, seed: int, tmp_path: Path) -> None:
    data = {**REAL, "background_label_id": background}
    check(values(seed, classes=classes, **data), data, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"code_type": "caffe.PriorBoxParameter.CORNER"},
        {"share_location": False},
        {"share_location": False, "code_type": "caffe.PriorBoxParameter.CORNER"},
        {"variance_encoded_in_target": True},
        {"clip_before_nms": True},
        {"clip_after_nms": True},
        {"normalized": False, "input_height": 100, "input_width": 100},
        {"top_k": -1},
        {"keep_top_k": [-1]},
        {"keep_top_k": [-1], "top_k": -1},
        {"keep_top_k": [100], "top_k": 400},
        {"confidence_threshold": 0.99},
        {"nms_threshold": 0.0},
        {"nms_threshold": 1.0},
        {"top_k": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("images", [1, 2])
def test_every_attribute_changes_what_it_changes_in_openvino(
    images: int, change: dict[str, Any], tmp_path: Path
) -> None:
    data = {**REAL, **change}
    check(values(1, images=images, **data), data, tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_equal_scores_are_ordered_by_box(seed: int, tmp_path: Path) -> None:
    data = {**REAL, "keep_top_k": [-1]}
    check(values(seed, ties=True, **data), data, tmp_path)
    one = {**REAL, "keep_top_k": [4]}
    check(values(seed, ties=True, classes=2, **one), one, tmp_path)


def test_images_may_have_boxes_of_their_own_to_start_from(tmp_path: Path) -> None:
    check(values(2, images=3, per_image=True, **REAL), REAL, tmp_path)


@pytest.mark.parametrize("images", [1, 2])
def test_the_number_of_images_may_be_dynamic(images: int, tmp_path: Path) -> None:
    inputs = values(3, images=images, **REAL)
    shapes = [[-1, *inputs[0].shape[1:]], [-1, *inputs[1].shape[1:]], list(inputs[2].shape)]
    check(inputs, REAL, tmp_path, shapes=shapes)


@pytest.mark.parametrize("code", ["CENTER_SIZE", "CORNER"])
def test_another_detector_may_move_boxes_before_and_sort_some_out(code: str, tmp_path: Path) -> None:
    data = {**REAL, "code_type": f"caffe.PriorBoxParameter.{code}", "objectness_score": 0.4}
    inputs = values(4, images=2, **data)
    random = np.random.default_rng(5)
    arms = [random.uniform(0, 1, (2, PRIORS * 2)), random.standard_normal(inputs[0].shape) * 0.3]
    check([*inputs, *(value.astype(np.float32) for value in arms)], data, tmp_path)


def test_half_precision_is_computed_in_single(tmp_path: Path) -> None:
    inputs = [value.astype(np.float16) for value in values(6, **REAL)]
    check(inputs, REAL, tmp_path, rtol=2e-3)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"decrease_label_id": True}, "its attribute 'decrease_label_id' is true"),
        ({"nms_threshold": 1.5}, "its nms_threshold 1.5 is not covered"),
        ({"keep_top_k": [0]}, "its top_k or keep_top_k is 0"),
    ],
)
def test_what_is_not_covered_is_refused(change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    data = {**REAL, **change}
    parameters = [Parameter(openvino.Type.f32, openvino.Shape(value.shape)) for value in values(0, **data)]
    node = ov8.detection_output(*parameters, data)
    assert_refused_in_onnx([Result(node.output(0))], parameters, tmp_path, reason)
