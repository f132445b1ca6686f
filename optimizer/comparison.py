"""Comparing two values of one output: to the bit, by difference, and by how many representable values lie between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxfold.model import dtypes
from maxfold.model.data import Array

_INFINITE = float("inf")


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """One output in one run; a NaN equals a NaN.

    `max_abs` is the largest difference, `max_rel` the largest one relative to the larger of 1 and the value, `max_ulp`
    the largest distance in representable values (floating point only, else None). They are infinite where shapes or
    types differ, or a value stands where there is a NaN or another text; `mismatch` says which. `run` counts from 0.
    """

    name: str
    is_bit_equal: bool
    max_abs: float
    max_rel: float
    max_ulp: float | None = None
    mismatch: str = ""
    run: int = 0


def compare(name: str, expected: Any, actual: Any, run: int = 0) -> OutputComparison:
    """Compares two values of an output: arrays, or sequences and maps of them."""
    if isinstance(expected, (list, tuple, dict)) or expected is None or isinstance(actual, (list, tuple, dict)):
        return _compare_many(name, expected, actual, run)
    left, right = np.asarray(expected), np.asarray(actual)
    are_texts = left.dtype.kind in "OUS" and right.dtype.kind in "OUS"
    if left.dtype != right.dtype and not are_texts:
        return _verdict(name, f"{left.dtype} and {right.dtype}", run)
    if left.shape != right.shape:
        return _verdict(name, f"shape {list(left.shape)} and {list(right.shape)}", run)
    if are_texts or left.dtype.kind == "b":
        unequal = int((left != right).sum())
        return _verdict(name, f"{unequal} of {left.size} values" if unequal else "", run)
    found = dtypes.from_numpy(left.dtype)
    is_float = found is not None and found.kind == "float"
    if _same_bits(left, right):
        return OutputComparison(name, True, 0.0, 0.0, 0.0 if is_float else None, run=run)
    absolute, relative = _differences(left, right)
    ulps = _ulps(left, right) if is_float else None
    one_nan = int(((left != left) != (right != right)).sum())
    mismatch = f"NaN in one of the two, in {one_nan} of {left.size} values" if one_nan else ""
    return OutputComparison(name, False, absolute, relative, ulps, mismatch, run)


def _verdict(name: str, mismatch: str, run: int) -> OutputComparison:
    difference = _INFINITE if mismatch else 0.0
    return OutputComparison(name, not mismatch, difference, difference, None, mismatch, run)


def _compare_many(name: str, expected: Any, actual: Any, run: int) -> OutputComparison:
    pairs: Sequence[tuple[Any, Any]]
    if isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        pairs = [(expected[key], actual[key]) for key in expected]
    elif isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)) and len(expected) == len(actual):
        pairs = list(zip(expected, actual, strict=True))
    else:
        is_same = expected is None and actual is None
        return _verdict(name, "" if is_same else "values of other types or lengths", run)
    parts = [compare(name, left, right) for left, right in pairs]
    ulps = [part.max_ulp for part in parts if part.max_ulp is not None]
    return OutputComparison(
        name,
        all(part.is_bit_equal for part in parts),
        max((part.max_abs for part in parts), default=0.0),
        max((part.max_rel for part in parts), default=0.0),
        max(ulps, default=None),
        next((part.mismatch for part in parts if part.mismatch), ""),
        run,
    )


def _same_bits(left: Array, right: Array) -> bool:
    if left.dtype.kind not in "fc" and left.dtype.isbuiltin:
        return bool((left == right).all())
    if not left.size:
        return True
    codes = [np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1) for array in (left, right)]
    return bool(((codes[0] == codes[1]).all(axis=1) | _both_nan(left, right).reshape(-1)).all())


def _both_nan(left: Array, right: Array) -> Array:
    with np.errstate(all="ignore"):
        both: Array = (left != left) & (right != right)
    return both


def _differences(left: Array, right: Array) -> tuple[float, float]:
    wide = np.complex128 if left.dtype.kind == "c" else np.float64
    wide_left, wide_right = left.astype(wide), right.astype(wide)
    is_equal = _both_nan(wide_left, wide_right) | np.asarray(left == right)
    with np.errstate(all="ignore"):
        difference = np.abs(wide_left - wide_right)
        if left.dtype.kind in "iu":
            # 64-bit integers that differ may be one float64.
            difference = np.maximum(difference, 1.0)
        difference[np.isnan(difference)] = np.inf
        difference[is_equal] = 0.0
        relative = difference / np.maximum(1.0, np.abs(np.nan_to_num(wide_left)))
    return float(difference.max()), float(relative.max())


def _ulps(left: Array, right: Array) -> float:
    """The largest distance in representable values; +0 and -0 are one value, a NaN is infinitely far from others."""
    one_nan = (left != left) != (right != right)
    if one_nan.any():
        return _INFINITE
    places = [_places(array) for array in (left, right)]
    distance = np.abs(places[0] - places[1])
    distance[_both_nan(left, right)] = 0
    return float(distance.max())


def _places(values: Array) -> Array:
    """Floating-point numbers as integers in the same order, those of 64 bits in extended precision or float64."""
    bits = 8 * values.dtype.itemsize
    codes = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
    magnitude = (codes & ((1 << (bits - 1)) - 1)).astype(np.int64)
    wide: Array = np.where(codes >> (bits - 1), -magnitude, magnitude).astype(np.longdouble if bits > 32 else np.int64)
    return wide
