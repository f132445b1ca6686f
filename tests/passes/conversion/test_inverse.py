"""Inverse to ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset14 as ov
import pytest

from tests.passes.conversion.built import assert_converts
from tests.passes.conversion.judged import floats


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("is_adjoint", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (2, 1, 1), (2, 3, 5, 5), (0, 2, 2)])
def test_matrices(shape: tuple[int, ...], is_adjoint: bool, is_dynamic: bool, tmp_path: Path) -> None:
    """The adjoint one is that of the transposed matrix."""
    data = floats(*shape) + 3 * np.eye(shape[-1], dtype=np.float32)
    assert_converts(lambda x: ov.inverse(x, is_adjoint), [data], tmp_path, is_dynamic=is_dynamic, rtol=1e-4, atol=1e-4)


def test_zeros_in_the_diagonal(tmp_path: Path) -> None:
    data = np.array([[0, 1, 0], [0, 0, 2], [4, 0, 0]])
    for dtype, tolerance in ((np.float32, 1e-6), (np.float16, 1e-3)):
        options: dict[str, Any] = {"rtol": tolerance, "atol": tolerance}
        assert_converts(ov.inverse, [data.astype(dtype)], tmp_path, **options)
