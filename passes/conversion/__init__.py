"""Conversion between ONNX and OpenVINO IR: a table of operator pairs, and a walk for each direction."""

from maxfold.passes.conversion.errors import ConversionError, Refusal
from maxfold.passes.conversion.row import Row
from maxfold.passes.conversion.table import TABLE
from maxfold.passes.conversion.to_onnx import DEFAULT_OPSET, convert_to_onnx
from maxfold.passes.conversion.to_openvino import convert_to_openvino
from maxfold.passes.conversion.versions import OPSETS

__all__ = [
    "DEFAULT_OPSET",
    "OPSETS",
    "TABLE",
    "ConversionError",
    "Refusal",
    "Row",
    "convert_to_onnx",
    "convert_to_openvino",
]
