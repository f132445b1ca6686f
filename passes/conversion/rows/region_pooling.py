"""Pooling of regions of an image, to ONNX."""

from __future__ import annotations

from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import cast
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.versions import needs_opset

_ALIGN_OPSET = 16
# How ONNX calls what OpenVINO does with the ends of regions.
_ALIGNED = {"asymmetric": "output_half_pixel", "half_pixel_for_nn": "half_pixel"}
_FLOATS = ("FLOAT", "DOUBLE")


def _roi_pooling(site: OnnxSite) -> None:
    if site.text("method").lower() != "max":
        raise UnsupportedError("its method 'bilinear' is not covered")
    sizes = site.integers("output_roi" if "output_roi" in site.node.attrs else "output_size")
    if len(sizes) != 2 or min(sizes) < 1:
        sizes = [site.integer("pooled_h"), site.integer("pooled_w")]
    site.ignore("output_roi", "output_size", "pooled_h", "pooled_w")
    if min(sizes) < 1 or dtype_of(site).name not in _FLOATS:
        raise UnsupportedError(f"{sizes[0]} x {sizes[1]} bins of {dtype_of(site)} are not covered")
    attributes = {"pooled_shape": sizes, "spatial_scale": site.floating("spatial_scale")}
    site.result(site.add("MaxRoiPool", [site.input(0), site.input(1)], attributes))


def _roi_align(site: OnnxSite) -> None:
    aligned = site.text("aligned_mode").lower() if site.version >= 9 else "asymmetric"
    if site.text("mode").lower() != "avg" or aligned not in _ALIGNED:
        raise UnsupportedError("ONNX Runtime computes its mode 'max', or its aligned_mode 'half_pixel', otherwise")
    if site.opset < _ALIGN_OPSET:
        raise needs_opset("where its regions begin", _ALIGN_OPSET)
    if dtype_of(site).name not in _FLOATS:
        raise UnsupportedError(f"{dtype_of(site)} is not covered")
    sizes, ratio = [site.integer(name) for name in ("pooled_h", "pooled_w")], site.integer("sampling_ratio")
    if min(sizes) < 1 or ratio < 0:
        raise UnsupportedError("its sizes are not positive")
    attributes = {
        "output_height": sizes[0], "output_width": sizes[1], "mode": "avg",
        "sampling_ratio": ratio, "spatial_scale": site.floating("spatial_scale"),
        "coordinate_transformation_mode": _ALIGNED[aligned],
    }  # fmt: skip
    images = cast(site, site.input(2), dtype_of(site, 2).name, "INT64")
    site.result(site.add("RoiAlign", [site.input(0), site.input(1), images], attributes))


_TOLERANCE = "1e-4 relative, 1e-5 absolute"

ROWS: tuple[Row, ...] = (
    *from_openvino("ROIPooling-1", "MaxRoiPool", _roi_pooling, limits="Its method bilinear is refused."),
    *from_openvino(
        "ROIAlign-3", "RoiAlign", _roi_align, tolerance=_TOLERANCE,
        limits="Its mode max and its aligned_mode half_pixel are refused: ONNX Runtime computes others. "
        "Regions without extent have no mean where the number of samples follows from it.",
    ),
)  # fmt: skip
