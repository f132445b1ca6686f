"""fuse-sums-of-squares: means that become sums where what follows takes in the factor, and what stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from tests.passes.closeness import assert_close, nodes
from tests.passes.normalizations import MINUS, ROOT, SQUARE, normalization
from tests.passes.outcome import Outcome, outcome


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-sums-of-squares", source, **{"math": "relaxed", **options})


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize(
    "end",
    [
        "n = Div(d, r)\n y = Mul(gamma, n)",
        "n = Div(d, r)\n y = MatMul(n, w)",
        "i = Reciprocal(r)\n n = Mul(d, i)\n y = Mul(n, gamma)",
        "n = Div(d, r)\n t = Relu(n)\n u = Neg(t)\n y = Div(u, gamma)",
    ],
)
@pytest.mark.parametrize("start", [MINUS + ROOT, MINUS + SQUARE])
def test_what_becomes_a_sum(opset: int, start: str, end: str) -> None:
    for axes in ("1", "0,1"):
        source = normalization(start + end, opset=opset, axes=axes, head="(float[2,3,4] x) => (float[A,B,C] y)")
        result = fused(source)
        assert len(result.after.graph.node) == len(source.graph.node) - 1
        assert "ReduceSumSquare" in nodes(result)
        assert_close(result)
        exact = fused(source, math="exact")
        assert (exact.changes, [decline.relaxed_gain for decline in exact.declines]) == (0, [1])


def test_golden() -> None:
    result = fused(normalization(MINUS + ROOT + "n = Div(d, r)\n y = Mul(n, gamma)", axes="1"))
    assert nodes(result) == (
        "m = ReduceMean<axes=[1]>(x)\nd = Sub(x, m)\nv_new = ReduceSumSquare<axes=[1]>(d)\n"
        "e_new = Add(v_new, eps_constant)\nr_new = Sqrt(e_new)\nn_new = Div(d, r_new)\ny = Mul(n_new, gamma_constant)"
    )


@pytest.mark.parametrize(
    ("end", "more", "reason"),
    [
        ("y = Div(d, r)", {}, None),
        ("n = Div(d, r)\n y = Add(n, gamma)", {}, None),
        ("n = Div(d, r)\n y = Mul(n, gamma)", {"head": "(float[N,M,4] x) => (float[A,B,C] y)"}, None),
        ("z = Neg(r)\n n = Div(d, r)\n y = Mul(n, gamma)",
         {"head": "(float[N,3,4] x) => (float[A,B,C] y, float[D,E,F] z)"}, "'r' is used elsewhere"),
        ("n = Div(d, r)\n y = Mul(n, gamma)", {"gamma": np.full(4, 3e38, np.float32)},
         "the new weights would not be finite, or too small for their type"),
        ("n = Div(d, r)\n t = Mul(n, gamma)\n y = Mul(t, gamma)", {}, None),
    ],
)  # fmt: skip
def test_what_stays(end: str, more: dict[str, Any], reason: str | None) -> None:
    result = fused(normalization(MINUS + ROOT + end, axes="1", **more))
    assert result.changes == (end.count("gamma") == 2)
    assert result.reasons == ([] if reason is None else [reason])


def test_growth_and_kept_names() -> None:
    body = MINUS + ROOT + "n = Div(d, r)\n g = Mul(n, gamma)\n y = Mul(g, gamma)"
    source = normalization(body, axes="1")
    assert fused(source, max_growth_bytes=15).reasons == [
        "the file would grow by 16 bytes, more than 15; --max-growth allows more"
    ]
    for name in ("n", "v", "r", "g"):
        assert fused(source, keep=[name]).changes == 0


@pytest.mark.parametrize("axes", ["-1", "1,2"])
def test_what_runtimes_fuse(axes: str) -> None:
    result = fused(normalization(MINUS + ROOT + "n = Div(d, r)\n y = MatMul(n, w)", axes=axes))
    assert (result.changes, result.reasons) == (0, ["part of a LayerNormalization, left as runtimes fuse it"])
