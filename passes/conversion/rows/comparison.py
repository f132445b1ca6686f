"""Comparisons: two operands of one type, a boolean result."""

from __future__ import annotations

from maxfold.passes.conversion.pair import broadcast_operands
from maxfold.passes.conversion.row import Row, from_openvino, pair
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_LIMITS = (
    "OpenVINO's CPU compares 64-bit and unsigned integers as 32-bit signed ones, and no strings. ONNX does not order "
    "booleans."
)


def _not_equal_to_onnx(site: OnnxSite) -> None:
    site.result(site.add("Not", [site.add("Equal", broadcast_operands(site))]))


ROWS: tuple[Row, ...] = (
    *pair("Equal", "Equal-1", operands="broadcast", limits=_LIMITS),
    *pair("Less", "Less-1", operands="broadcast", limits=_LIMITS),
    *pair("LessOrEqual", "LessEqual-1", operands="broadcast", limits=_LIMITS),
    *pair("Greater", "Greater-1", operands="broadcast", limits=_LIMITS),
    *pair("GreaterOrEqual", "GreaterEqual-1", operands="broadcast", limits=_LIMITS),
    *from_openvino("NotEqual-1", "Equal", _not_equal_to_onnx, limits=f"Becomes Equal and Not. {_LIMITS}"),
)
