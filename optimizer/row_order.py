"""Rows of an output that stand in another order: what sorts by scores tells those apart that are next to equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxfold.model.data import Array

# Each row is compared with each.
_MOST_ROWS = 1000


def is_reordered(expected: Any, actual: Any, tolerance: float) -> bool:
    """Whether two arrays have the same rows, along their last axis, within the tolerance, but in another order."""
    if not isinstance(expected, np.ndarray) or not isinstance(actual, np.ndarray):
        return False
    if expected.dtype != actual.dtype or expected.dtype.kind != "f" or expected.shape != actual.shape:
        return False
    if expected.ndim < 2 or not expected.size:
        return False
    left, right = (array.reshape(-1, array.shape[-1]).astype(np.float64) for array in (expected, actual))
    moved = ~_are_near(left, right, tolerance).all(axis=1)
    left, right = left[moved], right[moved]
    return 1 < len(left) <= _MOST_ROWS and _is_permutation(left, right, tolerance)


def _is_permutation(left: Array, right: Array, tolerance: float) -> bool:
    is_free = np.ones(len(right), np.bool_)
    for row in left:
        found = np.flatnonzero(is_free & _are_near(row, right, tolerance).all(axis=1))
        if not found.size:
            return False
        is_free[found[0]] = False
    return True


def _are_near(left: Array, right: Array, tolerance: float) -> Array:
    with np.errstate(invalid="ignore"):
        is_near = np.abs(left - right) <= tolerance * np.maximum(1.0, np.abs(left))
    near: Array = is_near | (left == right) | (np.isnan(left) & np.isnan(right))
    return near
