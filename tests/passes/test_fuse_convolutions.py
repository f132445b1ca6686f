"""fuse-convolutions: what a convolution takes in, before and behind it, and why it leaves the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from tests.passes.closeness import assert_close, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import Array, model

F32 = np.float32
RELAXED = "weights that take in a scale or a shift round differently; only with --math relaxed"


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-convolutions", source, **{"math": "relaxed", **options})


def values(*shape: int, seed: int = 1, dtype: Any = F32) -> Array:
    return np.random.default_rng(seed).uniform(0.5, 2.0, shape).astype(dtype)


def normalization(prefix: str, channels: int, dtype: Any = F32) -> dict[str, Array]:
    """Scale s, shift b, mean m and variance v."""
    return {f"{prefix}{name}": values(channels, seed=seed, dtype=dtype) for seed, name in enumerate("sbmv")}


def source_of(
    body: str,
    weight: Array,
    *,
    head: str = "(float[N,4,5,6] x) => (float[N,C,H,W] y)",
    opset: int = 17,
    **constants: Array,
) -> ModelProto:
    """A graph over `x` with the weight `w`, and constants for 4 input and 6 output channels."""
    everything = {"w": weight, "c4": values(4, 1, 1), "c6": values(6, 1, 1), "d6": values(1, 6, 1, 1, seed=3)}
    everything |= {"b6": values(6, seed=9), "two": np.array(2, F32), "one": values(1, 1), **constants}
    everything |= normalization("n4", 4) | normalization("n6", 6)
    used = {name: array for name, array in everything.items() if f"{name})" in body or f"{name}," in body}
    return model(f"g {head} {{ {body} }}", opset=opset, constants=used)


N6 = "n6s, n6b, n6m, n6v"
N4 = "n4s, n4b, n4m, n4v"
CONV = (6, 4, 3, 3)

TAKEN = [
    (f"p = Conv<pads = [1,1,1,1]>(x, w)\n y = BatchNormalization<epsilon = 0.01>(p, {N6})", CONV, 1),
    (f"p = Conv(x, w, b6)\n y = BatchNormalization(p, {N6})", CONV, 1),
    (f"p = Conv(x, w)\n q = BatchNormalization(p, {N6})\n r = Mul(q, c6)\n y = Add(d6, r)", CONV, 3),
    ("p = Conv(x, w)\n y = Mul(c6, p)", CONV, 1),
    ("p = Conv(x, w, b6)\n y = Mul(p, two)", CONV, 1),
    ("n = Neg(x)\n p = Conv(n, w, b6)\n y = Neg(p)", CONV, 2),
    ("p = Conv(x, w, b6)\n y = Div(p, d6)", CONV, 1),
    ("p = Conv(x, w)\n y = Add(p, one)", CONV, 1),
    ("p = Conv(x, w, b6)\n y = Sub(p, c6)", CONV, 1),
    ("p = Conv(x, w, b6)\n y = Sub(c6, p)", CONV, 1),
    (f"p = Conv<group = 2>(x, w)\n y = BatchNormalization(p, {N6})", (6, 2, 3, 3), 1),
    ("p = Mul(x, c4)\n y = Conv<pads = [1,1,1,1]>(p, w, b6)", CONV, 1),
    ("p = Div(x, c4)\n y = Conv<auto_pad = \"SAME_UPPER\">(p, w, b6)", CONV, 1),
    ("p = Add(x, c4)\n y = Conv(p, w)", CONV, 1),
    ("p = Sub(c4, x)\n y = Conv<auto_pad = \"VALID\", strides = [2,1]>(p, w, b6)", CONV, 1),
    ("p = Add(x, c4)\n y = Conv<auto_pad = \"SAME_LOWER\">(p, w)", (6, 4, 1, 1), 1),
    (f"p = BatchNormalization(x, {N4})\n y = Conv<group = 2>(p, w, b6)", (6, 2, 3, 3), 1),
    (f"p = BatchNormalization(x, {N4})\n q = Conv(p, w)\n y = BatchNormalization(q, {N6})", CONV, 2),
    ("p = Mul(x, c4)\n q = Add(p, c4)\n r = Conv(q, w)\n s = Mul(r, c6)\n y = Sub(s, d6)", CONV, 4),
    (f"p = ConvTranspose<strides = [2,2]>(x, w)\n y = BatchNormalization(p, {N6})", (4, 6, 3, 3), 1),
    ("p = ConvTranspose<group = 2>(x, w, b6)\n q = Mul(p, c6)\n y = Add(q, c6)", (4, 3, 2, 2), 2),
    ("p = Mul(x, c4)\n y = ConvTranspose<group = 2, pads = [1,0,0,1]>(p, w, b6)", (4, 3, 2, 2), 1),
]  # fmt: skip


@pytest.mark.parametrize(("body", "shape", "gone"), TAKEN)
def test_what_is_taken_in(body: str, shape: tuple[int, ...], gone: int) -> None:
    source = source_of(body, values(*shape))
    result = fused(source)
    assert len(result.after.graph.node) == 1
    assert result.changes == 1
    before = next(node for node in source.graph.node if node.op_type.startswith("Conv"))
    assert result.after.graph.node[0].attribute == before.attribute
    assert_close(result)
    exact = fused(source, math="exact")
    assert (exact.changes, set(exact.reasons)) == (0, {RELAXED})
    assert [decline.relaxed_gain for decline in exact.declines] == [gone]


def test_golden() -> None:
    source = source_of("p = Conv(x, w)\n q = Mul(p, c6)\n y = Add(q, d6)", np.ones((6, 4, 1, 1), F32))
    result = fused(source)
    assert nodes(result) == "y = Conv(x, w_constant, y_constant)"
    weight = next(item for item in result.after.graph.initializer if item.name == "w_constant")
    expected = np.broadcast_to(values(6, 1, 1)[:, :, None], (6, 4, 1, 1))
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(weight), expected)


def test_a_shift_leaves_the_weight_alone() -> None:
    assert nodes(fused(source_of("p = Conv(x, w)\n y = Add(p, c6)", values(*CONV)))) == "y = Conv(x, w, y_constant)"


def test_depthwise_and_one_dimension() -> None:
    head = "(float[N,6,9] x) => (float[N,6,M] y)"
    body = f"p = Conv<group = 6>(x, w)\n y = BatchNormalization(p, {N6})"
    result = fused(source_of(body, values(6, 1, 3), head=head))
    assert len(result.after.graph.node) == 1
    assert_close(result)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_types(dtype: Any) -> None:
    name = {np.float16: "float16", np.float64: "double"}[dtype]
    constants = {"w": values(6, 4, 3, 3, dtype=dtype), **normalization("n6", 6, dtype)}
    body = f"p = Conv(x, w)\n y = BatchNormalization(p, {N6})"
    result = fused(model(f"g ({name}[N,4,5,6] x) => ({name}[N,C,H,W] y) {{ {body} }}", constants=constants))
    assert len(result.after.graph.node) == 1
    if dtype is np.float16:
        assert_close(result)


@pytest.mark.parametrize(
    ("opset", "attributes", "reason"),
    [
        (6, "is_test = 1", None),
        (6, "", "BatchNormalization in training mode"),
        (7, "", None),
        (7, "spatial = 1", None),
        (7, "spatial = 0", "BatchNormalization with parameters for each position"),
        (9, "", None),
        (14, "training_mode = 0", None),
        (14, "training_mode = 1", "BatchNormalization in training mode"),
    ],
)
def test_forms_of_batch_normalization(opset: int, attributes: str, reason: str | None) -> None:
    body = f"p = Conv(x, w)\n y = BatchNormalization<{attributes}>(p, {N6})".replace("<>", "")
    result = fused(source_of(body, values(*CONV), opset=opset), check=False)
    assert result.reasons == ([] if reason is None else [reason])
    assert result.changes == (reason is None)


def test_more_results_are_training() -> None:
    body = f"p = Conv(x, w)\n y, a, b, c, d = BatchNormalization(p, {N6})"
    result = fused(source_of(body, values(*CONV), opset=9), check=False)
    assert result.changes == 0


LEFT = [
    ("p = Conv(x, w)\n y = Mul(p, k)", {"k": values(1, 1, 1, 1, 1)},
     "'k' of shape [1, 1, 1, 1, 1] is not one value a channel"),
    ("p = Conv(x, w)\n y = Mul(p, k)", {"k": values(4)}, "'k' of shape [4] is not one value a channel"),
    ("p = Conv(x, w)\n y = Mul(p, k)", {"k": values(1, 6, 3, 4)},
     "'k' of shape [1, 6, 3, 4] is not one value a channel"),
    ("p = Conv(x, w)\n y = Div(p, k)", {"k": np.zeros(1, F32)},
     "the new weights would not be finite, or too small for their type"),
    ("p = Conv(x, w)\n y = Mul(p, k)", {"k": np.full(1, 3e38, F32)},
     "the new weights would not be finite, or too small for their type"),
    ("p = Conv(x, w)\n y = Mul(p, k)", {"k": np.full(1, 1e-42, F32)},
     "the new weights would not be finite, or too small for their type"),
    ("q = Add(x, c4)\n p = Conv<pads = [0,0,0,1]>(q, w)\n y = Relu(p)", {},
     "a shift before a convolution with pads does not reach all positions alike"),
    ("q = Add(x, c4)\n p = ConvTranspose(q, w)\n y = Relu(p)", {"w": values(4, 6, 3, 3)},
     "a shift before ConvTranspose does not reach all positions alike"),
    ("p = Conv(x, w)\n y = Mul(p, c6)\n z = Relu(p)", {}, "'p' is used elsewhere"),
    ("z = Mul(x, c4)\n y = Conv(z, w)", {}, "'z' is a graph output"),
    ("z = Conv(x, w)\n y = Mul(z, c6)", {}, "'z' is a graph output"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "constants", "reason"), LEFT)
def test_what_is_left(body: str, constants: dict[str, Array], reason: str) -> None:
    weight = constants.get("w", values(*CONV))
    head = "(float[N,4,5,6] x) => (float[N,C,H,W] y, float[D,E,F,G] z)"
    head = head.replace("[N,C", "[A,N,C") if reason.startswith("'k' of shape [1, 1,") else head
    body = body if "z = " in body else f"{body}\n z = Relu(x)"
    more = {name: array for name, array in constants.items() if name != "w"}
    result = fused(source_of(body, weight, head=head, **more))
    assert (result.changes, result.reasons) == (0, [reason])


def test_a_broadcast_variable_stays() -> None:
    head = "(float[N,1,5,6] x) => (float[N,C,H,W] y)"
    result = fused(source_of("p = Mul(x, c4)\n y = Conv(p, w)", values(*CONV), head=head))
    assert (result.changes, result.reasons) == (0, ["'x' is not known to have 4 channels"])


def test_legacy_broadcast_stays() -> None:
    body = "p = Conv(x, w)\n y = Mul<broadcast = 1, axis = 1>(p, b6)"
    result = fused(source_of(body, values(*CONV), opset=6))
    assert (result.changes, result.reasons) == (0, ["Mul before operator set 7 broadcasts by attributes"])


def test_what_is_kept_or_may_change_stays() -> None:
    source = source_of("p = Conv(x, w)\n y = Mul(p, c6)", values(*CONV))
    assert fused(source, keep=["p"]).changes == 0
    assert fused(source, keep=["y"]).reasons == ["'y' is to be kept"]
    assert fused(source, keep=["w"]).reasons == ["'w' is to be kept"]
    assert fused(source, keep=["c6"]).reasons == ["'c6' is to be kept"]
    head = "(float[N,4,5,6] x, float[6,4,3,3] w) => (float[N,C,H,W] y)"
    reason = "'w' is a graph input with a default value, which the caller may override"
    assert fused(source_of("p = Conv(x, w)\n y = Mul(p, c6)", values(*CONV), head=head)).reasons == [reason]


def test_shared_weights_grow_the_file() -> None:
    body = "p = Conv(x, w)\n y = Mul(p, c6)\n z = Conv(x, w)"
    source = source_of(body, values(*CONV), head="(float[N,4,5,6] x) => (float[N,C,H,W] y, float[N,D,E,F] z)")
    result = fused(source, max_growth_bytes=800)
    assert (result.changes, result.reasons) == (
        0,
        ["the file would grow by 840 bytes, more than 800; --max-growth allows more"],
    )
    assert fused(source, max_growth_bytes=840).changes == 1
    assert fused(source, math="exact", max_growth_bytes=800).declines[0].relaxed_gain == 0


def test_another_graph_is_left() -> None:
    source = model(
        """
        g (bool c, float[1,4,5,6] x) => (float[A,B,C,D] y) {
            p = Conv(x, w)
            y = If (c) <
                then_branch = t () => (float[A,B,C,D] q) { q = Mul(p, k) },
                else_branch = e () => (float[A,B,C,D] r) { r = Relu(x) }
            >
        }""",
        constants={"w": values(*CONV), "k": values(6, 1, 1)},
    )
    result = fused(source)
    assert (result.changes, result.reasons) == (0, ["'p' is made in another graph"])


def test_weights_in_a_branch() -> None:
    source = model(
        """
        g (bool c, float[1,4,5,6] x) => (float[A,B,C,D] y) {
            y = If (c) <
                then_branch = t () => (float[A,B,C,D] q) { p = Conv(x, w)\n q = Mul(p, k) },
                else_branch = e () => (float[A,B,C,D] r) { r = Relu(x) }
            >
        }""",
        constants={"w": values(*CONV), "k": values(6, 1, 1)},
    )
    assert fused(source).changes == 1


@pytest.mark.parametrize("operator", ["Conv", "ConvTranspose"])
@pytest.mark.parametrize("is_before", [False, True])
def test_a_channel_that_would_lose_its_digits_stays(operator: str, is_before: bool) -> None:
    nodes = ("p = Mul(x, s)", f"y = {operator}(p, w)") if is_before else (f"p = {operator}(x, w)", "y = Mul(p, s)")
    source = model(
        f"g (float16[1,2,3,3] x) => (float16[A,B,C,D] y) {{ {nodes[0]}\n {nodes[1]} }}",
        constants={
            "w": np.full((2, 2, 1, 1), 1e-2, np.float16),
            "s": np.array([1, 1e-5], np.float16).reshape(2, 1, 1),
        },
    )
    result = outcome("fuse-convolutions", source, math="relaxed")
    assert result.reasons == ["the new weights would not be finite, or too small for their type"]
