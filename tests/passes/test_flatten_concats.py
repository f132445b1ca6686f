"""flatten-concats: trees of Concat along one axis."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import outcome
from tests.text import model

A = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("c = Concat<axis = 1>(a, b) y = Concat<axis = 1>(c, a)", "y = Concat<axis=1>(a, b, a)"),
        ("c = Concat<axis = -1>(a, b) y = Concat<axis = 1>(b, c)", "y = Concat<axis=1>(b, a, b)"),
        (
            "c = Concat<axis = 0>(a, b) d = Concat<axis = 0>(b, a) y = Concat<axis = 0>(c, d, a)",
            "y = Concat<axis=0>(a, b, b, a, a)",
        ),
        ("c = Concat<axis = 1>(a) y = Concat<axis = 1>(c, a)", "y = Concat<axis=1>(a, a)"),
    ],
)
def test_trees(body: str, expected: str) -> None:
    result = outcome("flatten-concats", model(f"g (float[2,N] a, float[2,N] b) => (float[A,B] y) {{ {body} }}"))
    assert nodes(result) == expected
    assert_same_results(result, a=A, b=A + 10)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("c = Concat<axis = 0>(a, b) y = Concat<axis = 1>(c, c)", "the axes differ"),
        ("c = Concat<axis = 0>(a, b) y = Concat<axis = -1>(c, c)", "the axes differ"),
        ("c = Concat<axis = 1>(a, b) y = Concat<axis = 1>(c, c)", "'c' has 2 uses"),
        (
            "c = Concat<axis = 1>(a, b) d = Concat<axis = 1>(c, a) e = Concat<axis = 1>(b, c) y = Add(d, e)",
            "'c' has 2 uses",
        ),
    ],
)
def test_reasons(body: str, reason: str) -> None:
    result = outcome("flatten-concats", model(f"g (float[2,N] a, float[2,N] b) => (float[A,B] y) {{ {body} }}"))
    assert (result.changes, set(result.reasons)) == (0, {reason})


def test_an_unknown_rank() -> None:
    source = model("""
        g (float[4] a, int64[K] s) => (int64[R] y) {
            r = Reshape(a, s) c = Concat<axis = 0>(r, r) d = Concat<axis = -1>(c, c) y = Shape(d)
        }""")
    assert outcome("flatten-concats", source).reasons == ["the rank of the tensors is not known"]


def test_graph_outputs_stay() -> None:
    source = model(
        "g (float[N] a) => (float[M] c, float[K] y) { c = Concat<axis = 0>(a, a) y = Concat<axis = 0>(c, a) }"
    )
    assert outcome("flatten-concats", source).reasons == ["'c' is a graph output"]


def test_what_another_graph_makes_stays() -> None:
    source = model("""
        g (bool p, float[N] a) => (float[M] y) {
            c = Concat<axis = 0>(a, a)
            y = If (p) <
                then_branch = t () => (float[M] u) { u = Concat<axis = 0>(c, a) },
                else_branch = e () => (float[M] v) { v = Neg(a) }
            >
        }""")
    assert outcome("flatten-concats", source).reasons == ["'c' is made in another graph"]
