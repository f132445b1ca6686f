"""Operators that reduce, accumulate or normalize along axes.

Numbers are combined in one order whatever the processor: halves of an axis are added to each other until one element
is left. Sources: the documents of all versions of the operators in ONNX opsets 1 to 28.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from maxfold.model.dtypes import DType
from maxfold.passes.kernels.call import Array, Call, KernelError, Result, Shape, axis_of
from maxfold.passes.kernels.elementwise import is_float, settle_nan
from maxfold.passes.kernels.indexing import sortable
from maxfold.passes.kernels.kernel import Kernel
from maxfold.passes.kernels.rounding import rounded, widened
from maxfold.passes.kernels.shape import distinct_axes, scalar, version_axis

# Since this opset the reduction of nothing is specified, and Softmax and its kin work along one axis.
_EMPTY_EXTREMA_SINCE = 18
_ONE_AXIS_SINCE = 13

Function = Callable[[Array], Any]


def halved(function: Callable[..., Array], values: Array) -> Array:
    """The last axis, of at least one element, combined by `function` in an order that its size alone decides."""
    while (size := values.shape[-1]) > 1:
        half = size // 2
        pairs = function(values[..., :half], values[..., half : 2 * half])
        values = pairs if size == 2 * half else np.concatenate([pairs, values[..., -1:]], axis=-1)
    return values[..., 0]


def total(values: Array) -> Array:
    """The sum of the last axis, 0 of nothing."""
    return halved(np.add, values) if values.shape[-1] else np.zeros(values.shape[:-1], values.dtype)


def as_double(values: Array, dtype: DType) -> Array:
    """Floats as float64, integers as they are."""
    return values.astype(np.float64) if dtype.kind == "float" else values


def settled(values: Any, result: Result) -> Array:
    """Computed numbers rounded once to the result's type, their NaN settled."""
    array = np.asarray(values)
    with np.errstate(all="ignore"):
        if result.dtype.kind == "float":
            array = rounded(array, result.dtype)
            settle_nan(array)
    return np.array(array, result.dtype.numpy, order="C").reshape(result.shape)


def check_range(sizes: Any, results: Any, dtype: DType) -> None:
    """Raises KernelError where numbers on the way to a finite result may not be: runtimes go by the node's own type.

    `sizes` are as large as whatever is on the way to `results`, in whichever order it is combined.
    """
    if dtype.kind != "float":
        return
    if (np.isfinite(results) & (np.asarray(sizes) > largest_number(dtype))).any():
        raise KernelError("numbers on the way to the result are larger than the type has")


def largest_number(dtype: DType) -> float:
    """The largest finite number of a float type."""
    return float(ml_dtypes.finfo(dtype.numpy).max)  # type: ignore[no-untyped-call]  # ml_dtypes is not


def magnitudes(values: Array) -> Array:
    """How large numbers are, 0 for what is not finite."""
    return np.where(np.isfinite(values), np.abs(values), 0)


def _product(values: Array) -> Array:
    return halved(np.multiply, values) if values.shape[-1] else np.ones(values.shape[:-1], values.dtype)


def _nothing(values: Array) -> Array:
    return np.zeros(values.shape[:-1])


def _mean(values: Array) -> Any:
    if not values.shape[-1]:
        raise KernelError("the mean of nothing is not defined")
    return total(values) / values.shape[-1]


def _log_sum_exp(values: Array) -> Any:
    largest = values.max(axis=-1, initial=-np.inf)
    # Infinities stay in the sum: inf - inf would be NaN.
    shift = np.where(np.isfinite(largest), largest, 0)
    return np.log(total(np.exp(values - shift[..., None]))) + shift


def _reduced_axes(call: Call) -> list[int]:
    """The axes that go; of none given, all of them or, as the node may say, none."""
    rank, axes = len(call.shape(0)), call.axes(1)
    if axes == [] and "axes" in call.attributes:
        raise KernelError("the attribute axes is empty, which is not specified")
    if axes:
        return sorted(distinct_axes(call, axes, rank))
    return [] if call.integer("noop_with_empty_axes", 0) else list(range(rank))


def _reduced_results(call: Call) -> tuple[Result, ...]:
    axes, keeps = _reduced_axes(call), call.integer("keepdims", 1)
    sizes = enumerate(call.shape(0))
    return (
        Result(call.dtype(), tuple(1 if axis in axes else size for axis, size in sizes if keeps or axis not in axes)),
    )


def _rows(array: Array, axes: Sequence[int]) -> Array:
    """The array with `axes` made one last axis."""
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    outer = tuple(array.shape[axis] for axis in kept)
    return array.transpose([*kept, *axes]).reshape((*outer, math.prod(array.shape[axis] for axis in axes)))


