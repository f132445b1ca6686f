"""Rows in another order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxfold.optimizer.row_order import is_reordered

ROWS = np.array([[0.5, 1, 2], [0.4, 3, 4], [0.4, 5, 6], [np.nan, np.inf, 0]], np.float32)
NEAR = ROWS[[0, 2, 1, 3]] + np.float32(1e-6)


@pytest.mark.parametrize(
    ("expected", "actual", "is_same"),
    [
        (ROWS, NEAR, True),
        (ROWS.reshape(1, 4, 1, 3), NEAR.reshape(1, 4, 1, 3), True),
        (ROWS, ROWS[::-1], True),
        # Nothing moved, or what moved is not the same.
        (ROWS, ROWS, False),
        (ROWS, ROWS[[0, 1, 1, 3]], False),
        (ROWS[[0, 1, 1, 3]], ROWS[[0, 1, 2, 3]], False),
        (ROWS, ROWS * np.float32(1.5), False),
        # No rows, other shapes or types, no arrays.
        (ROWS[0], ROWS[0, ::-1], False),
        (ROWS[:0], ROWS[:0], False),
        (ROWS, ROWS[:2], False),
        (ROWS, ROWS[::-1].astype(np.float64), False),
        ([ROWS], [ROWS[::-1]], False),
        (np.zeros((1200, 1), np.float32), np.ones((1200, 1), np.float32), False),
    ],
)
def test_rows(expected: Any, actual: Any, is_same: bool) -> None:
    assert is_reordered(expected, actual, 1e-4) is is_same
