"""GatherTree to ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset1 as ov
import pytest

from tests.passes.conversion.built import assert_converts

STEPS, BATCH, BEAMS = 5, 2, 3


def values(dtype: Any, lengths: list[int], end: int, seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    ids = random.integers(1, 6, (STEPS, BATCH, BEAMS)).astype(dtype)
    parents = random.integers(0, BEAMS, (STEPS, BATCH, BEAMS)).astype(dtype)
    return [ids, parents, np.array(lengths).astype(dtype), np.array(end, dtype)]


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("constants", [(), (3,)])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize(("lengths", "end"), [([5, 5], 9), ([3, 5], 3), ([1, 2], 5), ([9, 4], 1)])
def test_beams(lengths: list[int], end: int, dtype: Any, constants: Any, is_dynamic: bool, tmp_path: Path) -> None:
    for seed in range(2):
        given = values(dtype, lengths, end, seed)
        assert_converts(ov.gather_tree, given, tmp_path, constants=constants, is_dynamic=is_dynamic)


def test_no_steps_of_a_batch(tmp_path: Path) -> None:
    """Of which OpenVINO's CPU leaves the memory as it was."""
    given = values(np.int32, [0, 0], 7, 0)
    assert_converts(ov.gather_tree, given, tmp_path, expected=[np.full((STEPS, BATCH, BEAMS), 7, np.int32)])
