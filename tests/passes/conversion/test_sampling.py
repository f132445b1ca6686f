"""Rows of grids and of samples at their positions."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import onnx
import openvino.opset15 as ov
import pytest
from onnx.reference import ReferenceEvaluator

from tests.passes.conversion import harness, judged

VOLUMETRIC = [case.name.removeprefix("test_") for case in harness.cases_of("GridSample") if "volumetric" in case.name]
REFUSED = {
    (way, name): "OpenVINO samples images only, not data of 5 dimensions"
    for way in ("openvino", "round") for name in VOLUMETRIC
}  # fmt: skip
LIMITED = dict.fromkeys([("onnx", name) for name in VOLUMETRIC], "OpenVINO does not read it")


@pytest.mark.parametrize(("way", "case"), judged.parameters("GridSample"))
def test_grid_sample_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    judged.judge(way, case, tmp_path, refused=REFUSED, limited=LIMITED, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("way", "case"), judged.parameters("AffineGrid"))
def test_affine_grid_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    judged.judge(way, case, tmp_path, refused={}, limited={}, rtol=1e-4, atol=1e-5)


FORMS = list(itertools.product(("linear", "cubic", "nearest"), ("zeros", "border", "reflection"), (0, 1)))


@pytest.mark.parametrize(("mode", "padding", "aligned"), FORMS)
def test_positions_beyond_images_of_any_size(mode: str, padding: str, aligned: int, tmp_path: Path) -> None:
    grid = (judged.floats(2, 4, 3, 2) * 0.9).astype(np.float32)
    model, values = judged.one_node(
        "GridSample", {"x": judged.floats(2, 3, 5, 7), "grid": grid}, opset=20, dynamic=["x", "grid"],
        mode=mode, padding_mode=padding, align_corners=aligned,
    )  # fmt: skip
    judged.assert_same_in_openvino(model, values, tmp_path)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
def test_first_version_names_modes_otherwise(mode: str, tmp_path: Path) -> None:
    inputs = {"x": judged.floats(1, 2, 5, 4), "grid": (judged.floats(1, 3, 3, 2) * 0.5).astype(np.float32)}
    model, values = judged.one_node("GridSample", inputs, opset=16, mode=mode)
    judged.assert_same_in_openvino(model, values, tmp_path)


def test_integers_are_refused(tmp_path: Path) -> None:
    inputs = {"x": np.ones((1, 1, 2, 2), np.int32), "grid": judged.floats(1, 2, 2, 2)}
    model, _ = judged.one_node("GridSample", inputs, opset=20)
    judged.assert_refused_in_openvino(model, tmp_path, "of int32 OpenVINO does not have it")


@pytest.mark.parametrize("opset", [16, 21])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_grid_sample_of_openvino(mode: str, opset: int, tmp_path: Path) -> None:
    data, grid = ov.parameter([1, 2, 4, 5], np.float32), ov.parameter([1, 3, 3, 2], np.float32)
    sampled = ov.grid_sample(data, grid, {"align_corners": True, "mode": mode, "padding_mode": "border"})
    values = [judged.floats(1, 2, 4, 5), (judged.floats(1, 3, 3, 2) * 0.6).astype(np.float32)]
    judged.assert_same_in_onnx([sampled], [data, grid], values, tmp_path, opset=opset)


@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("size", [[2, 3, 4, 5], [2, 1, 1, 4], [1, 3, 2, 5, 3], [2, 1, 1, 3, 2]])
def test_affine_grids(size: list[int], is_known: bool, aligned: int, tmp_path: Path) -> None:
    spatial = len(size) - 2
    theta = judged.floats(size[0], spatial, spatial + 1)
    model, values = judged.one_node(
        "AffineGrid", {"theta": theta, "size": np.array(size)}, opset=20, constants=["size"] if is_known else [],
        align_corners=aligned, dynamic=["theta"],
    )  # fmt: skip
    judged.assert_same_in_openvino(model, values, tmp_path, expected=_by_reference(model, values))


def _by_reference(model: onnx.ModelProto, values: list[np.ndarray]) -> list[np.ndarray]:
    names = [info.name for info in model.graph.input]
    with np.errstate(divide="ignore"):
        return list(ReferenceEvaluator(model).run(None, dict(zip(names, values, strict=True))))  # type: ignore[arg-type]
