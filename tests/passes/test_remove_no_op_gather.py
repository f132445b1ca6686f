"""remove-no-op-gather: everything in its order goes, and what is anything else stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import model

A = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


def gathered(indices: Any, axis: str = "<axis = 1>", head: str = "float[2,3,N] a", dtype: Any = np.int64) -> Outcome:
    source = model(
        f"g ({head}) => (float[A,B,C] y) {{ b = Gather{axis}(a, i) y = Neg(b) }}",
        constants={"i": np.asarray(indices, dtype)},
    )
    return outcome("remove-no-op-gather", source)


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@pytest.mark.parametrize(
    ("indices", "axis"),
    [([0, 1, 2], "<axis = 1>"), ([0, -2, 2], "<axis = -2>"), ([-3, -2, -1], "<axis = 1>"), ([0, 1], "")],
)
def test_everything(indices: list[int], axis: str, dtype: Any) -> None:
    result = gathered(indices, axis, dtype=dtype)
    assert nodes(result) == "y = Neg(a)"
    for array in (A, A[..., :0]):
        assert_same_results(result, a=array)


@pytest.mark.parametrize(
    ("indices", "axis", "head"),
    [
        ([0, 1], "<axis = 1>", "float[2,3,N] a"),
        ([0, 2, 1], "<axis = 1>", "float[2,3,N] a"),
        ([0, 1, 2, 0], "<axis = 1>", "float[2,3,N] a"),
        ([0, 1, -2], "<axis = 1>", "float[2,3,N] a"),
        ([0, 1, 2, 3], "<axis = 2>", "float[2,3,N] a"),
        ([[0, 1, 2]], "<axis = 1>", "float[2,3] a"),
    ],
)
def test_others_stay(indices: Any, axis: str, head: str) -> None:
    assert gathered(indices, axis, head).changes == 0


def test_nothing_of_nothing() -> None:
    result = gathered([], "<axis = 1>", "float[2,0,N] a")
    # A declared 0 stands for any size.
    assert result.changes == 0
    body = "c = Slice(a, zero, zero, one) b = Gather<axis = 1>(c, i) y = Neg(b)"
    constants = {"zero": np.array([0]), "one": np.array([1]), "i": np.zeros(0, np.int64)}
    result = outcome(
        "remove-no-op-gather", model(f"g (float[2,3,N] a) => (float[2,A,N] y) {{ {body} }}", constants=constants)
    )
    assert nodes(result) == "c = Slice(a, zero, zero, one)\ny = Neg(c)"
    assert_same_results(result, a=A)


def test_indices_that_a_caller_gives_and_graph_outputs() -> None:
    source = model("g (float[2] a, int64[2] i) => (float[2] y) { y = Gather(a, i) }")
    assert outcome("remove-no-op-gather", source).changes == 0
    source = model("g (float[2] a) => (float[2] y) { y = Gather(a, i) }", constants={"i": np.array([0, 1])})
    result = outcome("remove-no-op-gather", source)
    assert result.reasons == ["'y' is a graph output and 'a' is not made by a node beside it"]
    source = model("g (float[2] a) => (float[2] y) { b = Neg(a) y = Gather(b, i) }", constants={"i": np.array([0, 1])})
    result = outcome("remove-no-op-gather", source)
    assert nodes(result) == "y = Neg(a)"
    assert_same_results(result, a=A[:, 0, 0])


def test_in_a_branch() -> None:
    source = model(
        """
        g (bool p, float[2] a) => (float[2] y) {
            y = If (p) <
                then_branch = t () => (float[2] v) { b = Gather(a, i) v = Neg(b) },
                else_branch = e () => (float[2] w) { w = Abs(a) }
            >
        }""",
        constants={"i": np.array([0, 1])},
    )
    result = outcome("remove-no-op-gather", source)
    assert "v = Neg(a)" in result.text
    assert_same_results(result, p=np.array(True), a=A[:, 0, 0])
