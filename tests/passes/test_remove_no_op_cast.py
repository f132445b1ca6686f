"""remove-no-op-cast: casts to the type that is there already."""

from __future__ import annotations

import pytest

from tests.passes.cleaning import nodes
from tests.passes.outcome import outcome
from tests.text import model


@pytest.mark.parametrize(("name", "number"), [("float", 1), ("int64", 7), ("bool", 9), ("float16", 10), ("string", 8)])
def test_a_cast_to_the_own_type_goes(name: str, number: int) -> None:
    source = model(f"g ({name}[N] a) => ({name}[N] y) {{ b = Cast<to = {number}>(a) y = Identity(b) }}")
    assert nodes(outcome("remove-no-op-cast", source)) == "y = Identity(a)"


def test_the_type_is_derived_along_the_way() -> None:
    source = model("""
        g (float[N] a, int64[2] b) => (float[N] y) {
            s = Shape(a) t = Cast<to = 7>(s) u = CastLike(t, b) r = Cast<to = 1>(u) y = Add(a, r)
        }""")
    assert nodes(outcome("remove-no-op-cast", source)) == "s = Shape(a)\nr = Cast<to=1>(s)\ny = Add(a, r)"


def test_a_cast_that_is_an_output_hands_on_its_name() -> None:
    source = model("g (float[N] a) => (float[N] y) { b = Neg(a) y = Cast<to = 1>(b) }")
    assert nodes(outcome("remove-no-op-cast", source)) == "y = Neg(a)"


@pytest.mark.parametrize(
    "graph",
    [
        "g (float[N] a) => (double[N] y) { b = Cast<to = 11>(a) y = Identity(b) }",
        "g (float[N] a, int32 k) => (int32[N] y) { b = CastLike(a, k) y = Identity(b) }",
    ],
)
def test_other_casts_stay(graph: str) -> None:
    result = outcome("remove-no-op-cast", model(graph))
    assert (result.changes, result.reasons) == (0, [])


@pytest.mark.parametrize(
    ("graph", "opset", "reason"),
    [
        (
            "g (float[N] a) => (float[N] y) { y = Cast<to = 1>(a) }",
            17,
            "'y' is a graph output and 'a' is not made by a node beside it",
        ),
        (
            'g (float[N] a) => (float[N] y) { b = Cast<to = "FLOAT">(a) y = Identity(b) }',
            5,
            "attribute to is not a known integer",
        ),
    ],
)
def test_reasons(graph: str, opset: int, reason: str) -> None:
    result = outcome("remove-no-op-cast", model(graph, opset=opset), check=opset > 5)
    assert (result.changes, result.reasons) == (0, [reason])


def test_a_declared_type_is_not_believed() -> None:
    source = model(
        "g (float[N] a) => (float[N] y) <float[N] b> { b = custom.F(a) c = Cast<to = 1>(b) y = Neg(c) }",
        domains='"custom" : 1',
    )
    assert outcome("remove-no-op-cast", source).changes == 0
