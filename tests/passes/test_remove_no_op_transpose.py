"""remove-no-op-transpose: permutations that leave every element where it is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import outcome
from tests.text import model


@pytest.mark.parametrize(
    ("shape", "order", "goes"),
    [
        ("2,N,3", "<perm = [0, 1, 2]>", True),
        ("N", "", True),
        ("1,1,N", "<perm = [1, 0, 2]>", True),
        ("1,N,1", "", True),
        ("1,1", "", True),
        ("N,1,M,1", "<perm = [0, 3, 2, 1]>", True),
        ("2,N,3", "", False),
        ("N,N", "", False),
        ("2,2", "<perm = [1, 0]>", False),
        ("1,N", "", False),
        ("1,N,1", "<perm = [1, 0, 2]>", False),
        ("1,2,2", "<perm = [0, 2, 1]>", False),
    ],
)
def test_which_go(shape: str, order: str, goes: bool) -> None:
    rank = shape.count(",") + 1
    dims = ",".join("ABCD"[:rank])
    result = outcome(
        "remove-no-op-transpose",
        model(f"g (float[{shape}] a) => (float[{dims}] y) {{ b = Transpose{order}(a) y = Neg(b) }}"),
    )
    assert (nodes(result) == "y = Neg(a)") is goes
    assert result.reasons == []
    sizes = [int(size) if size.isdigit() else 3 for size in shape.split(",")]
    assert_same_results(result, a=np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes))


def test_an_unknown_rank_stays() -> None:
    source = model("g (float[2] a, int64[K] s) => (float[M] y) { b = Reshape(a, s) c = Transpose(b) y = Neg(c) }")
    assert outcome("remove-no-op-transpose", source, check=False).changes == 0


def test_between_input_and_output_it_stays() -> None:
    result = outcome("remove-no-op-transpose", model("g (float[N] a) => (float[N] y) { y = Transpose(a) }"))
    assert result.reasons == ["'y' is a graph output and 'a' is not made by a node beside it"]
