"""ScaledDotProductAttention to ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset13 as ov
import pytest
from openvino.op import Parameter, Result

from tests.passes.conversion.judged import assert_same_in_onnx, floats

MASK = np.asarray([[1, 0, 1, 1, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 1]], bool)
MASKS: dict[str, Any] = {
    "none": None, "bool": MASK, "added": np.where(MASK, 0, -2).astype(np.float32),
    "of heads": np.broadcast_to(MASK, (2, 1, 3, 5)).copy(), "number": np.asarray(0, np.float32),
}  # fmt: skip


def check(
    values: list[Any], folder: Path, *, is_causal: bool, is_dynamic: bool, rtol: float = 1e-4, atol: float = 1e-5
) -> None:
    parameters = [
        Parameter(
            openvino.Type(value.dtype), openvino.PartialShape([-1] * value.ndim if is_dynamic else list(value.shape))
        )
        for value in values
    ]
    made = Result(ov.scaled_dot_product_attention(*parameters, causal=is_causal).output(0))
    assert_same_in_onnx([made], parameters, values, folder, rtol=rtol, atol=atol)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("is_dynamic", [False, True])
def test_masks(is_dynamic: bool, is_causal: bool, mask: str, tmp_path: Path) -> None:
    values = [floats(2, 4, 3, 8), floats(2, 4, 5, 8, seed=1), floats(2, 4, 5, 6, seed=2)]
    if MASKS[mask] is not None:
        values.append(MASKS[mask])
    check(values, tmp_path, is_causal=is_causal, is_dynamic=is_dynamic)


@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_scale(shape: tuple[int, ...], tmp_path: Path) -> None:
    values = [floats(2, 4, 3, 8), floats(2, 4, 5, 8, seed=1), floats(2, 4, 5, 8, seed=2), MASKS["added"]]
    check([*values, np.full(shape, 0.7, np.float32)], tmp_path, is_causal=False, is_dynamic=False)


def test_three_dimensions(tmp_path: Path) -> None:
    values = [floats(2, 3, 8), floats(2, 5, 8, seed=1), floats(2, 5, 8, seed=2)]
    check(values, tmp_path, is_causal=True, is_dynamic=False)
