"""remove-no-op-split: one part, and parts that are joined again."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import outcome
from tests.text import model

A = np.arange(12, dtype=np.float32).reshape(2, 6)


@pytest.mark.parametrize(
    ("body", "opset", "expected"),
    [
        ("{ p = Split(a) y = Neg(p) }", 17, "y = Neg(a)"),
        ("<int64[1] s = {6}> { p = Split<axis = 1>(a, s) y = Neg(p) }", 17, "y = Neg(a)"),
        ("{ p = Split<num_outputs = 1>(a) y = Neg(p) }", 18, "y = Neg(a)"),
        ("{ p = Split<split = [2]>(a) y = Neg(p) }", 11, "y = Neg(a)"),
        ("{ p, q, r = Split<axis = 1>(a) c = Concat<axis = 1>(p, q, r) y = Neg(c) }", 17, "y = Neg(a)"),
        ("{ p, q, r = Split<axis = -1>(a) c = Concat<axis = 1>(p, q, r) y = Neg(c) }", 17, "y = Neg(a)"),
        (
            "<int64[2] s = {1, 5}> { p, q = Split<axis = 1>(a, s) c = Concat<axis = 1>(p, q) y = Neg(c) }",
            17,
            "y = Neg(a)",
        ),
        ("{ p, q = Split(a) c = Concat<axis = 0>(p, q) y = Sub(c, p) }", 17, "p, q = Split(a)\ny = Sub(a, p)"),
        ("{ n = Neg(a) p, q = Split(n) y = Concat<axis = 0>(p, q) }", 17, "y = Neg(a)"),
    ],
)
def test_what_goes(body: str, opset: int, expected: str) -> None:
    result = outcome("remove-no-op-split", model(f"g (float[2,6] a) => (float[A,B] y) {body}", opset=opset))
    assert nodes(result) == expected
    assert_same_results(result, a=A)


@pytest.mark.parametrize(
    "body",
    [
        "{ p, q = Split(a) c = Concat<axis = 0>(q, p) y = Neg(c) }",
        "{ p, q = Split(a) c = Concat<axis = 1>(p, q) y = Neg(c) }",
        "{ p, q = Split(a) c = Concat<axis = 0>(p, p) y = Neg(c) }",
        "{ p, q = Split(a) c = Concat<axis = 0>(p, q, p) y = Neg(c) }",
        "{ p, q, r = Split<axis = 1>(a) c = Concat<axis = 1>(p, q) y = Neg(c) }",
        "{ p, q = Split(a) r, s = Split(a) c = Concat<axis = 0>(p, s) y = Neg(c) }",
        "{ , p = Split(a) y = Neg(p) }",
    ],
)
def test_what_stays(body: str) -> None:
    result = outcome("remove-no-op-split", model(f"g (float[2,6] a) => (float[A,B] y) {body}"))
    assert (result.changes, result.reasons) == (0, [])


def test_reasons() -> None:
    ends = "'y' is a graph output and 'a' is not made by a node beside it"
    joined = model("g (float[2,6] a) => (float[2,6] y) { p, q = Split(a) y = Concat<axis = 0>(p, q) }")
    assert outcome("remove-no-op-split", joined).reasons == [ends]
    one = model("g (float[2,6] a) => (float[2,6] y) { y = Split(a) }")
    assert outcome("remove-no-op-split", one).reasons == [ends]
    unknown = model("""
        g (float[4] a, int64[K] s) => (int64[R] y) {
            r = Reshape(a, s) p, q = Split<axis = -1>(r) c = Concat<axis = 0>(p, q) y = Shape(c)
        }""")
    assert outcome("remove-no-op-split", unknown).reasons == ["the rank of the tensors is not known"]
