"""fuse-layer-normalization: the forms that exporters write, and each reason why one stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnxruntime import InferenceSession

from tests.passes.closeness import assert_close, nodes
from tests.passes.normalizations import MINUS, ROOT, SQUARE, normalization
from tests.passes.outcome import Outcome, outcome

NORM = "LayerNormalization<axis={}, epsilon=9.999999747378752e-06>"


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-layer-normalization", source, **{"math": "relaxed", **options})


@pytest.mark.parametrize("opset", [17, 18, 20])
@pytest.mark.parametrize(
    ("body", "expected", "gain"),
    [
        (MINUS + ROOT + "y = Div(d, r)", "y = {}(x, y_constant)", 6),
        (MINUS + SQUARE + "n = Div(d, r)\n y = Mul(gamma, n)", "y = {}(x, gamma)", 7),
        (MINUS + ROOT + "n = Div(d, r)\n g = Mul(n, gamma)\n y = Add(g, beta)", "y = {}(x, gamma, beta)", 8),
        (MINUS + ROOT + "n = Div(d, r)\n y = Add(n, beta)", "y = {}(x, y_constant, beta)", 7),
        (MINUS + ROOT + "i = Reciprocal(r)\n y = Mul(d, i)", "y = {}(x, y_constant)", 7),
        (MINUS + ROOT + "i = Div(one, r)\n n = Mul(i, d)\n y = Mul(n, gamma)", "y = {}(x, gamma)", 8),
    ],
)
def test_what_is_fused(opset: int, body: str, expected: str, gain: int) -> None:
    source = normalization(body, opset=opset)
    result = fused(source)
    assert nodes(result) == expected.format(NORM.format(-1))
    assert_close(result)
    exact = fused(source, math="exact")
    assert (exact.changes, [decline.relaxed_gain for decline in exact.declines]) == (0, [gain])


@pytest.mark.parametrize("axes", ["1,2", "2,1", "-1,-2", "-2,2"])
def test_several_axes(axes: str) -> None:
    gamma = np.full((3, 4), 2, np.float32)
    result = fused(normalization(MINUS + ROOT + "n = Div(d, r)\n y = Mul(n, gamma)", axes=axes, gamma=gamma))
    assert nodes(result) == f"y = {NORM.format(-2)}(x, gamma)"
    assert_close(result)


def test_a_scale_of_another_shape_stays_behind() -> None:
    body = MINUS + ROOT + "n = Div(d, r)\n y = Mul(n, gamma)"
    result = fused(normalization(body, gamma=np.full((1, 4), 2, np.float32)))
    assert nodes(result) == f"n = {NORM.format(-1)}(x, n_constant)\ny = Mul(n, gamma)"
    assert_close(result)


AXES = "the axes of 'x' that are normalized are not known to be the last ones, of known sizes"


@pytest.mark.parametrize(
    ("body", "more", "reason"),
    [
        (MINUS + ROOT + "y = Div(d, r)", {"opset": 16}, None),
        (MINUS + ROOT + "y = Div(d, r)", {"axes": "1"}, AXES),
        (MINUS + ROOT + "y = Div(d, r)", {"head": "(float[N,3,M] x) => (float[A,B,C] y)"}, AXES),
        (MINUS + ROOT + "y = Div(d, r)", {"head": "(float16[N,3,4] x) => (float16[A,B,C] y)",
                                          "two": np.float16(2), "eps": np.array(1e-5, np.float16)},
         "'x' is not known to be float32"),
        (MINUS + ROOT + "y = Div(d, r)", {"head": "(double[N,3,4] x) => (double[A,B,C] y)"},
         "'x' is not known to be float32"),
        (MINUS + ROOT + "y = Div(d, r)", {"two": np.array(3, np.float32)}, None),
        (MINUS + ROOT + "y = Div(x, r)", {}, None),
        (MINUS + ROOT + "z = Neg(r)\n y = Div(d, r)", {}, "'r' is used elsewhere"),
    ],
)  # fmt: skip
def test_what_stays(body: str, more: dict[str, Any], reason: str | None) -> None:
    if "z = Neg" in body:
        more = {**more, "head": "(float[N,3,4] x) => (float[A,B,C] y, float[D,E,F] z)"}
    more = {name: np.asarray(value) if isinstance(value, np.generic) else value for name, value in more.items()}
    result = fused(normalization(body, **more))
    assert (result.changes, result.reasons) == (0, [] if reason is None else [reason])


def test_a_large_scale_of_ones_is_not_made() -> None:
    source = normalization(MINUS + ROOT + "y = Div(d, r)", head="(float[N,3,20000] x) => (float[A,B,C] y)")
    assert fused(source).reasons == ["the file would grow by 80000 bytes, more than 65536"]


def test_kept_names() -> None:
    body = MINUS + ROOT + "n = Div(d, r)\n y = Mul(n, gamma)"
    for name in ("m", "r", "n"):
        assert fused(normalization(body), keep=[name]).changes == 0
    assert fused(normalization(body), keep=["y"]).changes == 0


IN_HALF = "(float16[N,3,4] h) => (float16[A,B,C] y)"
WIDENED = "x = Cast<to = 1>(h)\n " + MINUS + ROOT + "n = Div(d, r)\n c = Cast<to = 10>(n)\n "
GAMMA16, BETA16 = np.linspace(0.5, 2, 4, dtype=np.float16), np.linspace(-1, 1, 4, dtype=np.float16)


@pytest.mark.parametrize(
    ("tail", "expected", "gain"),
    [
        ("g = Mul(c, gamma)\n y = Add(beta, g)", "y = {}(h, gamma, beta)", 9),
        ("y = Mul(gamma, c)", "y = {}(h, gamma)", 8),
        ("y = Relu(c)", "c = {}(h, c_constant)\ny = Relu(c)", 7),
    ],
)
def test_statistics_in_single_precision(tail: str, expected: str, gain: int) -> None:
    """The Casts are part of the operator, which computes its statistics in float32."""
    source = normalization(WIDENED + tail, head=IN_HALF, gamma=GAMMA16, beta=BETA16)
    result = fused(source)
    assert nodes(result) == expected.format(NORM.format(-1))
    assert_close(result)
    exact = fused(source, math="exact")
    assert (exact.changes, [decline.relaxed_gain for decline in exact.declines]) == (0, [gain])


def test_what_reads_the_widened_input_keeps_it() -> None:
    head = "(float16[N,3,4] h) => (float16[A,B,C] y, float[D,E,F] z)"
    result = fused(normalization(WIDENED + "y = Relu(c)\n z = Relu(x)", head=head))
    assert nodes(result) == f"x = Cast<to=1>(h)\nc = {NORM.format(-1)}(h, c_constant)\ny = Relu(c)\nz = Relu(x)"
    assert_close(result)


@pytest.mark.parametrize(
    ("body", "head", "expected"),
    [
        # The scale is in float32 too, and the operator has but one type for both.
        ("g = Mul(n, gamma)\n y = Cast<to = 10>(g)", IN_HALF, "g = {}(x, gamma)"),
        ("g = Mul(n, gamma)\n b = Add(g, beta)\n y = Cast<to = 10>(b)", IN_HALF, "b = {}(x, gamma, beta)"),
        (
            "z = Neg(n)\n y = Cast<to = 10>(n)",
            IN_HALF.replace("y)", "y, float[D,E,F] z)"),
            "n = {}(x, n_constant)\nz = Neg(n)",
        ),
        ("y = Cast<to = 16>(n)", IN_HALF.replace("float16[A", "bfloat16[A"), "n = {}(x, n_constant)"),
    ],
)
def test_other_casts_stay_around_the_operator(body: str, head: str, expected: str) -> None:
    """ONNX Runtime does not load the parts with a bias in float32: it makes one operator of two types of them."""
    source = normalization(WIDENED.split("c = ")[0] + body, head=head)
    result = fused(source)
    assert nodes(result).split("\n", 1)[1].startswith(expected.format(NORM.format(-1)))
    InferenceSession(result.after.SerializeToString(), providers=["CPUExecutionProvider"])
