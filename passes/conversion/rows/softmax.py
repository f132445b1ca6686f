"""Softmax and its kin, along one axis; before operator set 13 ONNX flattened all axes from one on."""

from __future__ import annotations

from collections.abc import Callable

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.row import Row, ToOnnx, ToOpenvino
from maxfold.passes.conversion.rows.forms import BROADCAST
from maxfold.passes.conversion.rows.operands import positive_axis
from maxfold.passes.conversion.rows.scalars import dtype_of
from maxfold.passes.conversion.rows.unary import APPROXIMATE
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.sites.site import Shape

_AXIS_OPSET = 13
# The version of SoftMax that counts axes from the end too, and whose missing axis is 1 rather than 0.
_NEGATIVE_AXIS_VERSION = 8

# The operation along one axis of a tensor.
_Along = Callable[[OpenvinoSite, Tensor, int], Tensor]


def _along_axis(operation: _Along) -> ToOpenvino:
    """The operation along its axis, or on the axes flattened into one."""

    def convert(site: OpenvinoSite) -> None:
        x = site.input(0)
        if site.opset >= _AXIS_OPSET:
            site.result(operation(site, x, site.attribute("axis", -1)))
            return
        axis, shape = site.attribute("axis", 1), site.shape(0)
        if axis == -1:
            site.result(operation(site, x, axis))
            return
        first = axis if axis >= 0 and shape is None else positive_axis(axis, site.rank(0))
        single = None if shape is None else _single_axis(shape, first)
        site.result(operation(site, x, single) if single is not None else _flattened(site, operation, shape, first))

    return convert


def _single_axis(shape: Shape, first: int) -> int | None:
    """The only axis from one on that is longer than 1 (or may be), None where there are several."""
    long = [axis for axis in range(first, len(shape)) if shape[axis] != 1]
    if len(long) > 1:
        return None
    return long[0] if long else first


def _flattened(site: OpenvinoSite, operation: _Along, shape: Shape | None, first: int) -> Tensor:
    """The operation on all axes from one on as if they were one, and their shape again."""
    x = site.input(0)
    if shape is not None and 0 in shape:
        # There is nothing to compute, and a Reshape would take 0 for another dimension.
        return x
    keep = {"special_zero": True}
    flat = site.add("Reshape", [x, site.constant([0] * first + [-1], "int64")], keep)
    made = operation(site, flat, first)
    rest = () if shape is None else shape[first:]
    if rest and None not in rest:
        target: Tensor = site.constant([0] * first + list(rest), "int64")
    else:
        target = site.add("ShapeOf", [x], {"output_type": "i64"}, opset=3)
        keep = {"special_zero": False}
    result: Tensor = site.add("Reshape", [made, target], keep)
    return result


def _softmax(site: OpenvinoSite, x: Tensor, axis: int) -> Tensor:
    result: Tensor = site.add("SoftMax", [x], {"axis": axis}, opset=_NEGATIVE_AXIS_VERSION)
    return result


def _log_softmax(site: OpenvinoSite, x: Tensor, axis: int) -> Tensor:
    result: Tensor = site.add("LogSoftmax", [x], {"axis": axis}, opset=5)
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


_FLATTENED = "Before operator set 13 several axes become one and come back by Reshape."

ROWS: tuple[Row, ...] = (
    Row(
        "Softmax",
        "SoftMax",
        "custom",
        _along_axis(_softmax),
        _to_onnx("Softmax"),
        tolerance=APPROXIMATE,
        limits=_FLATTENED,
    ),
    Row(
        "LogSoftmax",
        "LogSoftmax",
        "custom",
        _along_axis(_log_softmax),
        _to_onnx("LogSoftmax"),
        openvino_versions=(5, 0),
        tolerance=APPROXIMATE,
        limits=_FLATTENED,
    ),
    Row(
        "Hardmax",
        "ReduceMax",
        "custom",
        _along_axis(_hardmax),
        None,
        limits=f"Becomes ReduceMax, CumSum and comparisons. All are 0 where one is NaN. {_FLATTENED}",
    ),
)
