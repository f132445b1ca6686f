"""The row of RotaryEmbedding, on its way to OpenVINO, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.passes.conversion import judged
from tests.passes.conversion.microsoft import one_node


def _operands(rank: int, size: int) -> dict[str, Any]:
    angles = np.arange(10)[:, None] / 10.0 ** np.linspace(0, 2, size // 2)
    shape = (2, 5, 3 * size) if rank == 3 else (2, 3, 5, size)
    positions = np.random.default_rng(0).integers(0, 10, (2, 5))
    return {
        "x": judged.floats(*shape), "p": positions, "c": np.cos(angles).astype(np.float32),
        "s": np.sin(angles).astype(np.float32),
    }  # fmt: skip


@pytest.mark.parametrize("rank", [3, 4])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("size", [8, 16])
@pytest.mark.parametrize("is_dynamic", [True, False])
def test_rotary(rank: int, interleaved: int, size: int, is_dynamic: bool, tmp_path: Path) -> None:
    dynamic = () if not is_dynamic else ("x", "p") if rank == 3 else ("p",)
    attributes = {"num_heads": 3} if rank == 3 else {}
    settings: dict[str, Any] = {"constants": ("c", "s"), "dynamic": dynamic, **attributes}
    model, inputs = one_node("RotaryEmbedding", _operands(rank, size), interleaved=interleaved, **settings)
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=1e-5, atol=1e-6)


def test_refused(tmp_path: Path) -> None:
    operands = _operands(3, 8)
    model, _ = one_node("RotaryEmbedding", operands, rotary_embedding_dim=4, num_heads=3)
    judged.assert_refused_in_openvino(model, tmp_path, "'rotary_embedding_dim' is not covered")
    model, _ = one_node("RotaryEmbedding", {**operands, "p": np.array([2])})
    judged.assert_refused_in_openvino(model, tmp_path, "the same start for all rows")
    model, _ = one_node("RotaryEmbedding", operands, dynamic=("c", "s"))
    judged.assert_refused_in_openvino(model, tmp_path, "the size of its caches is not known")
