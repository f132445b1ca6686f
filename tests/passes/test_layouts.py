"""layouts: every row of the table, on drawn ranks, orders and values, run before and after."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import onnx
import onnxruntime
import pytest

from maxfold.passes.layouts import ROWS
from tests.passes.layout_cases import CASES, INTEGERS, TRUTHS, Case, Refused, build, values
from tests.passes.outcome import outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import Array

TRIALS = 12
OPSETS = (9, 11, 13, 18, 20)
# ONNX Runtime has no kernel of it.
NOT_RUN = {"Swish"}


def case(seed: str, opset: int, dtype: type = np.float32) -> Case:
    source = random.Random(seed)
    rank = source.randint(2, 5)
    order = list(range(rank))
    while all(one < other for one, other in pairwise(order)):
        source.shuffle(order)
    return Case(source, opset, tuple(source.randint(1, 5) for _ in range(rank)), tuple(order), dtype)


def dtype_of(operator: str) -> type:
    return np.bool_ if operator in TRUTHS else np.uint8 if operator in INTEGERS else np.float32


def assert_close(actual: list[Array], expected: list[Array]) -> None:
    for own, right in zip(actual, expected, strict=True):
        assert (own.dtype, own.shape) == (right.dtype, right.shape)
        if own.dtype.kind == "f":
            with np.errstate(all="ignore"):
                finite = np.isfinite(own) & np.isfinite(right) & (np.abs(right) < 1e30)
                np.testing.assert_allclose(own[finite], right[finite], rtol=2e-5, atol=2e-4)


def test_every_row_is_run_here() -> None:
    assert set(CASES) == set(ROWS)


@pytest.mark.parametrize("math", ["exact", "relaxed"])
@pytest.mark.parametrize("operator", sorted(ROWS))
def test_a_row(operator: str, math: str) -> None:
    tried, flipped, declines = 0, 0, []
    for seed in range(TRIALS):
        drawn = case(f"{operator} {seed}", OPSETS[seed % len(OPSETS)], dtype_of(operator))
        try:
            source = build(drawn, CASES[operator])
            onnx.checker.check_model(source, full_check=True)
        except (Refused, onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
            continue
        feed = values(drawn.source, drawn.dtype, tuple(drawn.shape[axis] for axis in drawn.order))
        try:
            expected = None if operator in NOT_RUN else in_onnxruntime(source, {"x": feed})
        except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
            continue
        result = outcome("flip-layouts", source, math=math)
        tried += 1
        left = [node for node in result.after.graph.node if node.op_type == "Transpose"]
        flipped += not left
        declines += result.reasons
        assert len(left) < 2 or not result.changes
        if expected is None:
            continue
        actual = in_onnxruntime(result.after, {"x": feed})
        if math == "exact":
            assert_equal(actual, expected, zeros_differ=True)
        else:
            assert_close(actual, expected)
    assert math == "exact" or operator in NOT_RUN or flipped == tried > 0, declines
    assert flipped or all("relaxed" in reason for reason in declines), declines
