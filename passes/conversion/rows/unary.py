"""Elementwise operators with one input."""

from __future__ import annotations

from maxfold.passes.conversion.row import Row
from maxfold.passes.conversion.rows.forms import unary

ROWS: tuple[Row, ...] = (
    unary("Abs", "Abs"),
    unary("Relu", "ReLU", limits="OpenVINO's CPU gives 0 for NaN."),
)
