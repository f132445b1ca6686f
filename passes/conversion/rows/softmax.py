"""Softmax and its kin, along one axis."""

from __future__ import annotations

from collections.abc import Callable

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.row import Row, ToOnnx, ToOpenvino, both, from_onnx, pair
from maxfold.passes.conversion.rows.unary import APPROXIMATE
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

# The version of SoftMax that counts axes from the end too, and whose missing axis is 1 rather than 0.
_NEGATIVE_AXIS_VERSION = 8

# The operation along one axis of a tensor.
_Along = Callable[[OpenvinoSite, Tensor, int], Tensor]


def _along_axis(operation: _Along) -> ToOpenvino:
    def convert(site: OpenvinoSite) -> None:
        site.result(operation(site, site.input(0), site.attribute("axis", -1)))

    return convert


def _softmax(site: OpenvinoSite, x: Tensor, axis: int) -> Tensor:
    result: Tensor = site.add("SoftMax", [x], {"axis": axis}, opset=_NEGATIVE_AXIS_VERSION)
    return result


def _hardmax(site: OpenvinoSite, x: Tensor, axis: int) -> Tensor:
    """1 at the first of the largest elements, which is where the running count of the largest is 1."""
    numpy = {BROADCAST: "numpy"}
    largest = site.add("ReduceMax", [x, site.constant([axis], "int64")], {"keep_dims": True})
    is_largest = site.add("Equal", [x, largest], numpy)
    ones = site.add("Convert", [is_largest], {"destination_type": "i32"})
    count = site.add("CumSum", [ones, site.constant(axis, "int64")], {"exclusive": False, "reverse": False}, opset=3)
    is_counted_first = site.add("Equal", [count, site.constant(1, "int32")], numpy)
    is_first = site.add("LogicalAnd", [is_largest, is_counted_first], numpy)
    result: Tensor = site.add("Convert", [is_first], {"destination_type": dtype_of(site).openvino})
    return result


def _to_onnx(operator: str) -> ToOnnx:
    def convert(site: OnnxSite) -> None:
        is_first_version = operator == "Softmax" and site.version < _NEGATIVE_AXIS_VERSION
        axis = site.integer("axis")
        if axis < 0 and is_first_version:
            raise UnsupportedError(f"its axis {axis} is negative, which its version does not have")
        site.result(site.add(operator, site.inputs(), {"axis": axis}))

    return convert


ROWS: tuple[Row, ...] = (
    *both("Softmax", "SoftMax-1", _along_axis(_softmax), _to_onnx("Softmax"), tolerance=APPROXIMATE),
    *pair("LogSoftmax", "LogSoftmax-5", "axis:integer", tolerance=APPROXIMATE),
    *from_onnx(
        "Hardmax",
        "ReduceMax-1",
        _along_axis(_hardmax),
        limits="Becomes ReduceMax, CumSum and comparisons. All are 0 where one is NaN.",
    ),
)
