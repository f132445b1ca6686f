"""ONNX comparison, logic, bit patterns and selection, in all their versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxfold.model.broadcast import BroadcastError, numpy_shape
from maxfold.model.dtypes import from_numpy
from maxfold.passes.kernels.call import Array, Call, KernelError, Result
from maxfold.passes.kernels.elementwise import binary, unary
from maxfold.passes.kernels.kernel import Kernel

_BOOL = from_numpy(np.dtype(np.bool_))
_EXACT = "Exact; every comparison with NaN is false."
_BITS = "Exact, bit by bit."


def _comparison(operator: str, since: int, last: int, ufunc: Callable[[Array, Array], Any]) -> Kernel:
    return binary(operator, since, last, lambda a, b, call: ufunc(a, b), _EXACT, dtype=_BOOL)


def _bitwise(operator: str, since: int, last: int, ufunc: Callable[[Array, Array], Any]) -> Kernel:
    return binary(operator, since, last, lambda a, b, call: ufunc(a, b), _BITS)


def _equal(a: Array, b: Array) -> Any:
    if a.dtype.kind in "OUS":
        return np.equal(a.astype(object), b.astype(object)).astype(np.bool_)
    return np.equal(a, b)


def _is_infinite(x: Array, call: Call) -> Any:
    found = np.isinf(x)
    if not call.integer("detect_negative", 1):
        found = found & ~np.signbit(x)
    if not call.integer("detect_positive", 1):
        found = found & np.signbit(x)
    return found


def _where_results(call: Call) -> tuple[Result, ...]:
    try:
        return (Result(call.dtype(1), numpy_shape(*(call.shape(index) for index in range(3)))),)
    except BroadcastError as error:
        raise KernelError(str(error)) from error


def _where(call: Call) -> tuple[Array, ...]:
    (result,) = _where_results(call)
    out = np.empty(result.shape, result.dtype.numpy)
    np.copyto(out, call.array(2))
    np.copyto(out, call.array(1), where=call.array(0))
    return (out,)


COMPARISON: tuple[Kernel, ...] = (
    _comparison("Equal", 1, 19, _equal),
    _comparison("Greater", 1, 13, np.greater),
    _comparison("Less", 1, 13, np.less),
    _comparison("GreaterOrEqual", 12, 16, np.greater_equal),
    _comparison("LessOrEqual", 12, 16, np.less_equal),
    _bitwise("And", 1, 7, np.logical_and),
    _bitwise("Or", 1, 7, np.logical_or),
    _bitwise("Xor", 1, 7, np.logical_xor),
    _bitwise("BitwiseAnd", 18, 18, np.bitwise_and),
    _bitwise("BitwiseOr", 18, 18, np.bitwise_or),
    _bitwise("BitwiseXor", 18, 18, np.bitwise_xor),
    unary("Not", 1, 1, lambda x, call: np.logical_not(x), _BITS),
    unary("BitwiseNot", 18, 18, lambda x, call: np.invert(x), _BITS),
    unary("IsNaN", 9, 20, lambda x, call: np.isnan(x), "Exact.", dtype=_BOOL),
    unary("IsInf", 10, 20, _is_infinite, "Exact.", dtype=_BOOL),
    Kernel("Where", "", 9, 16, "The chosen elements, bit by bit.", _where_results, _where),
)
