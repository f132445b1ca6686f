"""Comparisons: two operands of one type, a boolean result."""

from __future__ import annotations

from maxfold.passes.conversion.row import Row
from maxfold.passes.conversion.rows.forms import binary, broadcast_operands
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_LIMITS = (
    "OpenVINO's CPU compares 64-bit and unsigned integers as 32-bit signed ones, and no strings. ONNX does not order "
    "booleans."
)


def _comparison(onnx: str, openvino: str) -> Row:
    return binary(onnx, openvino, limits=_LIMITS)


def _not_equal_to_onnx(site: OnnxSite) -> None:
    site.result(site.add("Not", [site.add("Equal", broadcast_operands(site))]))


ROWS: tuple[Row, ...] = (
    _comparison("Equal", "Equal"),
    _comparison("Less", "Less"),
    _comparison("LessOrEqual", "LessEqual"),
    _comparison("Greater", "Greater"),
    _comparison("GreaterOrEqual", "GreaterEqual"),
    Row(
        "Equal",
        "NotEqual",
        "custom",
        None,
        _not_equal_to_onnx,
        limits=f"Becomes Equal and Not. {_LIMITS}",
    ),
)
