"""merge-unary: which pairs undo or repeat each other, with the same bits on every odd value."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import outcome
from tests.text import model

ODD = np.array([-0.0, 0.0, 0.5, 1.5, -1.5, -0.3, np.inf, -np.inf, np.nan, 3e38, -1e-45], np.float32)
UNARY = ("Abs", "Ceil", "Floor", "Neg", "Relu", "Round", "Sign")
LEFT = {
    **dict.fromkeys(itertools.product(("Ceil", "Floor", "Round"), repeat=2), "b = {0}(a)"),
    **{(one, one): "b = {0}(a)" for one in ("Abs", "Relu", "Sign")},
    ("Neg", "Neg"): "",
    ("Neg", "Abs"): "c = Abs(a)",
}


@pytest.mark.parametrize("first", UNARY)
def test_every_pair(first: str) -> None:
    for second in UNARY:
        source = model(f"g (float[N] a) => (float[N] y) {{ b = {first}(a) c = {second}(b) y = Identity(c) }}")
        result = outcome("merge-unary", source)
        left = LEFT.get((first, second))
        assert (result.changes, result.reasons) == (int(left is not None), [])
        if left is not None:
            name = left[:1] or "a"
            assert nodes(result) == "\n".join(filter(None, [left.format(first), f"y = Identity({name})"]))
            assert_same_results(result, a=ODD)


@pytest.mark.parametrize(
    ("operator", "kind"), [("Not", "bool"), ("BitwiseNot", "int8"), ("Neg", "int32"), ("Neg", "int8")]
)
def test_other_types(operator: str, kind: str) -> None:
    text = f"g ({kind}[N] a) => ({kind}[N] y) {{ b = {operator}(a) c = {operator}(b) y = Identity(c) }}"
    result = outcome("merge-unary", model(text, opset=18))
    assert nodes(result) == "y = Identity(a)"
    if kind != "bool":
        lowest = np.iinfo(kind).min
        assert_same_results(result, a=np.array([lowest, -1, 0, 127], kind))


def test_the_lowest_integer() -> None:
    result = outcome("merge-unary", model("g (int32[N] a) => (int32[N] y) { b = Neg(a) y = Abs(b) }"))
    assert nodes(result) == "y = Abs(a)"
    assert_same_results(result, a=np.array([np.iinfo(np.int32).min, -5, 5], np.int32))


def test_long_chains_and_other_readers() -> None:
    source = model("""
        g (float[N] a) => (float[N] y, float[N] z) {
            b = Neg(a) c = Neg(b) d = Neg(c) e = Neg(d)
            f = Relu(e) g = Relu(f) y = Relu(g) z = Add(b, g)
        }""")
    assert nodes(outcome("merge-unary", source)) == "b = Neg(a)\ny = Relu(a)\nz = Add(b, y)"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("b = Neg(a) y = Neg(b)", "'y' is a graph output and 'a' is not made by a node beside it"),
        ("z = Relu(a) y = Relu(z)", "'y' and 'z' are both graph outputs"),
    ],
)
def test_reasons(body: str, reason: str) -> None:
    outputs = "float[N] z, float[N] y" if "z" in body else "float[N] y"
    result = outcome("merge-unary", model(f"g (float[N] a) => ({outputs}) {{ {body} }}"))
    assert (result.changes, result.reasons) == (0, [reason])


def test_pairs_in_different_graphs_stay() -> None:
    source = model("""
        g (bool c, float[N] a) => (float[N] y) {
            b = Neg(a)
            y = If (c) <
                then_branch = t () => (float[N] u) { u = Neg(b) },
                else_branch = e () => (float[N] v) { v = Abs(b) }
            >
        }""")
    assert outcome("merge-unary", source).changes == 0
