"""Resizing by matrices of weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.passes.conversion import judged

FORMS: dict[str, dict[str, Any]] = {
    "exclude": {"mode": "cubic", "exclude_outside": 1},
    "exclude of asymmetric": {
        "mode": "cubic", "exclude_outside": 1, "coordinate_transformation_mode": "asymmetric", "cubic_coeff_a": -0.5,
    },
    "exclude of pytorch": {
        "mode": "cubic", "exclude_outside": 1, "coordinate_transformation_mode": "pytorch_half_pixel",
    },
    "symmetric": {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"},
    "cubic symmetric": {"mode": "cubic", "coordinate_transformation_mode": "half_pixel_symmetric"},
    "corners": {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
    "cubic corners": {"mode": "cubic", "coordinate_transformation_mode": "align_corners"},
    "region": {
        "mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": -2.5,
    },
    "cubic region": {"mode": "cubic", "coordinate_transformation_mode": "tf_crop_and_resize"},
}  # fmt: skip


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("scales", [[1.7, 0.6], [2.3, 1.0], [0.25, 3.0]])
@pytest.mark.parametrize("form", FORMS)
def test_scales(form: str, scales: list[float], is_known: bool, tmp_path: Path) -> None:
    inputs: dict[str, Any] = {"x": judged.floats(1, 2, 5, 7), "roi": "", "scales": np.array(scales, np.float32)}
    _judge(form, inputs, is_known, tmp_path)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("sizes", [[8, 3], [5, 1], [1, 14]])
@pytest.mark.parametrize("form", [name for name in FORMS if "corners" not in name])
def test_sizes(form: str, sizes: list[int], is_known: bool, tmp_path: Path) -> None:
    inputs = {"x": judged.floats(1, 2, 5, 7), "roi": "", "scales": "", "sizes": np.array(sizes)}
    _judge(form, inputs, is_known, tmp_path)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_types(dtype: type, tmp_path: Path) -> None:
    inputs = {"x": judged.floats(1, 2, 5, 7).astype(dtype), "roi": "", "scales": np.array([1.7, 0.6], np.float32)}
    _judge("symmetric", inputs, True, tmp_path, rtol=1e-2, atol=1e-2)


def _judge(
    form: str, inputs: dict[str, Any], is_known: bool, folder: Path, rtol: float = 1e-3, atol: float = 1e-4
) -> None:
    if "region" in form:
        inputs["roi"] = np.array([-0.1, 0.3, 0.8, 1.1], np.float32)
    constants = [name for name in ("roi", "scales", "sizes") if is_known and not isinstance(inputs.get(name, ""), str)]
    model, values = judged.one_node(
        "Resize", inputs, opset=19, constants=constants, axes=[2, 3], dynamic=[] if is_known else ["x"], **FORMS[form]
    )  # fmt: skip
    expected = _by_reference(model, values)
    judged.assert_same_in_openvino(model, values, folder, expected=expected, rtol=rtol, atol=atol)


def _by_reference(model: onnx.ModelProto, values: list[Any]) -> list[Any]:
    names = [info.name for info in model.graph.input]
    return list(ReferenceEvaluator(model).run(None, dict(zip(names, values, strict=True))))


def test_refused_forms(tmp_path: Path) -> None:
    inputs = {"x": judged.floats(1, 1, 4, 4), "roi": "", "scales": np.array([1, 1, 2, 2], np.float32)}
    for attributes, reason in (
        ({"mode": "nearest", "exclude_outside": 1}, "its exclude_outside 1 is not covered"),
        (
            {"mode": "nearest", "coordinate_transformation_mode": "half_pixel_symmetric"},
            "'half_pixel_symmetric'",
        ),
        ({"mode": "linear", "antialias": 1}, "its antialias 1 is not covered"),
    ):
        model, _ = judged.one_node("Resize", inputs, opset=19, constants=["scales"], **attributes)
        judged.assert_refused_in_openvino(model, tmp_path, reason)
