"""fuse-swish: Swish and Mish from their parts, and each reason why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper

from tests.passes.closeness import assert_close, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import model


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-swish", source, **{"math": "relaxed", **options})


def source_of(body: str, opset: int = 24, dtype: str = "float", outputs: str = "") -> ModelProto:
    used = {"two": np.array(2, np.float32)} if "two" in body else {}
    head = f"g ({dtype}[N,5] x) => ({dtype}[N,C] y{outputs})"
    return model(f"{head} {{ {body} }}", opset=opset, constants=used, ir_version=10)


def with_swish(source: ModelProto) -> ModelProto:
    """The model with a Swish of its own, as those have that come for a runtime which knows it."""
    source.graph.node.insert(0, helper.make_node("Swish", ["x"], ["own"]))
    return source


SWISH = "p = Sigmoid(x)\n y = Mul(x, p)"
MISH = "p = Softplus(x)\n q = Tanh(p)\n y = Mul(x, q)"


@pytest.mark.parametrize(
    ("body", "opset", "expected", "gain"),
    [
        (SWISH, 24, "y = Swish(x)", 1),
        ("p = Sigmoid(x)\n y = Mul(p, x)", 24, "y = Swish(x)", 1),
        ("q = Mul(two, x)\n p = Sigmoid(q)\n y = Mul(p, x)", 24, "y = Swish<alpha=2.0>(x)", 2),
        ("q = Div(x, two)\n p = Sigmoid(q)\n y = Mul(x, p)", 24, "y = Swish<alpha=0.5>(x)", 2),
        (MISH, 18, "y = Mish(x)", 2),
        ("p = Softplus(x)\n q = Tanh(p)\n y = Mul(q, x)", 24, "y = Mish(x)", 2),
    ],
)
def test_what_is_fused(body: str, opset: int, expected: str, gain: int) -> None:
    source = source_of(body, opset)
    if "Swish" in expected:
        assert fused(source).changes == 0
        source, expected = with_swish(source), f"own = Swish(x)\n{expected}"
    result = fused(source)
    assert nodes(result) == expected
    if opset < 24:
        assert_close(result)
    exact = fused(source, math="exact")
    assert exact.changes == 0
    assert [decline.relaxed_gain for decline in exact.declines] == [gain]


@pytest.mark.parametrize(
    ("body", "opset", "dtype", "reason"),
    [
        (SWISH, 23, "float", None),
        (MISH, 17, "float", None),
        ("p = Sigmoid(x)\n q = Neg(x)\n y = Mul(q, p)", 24, "float", None),
        ("p = Softplus(x)\n q = Tanh(p)\n y = Mul(p, q)", 24, "float", None),
        ("z = Sigmoid(x)\n y = Mul(x, z)", 24, "float", "'z' is a graph output"),
        ("p = Sigmoid(x)\n z = Neg(p)\n y = Mul(x, p)", 24, "float", "'p' is used elsewhere"),
        ("z = Softplus(x)\n q = Tanh(z)\n y = Mul(x, q)", 24, "float", "'z' is a graph output"),
        (SWISH, 24, "double", "'x' is not known to be float32"),
        (MISH, 24, "double", "'x' is not known to be float32"),
    ],
)
def test_what_is_left(body: str, opset: int, dtype: str, reason: str | None) -> None:
    source = source_of(body, opset, dtype, ", float[A,B] z" if "z = " in body else "")
    result = fused(with_swish(source) if opset >= 24 else source)
    assert (result.changes, result.reasons) == (0, [] if reason is None else [reason])


def test_swish_comes_only_where_the_model_has_it() -> None:
    result = fused(source_of(SWISH))
    reason = "Swish of operator set 24 is in few runtimes, and this model does not use it yet"
    assert (result.changes, result.reasons) == (0, [reason])
    assert [decline.relaxed_gain for decline in fused(source_of(SWISH), math="exact").declines] == [0]


def test_kept_nodes_are_left() -> None:
    assert fused(with_swish(source_of(SWISH)), keep=["p"]).changes == 0
    assert "it is to be kept" in fused(with_swish(source_of(SWISH)), keep=["y"]).reasons