def _reduction(
    operator: str, last: int, function: Function, sizes: Function, *, integers: bool = True, wide: bool = False
) -> Kernel:
    """`function` of rows of float64 (of the widest type where `wide`), or of integers if it has them.

    `sizes` of the magnitudes in a row are as large as any sum on the way.
    """

    def evaluate(call: Call) -> tuple[Array, ...]:
        (result,) = _reduced_results(call)
        if result.dtype.kind != "float" and not integers:
            raise KernelError(f"{operator} of integers is rounded in no specified way")
        values = _rows(call.array(0), _reduced_axes(call))
        with np.errstate(all="ignore"):
            if values.dtype.kind in "iu":
                _check_magnitude(function(np.abs(values.astype(np.float64))), values.dtype, operator)
            widest = widened(values, result.dtype) if wide else as_double(values, result.dtype)
            made = settled(function(widest), result)
            check_range(np.reshape(sizes(magnitudes(widest)), result.shape), made, result.dtype)
            return (made,)

    return Kernel(operator, "", 1, last, _ROUNDED, _reduced_results, evaluate, is_rounded=True)


def _check_magnitude(bounds: Any, dtype: np.dtype[Any], operator: str) -> None:
    """Raises KernelError where integers might overflow, or runtimes that go by doubles round."""
    limit = min(np.iinfo(dtype).max, (1 << 53) - 1)
    if np.asarray(bounds).size and not np.max(bounds) <= limit:
        raise KernelError(f"{operator} of integers of this size is not the same in every runtime")


def _extremum(operator: str, function: Callable[..., Array], sign: int) -> Kernel:
    """The greatest (`sign` 1) or least (-1) element; of nothing, the least or greatest number of the type."""

    def evaluate(call: Call) -> tuple[Array, ...]:
        (result,) = _reduced_results(call)
        values = _rows(sortable(call.array(0)), _reduced_axes(call))
        if values.shape[-1]:
            return (_chosen(function, values, result),)
        if call.opset < _EMPTY_EXTREMA_SINCE:
            raise KernelError(f"{operator} of nothing is not defined before opset {_EMPTY_EXTREMA_SINCE}")
        return (np.full(result.shape, _limit(result.dtype, -sign), result.dtype.numpy),)

    return Kernel(operator, "", 1, 20, _ONE_OF_THEM, _reduced_results, evaluate)


def _chosen(function: Callable[..., Array], rows: Array, result: Result) -> Array:
    """The greatest or least element of each row; KernelError where it may be a zero of either sign."""
    found = np.asarray(function(rows, axis=-1))
    if is_float(rows) and (found == 0).any() and len(np.unique(np.signbit(rows[rows == 0]))) > 1:
        raise KernelError("zeros of both signs meet")
    return found.astype(result.dtype.numpy).reshape(result.shape)


def _limit(dtype: DType, sign: int) -> Any:
    if dtype.kind == "float":
        return sign * math.inf
    if dtype.kind == "bool":
        return sign > 0
    limits = np.iinfo(dtype.numpy)
    return limits.max if sign > 0 else limits.min


def _pooled_results(call: Call) -> tuple[Result, ...]:
    shape = call.shape(0)
    if len(shape) < 3 or 0 in shape[2:]:
        raise KernelError(f"shape {shape} has no space to pool")
    return (Result(call.dtype(), (*shape[:2], *[1] * (len(shape) - 2))),)


def _pooled_rows(call: Call) -> Array:
    shape = call.shape(0)
    return call.array(0).reshape((*shape[:2], math.prod(shape[2:])))


def _average(call: Call) -> tuple[Array, ...]:
    (result,) = _pooled_results(call)
    rows = as_double(_pooled_rows(call), result.dtype)
    with np.errstate(all="ignore"):
        made = settled(_mean(rows), result)
        check_range(total(magnitudes(rows)).reshape(result.shape), made, result.dtype)
        return (made,)


def _maximum(call: Call) -> tuple[Array, ...]:
    (result,) = _pooled_results(call)
    return (_chosen(np.max, sortable(_pooled_rows(call)), result),)


def _accumulated_axis(call: Call) -> int:
    return axis_of(int(scalar(call, 1)), len(call.shape(0)))


def _accumulation(operator: str, since: int, last: int, function: Any, neutral: int) -> Kernel:
    """The results of a ufunc along an axis, one after the other from one end of it."""

    def evaluate(call: Call) -> tuple[Array, ...]:
        (result,) = results(call)
        axis = _accumulated_axis(call)
        values = np.moveaxis(as_double(call.array(0), result.dtype), axis, 0)
        if call.integer("reverse", 0):
            values = values[::-1]
        if call.integer("exclusive", 0):
            first = np.full((min(1, len(values)), *values.shape[1:]), neutral, values.dtype)
            values = np.concatenate([first, values[:-1]])
        with np.errstate(all="ignore"):
            sums = function.accumulate(values, axis=0, dtype=values.dtype)
            ways = function.accumulate(np.maximum(magnitudes(values), neutral), axis=0)
            check_range(ways, rounded(sums, result.dtype) if result.dtype.kind == "float" else sums, result.dtype)
        return (settled(np.moveaxis(sums[::-1] if call.integer("reverse", 0) else sums, 0, axis), result),)

    def results(call: Call) -> tuple[Result, ...]:
        _accumulated_axis(call)
        return (Result(call.dtype(), call.shape(0)),)

    return Kernel(operator, "", since, last, _ROUNDED, results, evaluate, is_rounded=True)


