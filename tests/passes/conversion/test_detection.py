"""NonMaxSuppression and RoiAlign."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.passes.conversion import harness
from tests.passes.conversion.judged import (
    assert_refused_in_openvino,
    assert_same_in_openvino,
    floats,
    judge,
    one_node,
    parameters,
)

MAX_MODE = "its mode 'max' takes other samples in OpenVINO"
REFUSED = {("openvino", "roialign_mode_max"): MAX_MODE}
THRESHOLDS = ("most", "overlap", "score")


def cases(*operators: str) -> list[Any]:
    """Node tests on the way to OpenVINO."""
    return [item for item in parameters(*operators) if item.values[0] == "openvino"]


@pytest.mark.parametrize(("way", "case"), cases("NonMaxSuppression"))
def test_node_tests_of_suppression(way: str, case: harness.Case, tmp_path: Path) -> None:
    judge(way, case, tmp_path, refused={}, limited={}, rtol=0, atol=0)


@pytest.mark.parametrize(("way", "case"), cases("RoiAlign"))
def test_node_tests_of_regions(way: str, case: harness.Case, tmp_path: Path) -> None:
    # Their results are written with four digits.
    judge(way, case, tmp_path, refused=REFUSED, limited={}, rtol=0, atol=1e-4)


def boxes(batches: int, count: int, seed: int) -> Any:
    """Boxes with corners on a grid, so that overlaps are often equal to a threshold; none is empty."""
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 5, (batches, count, 2))
    return np.concatenate([low, low + rng.integers(1, 5, (batches, count, 2))], axis=2).astype(np.float32)


def suppression(
    given: Sequence[str] = THRESHOLDS,
    *,
    constants: Sequence[str] = THRESHOLDS,
    dynamic: Sequence[str] = (),
    most: int = 3,
    overlap: float = 0.5,
    score: float = 0.2,
    seed: int = 0,
    **attributes: Any,
) -> tuple[Any, list[Any]]:
    rng = np.random.default_rng(seed)
    values = {"most": np.int64([most]), "overlap": np.float32([overlap]), "score": np.float32([score])}
    inputs: dict[str, Any] = {
        "boxes": boxes(2, 8, seed),
        "scores": (rng.permutation(48).reshape(2, 3, 8) / 48 - 0.1).astype(np.float32),
    }
    inputs.update({name: value if name in given else "" for name, value in values.items()})
    known = [name for name in constants if name in given]
    return one_node("NonMaxSuppression", inputs, opset=11, constants=known, dynamic=dynamic, **attributes)


@pytest.mark.parametrize("overlap", [0.0, 0.25, 0.5, 1 / 3, 0.6, 1.0])
@pytest.mark.parametrize("constants", [(), THRESHOLDS])
@pytest.mark.parametrize("seed", range(3))
def test_overlaps_at_the_threshold(overlap: float, constants: Sequence[str], seed: int, tmp_path: Path) -> None:
    model, inputs = suppression(constants=constants, overlap=overlap, seed=seed, most=8)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("given", [(), ("most",), ("most", "score"), ("most", "overlap"), ("overlap", "score")])
@pytest.mark.parametrize("dynamic", [(), ("boxes", "scores")])
def test_thresholds_left_out(given: Sequence[str], dynamic: Sequence[str], tmp_path: Path) -> None:
    model, inputs = suppression(given, dynamic=dynamic)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("most", [0, 1, 2**31 - 1, 2**31, 2**63 - 1])
def test_numbers_of_boxes(most: int, tmp_path: Path) -> None:
    model, inputs = suppression(most=most)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("most", [0, 2, 1000])
def test_numbers_of_boxes_at_run_time(most: int, tmp_path: Path) -> None:
    model, inputs = suppression(most=most, constants=("overlap", "score"))
    assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("score", [-1.0, 0.0, 2.0])
def test_boxes_by_their_centers(score: float, tmp_path: Path) -> None:
    model, inputs = suppression(score=score, center_point_box=1)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


def regions(count: int = 4, *, dynamic: Sequence[str] = (), **attributes: Any) -> tuple[Any, list[Any]]:
    rng = np.random.default_rng(1)
    low = rng.uniform(-2, 8, (count, 2))
    inputs = {
        "x": floats(2, 3, 9, 7),
        "rois": np.concatenate([low, low + rng.uniform(0, 9, (count, 2))], axis=1).astype(np.float32),
        "batches": rng.integers(0, 2, count),
    }
    return one_node("RoiAlign", inputs, opset=attributes.pop("opset", 16), dynamic=dynamic, **attributes)


@pytest.mark.parametrize("given", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("ratio", [0, 1, 3])
@pytest.mark.parametrize("dynamic", [(), ("x", "rois", "batches")])
def test_regions(given: str, ratio: int, dynamic: Sequence[str], tmp_path: Path) -> None:
    model, inputs = regions(
        dynamic=dynamic, output_height=3, output_width=2, sampling_ratio=ratio, spatial_scale=0.7,
        coordinate_transformation_mode=given,
    )  # fmt: skip
    assert_same_in_openvino(model, inputs, tmp_path)


@pytest.mark.parametrize("opset", [10, 16])
def test_defaults_of_regions(opset: int, tmp_path: Path) -> None:
    model, inputs = regions(opset=opset)
    assert_same_in_openvino(model, inputs, tmp_path)


def test_the_largest_sample_is_refused(tmp_path: Path) -> None:
    model, _ = regions(mode="max")
    assert_refused_in_openvino(model, tmp_path, MAX_MODE)
