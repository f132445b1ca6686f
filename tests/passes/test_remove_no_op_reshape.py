"""remove-no-op-reshape: what keeps every dimension goes, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import model


def cleaned(body: str, *, a: str = "float[2,N,4] a", opset: int = 17, dims: str = "A,B,C") -> Outcome:
    return outcome("remove-no-op-reshape", model(f"g ({a}) => (float[{dims}] y) {body}", opset=opset))


@pytest.mark.parametrize(
    "body",
    [
        "<int64[3] s = {2, -1, 4}> { b = Reshape(a, s) y = Neg(b) }",
        "<int64[3] s = {0, 0, 0}> { b = Reshape(a, s) y = Neg(b) }",
        "{ s = Shape(a) b = Reshape(a, s) y = Neg(b) }",
        "<int64[3] s = {1, 1, 1}> { b = Expand(a, s) y = Neg(b) }",
        "<int64[1] s = {4}> { b = Expand(a, s) y = Neg(b) }",
        "{ s = Shape(a) b = Expand(a, s) y = Neg(b) }",
        "<int64[3] s = {1, 1, 1}> { b = Tile(a, s) y = Neg(b) }",
        "<int64[1] s = {1}> { u = Unsqueeze(a, s) b = Squeeze(u, s) y = Neg(b) }",
        "<int64[2] s = {0, -1}, int64[3] t = {2, -1, 4}> { r = Reshape(a, s) b = Reshape(r, t) y = Neg(b) }",
    ],
)
def test_what_keeps_every_dimension_goes(body: str) -> None:
    result = cleaned(body)
    assert nodes(result) == "y = Neg(a)" or "Shape(a)" in body
    assert nodes(result).endswith("y = Neg(a)")
    assert_same_results(result, a=np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    assert_same_results(result, a=np.empty((2, 0, 4), np.float32))


@pytest.mark.parametrize(
    ("body", "a"),
    [
        ("{ b = Flatten<axis = 1>(a) y = Neg(b) }", "float[N,M] a"),
        ("{ b = Squeeze(a) y = Neg(b) }", "float[2,3] a"),
        ("{ b = Expand(a, s) y = Neg(b) }", "float[2,N] a, int64[0] s"),
    ],
)
def test_two_dimensions(body: str, a: str) -> None:
    # A declared 0 stands for an unknown size, so that the last one is not provable.
    result = cleaned(body, a=a, dims="A,B")
    assert (nodes(result) == "y = Neg(a)") is ("Expand" not in body)


def test_a_squeeze_that_the_reshape_before_it_undoes() -> None:
    body = "<int64[1] s = {0}, int64[3] t = {1, 2, -1}> { q = Squeeze(a, s) b = Reshape(q, t) y = Neg(b) }"
    assert nodes(cleaned(body, a="float[1,2,N] a")) == "y = Neg(a)"


@pytest.mark.parametrize(
    ("body", "a"),
    [
        ("<int64[3] s = {2, 4, -1}> { b = Reshape(a, s) y = Neg(b) }", "float[2,N,4] a"),
        ("<int64[3] s = {2, 3, 4}> { b = Reshape(a, s) y = Neg(b) }", "float[2,N,4] a"),
        ("<int64[3] s = {1, 3, 1}> { b = Expand(a, s) y = Neg(b) }", "float[2,N,4] a"),
        ("<int64[4] s = {1, 1, 1, 1}> { b = Expand(a, s) y = Neg(b) }", "float[2,N,4] a"),
        ("<int64[3] s = {1, 2, 1}> { b = Tile(a, s) y = Neg(b) }", "float[2,N,4] a"),
        ("{ b = Flatten(a) y = Neg(b) }", "float[2,N,4] a"),
        ("{ b = Squeeze(a) y = Neg(b) }", "float[2,N] a"),
        ("<int64[2] s = {0, 0}> { b = Reshape(a, s) y = Neg(b) }", "float a"),
    ],
)
def test_what_may_change_a_dimension_stays(body: str, a: str) -> None:
    source = model(f"g ({a}) => (float y) {body}")
    source.graph.output[0].type.tensor_type.ClearField("shape")
    result = outcome("remove-no-op-reshape", source, check=False)
    assert (result.changes, result.reasons) == (0, [])


def test_declared_shapes_of_results_are_not_believed() -> None:
    source = model(
        "g (float[2,N] a) => (float[2,3] y) <float[2,3] b, int64[2] s = {2, 3}> "
        "{ b = custom.F(a) c = Reshape(b, s) y = Neg(c) }",
        domains='"custom" : 1',
    )
    assert outcome("remove-no-op-reshape", source).changes == 0


def test_between_input_and_output_it_stays() -> None:
    result = cleaned("<int64[3] s = {0, 0, 0}> { y = Reshape(a, s) }")
    assert result.reasons == ["'y' is a graph output and 'a' is not made by a node beside it"]


def test_older_versions_have_attributes() -> None:
    assert nodes(cleaned("{ b = Reshape<shape = [2, 0, 4]>(a) y = Neg(b) }", opset=4)) == "y = Neg(a)"
    body = "{ u = Unsqueeze<axes = [0]>(a) b = Squeeze<axes = [0]>(u) y = Neg(b) }"
    assert nodes(cleaned(body, opset=11)) == "y = Neg(a)"


@pytest.mark.parametrize("opset", [11, 13, 21])
def test_squeeze_of_no_axes_may_be_squeeze_of_all(opset: int) -> None:
    """The specification says nothing of an empty list; ONNX Runtime takes all dimensions of size 1 then."""
    text = "y = Squeeze<axes: ints = []>(b)" if opset < 13 else "y = Squeeze(b, s)"
    source = model(
        f"g (float[1,3] a) => (float[] y) {{ b = Abs(a) {text} }}",
        opset=opset,
        constants={} if opset < 13 else {"s": np.empty(0, np.int64)},
    )
    result = outcome("remove-no-op-reshape", source, check=False)
    assert (result.changes, result.reasons) == (0, [])
