"""Rounding once to an element type, and the wider type in which functions are computed before that.

A value that is rounded twice may come out wrong where the first rounding makes it a tie of the second. Rounding to
odd keeps it from becoming one: whatever is not exact ends in a 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxfold.model.dtypes import DType
from maxfold.passes.kernels.call import Array, KernelError

WIDE: type[Any] = np.longdouble if np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant else np.float64
"""The widest type of this platform. numpy's loops for long double go through the C library, not through SIMD code
that depends on the processor."""

_DIGITS = int(np.finfo(WIDE).nmant) + 1
_DOUBLE_DIGITS = 53
_INT64_LOW_BITS = 11


def widened(values: Array, dtype: DType) -> Array:
    """Numbers as WIDE, all of them exact.

    Raises KernelError for doubles where nothing is wider, and for integers that WIDE does not hold.
    """
    if dtype.kind == "float":
        if dtype.bits == 64 and WIDE is np.float64:
            raise KernelError("nothing on this platform is wider than double, so that it could be rounded once")
        narrow = values if dtype.name in ("FLOAT", "DOUBLE", "FLOAT16") else values.astype(np.float32)
        return narrow.astype(WIDE)
    if values.size and max(int(values.max()), -int(values.min())) > 1 << _DIGITS:
        raise KernelError(f"integers beyond 2**{_DIGITS} are not exact in any float type of this platform")
    return values.astype(WIDE)


def rounded(values: Array, dtype: DType) -> Array:
    """Values of float64, long double, float32 or an integer type of 64 bits at most, rounded to `dtype` once.

    To nearest, ties to even. Beyond the largest number: infinity, or what ml_dtypes has in the place of it (NaN in
    FLOAT8E4M3FN, the largest number in the types of 4 and 6 bits).
    """
    with np.errstate(all="ignore"):
        if dtype.name == "DOUBLE":
            return values.astype(np.float64)
        if values.dtype.kind in "iu":
            values = _odd_float64(values)
        if dtype.name == "FLOAT" or (dtype.name == "FLOAT16" and values.dtype == np.float64):
            return values.astype(dtype.numpy)
        return _odd_float32(values).astype(dtype.numpy)


def number_in(dtype: DType, value: float) -> Any:
    """A float attribute, float32 in the file, in the type of the node; a numpy scalar.

    That is how the function bodies of ONNX operators cast it.
    """
    with np.errstate(all="ignore"):
        return rounded(np.array(value, np.float64).astype(np.float32), dtype)[()]


def _odd_float32(values: Array) -> Array:
    if values.dtype == np.float32:
        return values
    nearest = values.astype(np.float32)
    exact = (nearest == values) | np.isnan(values)
    bits = nearest.view(np.uint32)
    even = ~exact & (bits & 1 == 0)
    # The other neighbour is the odd one: outwards where the nearest is too small, inwards where it is too large.
    outwards = np.abs(values) > np.abs(nearest)
    step = np.where(outwards, 1, -1).astype(np.int32).view(np.uint32)
    return np.where(even, bits + step, bits).view(np.float32)


def _odd_float64(values: Array) -> Array:
    wide = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64)
    low = wide & wide.dtype.type((1 << _INT64_LOW_BITS) - 1)
    bit = wide.dtype.type(1 << _INT64_LOW_BITS)
    odd = (wide - low) | np.where(low != 0, bit, wide.dtype.type(0))
    limit = 1 << _DOUBLE_DIGITS
    inexact = (wide > limit) if wide.dtype.kind == "u" else (wide > limit) | (wide < -limit)
    return np.where(inexact, odd, wide).astype(np.float64)
