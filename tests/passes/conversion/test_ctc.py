"""CTCGreedyDecoder and CTCGreedyDecoderSeqLen to ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset13 as ov
import pytest
from openvino.op import Parameter, Result

from tests.passes.conversion.judged import assert_same_in_onnx

SEQUENCES, STEPS, CLASSES = 4, 9, 3


def scores(seed: int, *shape: int) -> Any:
    """Few different numbers, so that classes repeat and some are as likely as others."""
    return np.random.default_rng(seed).integers(0, 3, shape).astype(np.float32)


def parameter(value: Any, *, is_dynamic: bool) -> Any:
    shape = [-1] * value.ndim if is_dynamic else list(value.shape)
    return Parameter(openvino.Type(value.dtype), openvino.PartialShape(shape))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("is_merged", [False, True])
@pytest.mark.parametrize(("kind", "blank"), [("i32", None), ("i64", 0), ("i32", 1)])
def test_sequences_by_length(
    kind: str, blank: int | None, is_merged: bool, is_dynamic: bool, seed: int, tmp_path: Path
) -> None:
    values = [scores(seed, SEQUENCES, STEPS, CLASSES), np.asarray([STEPS, 0, 4, 1], np.int32)]
    inputs = [parameter(value, is_dynamic=is_dynamic) for value in values]
    index = None if blank is None else ov.constant(np.asarray(blank, np.int32))
    made = ov.ctc_greedy_decoder_seq_len(*inputs, index, is_merged, kind, kind)
    assert_same_in_onnx([Result(made.output(0)), Result(made.output(1))], inputs, values, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("is_merged", [False, True])
def test_sequences_by_mask(is_merged: bool, is_dynamic: bool, seed: int, tmp_path: Path) -> None:
    mask = np.ones((STEPS, SEQUENCES), np.float32)
    mask[3:5, 1] = 0
    mask[0, 2] = 0
    mask[1:, 3] = 0
    values = [scores(seed, STEPS, SEQUENCES, CLASSES), mask]
    inputs = [parameter(value, is_dynamic=is_dynamic) for value in values]
    made = ov.ctc_greedy_decoder(*inputs, is_merged)
    assert_same_in_onnx([Result(made.output(0))], inputs, values, tmp_path, rtol=0, atol=0)
