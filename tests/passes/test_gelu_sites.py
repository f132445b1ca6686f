"""What does nothing stays where ONNX Runtime would not find the Gelu beside it without that."""

from __future__ import annotations

import pytest

from tests.passes.outcome import Outcome, outcome
from tests.text import model

GELU = "t = Div(x, root) e = Erf(t) f = Add(e, one) p = Mul(x, f) g = Mul(p, half)"
TANH = "h = Mul(x, half) t = Tanh(x) f = Add(t, one) g = Mul(h, f)"


def reshaped(body: str) -> Outcome:
    constants = "<float root = {1.4142135}, float one = {1}, float half = {0.5}, int64[2] s = {2, 3}>"
    return outcome("remove-no-op-reshape", model(f"m (float[2,3] a) => (float[2,3] y) {constants} {{ {body} }}"))


def test_a_gelu_is_not_put_behind_a_product() -> None:
    result = reshaped(f"b = Mul(a, a) x = Reshape(b, s) {GELU} y = Neg(g)")
    assert result.changes == 0
    assert result.reasons == ["'x' goes into a Gelu, which runtimes do not fuse behind a Mul"]


def test_the_approximation_is_not_returned() -> None:
    result = reshaped(f"x = Neg(a) {TANH} y = Reshape(g, s)")
    assert result.changes == 0
    assert result.reasons == ["'g' is a Gelu, which runtimes do not fuse where a graph returns it"]


@pytest.mark.parametrize(
    "body",
    [
        f"b = Neg(a) x = Reshape(b, s) {GELU} y = Neg(g)",
        f"x = Mul(a, a) {GELU} y = Reshape(g, s)",
        f"x = Neg(a) {TANH} b = Reshape(g, s) y = Neg(b)",
        "b = Mul(a, a) x = Reshape(b, s) y = Mul(x, a)",
    ],
)
def test_elsewhere_it_goes(body: str) -> None:
    assert reshaped(body).changes == 1
