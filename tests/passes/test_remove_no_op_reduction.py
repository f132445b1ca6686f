"""remove-no-op-reduction: reductions, pooling and sums of one element."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import Array, model

ODD = np.array([-0.0, 1.5, -3.0, np.inf, 1e-45, np.nan], np.float32)


def reduced(body: str, shape: str, *, math: str = "exact", kind: str = "float") -> Outcome:
    dims = ",".join("ABCD"[: shape.count(",") + 1])
    text = f"g ({kind}[{shape}] a) => ({kind}[{dims}] y) {{ {body} y = Identity(b) }}"
    return outcome("remove-no-op-reduction", model(text, constants={"one": np.array([1])}), math=math)


def feed(shape: str) -> Array:
    return np.resize(ODD, [int(size) if size.isdigit() else 6 for size in shape.split(",")])


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("b = ReduceMax<axes = [1], keepdims = 1>(a)", "6,1"),
        ("b = ReduceMin<axes = [1]>(a)", "6,1"),
        ("b = ReduceProd<axes = [1]>(a)", "6,1"),
        ("b = ReduceMax<axes = [-2, 1]>(a)", "N,1,1"),
        ("b = Sum(a)", "6"),
        ("b = Mean(a)", "6"),
        ("b = Min(a)", "6"),
    ],
)
def test_what_goes(body: str, shape: str) -> None:
    result = reduced(body, shape)
    assert nodes(result) == "y = Identity(a)"
    assert_same_results(result, a=feed(shape))


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("b = ReduceSum(a, one)", "6,1"),
        ("b = ReduceSum<noop_with_empty_axes = 1>(a)", "6,1"),
        ("b = ReduceMean<axes = [-2, 1]>(a)", "N,1,1"),
        ("b = GlobalAveragePool(a)", "2,3,1"),
        ("b = GlobalMaxPool(a)", "N,3,1,1"),
        ("b = MaxPool<kernel_shape = [1]>(a)", "1,2,N"),
        ("b = AveragePool<kernel_shape = [1, 1]>(a)", "1,2,3,N"),
        ("b = AveragePool<kernel_shape = [1], strides = [1], pads = [0, 0], ceil_mode = 1>(a)", "1,2,3"),
        ('b = AveragePool<kernel_shape = [1], auto_pad = "SAME_UPPER">(a)', "1,2,3"),
        ("b = AveragePool<kernel_shape = [1], strides = [2]>(a)", "2,3,1"),
    ],
)
def test_sums_and_pooling_of_floats_only_relaxed(body: str, shape: str) -> None:
    exact = reduced(body, shape)
    operator = body.split("(")[0].split("<")[0].removeprefix("b = ")
    assert exact.reasons == [f"{operator} of one float may change -0.0 or NaN; only with --math relaxed"]
    assert exact.declines[0].relaxed_gain == 1
    result = reduced(body, shape, math="relaxed")
    assert nodes(result) == "y = Identity(a)"
    assert_same_results(result, a=np.abs(np.nan_to_num(feed(shape))))


@pytest.mark.parametrize("body", ["b = ReduceSum(a, one)", "b = ReduceMean<axes = [1]>(a)"])
def test_integers_go(body: str) -> None:
    assert nodes(reduced(body, "N,1", kind="int32")) == "y = Identity(a)"


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("b = ReduceMax<axes = [1]>(a)", "2,N"),
        ("b = ReduceMax<axes = [0]>(a)", "2,1"),
        ("b = ReduceMax(a)", "1,N"),
        ("b = ReduceSumSquare<axes = [1]>(a)", "2,1"),
        ("b = ReduceL2<axes = [1]>(a)", "2,1"),
        ("b = GlobalMaxPool(a)", "2,3,N"),
        ("b = AveragePool<kernel_shape = [2], pads = [0, 1]>(a)", "1,2,3"),
        ("b = AveragePool<kernel_shape = [1], strides = [2], pads = [1, 1], count_include_pad = 1>(a)", "1,1,3"),
        ("b = AveragePool<kernel_shape = [1], strides = [2]>(a)", "1,2,N"),
        ("b, i = MaxPool<kernel_shape = [1]>(a) c = Shape(i)", "1,2,3"),
        ("b = Sum(a, a)", "2,3"),
    ],
)
def test_what_stays(body: str, shape: str) -> None:
    result = reduced(body, shape)
    assert (result.changes, result.reasons) == (0, [])


def test_a_dimension_that_goes_keeps_the_node() -> None:
    text = "g (float[2,1] a) => (float[N] y) { b = ReduceMax<axes = [1], keepdims = 0>(a) y = Neg(b) }"
    assert outcome("remove-no-op-reduction", model(text)).changes == 0


def test_between_input_and_output_it_stays() -> None:
    result = outcome("remove-no-op-reduction", model("g (float[N] a) => (float[N] y) { y = Sum(a) }"))
    assert result.reasons == ["'y' is a graph output and 'a' is not made by a node beside it"]
