"""Clip and Clamp: a lower and an upper bound, as inputs on one side and attributes on the other."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from maxfold.model.data import Array
from maxfold.model.dtypes import DType
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.row import Row, both
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite


def _to_openvino(site: OpenvinoSite) -> None:
    bounds = _constant_bounds(site, dtype_of(site))
    if bounds is not None and bounds[0] <= bounds[1]:
        _clamp(site, *bounds)
        return
    # In this order NaN comes through OpenVINO's Maximum and Minimum.
    result = site.input(0)
    for index, operation, end in ((1, "Maximum", -1), (2, "Minimum", 1)):
        bound = site.input(index) if site.has_input(index) else _end_of_range(site, end)
        if bound is not None:
            result = site.add(operation, [bound, result], {BROADCAST: "numpy"})
    site.result(result)


def _end_of_range(site: OpenvinoSite, sign: int) -> Tensor | None:
    """The largest finite number of the type, which ONNX clips to where a bound is left out; None for integers, which
    have nothing beyond."""
    dtype = dtype_of(site)
    if dtype.kind != "float":
        return None
    return site.constant(sign * ml_dtypes.finfo(dtype.numpy).max, dtype.numpy)  # type: ignore[no-untyped-call]


def _clamp(site: OpenvinoSite, low: float, high: float) -> None:
    site.result(site.add("Clamp", [site.input(0)], {"min": low, "max": high}))


def _constant_bounds(site: OpenvinoSite, dtype: DType) -> tuple[float, float] | None:
    """Both bounds as float64, which Clamp keeps them in; None where that cannot hold them.

    A bound that floating-point numbers do not have is the end of their range. Integers need both.
    """
    largest = float(ml_dtypes.finfo(dtype.numpy).max) if dtype.kind == "float" else None  # type: ignore[no-untyped-call]
    low = _constant_bound(site, 1, None if largest is None else -largest)
    high = _constant_bound(site, 2, largest)
    return None if low is None or high is None else (low, high)


def _constant_bound(site: OpenvinoSite, index: int, default: float | None) -> float | None:
    if not site.has_input(index):
        return default
    value = site.value(index)
    if value is None or value.size != 1:
        return None
    # As a Python number, which is compared exactly.
    bound = value.item()
    return float(bound) if float(bound) == bound else None


def _to_onnx(site: OnnxSite) -> None:
    low, high = site.floating("min"), site.floating("max")
    if not low <= high:
        raise UnsupportedError(f"its min {low} is not below its max {high}")
    dtype = dtype_of(site)
    if dtype.kind not in ("float", "int", "uint"):
        raise UnsupportedError(f"of {dtype} ONNX does not have it")
    bounds = [site.constant(value, dtype.numpy) for value in _bounds_in(dtype, low, high)]
    site.result(site.add("Clip", [site.input(0), *bounds]))


def _bounds_in(dtype: DType, low: float, high: float) -> Array:
    """The bounds in the element type. For integers the lower one is rounded up, and the upper one down."""
    if dtype.kind == "float":
        with np.errstate(over="ignore"):
            return np.asarray([low, high]).astype(dtype.numpy)
    info = ml_dtypes.iinfo(dtype.numpy)  # type: ignore[no-untyped-call]
    first = info.min if low <= info.min else math.ceil(low)
    last = info.max if high >= info.max else math.floor(high)
    if not first <= last:
        raise UnsupportedError(f"there is no {dtype} between its min {low} and its max {high}")
    return np.asarray([first, last]).astype(dtype.numpy)


ROWS: tuple[Row, ...] = (
    *both(
        "Clip",
        "Clamp-1",
        _to_openvino,
        _to_onnx,
        limits="ONNX lets NaN through; OpenVINO's CPU gives the lower bound for it. Bounds computed at run time, and "
        "a single one of integers, become Maximum and Minimum.",
    ),
)