def _normalized_shape(call: Call) -> tuple[Shape, int]:
    """The shape in which one axis is normalized, and that axis: before opset 13, data of two dimensions."""
    shape = call.shape(0)
    if call.opset >= _ONE_AXIS_SINCE:
        return shape, axis_of(call.integer("axis", -1), len(shape))
    axis = version_axis(call, call.integer("axis", 1), len(shape))
    return (math.prod(shape[:axis]), math.prod(shape[axis:])), 1


def _normalized_results(call: Call) -> tuple[Result, ...]:
    _normalized_shape(call)
    return (Result(call.dtype(), call.shape(0)),)


def _normalization(operator: str, function: Function) -> Kernel:
    """`function` of rows of the widest type, none of them empty and no number of them infinite."""

    def evaluate(call: Call) -> tuple[Array, ...]:
        (result,) = _normalized_results(call)
        shape, axis = _normalized_shape(call)
        with np.errstate(all="ignore"):
            values = widened(call.array(0), result.dtype).reshape(shape)
            if (values == np.inf).any():
                raise KernelError("an infinity is normalized in no specified way")
            if values.size:
                values = np.moveaxis(function(np.moveaxis(values, axis, -1)), -1, axis)
            return (settled(values.reshape(result.shape), result),)

    return Kernel(operator, "", 1, 13, _ROUNDED, _normalized_results, evaluate, is_rounded=True)


def _softmax(values: Array) -> Any:
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return powers / total(powers)[..., None]


def _log_softmax(values: Array) -> Any:
    distances = values - values.max(axis=-1, keepdims=True)
    return distances - np.log(total(np.exp(distances)))[..., None]


def _hardmax(call: Call) -> tuple[Array, ...]:
    (result,) = _normalized_results(call)
    shape, axis = _normalized_shape(call)
    values = sortable(call.array(0)).reshape(shape)
    places = np.arange(shape[axis]).reshape([-1 if place == axis else 1 for place in range(len(shape))])
    first = np.argmax(values, axis=axis, keepdims=True) if values.size else places
    return ((places == first).astype(result.dtype.numpy).reshape(result.shape),)


_ROUNDED = (
    "Computed in double or wider, in a fixed order, and rounded once to the node's type; integers where no runtime "
    "can overflow or round (53 bits); a NaN result is the positive quiet NaN."
)

_ONE_OF_THEM = "Exact: the result is one of the elements; NaN, and zeros of both signs, are left alone."

REDUCTION: tuple[Kernel, ...] = (
    _reduction("ReduceSum", 13, total, total),
    _reduction("ReduceMean", 18, _mean, total, integers=False),
    _reduction("ReduceProd", 18, _product, _nothing),
    _reduction("ReduceL1", 18, lambda x: total(np.abs(x)), total),
    _reduction("ReduceL2", 18, lambda x: np.sqrt(total(x * x)), lambda x: total(x * x), integers=False),
    _reduction("ReduceSumSquare", 18, lambda x: total(x * x), lambda x: total(x * x)),
    _reduction("ReduceLogSum", 28, lambda x: np.log(total(x)), total, integers=False, wide=True),
    _reduction("ReduceLogSumExp", 28, _log_sum_exp, _nothing, integers=False, wide=True),
    _extremum("ReduceMax", np.max, 1),
    _extremum("ReduceMin", np.min, -1),
    Kernel("GlobalAveragePool", "", 1, 22, _ROUNDED, _pooled_results, _average, is_rounded=True),
    Kernel("GlobalMaxPool", "", 1, 22, _ONE_OF_THEM, _pooled_results, _maximum),
    _accumulation("CumSum", 11, 14, np.add, 0),
    _accumulation("CumProd", 26, 26, np.multiply, 1),
    _normalization("Softmax", _softmax),
    _normalization("LogSoftmax", _log_softmax),
    Kernel(
        "Hardmax", "", 1, 13, "Exact; a NaN, which has no place in an order, is left alone.",
        _normalized_results, _hardmax,
    ),
)  # fmt: skip
"""Reduce*, GlobalAveragePool, GlobalMaxPool, CumSum, CumProd, Softmax, LogSoftmax, Hardmax."""
