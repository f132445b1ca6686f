"""fuse-scales: where factors go, before and behind them, and what stops them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from maxfold.model import read_onnx
from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.fuse_scales import FuseScales
from tests.passes.closeness import assert_close, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import Array, model

F32 = np.float32
RELAXED = "weights that take in a factor round differently; only with --math relaxed"


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-scales", source, **{"math": "relaxed", **options})


def values(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).uniform(0.5, 2.0, shape).astype(F32)


def source_of(
    body: str, head: str = "(float[B,3,4] x) => (float[R,S,C] y)", opset: int = 17, **more: Array
) -> ModelProto:
    everything = {"k": np.array(0.25, F32), "w": values(4, 4), "v": values(4, 4, seed=2), "b": values(4)} | more
    everything |= {
        "filter": values(3, 3, 1),
        "shape": np.array([0, 0, 2, 2]),
        "one": np.array(1, F32),
    }
    used = {name: array for name, array in everything.items() if re.search(rf"[( ]{name}[,)]", body)}
    return model(f"g {head} {{ {body} }}", opset=opset, constants=used)


HEAD4 = "(float[B,3,4] x) => (float[Q,R,S,C] y)"
GELU = "t = MatMul(x, w)\n d = Mul(t, k)\n e = Erf(d)\n f = Add(e, one)\n g = Mul(t, f)\n y = MatMul(g, v)"
PASSED = [
    ("p = MatMul(x, w)\n y = Mul(p, k)", ""),
    ("p = MatMul(x, w)\n q = Add(p, b)\n r = Relu(q)\n y = Div(r, k)", ""),
    ("p = MatMul(x, w)\n q = Reshape(p, shape)\n r = Transpose<perm = [0,2,1,3]>(q)\n y = Mul(k, r)", HEAD4),
    ("p = Conv(x, filter)\n q = Softplus(p)\n r = Mul(q, k)\n s = Neg(r)\n y = MatMul(s, w)", ""),
    ("p = Exp(x)\n q = Mul(p, k)\n y = Conv(q, filter)", ""),
    ("p = Exp(x)\n q = Mul(p, k)\n r = MatMul(q, w)\n s = MatMul(q, v)\n y = Add(r, s)", ""),
    ("p = MatMul(x, w)\n q = Exp(x)\n r = Transpose<perm = [0,2,1]>(q)\n s = MatMul(p, r)\n y = Mul(s, k)", ""),
    ("p = Exp(x)\n q = Sin(x)\n r = Mul(p, k)\n s = Mul(q, b)\n y = Mul(r, s)", ""),
    (
        "p = Exp(x)\n q = Mul(p, k)\n r = Sin(x)\n s = Div(r, b)\n t = Transpose<perm = [0,2,1]>(s)\n y = MatMul(q, t)",
        "",
    ),
    ("p = LayerNormalization(x, b, b)\n y = Mul(p, k)", ""),
    ("s = MatMul(x, w)\n t = MatMul(x, v)\n p = Concat<axis = 0>(s, t)\n y = Mul(p, k)", ""),
    ("p = Exp(x)\n q = Div(b, p)\n y = Mul(q, k)", ""),
    (GELU, ""),
]


@pytest.mark.parametrize(("body", "head"), PASSED)
def test_where_a_factor_goes(body: str, head: str) -> None:
    source = source_of(body, head or "(float[B,3,4] x) => (float[R,S,C] y)")
    result = fused(source)
    assert len(result.after.graph.node) == len(source.graph.node) - 1
    assert result.changes == 1
    assert_close(result)
    exact = fused(source, math="exact")
    assert (exact.changes, RELAXED in exact.reasons) == (0, True)
    assert all(decline.relaxed_gain == 1 for decline in exact.declines)


def test_goldens() -> None:
    assert nodes(fused(source_of("p = MatMul(x, w)\n q = Add(p, b)\n y = Mul(q, k)"))) == (
        "p_new = MatMul(x, w_constant)\ny = Add(p_new, b_constant)"
    )
    assert nodes(fused(source_of(GELU))) == (
        "d = MatMul(x, w_constant)\ne = Erf(d)\nf = Add(e, one)\ng_new = Mul(d, f)\ny = MatMul(g_new, v_constant)"
    )


STUCK = [
    "p = Exp(x)\n q = Mul(p, k)\n y = Exp(q)",
    "p = MatMul(x, w)\n q = Exp(p)\n y = Mul(q, k)",
    "p = MatMul(x, w)\n q = Mul(p, k)\n r = Exp(q)\n s = Exp(p)\n y = Add(r, s)",
    "p = MatMul(x, w)\n q = Clip(p)\n y = Mul(q, k)",
    "p = MatMul(x, w)\n q = Add(p, x)\n y = Mul(q, k)",
    "q = Mul(x, k)\n r = Exp(x)\n y = MatMul(q, q)",
    "p = MatMul(x, w)\n y = Div(k, p)",
    "p = MatMul(x, w)\n y = Mul(p, b)",
]


@pytest.mark.parametrize("body", STUCK)
def test_what_is_stuck(body: str) -> None:
    head = "(float[4,4] x) => (float[R,C] y)"
    result = fused(source_of(body, head))
    assert (result.changes, result.reasons) == (0, [])


@pytest.mark.parametrize(
    "body",
    [
        "t = MatMul(x, w)\n p = Mul(t, k)\n y = MatMul(t, p)",
        "t = MatMul(x, w)\n p = Mul(t, k)\n q = Neg(p)\n y = Mul(q, t)",
        "t = MatMul(x, w)\n p = Div(t, k)\n q = Sub(p, b)\n y = Mul(q, t)",
        "t = MatMul(x, w)\n p = Mul(t, k)\n q = Relu(t)\n r = Abs(t)\n s = Mul(q, r)\n u = Mul(s, b)\n y = Add(u, p)",
    ],
)
def test_a_factor_beside_what_it_multiplies(body: str) -> None:
    result = fused(source_of(body, "(float[4,4] x) => (float[R,C] y)"))
    assert_close(result)


def test_signs_and_relu() -> None:
    body = "p = MatMul(x, w)\n q = Relu(p)\n r = Mul(q, k)\n y = Exp(r)"
    assert fused(source_of(body, k=np.array(-1, F32))).changes == 0
    assert fused(source_of(body, k=np.array(2, F32))).changes == 1


@pytest.mark.parametrize("value", [0.0, np.inf, np.nan])
def test_factors_that_do_not_move(value: float) -> None:
    result = fused(source_of("p = MatMul(x, w)\n y = Mul(p, k)", k=np.array(value, F32)))
    assert (result.changes, result.reasons) == (0, [])


def test_overflow_and_growth_and_kept_names() -> None:
    body = "p = MatMul(x, w)\n y = Mul(p, k)"
    large = source_of(body, k=np.array(3e38, F32))
    assert fused(large).reasons == ["the new weights would not be finite, or too small for their type"]
    shared = source_of(f"{body}\n z = MatMul(x, w)", "(float[B,3,4] x) => (float[R,S,C] y, float[D,E,F] z)")
    assert fused(shared, max_growth_bytes=63).reasons == [
        "the file would grow by 64 bytes, more than 63; --max-growth allows more"
    ]
    assert fused(shared, max_growth_bytes=64).changes == 1
    for name in ("p", "y", "w", "k"):
        assert fused(source_of(body), keep=[name]).changes == 0


def test_a_result_that_is_needed_stays() -> None:
    source = source_of("z = MatMul(x, w)\n y = Mul(z, k)", "(float[B,3,4] x) => (float[R,S,C] y, float[D,E,F] z)")
    assert fused(source).changes == 0


def test_a_branch_that_reads_the_factor_stops_it() -> None:
    source = model(
        """
        g (bool c, float[3,4] x) => (float[A,B] y) {
            e = Exp(x)
            p = Mul(e, k)
            y = If (c) <
                then_branch = t () => (float[A,B] q) { q = MatMul(p, w) },
                else_branch = e () => (float[A,B] r) { r = Neg(x) }
            >
        }""",
        constants={"w": values(4, 4), "k": np.array(2, F32)},
    )
    assert fused(source).changes == 0


@pytest.mark.parametrize(
    ("body", "is_moved"),
    [
        ("p = MatMul(x, w)\n y = Mul(p, k)", True),
        ("q = MatMul(x, w)\n p = Reshape(q, same)\n y = Mul(p, k)", True),
        ("q = MatMul(x, w)\n p = Add(q, b)\n y = Mul(p, k)", True),
        ("q = MatMul(x, w)\n p = Add(q, b)\n y = Div(p, k)", False),
        ("p = Mul(x, k)\n q = Reshape(p, same)\n y = MatMul(q, w)", True),
        ("p = Mul(x, k)\n q = MatMul(p, x)\n y = MatMul(q, w)", False),
    ],
)
def test_float16_does_not_overflow_on_the_way(body: str, is_moved: bool) -> None:
    constants = {
        "w": values(4, 4).astype(np.float16),
        "b": values(4).astype(np.float16),
        "k": np.array(0.25, np.float16),
        "same": np.array([4, 4]),
    }
    used = {name: value for name, value in constants.items() if f" {name})" in body}
    source = model(f"g (float16[4,4] x) => (float16[A,B] y) {{ {body} }}", constants=used)
    result = fused(source)
    reasons = [] if is_moved else ["results on the way may leave the range of float16"]
    assert (result.changes, result.reasons) == (int(is_moved), reasons)


def test_factors_beyond_reason_stay() -> None:
    body = "p = Mul(x, k)\n q = MatMul(p, x)\n y = MatMul(q, w)"
    source = source_of(body, "(float[4,4] x) => (float[R,C] y)", k=np.array(1e-30, F32))
    assert fused(source).reasons == ["results on the way may overflow or vanish, multiplied by 1e-30"]


def test_scalars_of_rank_0_take_in_a_factor() -> None:
    source = source_of("p = Add(x, one)\n q = Mul(p, k)\n y = Mul(q, k)", k=np.array(0.5, F32))
    assert fused(source).changes == 1


def test_a_long_chain_takes_linear_time() -> None:
    count = 3000
    body = [f"t{i + 1} = {('Add', 'Relu', 'Mul')[i % 3]}(t{i}{', k' if i % 3 != 1 else ''})" for i in range(count)]
    source = model(
        f"g (float[2] t0) => (float[2] t{count}) {{ {chr(10).join(body)} }}", constants={"k": np.array(0.75, F32)}
    )
    visits = 0
    looked_at = View.producer

    def counted(view: View, tensor: Tensor) -> Node | None:
        nonlocal visits
        visits += 1
        return looked_at(view, tensor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(View, "producer", counted)
        assert FuseScales().run(Edit(read_onnx(source), math="relaxed")).changes > count // 5
    assert visits < 30 * count
