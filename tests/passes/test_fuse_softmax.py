"""fuse-softmax: the forms that exporters write, and each reason why one stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from tests.passes.closeness import assert_close, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import model

INTEGERS = {"last": [-1], "second": [1], "column": [-1, 4, 1], "row": [0, 1, 5]}


def source_of(body: str, opset: int = 13, head: str = "(float[N,4,5] x) => (float[A,B,C] y)") -> ModelProto:
    used = {name: np.array(value, np.int64) for name, value in INTEGERS.items() if name in body}
    return model(f"g {head} {{ {body} }}", opset=opset, constants=used, ir_version=9)


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-softmax", source, **{"math": "relaxed", **options})


SHIFTED = "m = ReduceMax<axes = [-1]>(x)\n d = Sub(x, m)\n e = Exp(d)\n "
LAST = SHIFTED + "s = ReduceSum(e, last)\n "
SECOND = "m = ReduceMax<axes = [1]>(x)\n d = Sub(x, m)\n e = Exp(d)\n s = ReduceSum(e, second)\n "
DROPPED = "l = ReduceMax<axes = [2], keepdims = 0>(x)\n m = Reshape(l, column)\n d = Sub(x, m)\n e = Exp(d)\n "
DROPPED += "t = ReduceSum<keepdims = 0>(e, last)\n s = Unsqueeze(t, last)\n "


@pytest.mark.parametrize(
    ("body", "expected", "gain"),
    [
        (LAST + "y = Div(e, s)", "y = Softmax<axis=-1>(x)", 4),
        (LAST + "i = Reciprocal(s)\n y = Mul(i, e)", "y = Softmax<axis=-1>(x)", 5),
        (SECOND + "y = Div(e, s)", "y = Softmax<axis=-2>(x)", 4),
        (DROPPED + "y = Div(e, s)", "y = Softmax<axis=-1>(x)", 6),
        (LAST + "l = Log(s)\n y = Sub(d, l)", "y = LogSoftmax<axis=-1>(x)", 5),
        (SECOND + "l = Log(s)\n y = Sub(d, l)", "y = LogSoftmax<axis=-2>(x)", 5),
    ],
)
def test_what_is_fused(body: str, expected: str, gain: int) -> None:
    source = source_of(body)
    result = fused(source)
    assert nodes(result) == expected
    assert_close(result)
    exact = fused(source, math="exact")
    assert (exact.changes, [decline.relaxed_gain for decline in exact.declines]) == (0, [gain])


@pytest.mark.parametrize(
    "body",
    [
        LAST + "y = Div(s, e)",
        LAST + "y = Div(d, s)",
        LAST + "l = Log(s)\n y = Sub(x, l)",
        LAST + "l = Log(s)\n y = Sub(e, l)",
        LAST.replace("ReduceMax", "ReduceMin") + "y = Div(e, s)",
        LAST.replace("Sub(x, m)", "Sub(m, x)") + "y = Div(e, s)",
        LAST.replace("ReduceSum(e", "ReduceSum(x") + "y = Div(e, s)",
        SHIFTED + "s = ReduceSum(e, second)\n y = Div(e, s)",
        SHIFTED + "s = ReduceSum(e)\n y = Div(e, s)",
        "n = Neg(x)\n " + LAST.replace("ReduceMax<axes = [-1]>(x)", "ReduceMax<axes = [-1]>(n)") + "y = Div(e, s)",
        "e = Exp(x)\n s = ReduceSum(e, last)\n y = Div(e, s)",
    ],
)
def test_what_is_another_function(body: str) -> None:
    result = fused(source_of(body))
    assert (result.changes, result.reasons) == (0, [])


def test_a_sum_in_another_place_broadcasts() -> None:
    """A row of sums over columns is not a column of sums."""
    body = "m = ReduceMax<axes = [-1]>(x)\n d = Sub(x, m)\n e = Exp(d)\n t = ReduceSum<keepdims = 0>(e, last)\n "
    square = source_of(body + "y = Div(e, t)", head="(float[5,5] x) => (float[A,B] y)")
    assert fused(square).changes == 0
    row = source_of(body + "s = Reshape(t, row)\n y = Div(e, s)", head="(float[1,5,5] x) => (float[A,B,C] y)")
    assert fused(row).changes == 0


def test_what_is_needed_elsewhere() -> None:
    source = source_of(LAST + "z = Neg(e)\n y = Div(e, s)", head="(float[N,4,5] x) => (float[A,B,C] y, float[D,E,F] z)")
    assert fused(source).reasons == ["'e' is used elsewhere"]


def test_older_operator_sets_take_the_last_axis_alone() -> None:
    body = SECOND.replace("ReduceSum(e, second)", "ReduceSum<axes = [1]>(e)") + "y = Div(e, s)"
    assert fused(source_of(body, 12)).reasons == ["Softmax is along the last axes before operator set 13"]
    last = fused(source_of(body.replace("[1]", "[2]"), 12))
    assert nodes(last) == "y = Softmax<axis=-1>(x)"
    assert_close(last)


def test_half_precision_stays() -> None:
    source = source_of(LAST + "y = Div(e, s)", head="(float16[N,4,5] x) => (float16[A,B,C] y)")
    assert fused(source).reasons == ["'x' is not known to be float32 or float64"]


def test_the_last_axis_of_an_unknown_rank() -> None:
    body = "x = Reshape(w, r)\n " + LAST + "y = Div(e, s)"
    source = source_of(body, head="(float[N] w, int64[R] r) => (float[A,B,C] y)")
    assert nodes(fused(source)) == "x = Reshape(w, r)\ny = Softmax<axis=-1>(x)"


def test_a_scalar_has_no_axis() -> None:
    body = "x = Reshape(w, shape)\n " + LAST + "y = Div(e, s)"
    source = source_of(body, head="(float[1] w) => (float y) <int64[0] shape = {}>")
    result = fused(source, check=False)
    assert (result.changes, result.reasons) == (0, [])
