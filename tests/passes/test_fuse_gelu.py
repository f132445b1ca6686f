"""fuse-gelu: Gelu and its approximation from their parts in all orders, and each reason why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from tests.passes.closeness import assert_close, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import model

CONSTANTS = {
    "root": 2**0.5, "inverse": 0.5**0.5, "one": 1.0, "half": 0.5, "two": 2.0, "cubic": 0.044715, "exponent": 3.0,
    "outer": (2 / np.pi) ** 0.5,
}  # fmt: skip


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-gelu", source, **{"math": "relaxed", **options})


def source_of(body: str, opset: int = 20, dtype: str = "float", outputs: str = "") -> ModelProto:
    kind = {"float": np.float32, "double": np.float64}[dtype]
    used = {name: np.array(value, kind) for name, value in CONSTANTS.items() if name in body}
    head = f"g ({dtype}[N,5] x) => ({dtype}[N,C] y{outputs})"
    return model(f"{head} {{ {body} }}", opset=opset, constants=used, ir_version=9)


ERF = "a = Div(x, root)\n b = Erf(a)\n c = Add(b, one)\n "
OTHER = "a = Mul(inverse, x)\n b = Erf(a)\n c = Add(one, b)\n "
TANH = "s = Pow(x, exponent)\n t = Mul(s, cubic)\n u = Add(x, t)\n v = Mul(u, outer)\n w = Tanh(v)\n c = Add(w, one)\n "
CUBE = "r = Mul(x, x)\n s = Mul(x, r)\n t = Mul(cubic, s)\n u = Add(t, x)\n v = Mul(outer, u)\n w = Tanh(v)\n "
CUBE += "c = Add(one, w)\n "
ENDS = [
    "d = Mul(x, c)\n y = Mul(d, half)",
    "d = Mul(c, x)\n y = Div(d, two)",
    "d = Mul(half, x)\n y = Mul(d, c)",
    "d = Mul(c, half)\n y = Mul(x, d)",
]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(
    ("start", "expected", "gain"),
    [
        (ERF, "y = Gelu(x)", 4),
        (OTHER, "y = Gelu(x)", 4),
        (TANH, "y = Gelu<approximate=tanh>(x)", 7),
        (CUBE, "y = Gelu<approximate=tanh>(x)", 8),
    ],
)
def test_what_is_fused(start: str, end: str, expected: str, gain: int) -> None:
    source = source_of(start + end)
    result = fused(source)
    assert nodes(result) == expected
    assert_close(result)
    exact = fused(source, math="exact")
    assert exact.changes == 0
    assert [decline.relaxed_gain for decline in exact.declines] == [gain]


@pytest.mark.parametrize(
    ("body", "opset", "dtype", "reason"),
    [
        (ERF + ENDS[0], 19, "float", None),
        (ERF.replace("root", "two") + ENDS[0], 20, "float", None),
        (ERF.replace("one", "two") + ENDS[0], 20, "float", None),
        (ERF.replace("Erf", "Tanh") + ENDS[0], 20, "float", None),
        (ERF + ENDS[0].replace("half", "one"), 20, "float", None),
        ("n = Neg(x)\n " + ERF + ENDS[0].replace("x,", "n,"), 20, "float", None),
        (TANH.replace("cubic", "one") + ENDS[0], 20, "float", None),
        (TANH.replace("exponent", "two") + ENDS[0], 20, "float", None),
        (ERF + "z = Neg(b)\n " + ENDS[0], 20, "float", "'b' is used elsewhere"),
        (ERF + ENDS[0], 20, "double", "'x' is not known to be float32"),
    ],
)
def test_what_is_left(body: str, opset: int, dtype: str, reason: str | None) -> None:
    result = fused(source_of(body, opset, dtype, ", float[A,B] z" if "z = " in body else ""))
    assert (result.changes, result.reasons) == (0, [] if reason is None else [reason])


def test_kept_nodes_are_left() -> None:
    assert fused(source_of(ERF + ENDS[0]), keep=["c"]).changes == 0
    assert fused(source_of(ERF + ENDS[0]), keep=["y"]).changes == 0
