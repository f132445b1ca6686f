"""fuse-hard-swish: HardSigmoid and HardSwish from their parts, and each reason why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from tests.passes.closeness import assert_close, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import model

CONSTANTS = {"three": 3.0, "zero": 0.0, "six": 6.0, "sixth": 1 / 6, "one": 1.0, "two": 2.0, "four": 4.0}
SIGMOID = "HardSigmoid<alpha=0.1666666716337204, beta=0.5>"


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-hard-swish", source, **{"math": "relaxed", "target": "onnxruntime", **options})


def source_of(
    body: str, opset: int = 13, dtype: str = "float", shape: tuple[int, ...] = (), outputs: str = ""
) -> ModelProto:
    kind = {"float": np.float32, "double": np.float64}[dtype]
    used = {name: np.full(shape, value, kind) for name, value in CONSTANTS.items() if name in body}
    head = f"g ({dtype}[N,5] x) => ({dtype}[N,C] y{outputs})"
    return model(f"{head} {{ {body} }}", opset=opset, constants=used)


QUARTERS = "y = HardSigmoid<alpha=0.25, beta=0.25>(x)"
CLIP = "p = Add(x, three)\n q = Clip(p, zero, six)\n "


@pytest.mark.parametrize(
    ("body", "opset", "expected", "gain"),
    [
        (CLIP + "y = Div(q, six)", 13, f"y = {SIGMOID}(x)", 2),
        (CLIP + "y = Mul(sixth, q)", 13, f"y = {SIGMOID}(x)", 2),
        ("p = Add(three, x)\n q = Clip<min = 0.0, max = 6.0>(p)\n y = Div(q, six)", 7, f"y = {SIGMOID}(x)", 2),
        ("p = Add(x, one)\n q = Clip(p, zero, four)\n y = Div(q, four)", 13, QUARTERS, 2),
        (CLIP + "s = Relu(x)\n r = Mul(q, s)\n y = Mul(r, sixth)", 13,
         f"s = Relu(x)\ny_hardsigmoid = {SIGMOID}(x)\ny = Mul(s, y_hardsigmoid)", 2),
        (CLIP + "r = Mul(x, q)\n y = Div(r, six)", 14, "y = HardSwish(x)", 2),
        (CLIP + "r = Div(q, six)\n y = Mul(x, r)", 14, "y = HardSwish(x)", 2),
        ("p = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x)\n y = Mul(p, x)", 14, "y = HardSwish(x)", 1),
    ],
)  # fmt: skip
def test_what_is_fused(body: str, opset: int, expected: str, gain: int) -> None:
    source = source_of(body, opset)
    result = fused(source)
    assert nodes(result) == expected
    assert_close(result)
    exact = fused(source, math="exact")
    assert exact.changes == 0
    assert [decline.relaxed_gain for decline in exact.declines] == [gain]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (CLIP + "y = Div(q, four)", None),
        (CLIP + "y = Div(six, q)", None),
        (CLIP + "r = Mul(x, q)\n y = Div(r, two)", None),
        ("p = Add(x, three)\n q = Clip(p, one, six)\n y = Div(q, six)", None),
        ("p = HardSigmoid(x)\n y = Mul(p, x)", None),
        ("p = HardSigmoid<alpha = 0.16666667>(x)\n q = Neg(x)\n y = Mul(p, q)", None),
        (CLIP + "z = Neg(p)\n y = Div(q, six)", "'p' is used elsewhere"),
        (CLIP.replace("p", "z") + "y = Div(q, six)", "'z' is a graph output"),
        ("z = HardSigmoid<alpha = 0.16666667>(x)\n y = Mul(z, x)", "'z' is a graph output"),
    ],
)
def test_what_is_left(body: str, reason: str | None) -> None:
    body = body.replace("Clizzz", "Clip").replace("Cliz(", "Clip(")
    outputs = ", float[A,B] z" if "z = " in body else ""
    result = fused(source_of(body, 14, outputs=outputs))
    assert (result.changes, result.reasons) == (0, [] if reason is None else [reason])


@pytest.mark.parametrize("target", ["any", "openvino", "tensorrt"])
@pytest.mark.parametrize(
    ("body", "opset", "name"),
    [
        (CLIP + "r = Mul(x, q)\n y = Div(r, six)", 13, "HardSwish"),
        (CLIP + "r = Div(q, six)\n y = Mul(x, r)", 13, "HardSwish"),
        (CLIP + "y = Div(q, six)", 13, "HardSigmoid"),
        (CLIP + "y = Div(q, six)", 14, "HardSigmoid"),
        ("p = Add(x, one)\n q = Clip(p, zero, four)\n r = Mul(x, q)\n y = Div(r, four)", 14, "HardSwish"),
    ],
)
def test_what_only_one_runtime_gains_by_is_left_for_others(body: str, opset: int, name: str, target: str) -> None:
    why = f"part of a {name}, which runtimes fuse in other forms; only with --target onnxruntime"
    result = fused(source_of(body, opset), target=target)
    assert (result.changes, result.reasons) == (0, [why])
    exact = fused(source_of(body, opset), target=target, math="exact")
    assert (exact.changes, exact.reasons) == (0, [f"{why} and --math relaxed"])
    aimed = fused(source_of(body, opset))
    assert "HardSigmoid" in nodes(aimed)
    assert_close(aimed)


@pytest.mark.parametrize("target", ["any", "onnxruntime", "openvino", "tensorrt"])
@pytest.mark.parametrize("end", ["r = Mul(x, q)\n y = Div(r, six)", "r = Div(q, six)\n y = Mul(x, r)"])
def test_hard_swish_is_made_for_each_runtime(end: str, target: str) -> None:
    assert nodes(fused(source_of(CLIP + end, 14), target=target)) == "y = HardSwish(x)"


IMAGE = "g (float[1,2,4,4] x) => (float[A,B,C,D] y) { c = Conv(x, w)\n q = Clip(c, zero, six)\n y = Div(q, six) }"


def test_a_clip_behind_a_convolution() -> None:
    weights = np.linspace(-9, 9, 4, dtype=np.float32).reshape(2, 2, 1, 1)
    constants = {"w": weights, "zero": np.float32(0), "six": np.float32(6)}
    source = model(IMAGE, constants=constants, opset=13)  # type: ignore[arg-type]
    assert fused(source, target="any").changes == 0
    result = fused(source)
    assert nodes(result) == "c = Conv(x, w)\ny = HardSigmoid<alpha=0.1666666716337204, beta=0.0>(c)"
    assert_close(result)
    assert fused(model(IMAGE.replace("Conv(x, w)", "Neg(x)"), constants=constants)).changes == 0  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(1,), (1, 1)])
def test_constants_of_one_element(shape: tuple[int, ...]) -> None:
    source = source_of("p = Add(x, three)\n q = Clip<min = 0.0, max = 6.0>(p)\n y = Div(q, six)", 7, shape=shape)
    assert nodes(fused(source)) == f"y = {SIGMOID}(x)"


def test_other_types_and_kept_nodes_are_left() -> None:
    body = CLIP + "y = Div(q, six)"
    assert fused(source_of(body, dtype="double")).reasons == ["'x' is not known to be float32"]
    assert fused(source_of("p = HardSigmoid<alpha = 0.16666667>(x)\n y = Mul(p, x)", 14, "double")).reasons == [
        "'x' is not known to be float32"
    ]
    assert "'y' is to be kept" in fused(source_of(body), keep=["y"]).reasons
    assert fused(source_of(body), keep=["p"]).changes == 0


def test_a_constant_that_raises_the_rank_is_left() -> None:
    source = model(
        "g (float[N] x) => (float[A,B] y) { p = Add(x, k)\n q = Clip(p, z, s)\n y = Div(q, s) }",
        constants={"k": np.full((1, 1), 3, np.float32), "z": np.float32(0), "s": np.float32(6)},  # type: ignore[dict-item]
        opset=13,
    )
    assert fused(source).changes == 0
