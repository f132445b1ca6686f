"""remove-no-op-concat: single and empty operands."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import outcome
from tests.text import model

EMPTY = {"e": np.empty((2, 0), np.float32), "f": np.empty((0, 3), np.float32)}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("c = Concat<axis = 1>(a) y = Neg(c)", "y = Neg(a)"),
        ("c = Concat<axis = 1>(a, e) y = Neg(c)", "y = Neg(a)"),
        ("c = Concat<axis = -1>(e, a, e, a) y = Neg(c)", "c = Concat<axis=-1>(a, a)\ny = Neg(c)"),
        ("n = Neg(a) y = Concat<axis = 1>(e, n)", "y = Neg(a)"),
        ("n = Neg(a) c = Concat<axis = 0>(f, a) m = Neg(n) y = Add(c, m)", "n = Neg(a)\nm = Neg(n)\ny = Add(a, m)"),
        ("k = Neg(e) c = Concat<axis = 1>(k, a, a) y = Neg(c)", "c = Concat<axis=1>(a, a)\ny = Neg(c)"),
    ],
)
def test_what_goes(body: str, expected: str) -> None:
    constants = {name: value for name, value in EMPTY.items() if name in body.replace("Neg", "").replace("axis", "")}
    result = outcome(
        "remove-no-op-concat", model(f"g (float[2,3] a) => (float[A,B] y) {{ {body} }}", constants=constants)
    )
    assert nodes(result) == expected
    assert_same_results(result, a=np.arange(6, dtype=np.float32).reshape(2, 3))


def test_of_empty_operands_one_stays() -> None:
    source = model(
        "g (float[2,3] a) => (float[A,B] y) { c = Concat<axis = 1>(e, e) y = Neg(c) }", constants={"e": EMPTY["e"]}
    )
    result = outcome("remove-no-op-concat", source)
    assert nodes(result) == "y = Neg(e)"
    assert_same_results(result, a=np.zeros((2, 3), np.float32))


@pytest.mark.parametrize(
    "inputs",
    [
        "float[2,3] a, float[2,0] b",
        "float[2,3] a, float[2,N] b",
        "float[2,3] a, float[0,3] b",
    ],
)
def test_what_may_not_be_empty_stays(inputs: str) -> None:
    # A size of 0 that a file declares of an input stands for an unknown one.
    source = model(f"g ({inputs}) => (float[A,B] y) {{ y = Concat<axis = {int('0,3' in inputs) ^ 1}>(a, b) }}")
    result = outcome("remove-no-op-concat", source)
    assert (result.changes, result.reasons) == (0, [])


def test_the_first_version_has_a_default_axis() -> None:
    source = model(
        "g (float[2,3] a) => (float[2,3] y) { c = Concat(a, e) y = Neg(c) }", opset=3, constants={"e": EMPTY["e"]}
    )
    assert nodes(outcome("remove-no-op-concat", source, check=False)) == "y = Neg(a)"


def test_reasons() -> None:
    alone = model("g (float[N] a) => (float[N] y) { y = Concat<axis = 0>(a) }")
    assert outcome("remove-no-op-concat", alone).reasons == [
        "'y' is a graph output and 'a' is not made by a node beside it"
    ]
    malformed = model("g (float[N] a) => (float[N] y) { y = Concat(a, a) }")
    assert outcome("remove-no-op-concat", malformed, check=False).reasons == ["attribute axis is not a known integer"]
