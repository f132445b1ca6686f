"""Comparisons: two operands of one type, a boolean result."""

from __future__ import annotations

from dataclasses import replace

from maxfold.passes.conversion.row import Row
from maxfold.passes.conversion.rows.forms import BROADCAST_DEFAULTS, LEGACY_ATTRIBUTES, binary, broadcast_operands
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_LIMITS = (
    "OpenVINO's CPU compares 64-bit and unsigned integers as 32-bit signed ones, and no strings. ONNX does not order "
    "booleans."
)


def _comparison(onnx: str, openvino: str, since: int = 1) -> Row:
    # Operators of the first operator set broadcast by attributes, but never had the hint `consumed_inputs`.
    attributes = LEGACY_ATTRIBUTES - {"consumed_inputs"} if since == 1 else frozenset()
    row = binary(onnx, openvino, limits=_LIMITS)
    return replace(row, onnx_attributes=attributes, onnx_versions=(since, 0))


def _not_equal_to_onnx(site: OnnxSite) -> None:
    site.result(site.add("Not", [site.add("Equal", broadcast_operands(site))]))


ROWS: tuple[Row, ...] = (
    _comparison("Equal", "Equal"),
    _comparison("Less", "Less"),
    _comparison("LessOrEqual", "LessEqual", 12),
    _comparison("Greater", "Greater"),
    _comparison("GreaterOrEqual", "GreaterEqual", 12),
    Row(
        "Equal",
        "NotEqual",
        "custom",
        None,
        _not_equal_to_onnx,
        openvino_attributes=BROADCAST_DEFAULTS,
        limits=f"Becomes Equal and Not. {_LIMITS}",
    ),
)
