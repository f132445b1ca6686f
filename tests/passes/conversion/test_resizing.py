"""Rows of resizing."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset1 as ov1
import openvino.opset10 as ov4
import openvino.opset11 as ov
import pytest

from tests.passes.conversion import harness, judged
from tests.passes.conversion.built import assert_converts, assert_refused

_WHOLE = "its scales do not give whole sizes, or are computed at run time, with align_corners"
# By what their names hold: what no way of ours takes, and what only OpenVINO's own reader does not take.
_REASONS = {
    "antialias": "antialias",
    "round_prefer_ceil_asymmetric": "'round_prefer_ceil' of asymmetric",
}
_ONNX_ONLY = {"not_larger": "keep_aspect_ratio_policy", "not_smaller": "keep_aspect_ratio_policy"}
# OpenVINO's own reader does not take these, or as something else.
_OTHERS = (
    "align_corners_scales",
    "exclude_outside",
    "extrapolation_value",
    "half_pixel_symmetric",
    "tf_crop_and_resize",
)


def _named(reasons: dict[str, str], ways: tuple[str, ...]) -> dict[judged.Key, str]:
    found: dict[judged.Key, str] = {}
    for case in harness.cases_of("Resize"):
        name = case.name.removeprefix("test_")
        holds = f"{name}_scales" if "scales" in name else name
        reason = next((reason for key, reason in reasons.items() if key in holds), None)
        if reason is not None:
            found.update({(way, name): reason for way in ways})
    return found


REFUSED = {
    **_named({"align_corners_scales": _WHOLE}, ("onnx",)),
    **_named(_REASONS, judged.WAYS),
    **_named(_ONNX_ONLY, ("openvino", "round")),
}
LIMITED = dict.fromkeys(
    _named(dict.fromkeys((*_ONNX_ONLY, *_OTHERS), ""), ("onnx",)), "OpenVINO does not read it, or as something else"
)


@pytest.mark.parametrize(("way", "case"), judged.parameters("Resize", "Upsample", share=3))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    judged.judge(way, case, tmp_path, refused=REFUSED, limited=LIMITED, rtol=1e-4, atol=1e-4)


FORMS = list(
    itertools.product(
        ("nearest", "linear", "cubic"), ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"), (1, 2)
    )
)


@pytest.mark.parametrize(("mode", "coordinates", "given"), FORMS)
def test_known_sizes_and_scales(mode: str, coordinates: str, given: int, tmp_path: Path) -> None:
    inputs: dict[str, Any] = {"x": judged.floats(1, 2, 4, 6), "roi": "", "scales": "", "sizes": ""}
    if given == 1:
        inputs["scales"] = np.array([1, 1, 1.5, 0.5], np.float32)
    else:
        inputs["sizes"] = np.array([1, 2, 7, 3])
    model, values = judged.one_node(
        "Resize", inputs, opset=13, constants=["scales" if given == 1 else "sizes"],
        mode=mode, coordinate_transformation_mode=coordinates, nearest_mode="floor",
    )  # fmt: skip
    judged.assert_same_in_openvino(model, values, tmp_path)
    case = harness.Case("sizes", model, values, harness.run_onnx(tmp_path / "made.onnx", values))
    harness.assert_close(harness.round_trip(case, tmp_path, opset=13), case.outputs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_first_versions(mode: str, tmp_path: Path) -> None:
    values, scales = judged.floats(1, 2, 3, 4), np.array([1, 1, 2, 3], np.float32)
    model, inputs = judged.one_node("Upsample", {"x": values}, opset=7, mode=mode, scales=scales.tolist())
    judged.assert_same_in_openvino(model, inputs, tmp_path)
    for op, opset in (("Upsample", 9), ("Resize", 10)):
        model, inputs = judged.one_node(
            op, {"x": values, "scales": scales}, opset=opset, mode=mode, constants=["scales"], dynamic=["x"]
        )
        judged.assert_same_in_openvino(model, inputs, tmp_path)


@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("mode", ["nearest", "linear_onnx", "linear", "cubic"])
def test_interpolate(mode: str, opset: int, tmp_path: Path) -> None:
    x = ov.parameter([1, 2, -1, 6], np.float32)
    axes, sizes = ov.constant(np.array([2, 3])), ov.constant(np.array([7, 3]))
    scales = ov.constant(np.array([1.5, 0.5], np.float32))
    common: dict[str, Any] = {"nearest_mode": "ceil", "coordinate_transformation_mode": "half_pixel"}
    results = [
        ov.interpolate(x, sizes, mode, "sizes", axes=axes, **common),
        ov.interpolate(x, scales, mode, "scales", axes=axes, **common),
        ov4.interpolate(x, sizes, scales, mode, "scales", axes=axes, **common),
        ov4.interpolate(x, sizes, scales, mode, "sizes", axes=axes, **common),
    ]
    judged.assert_same_in_onnx(results, [x], [judged.floats(1, 2, 4, 6)], tmp_path, opset=opset)


def test_refused_interpolate(tmp_path: Path) -> None:
    x, sizes = ov.parameter([1, 2, 4, 6], np.float32), ov.constant(np.array([7, 3]))
    axes = ov.constant(np.array([2, 3]))
    for attributes, reason in (
        ({"antialias": True}, "its antialias or padding is not covered"),
        ({"pads_begin": [0, 0, 1, 0]}, "its antialias or padding is not covered"),
        ({"nearest_mode": "simple"}, "its nearest_mode 'simple' is not covered"),
    ):
        result = ov.interpolate(x, sizes, "nearest", "sizes", axes=axes, **attributes)  # type: ignore[arg-type]
        judged.assert_refused_in_onnx([result], [x], tmp_path, reason)
    result = ov.interpolate(x, sizes, "bilinear_pillow", "sizes", axes=axes)
    judged.assert_refused_in_onnx([result], [x], tmp_path, "its mode 'bilinear_pillow' is not covered")


def test_sizes_of_unknown_number(tmp_path: Path) -> None:
    """They are cut out of a shape at run time, and rows behind the Resize need its type and rank."""
    x, like = ov.parameter([-1, 2, -1, -1], np.float32), ov.parameter([-1, -1, -1, -1], np.float32)
    start = ov.parameter([1], np.int64)
    sizes = ov.slice(ov.shape_of(like), start, ov.constant(np.array([4])), ov.constant(np.array([1])))
    resized = ov.interpolate(x, sizes, "nearest", "sizes", [0] * 4, [0] * 4, axes=np.array([2, 3]))
    result = ov.relu(ov.reduce_mean(resized, ov.constant(np.array([-1])), False))
    inputs = [judged.floats(1, 2, 3, 4), judged.floats(1, 1, 5, 7), np.array([2])]
    judged.assert_same_in_onnx([result], [x, like, start], inputs, tmp_path, opset=18)


_SIZES = ((7, 9), (8, 10), (3, 3), (8, 3), (2, 11), (4, 6), (1, 1), (4, 9))


def _first(mode: str, *, axes: tuple[int, ...] = (2, 3), **attributes: Any) -> Any:
    given = {"axes": np.array(axes), "mode": mode, **attributes}
    return lambda x, sizes: ov1.interpolate(x, sizes, given)


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_interpolate_of_the_first_version(mode: str, align_corners: bool, tmp_path: Path) -> None:
    x = judged.floats(1, 2, 4, 6)
    for sizes in _SIZES:
        assert_converts(
            _first(mode, align_corners=align_corners),
            [x, np.array(sizes)],
            tmp_path,
            constants=[1],
            rtol=1e-4,
            atol=1e-5,
        )


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_axes_in_any_order(mode: str, tmp_path: Path) -> None:
    """A size belongs to the axis of its place, also where it is of few axes."""
    x = judged.floats(1, 2, 4, 6)
    for axes, sizes in (((3, 2), (9, 3)), ((3,), (4,)), ((2,), (9,))):
        assert_converts(
            _first(mode, axes=axes, align_corners=True), [x, np.array(sizes)], tmp_path, constants=[1], rtol=1e-4,
            atol=1e-5,
        )  # fmt: skip


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_data_of_run_time_sizes(mode: str, tmp_path: Path) -> None:
    values = [judged.floats(1, 2, 4, 6), np.array([7, 3])]
    make = _first(mode, align_corners=False)
    assert_converts(make, values, tmp_path, constants=[1], is_dynamic=True, rtol=1e-4, atol=1e-5)
    assert_converts(make, values, tmp_path, is_dynamic=True, opset=18, rtol=1e-4, atol=1e-5)


def test_what_the_first_version_is_refused_for(tmp_path: Path) -> None:
    values = [judged.floats(1, 2, 4, 6), np.array([7, 3])]
    padded = _first("linear", pads_begin=[1], pads_end=[0])
    assert_refused(padded, values, tmp_path, "its padding is not covered", constants=[1])
    assert_refused(_first("area"), values, tmp_path, "its mode 'area' is not covered", constants=[1])
    nearest = _first("nearest")
    reason = "the sizes of its data are not known, for the mode 'nearest'"
    assert_refused(nearest, values, tmp_path, reason, constants=[1], is_dynamic=True)
