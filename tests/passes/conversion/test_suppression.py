"""OpenVINO's NonMaxSuppression to ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset4 as ov4
import openvino.opset9 as ov
import pytest
from openvino.op import Parameter, Result

from maxfold.passes.conversion.rows import suppression
from tests.passes.conversion.judged import assert_refused_in_onnx, assert_same_in_onnx

IMAGES, CLASSES, BOXES = 2, 3, 10


def values(seed: int, encoding: str) -> list[Any]:
    """Boxes of whole numbers, many of which overlap by the threshold, and scores of which some are equal."""
    random = np.random.default_rng(seed)
    first = random.integers(0, 4, (IMAGES, BOXES, 2))
    second = random.integers(1, 4, (IMAGES, BOXES, 2)) + (0 if encoding == "center" else first)
    scores = random.integers(0, 6, (IMAGES, CLASSES, BOXES)) / 5
    return [np.concatenate([first, second], axis=-1).astype(np.float32), scores.astype(np.float32)]


def parameters(is_dynamic: bool = False) -> list[Any]:
    shapes = [[IMAGES, BOXES, 4], [IMAGES, CLASSES, BOXES]]
    if is_dynamic:
        shapes = [[-1, -1, 4], [-1, -1, -1]]
    return [Parameter(openvino.Type.f32, openvino.PartialShape(shape)) for shape in shapes]


def scalar(value: float, kind: Any = np.float32) -> Any:
    return ov.constant(np.asarray(value, kind))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("overlap", [0.0, 0.25, 1 / 3, 0.5, 1.0])
@pytest.mark.parametrize("is_sorted", [False, True])
@pytest.mark.parametrize("encoding", ["corner", "center"])
def test_what_is_chosen(encoding: str, is_sorted: bool, overlap: float, seed: int, tmp_path: Path) -> None:
    given = parameters(is_dynamic=bool(seed))
    made = ov.non_max_suppression(
        *given, scalar(4, np.int64), scalar(overlap), scalar(0.1), box_encoding=encoding,
        sort_result_descending=is_sorted, output_type="i64" if seed else "i32",
    )  # fmt: skip
    results = [Result(made.output(index)) for index in range(3)]
    assert_same_in_onnx(results, given, values(seed, encoding), tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("overlap", [0.0, 0.25, 1 / 3, 0.5, 1.0])
def test_a_threshold_that_is_computed(overlap: float, tmp_path: Path) -> None:
    given = [*parameters(), Parameter(openvino.Type.f32, openvino.PartialShape([]))]
    made = ov.non_max_suppression(
        *given[:2], scalar(4, np.int64), given[2], scalar(0.1), sort_result_descending=False, output_type="i64"
    )
    inputs = [*values(3, "corner"), np.asarray(overlap, np.float32)]
    assert_same_in_onnx([Result(made.output(0))], given, inputs, tmp_path, rtol=0, atol=0)


def test_the_number_before_a_threshold() -> None:
    numbers = np.random.default_rng(0).uniform(0, 1, 10000).astype(np.float32)
    numbers = np.concatenate([numbers, np.float32(2.0) ** -np.arange(20, dtype=np.float32)])
    less = numbers - numbers * np.float32(suppression._PART)
    np.testing.assert_array_equal(less, np.nextafter(numbers, np.float32(0)))


def test_a_version_of_one_result(tmp_path: Path) -> None:
    given = parameters()
    made = ov4.non_max_suppression(*given, scalar(2, np.int64), scalar(0.5), scalar(0.1), "corner", False, "i32")
    assert_same_in_onnx([Result(made.output(0))], given, values(0, "corner"), tmp_path, rtol=0, atol=0)


def test_scores_that_boxes_make_less_are_refused(tmp_path: Path) -> None:
    given = parameters()
    made = ov.non_max_suppression(*given, scalar(2, np.int64), scalar(0.5), scalar(0.1), scalar(0.5))
    assert_refused_in_onnx([Result(made.output(0))], given, tmp_path, "it makes scores less by how much boxes overlap")
