"""Boxes and regions of images: NonMaxSuppression, RoiAlign."""

from __future__ import annotations

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import openvino_scalar
from maxfold.passes.conversion.row import Row, from_onnx
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NUMPY = {"auto_broadcast": "numpy"}
_MOST, _OVERLAP, _SCORE = 2, 3, 4
_LEAST_OVERLAP = float(np.finfo(np.float32).tiny)
# A little more than half a unit in the last place of 1: it makes of a number the next one.
_NEXT = float(np.nextafter(np.float32(2**-24), np.float32(1)))
_MOST_BOXES = int(np.iinfo(np.int32).max)
# ONNX's half_pixel moves regions by half a pixel, OpenVINO's of that name scales them too.
_ALIGNED = {"half_pixel": "half_pixel_for_nn", "output_half_pixel": "asymmetric"}


def _suppression_to_openvino(site: OpenvinoSite) -> None:
    operands = [_corners(site, 0, [0, -1, 4]), site.input(1), _most(site), _overlap(site), _score(site)]
    data = {
        "box_encoding": "center" if site.attribute("center_point_box", 0) else "corner",
        "sort_result_descending": False, "output_type": "i64",
    }  # fmt: skip
    site.result(site.add("NonMaxSuppression", operands, data, opset=9, outputs=3)[0])


def _corners(site: OpenvinoSite, index: int, shape: list[int]) -> Tensor:
    """Boxes of four numbers each; OpenVINO's CPU has to know that there are as many."""
    known = site.shape(index)
    if known is not None and known[-1] == shape[-1]:
        return site.input(index)
    target = site.constant(shape, "int64")
    boxes: Tensor = site.add("Reshape", [site.input(index), target], {"special_zero": True})
    return boxes


def _most(site: OpenvinoSite) -> Tensor:
    """How many boxes there may be of a class, none where that is left out. OpenVINO's CPU counts in 32 bits."""
    value = site.value(_MOST)
    if value is None and site.has_input(_MOST):
        most: Tensor = site.add("Minimum", [openvino_scalar(site, _MOST), site.constant(_MOST_BOXES, "int64")], _NUMPY)
        return most
    return site.constant(0 if value is None else min(int(value.reshape(-1)[0]), _MOST_BOXES), "int64")


def _overlap(site: OpenvinoSite) -> Tensor:
    """The next number behind the overlap that ONNX still allows: OpenVINO suppresses what overlaps as much as that."""
    if site.has_input(_OVERLAP) and site.value(_OVERLAP) is None:
        allowed = openvino_scalar(site, _OVERLAP)
        step = site.add("Multiply", [allowed, site.constant(_NEXT, "float32")], _NUMPY)
        following = site.add("Add", [allowed, step], _NUMPY)
        result: Tensor = site.add("Maximum", [following, site.constant(_LEAST_OVERLAP, "float32")], _NUMPY)
        return result
    value = site.value(_OVERLAP)
    number = np.float32(0 if value is None else value.reshape(-1)[0])
    return site.constant(max(np.nextafter(number, np.float32(np.inf)), np.float32(_LEAST_OVERLAP)), "float32")


def _score(site: OpenvinoSite) -> Tensor:
    """The score that boxes must pass, which is none where it is left out."""
    return openvino_scalar(site, _SCORE) if site.has_input(_SCORE) else site.constant(-np.inf, "float32")


def _region_to_openvino(site: OpenvinoSite) -> None:
    mode = site.attribute("mode", "avg")
    if mode != "avg":
        raise UnsupportedError(f"its mode {mode!r} takes other samples in OpenVINO")
    given = site.attribute("coordinate_transformation_mode", "half_pixel")
    if given not in _ALIGNED:
        raise UnsupportedError(f"its coordinate_transformation_mode {given!r} does not exist")
    data = {
        "pooled_h": site.attribute("output_height", 1), "pooled_w": site.attribute("output_width", 1),
        "sampling_ratio": site.attribute("sampling_ratio", 0),
        "spatial_scale": float(site.attribute("spatial_scale", 1.0)),
        "mode": mode, "aligned_mode": _ALIGNED[given],
    }  # fmt: skip
    operands = [site.input(0), _corners(site, 1, [-1, 4]), site.input(2)]
    site.result(site.add("ROIAlign", operands, data, opset=9))


ROWS: tuple[Row, ...] = (
    *from_onnx(
        "NonMaxSuppression", "NonMaxSuppression-9", _suppression_to_openvino,
        limits="OpenVINO suppresses at the threshold too, so it gets the next number.",
    ),
    *from_onnx(
        "RoiAlign", "ROIAlign-9", _region_to_openvino, tolerance="1e-5 relative", limits="The mode max is refused."
    ),
)  # fmt: skip
