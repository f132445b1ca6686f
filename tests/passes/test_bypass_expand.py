"""bypass-expand: which operators expand by themselves, and where the result might be another."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import model

A = np.array([[1.5], [-0.0]], np.float32)
B = np.arange(6, dtype=np.float32).reshape(2, 3)
EXACT = "without the Expand the result may have another shape"


def bypassed(body: str, inputs: str = "float[2,1] a, float[2,3] b", *, math: str = "exact") -> Outcome:
    shapes = "<int64[2] s = {2, 3}, int64[2] t = {1, 3}, int64[3] u = {1, 2, 3}>"
    kind = inputs.split("[")[0]
    return outcome("bypass-expand", model(f"g ({inputs}) => ({kind}[K,L] y) {shapes} {{ {body} }}"), math=math)


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div", "Sum", "Mean"])
@pytest.mark.parametrize("order", ["e, b", "b, e"])
def test_operators_that_broadcast(operator: str, order: str) -> None:
    result = bypassed(f"e = Expand(a, s) y = {operator}({order})")
    assert nodes(result) == f"y = {operator}({order.replace('e', 'a')})"
    assert_same_results(result, a=A, b=B)


def test_symbolic_shapes() -> None:
    inputs = "float[N,1] a, float[N,M] b"
    result = bypassed("s0 = Shape(b) e = Expand(a, s0) y = Sub(b, e)", inputs)
    assert nodes(result) == "y = Sub(b, a)"
    assert_same_results(result, a=A, b=B)


def test_comparisons_and_where() -> None:
    result = bypassed("e = Expand(a, s) c = Less(e, b) f = Expand(a, t) y = Where(c, f, e)")
    assert nodes(result) == "c = Less(a, b)\ny = Where(c, a, a)"
    assert_same_results(result, a=A, b=B)


def test_an_expand_that_others_read_stays() -> None:
    result = bypassed("e = Expand(a, s) c = Add(e, b) d = Concat<axis = 0>(e, c) y = Neg(d)")
    assert "c = Add(a, b)" in nodes(result)
    assert "e = Expand(a, s)" in nodes(result)
    assert_same_results(result, a=A, b=B)


@pytest.mark.parametrize(
    ("body", "inputs"),
    [
        ("e = Expand(a, s) y = Add(e, a)", "float[2,1] a"),
        ("e = Expand(a, s) y = Add(e, b)", "float[2,1] a, float[2,N] b"),
        ("e = Expand(a, n) y = Add(e, b)", "float[1,3] a, float[1,3] b, int64[2] n"),
        ("e = Expand(a, u) f = Mul(e, b) y = Flatten(f)", "float[2,3] a, float[2,3] b"),
        ("e = Expand(a, s) y = Max(e)", "float[2,1] a"),
    ],
)
def test_another_shape_may_result(body: str, inputs: str) -> None:
    result = bypassed(body, inputs)
    assert (result.changes, set(result.reasons)) == (0, {EXACT})


@pytest.mark.parametrize("body", ["e = Expand(a, s) y = Neg(e)", "e = Expand(a, s) y = PRelu(b, e)"])
def test_not_considered(body: str) -> None:
    result = bypassed(body)
    assert (result.changes, result.reasons) == (0, [])


def test_an_expand_of_another_graph_stays() -> None:
    source = model("""
        g (bool c, float[2,1] a, float[2,3] b) => (float[K,L] y) <int64[2] s = {2, 3}> {
            e = Expand(a, s)
            y = If (c) <
                then_branch = t () => (float[K,L] u) { u = Add(e, b) },
                else_branch = f () => (float[K,L] v) { v = Sub(e, b) }
            >
        }""")
    assert outcome("bypass-expand", source).changes == 0


def test_an_expand_that_is_an_output_stays() -> None:
    source = model("""
        g (float[2,1] a, float[2,3] b) => (float[2,3] e, float[2,3] y) <int64[2] s = {2, 3}> {
            e = Expand(a, s)
            y = Add(e, b)
        }""")
    assert nodes(outcome("bypass-expand", source)) == "e = Expand(a, s)\ny = Add(a, b)"


def test_a_target_that_is_not_known_but_can_give_nothing_else() -> None:
    result = bypassed("e = Expand(a, n) y = Add(e, b)", "float[1,3] a, float[2,3] b, int64[2] n")
    assert nodes(result) == "y = Add(a, b)"
    for target in ([2, 3], [1, 1], [2, 1]):
        assert_same_results(result, a=B[:1], b=B, n=np.array(target))


POWER = "Pow rounds differently without the Expand; only with --math relaxed"
MAXIMUM = "Max may give the other zero without the Expand; only with --math relaxed"


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("Pow(b, e)", POWER),
        ("Max(b, e)", MAXIMUM),
        ("Max(e, b)", MAXIMUM),
        ("Min(e, b)", MAXIMUM.replace("Max", "Min")),
    ],
)
def test_runtimes_compute_it_otherwise(call: str, reason: str) -> None:
    body = f"e = Expand(a, s) y = {call}"
    exact = bypassed(body)
    assert [(decline.reason, decline.relaxed_gain) for decline in exact.declines] == [(reason, 1)]
    assert nodes(bypassed(body, math="relaxed")) == f"y = {call.replace('e', 'a')}"


def test_bases_and_integers() -> None:
    assert nodes(bypassed("e = Expand(a, s) y = Pow(e, b)")) == "y = Pow(a, b)"
    integers = "int64[2,1] a, int64[2,3] b"
    assert nodes(bypassed("e = Expand(a, s) y = Max(e, b)", integers)) == "y = Max(a, b)"
    result = bypassed("e = Expand(a, s) y = Pow(b, e)", integers, math="relaxed")
    assert result.reasons == ["powers of integers are computed in another way without the Expand"]
