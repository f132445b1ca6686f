"""Values of tensors in random models: many neutral and equal ones, and in models that are not finite, special ones."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Dtype: TypeAlias = "np.dtype[Any]"
Shape: TypeAlias = tuple[int, ...]

F32, F64, F16 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16)
I64, I32, I8, U8 = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.int8), np.dtype(np.uint8)
BOOL = np.dtype(np.bool_)
FLOATS, INTS = (F32, F64), (I64, I32)
NUMBERS = (*FLOATS, *INTS)
ALL = (*NUMBERS, F16, I8, U8, BOOL)

_NEUTRAL = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5)
_SPECIAL = (np.inf, -np.inf, np.nan, 1e30, -0.0, 1e-40)


def draw(source: np.random.Generator, dtype: Dtype, shape: Shape, *, finite: bool) -> Array:
    """An array: drawn values, few different ones, or one value throughout. Finite values are small."""
    style = source.integers(0, 4)
    if dtype == BOOL:
        return np.full(shape, source.random() < 0.5) if style == 0 else source.random(shape) < 0.5
    if dtype.kind == "f":
        return _floats(source, int(style), dtype, shape, finite)
    low = 0 if dtype.kind == "u" else -3
    if style == 0:
        return np.full(shape, source.choice((0, 1, 2) if low == 0 else (0, 1, -1)), dtype)
    array = np.asarray(source.integers(low, 7, shape), dtype)
    if style == 1 and not finite:
        limits = np.iinfo(dtype)
        array = np.where(source.random(shape) < 0.4, source.choice((limits.min, limits.max)), array)
    return np.asarray(array, dtype)


def _floats(source: np.random.Generator, style: int, dtype: Dtype, shape: Shape, finite: bool) -> Array:
    pool = _NEUTRAL if finite else (*_NEUTRAL, *_SPECIAL)
    if style == 0:
        with np.errstate(all="ignore"):
            return np.full(shape, source.choice(pool)).astype(dtype)
    array = source.normal(0, 1.5, shape) if style < 3 else np.round(source.normal(0, 2, shape))
    if style == 1:
        array = np.where(source.random(shape) < 0.3, source.choice(pool, shape), array)
    with np.errstate(all="ignore"):
        return np.asarray(array, dtype)
