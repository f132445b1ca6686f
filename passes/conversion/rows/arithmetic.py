"""Arithmetic with two or more operands."""

from __future__ import annotations

from maxfold.passes.conversion.row import Row
from maxfold.passes.conversion.rows.forms import binary, variadic

_NAN = (
    "ONNX gives NaN where any operand is NaN; OpenVINO's CPU gives its second operand there. Which of +0 and -0 is "
    "the result is open on both sides."
)
_OVERFLOW = "Integers wrap around in ONNX; OpenVINO's CPU saturates 8-bit ones and computes 64-bit ones in 32 bits."

ROWS: tuple[Row, ...] = (
    binary("Add", "Add", limits=_OVERFLOW),
    binary("Sub", "Subtract", limits=_OVERFLOW),
    binary("Mul", "Multiply", limits=_OVERFLOW),
    variadic("Max", "Maximum", limits=_NAN),
    variadic("Min", "Minimum", limits=_NAN),
)
