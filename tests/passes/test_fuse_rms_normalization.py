"""fuse-rms-normalization: the forms that exporters write, and each reason why one stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, reference

from tests.passes.closeness import assert_close, nodes, random_feeds
from tests.passes.normalizations import ROOT, SQUARE, normalization
from tests.passes.outcome import Outcome, outcome

NORM = "RMSNormalization<axis=-1, epsilon=9.999999747378752e-06>"


def of_x(text: str) -> str:
    return text.replace("(d", "(x").replace("d)", "x)")


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-rms-normalization", source, **{"math": "relaxed", **options})


@pytest.mark.parametrize(
    ("body", "expected", "gain"),
    [
        (ROOT + "y = Div(d, r)", "y = {}(x, y_constant)", 4),
        (SQUARE + "n = Div(d, r)\n y = Mul(gamma, n)", "y = {}(x, gamma)", 5),
        (ROOT + "i = Reciprocal(r)\n n = Mul(d, i)\n y = Mul(n, gamma)", "y = {}(x, gamma)", 6),
        (ROOT + "i = Div(one, r)\n n = Mul(d, i)\n y = Add(n, beta)", "n = {}(x, n_constant)\ny = Add(n, beta)", 5),
    ],
)
def test_what_is_fused(body: str, expected: str, gain: int) -> None:
    source = normalization(of_x(body), opset=23)
    result = fused(source)
    assert nodes(result) == expected.format(NORM)
    feeds = random_feeds(source)
    (before,), (after,) = (reference.ReferenceEvaluator(proto).run(None, feeds) for proto in (source, result.after))
    assert abs(before - after).max() < 1e-5
    exact = fused(source, math="exact")
    assert (exact.changes, [decline.relaxed_gain for decline in exact.declines]) == (0, [gain])


@pytest.mark.parametrize(
    ("opset", "axes", "reason"),
    [
        (22, "-1", None),
        (23, "1", "the axes of 'x' that are normalized are not known to be the last ones, of known sizes"),
    ],
)
def test_what_stays(opset: int, axes: str, reason: str | None) -> None:
    result = fused(normalization(of_x(ROOT + "y = Div(d, r)"), opset=opset, axes=axes))
    assert (result.changes, result.reasons) == (0, [] if reason is None else [reason])


def test_inner_results_that_are_needed() -> None:
    source = normalization(of_x(ROOT + "z = Neg(r)\n y = Div(d, r)"), opset=23,
                           head="(float[N,3,4] x) => (float[A,B,C] y, float[D,E,F] z)")  # fmt: skip
    assert fused(source).reasons == ["'r' is used elsewhere"]


def test_statistics_in_single_precision() -> None:
    body = "x = Cast<to = 1>(h)\n " + of_x(ROOT) + "n = Div(x, r)\n c = Cast<to = 10>(n)\n y = Mul(c, gamma)"
    source = normalization(
        body, opset=23, head="(float16[N,3,4] h) => (float16[A,B,C] y)", gamma=np.linspace(0.5, 2, 4, dtype=np.float16)
    )
    result = fused(source)
    assert nodes(result) == f"y = {NORM}(h, gamma)"
    assert_close(result)


def test_tensorrt_keeps_the_parts() -> None:
    source = normalization(of_x(ROOT + "y = Div(d, r)"), opset=23)
    result = fused(source, target="tensorrt")
    why = "TensorRT has RMSNormalization only from release 10.15 on, and runs its parts in all"
    assert (result.changes, set(result.reasons)) == (0, {why})
