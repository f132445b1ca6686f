"""fuse-gemm: products that take in a bias, scales and transposes, and each reason why one does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from tests.passes.closeness import assert_close, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import Array, model

F32 = np.float32
ROUNDING = "runtimes round Gemm differently; only with --math relaxed"
RELAXED = "weights that take in a scale or a shift round differently; only with --math relaxed"


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-gemm", source, **{"math": "relaxed", **options})


def values(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).uniform(0.5, 2.0, shape).astype(F32)


def source_of(body: str, head: str = "(float[M,4] x) => (float[R,C] y)", opset: int = 17, **more: Array) -> ModelProto:
    """A graph with weights w [4,5] and v [5,4], and constants for 5 columns."""
    everything = {"w": values(4, 5), "v": values(5, 4), "c5": values(5), "d5": values(1, 5, seed=3), "two": values(1)}
    everything |= {f"n{name}": values(5, seed=seed) for seed, name in enumerate("sbmv")}
    everything |= {f"k{name}": values(4, seed=seed) for seed, name in enumerate("sbmv", 7)} | more
    used = {name: array for name, array in everything.items() if f"{name})" in body or f"{name}," in body}
    return model(f"g {head} {{ {body} }}", opset=opset, constants=used)


BEFORE = "p = BatchNormalization(x, ks, kb, km, kv)\n "
BEHIND = "y = BatchNormalization(p, ns, nb, nm, nv)"

TAKEN = [
    ("p = MatMul(x, w)\n y = Add(p, c5)", "y = Gemm(x, w, c5)", ROUNDING, 1),
    ("p = MatMul(x, w)\n y = Add(two, p)", "y = Gemm(x, w, two)", ROUNDING, 1),
    ("p = MatMul(x, w)\n q = Mul(p, c5)\n y = Add(q, d5)", "y = Gemm(x, w_constant, y_constant)", RELAXED, 1),
    ("p = Gemm<alpha = 0.5>(x, w)\n y = Add(p, d5)", "y = Gemm<alpha=0.5>(x, w, y_constant)", RELAXED, 1),
    ("p = Gemm<beta = 2.0>(x, w, c5)\n y = Sub(p, d5)", "y = Gemm(x, w, y_constant)", RELAXED, 1),
    ("p = Gemm<transB = 1>(x, v, c5)\n y = Div(p, d5)", "y = Gemm<transB=1>(x, v_constant, y_constant)", RELAXED, 1),
    ("p = Gemm(x, w)\n y = BatchNormalization(p, ns, nb, nm, nv)", "y = Gemm(x, w_constant, y_constant)", RELAXED, 1),
    ("p = MatMul(x, w)\n " + BEHIND, "y = Gemm(x, w_constant, y_constant)", RELAXED, 1),
    ("p = MatMul(x, w)\n y = Sub(p, c5)", "y = Gemm(x, w, y_constant)", RELAXED, 1),
    ("o = MatMul(x, w)\n p = Mul(o, d5)\n " + BEHIND, "y = Gemm(x, w_constant, y_constant)", RELAXED, 2),
    (BEFORE + "y = MatMul(p, w)", "y = Gemm(x, w_constant, y_constant)", RELAXED, 1),
    (BEFORE + "y = Gemm<alpha = 0.5, beta = 2.0>(p, w, c5)", "y = Gemm<alpha=0.5>(x, w_constant, y_constant)", RELAXED,
     1),
    (BEFORE + "y = Gemm<transB = 1>(p, v)", "y = Gemm<transB=1>(x, v_constant, y_constant)", RELAXED, 1),
    (BEFORE + "q = BatchNormalization(p, km, kb, ks, kv)\n y = Gemm(q, w, c5)", "y = Gemm(x, w_constant, y_constant)",
     RELAXED, 2),
    (BEFORE.replace("p =", "o =") + "p = Gemm(o, w, c5)\n" + BEHIND, "y = Gemm(x, w_constant, y_constant)", RELAXED, 2),
    ("p = Gemm(x, w)\n y = Mul(two, p)", "y = Gemm(x, w_constant)", RELAXED, 1),
    ("p = MatMul(x, w)\n y = Mul(p, two)", "y = MatMul(x, w_constant)", RELAXED, 1),
    ("t = Transpose<perm = [1,0]>(v)\n y = Gemm(x, t, c5)", "y = Gemm<transB=1>(x, v, c5)", ROUNDING, 1),
    ("t = Transpose(x)\n y = Gemm<transA = 1>(t, w)", "y = Gemm<transA=0>(x, w)", ROUNDING, 1),
    ("t = Transpose(v)\n y = MatMul(x, t)", "y = Gemm<transB=1>(x, v)", ROUNDING, 1),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected", "reason", "gain"), TAKEN)
def test_what_is_taken_in(body: str, expected: str, reason: str, gain: int) -> None:
    source = source_of(body)
    result = fused(source)
    assert nodes(result) == expected
    assert_close(result)
    exact = fused(source, math="exact")
    assert exact.changes == 0
    assert reason in exact.reasons
    assert sum(decline.relaxed_gain for decline in exact.declines) >= gain


def test_higher_ranks_keep_one_add() -> None:
    head = "(float[B,M,4] x) => (float[R,S,C] y)"
    source = source_of("p = MatMul(x, w)\n q = Add(p, c5)\n r = Mul(q, d5)\n y = Sub(r, c5)", head)
    result = fused(source)
    assert nodes(result) == "p_new = MatMul(x, w_constant)\ny = Add(p_new, y_constant)"
    assert_close(result)
    left = fused(source_of("p = MatMul(x, w)\n y = Add(p, c5)", head))
    assert (left.changes, left.reasons) == (0, ["'x' and 'w' are not known to be matrices"])


FLAT = "b = BatchNormalization(x, ms, mb, mm, mv)\n p = Flatten{}(b)\n"


@pytest.mark.parametrize(
    ("product", "made"),
    [
        ("y = Gemm(p, w, c5)", "y = Gemm(y_flatten, w_constant, y_constant)"),
        ("q = MatMul(p, w)\n y = Relu(q)", "q = Gemm(q_flatten, w_constant, q_constant)\ny = Relu(q)"),
    ],
)
def test_a_normalization_before_flatten(product: str, made: str) -> None:
    channels = {f"m{name}": values(2, seed=seed) for seed, name in enumerate("sbmv", 3)}
    head = "(float[M,2,3,2] x) => (float[R,C] y)"
    source = source_of(FLAT.format("") + product, head, w=values(12, 5), **channels)
    result = fused(source)
    assert nodes(result).partition(" = ")[2] == f"Flatten(x)\n{made}"
    assert_close(result)
    other = source_of(FLAT.format("<axis = 2>") + "y = MatMul(p, w)", head, w=values(6, 5), **channels)
    assert fused(other).changes == 0


MATRIX, CUBE = "(float[M,4] x{}) => (float[R,C] y)", "(float[M,4,4] x) => (float[R,S,C] y)"


@pytest.mark.parametrize(
    ("body", "head", "reason"),
    [
        (BEFORE + "y = MatMul(p, w)\n z = Relu(p)", "(float[M,4] x) => (float[R,C] y, float[R,D] z)",
         "'p' is used elsewhere"),
        (BEFORE + "y = MatMul(p, w)", CUBE, None),
        (BEFORE + "y = Gemm<transA = 1>(p, w)", "(float[4,4] x) => (float[R,C] y)", None),
        (BEFORE + "y = Gemm(p, w, d)", MATRIX.format(", float[M,5] d"), "the bias 'd' is not constant"),
        (BEFORE + "y = Gemm(p, d)", MATRIX.format(", float[4,5] d"), None),
        ("p = MatMul(x, w4)\n y = BatchNormalization(p, ks, kb, km, kv)", CUBE,
         "BatchNormalization works along another axis"),
        ("p = MatMul(x, w)\n y = BatchNormalization(p, ns, nb, nm, d)", MATRIX.format(", float[5] d"),
         "BatchNormalization with parameters that are not constant"),
        ("p = Mul(x, ks)\n y = MatMul(p, w)", MATRIX.format(""), None),
    ],
)  # fmt: skip
def test_normalizations_that_are_left(body: str, head: str, reason: str | None) -> None:
    result = fused(source_of(body, head, w4=values(4, 4)))
    assert (result.changes, result.reasons) == (0, [] if reason is None else [reason])


@pytest.mark.parametrize("shape", ["[5]", "[1,5]", "[1]"])
def test_a_bias_that_is_computed(shape: str) -> None:
    result = fused(source_of("p = MatMul(x, w)\n y = Add(b, p)", f"(float[M,4] x, float{shape} b) => (float[R,C] y)"))
    assert nodes(result) == "y = Gemm(x, w, b)"
    assert_close(result)


def test_a_bias_that_is_computed_and_a_scalar() -> None:
    body = "s = Squeeze(b)\n p = MatMul(x, w)\n y = Add(s, p)"
    result = fused(source_of(body, "(float[M,4] x, float[1] b) => (float[R,C] y)"))
    assert nodes(result) == "s = Squeeze(b)\ny = Gemm(x, w, s)"
    assert_close(result)


def test_an_input_without_dimensions_may_be_of_any_rank() -> None:
    result = fused(source_of("p = MatMul(x, w)\n y = Add(b, p)", "(float[M,4] x, float b) => (float[R,C] y)"))
    assert (result.changes, result.reasons) == (0, ["'b' is not known to broadcast to the product"])


@pytest.mark.parametrize("shape", ["[N]", "[1,N]", "[N,5]", "[M,1]", "[2,5]", "[1,1,5]"])
def test_a_bias_that_may_widen_the_product(shape: str) -> None:
    head = f"(float[M,4] x, float{shape} b) => (float[{'Q,' * (shape == '[1,1,5]')}R,C] y)"
    result = fused(source_of("p = MatMul(x, w)\n y = Add(b, p)", head))
    assert (result.changes, result.reasons) == (0, ["'b' is not known to broadcast to the product"])


LEFT = [
    ("p = MatMul(x, w)\n y = Add(p, c5)\n z = Relu(p)", {}, "'p' is used elsewhere"),
    ("z = MatMul(x, w)\n y = Add(z, c5)", {}, "'z' is a graph output"),
    ("z = Gemm(x, w, c5)\n y = Add(z, z)", {}, None),
    ("z = Relu(x)\n p = Gemm(x, w, c5)\n y = Add(p, z)", {"w": values(4, 4), "c5": values(4)},
     "Gemm has a third input already, 'c5'"),
    ("z = Relu(x)\n p = MatMul(x, w)\n y = Div(p, k)", {"k": np.zeros(1, F32)},
     "the new weights would not be finite, or too small for their type"),
    ("z = Relu(x)\n p = Gemm(x, w)\n y = Mul(p, k)", {"k": values(1, 1, 1)},
     "'k' of shape [1, 1, 1] is not one value a channel"),
    ("z = Relu(x)\n p = Gemm(x, w, k)\n y = Mul(p, c5)", {"k": values(3, 5)},
     "'k' of shape [3, 5] is not one value a column"),
    ("z = Relu(x)\n p = Gemm(x, w, z)\n y = Mul(p, two)", {"w": values(4, 4)}, "the bias 'z' is not constant"),
    ("z = MatMul(x, w)\n p = Gemm(x, w)\n y = Mul(p, two)", {"w": np.zeros((4, 20000), F32)},
     "the file would grow by 319996 bytes, more than 65536; --max-growth allows more"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "constants", "reason"), LEFT)
def test_what_is_left(body: str, constants: dict[str, Array], reason: str | None) -> None:
    rank = "[Q,R,C]" if constants.get("k", np.zeros(1)).ndim == 3 else "[R,C]"
    head = f"(float[{'3' if 'w, k)' in body else 'M'},4] x) => (float{rank} y, float[D,E] z)"
    result = fused(source_of(body, head, **constants))
    assert result.changes == 0
    assert reason is None or reason in result.reasons


@pytest.mark.parametrize(
    ("opset", "body", "reason"),
    [
        (6, "p = MatMul(x, w)\n y = Add<broadcast = 1>(p, c5)", "Gemm before operator set 7 broadcasts by attributes"),
        (7, "p = Gemm(x, w, c5)\n y = Add(p, d5)", None),
        (9, "t = Transpose(v)\n y = MatMul(x, t)", ""),
    ],
)
def test_operator_sets(opset: int, body: str, reason: str | None) -> None:
    result = fused(source_of(body, opset=opset), check=opset > 6)
    assert result.changes == (reason is None)
    assert not reason or reason in result.reasons


def test_a_bias_of_as_many_rows() -> None:
    source = source_of("p = MatMul(x, w)\n q = Sigmoid(p)\n r = MatMul(x, w)\n y = Add(q, r)")
    result = fused(source)
    assert nodes(result) == "p = MatMul(x, w)\nq = Sigmoid(p)\ny = Gemm(x, w, q)"
    assert_close(result)


def test_integers_are_left() -> None:
    source = model("g (int32[2,4] x, int32[4,3] w, int32[3] b) => (int32[2,3] y) { p = MatMul(x, w)\n y = Add(p, b) }")
    reason = "Gemm of operator set 17 is not known to take the type of 'x'"
    assert fused(source).reasons == [reason]


def test_what_is_kept_stays() -> None:
    source = source_of("p = Gemm(x, w)\n y = Mul(p, c5)")
    for name in ("p", "y", "w", "c5"):
        assert fused(source, keep=[name]).changes == 0


def test_a_transpose_that_is_needed_is_read_through() -> None:
    body = "t = Transpose(v)\n y = Gemm(x, t)\n z = Relu(t)"
    result = fused(source_of(body, "(float[M,4] x) => (float[R,C] y, float[A,B] z)"))
    assert nodes(result) == "t = Transpose(v)\ny = Gemm<transB=1>(x, v)\nz = Relu(t)"
    body = body.replace("Gemm", "MatMul")
    assert fused(source_of(body, "(float[M,4] x) => (float[R,C] y, float[A,B] z)")).changes == 0


def test_a_branch_takes_in_nothing_from_outside() -> None:
    source = model(
        """
        g (bool c, float[3,4] x) => (float[A,B] y) {
            p = Gemm(x, w)
            y = If (c) <
                then_branch = t () => (float[A,B] q) { q = Add(p, k) },
                else_branch = e () => (float[A,B] r) { r = Neg(x) }
            >
        }""",
        constants={"w": values(4, 5), "k": values(5)},
    )
    assert "'p' is made in another graph" in fused(source).reasons


def test_an_infinite_bias_that_counts_nothing_stays() -> None:
    source = model(
        "g (float[2,3] x) => (float[2,2] y) { p = Gemm<beta = 0.0>(x, w, c)\n y = Mul(p, s) }",
        constants={
            "w": np.ones((3, 2), np.float32),
            "c": np.full(2, np.inf, np.float32),
            "s": np.full(2, 2, np.float32),
        },
    )
    result = outcome("fuse-gemm", source, math="relaxed")
    assert result.reasons == ["the new weights would not be finite, or too small for their type"]
