"""rewrite-gelu: each form that exporters write, and those that stay."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.passes.closeness import assert_close, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import Array, model

SCALARS = {
    "root": 2**0.5, "inverse": 0.5**0.5, "half": 0.5, "two": 2, "one": 1, "three": 3, "cubic": 0.044715,
    "outer": (2 / np.pi) ** 0.5, "both": 0.044715 * (2 / np.pi) ** 0.5,
}  # fmt: skip
ERF = "e = Erf(t)\n f = Add(e, one)\n "
TANH = "e = Tanh(t)\n f = Add(one, e)\n "
HALVES = {
    "x": "h = Mul(x, half)\n y = Mul(h, f)",
    "gate": "h = Mul(half, f)\n y = Mul(x, h)",
    "product": "p = Mul(x, f)\n y = Mul(p, half)",
    "by division": "h = Div(x, two)\n y = Mul(f, h)",
    "product by division": "p = Mul(f, x)\n y = Div(p, two)",
}
QUOTIENT, FACTOR = "t = Div(x, root)\n ", "t = Mul(inverse, x)\n "
ARGUMENTS = {
    "power": "c = Pow(x, three)\n z = Mul(c, cubic)\n a = Add(x, z)\n t = Mul(a, outer)\n ",
    "product": "q = Mul(x, x)\n c = Mul(x, q)\n z = Mul(c, cubic)\n a = Add(x, z)\n t = Mul(a, outer)\n ",
    "horner": "l = Mul(x, outer)\n q = Mul(x, cubic)\n z = Mul(q, x)\n a = Add(z, one)\n t = Mul(l, a)\n ",
    "squares": "l = Mul(x, outer)\n q = Mul(x, x)\n z = Mul(q, cubic)\n a = Add(z, one)\n t = Mul(l, a)\n ",
    "row": "q = Mul(cubic, x)\n c = Mul(x, q)\n z = Mul(x, c)\n a = Add(x, z)\n t = Mul(outer, a)\n ",
    "sum": "l = Mul(x, outer)\n c = Pow(x, three)\n z = Mul(c, both)\n t = Add(l, z)\n ",
    "outside": "q = Mul(x, x)\n z = Mul(q, cubic)\n a = Add(z, one)\n l = Mul(x, a)\n t = Mul(l, outer)\n ",
}
BY_ERF = """
y_mul = Mul(x, y_constant)
y_div = Div(x, y_constant_1)
y_erf = Erf(y_div)
y_add = Add(y_erf, y_constant_2)
y = Mul(y_mul, y_add)"""
BY_TANH = ["Mul", "Pow", "Mul", "Add", "Mul", "Tanh", "Add", "Mul"]


def rewritten(
    body: str, *, opset: int = 13, head: str = "(float[N,4] x) => (float[A,B] y)", math: str = "relaxed", **more: Any
) -> Outcome:
    dtype = np.float16 if "float16" in head else np.float32
    constants: dict[str, Array] = {name: np.array(value, dtype) for name, value in SCALARS.items()}
    used = {name: array for name, array in constants.items() if re.search(rf"[( ]{name}[,)]", body)}
    return outcome("rewrite-gelu", model(f"g {head} {{ {body} }}", opset=opset, constants=used), math=math, **more)


@pytest.mark.parametrize("opset", [9, 13, 19])
@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("argument", [QUOTIENT, FACTOR])
def test_by_erf(argument: str, half: str, opset: int) -> None:
    result = rewritten(argument + ERF + HALVES[half], opset=opset)
    if argument is QUOTIENT and half in ("x", "product"):
        assert (result.changes, result.reasons) == (0, [])
        return
    text = re.sub(r"_\d", "", nodes(result))
    assert (result.changes, text) == (1, re.sub(r"_\d", "", BY_ERF.strip()))
    assert_close(result)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("argument", ARGUMENTS)
def test_by_tanh(argument: str, half: str) -> None:
    result = rewritten(ARGUMENTS[argument] + TANH + HALVES[half])
    if half == "x" and argument in ("power", "horner"):
        assert (result.changes, result.reasons) == (0, [])
        return
    assert result.changes == 1
    assert [node.op_type for node in result.after.graph.node] == BY_TANH
    assert_close(result)


def test_behind_a_product() -> None:
    """ONNX Runtime takes the Mul that makes x for the half."""
    body = "x = Mul(i, three)\n " + QUOTIENT + ERF + HALVES["product"]
    head = "(float[N,4] i) => (float[A,B] y)"
    result = rewritten(body, head=head)
    assert result.changes == 1
    assert_close(result)
    assert rewritten(body.replace("Mul(i, three)", "Add(i, three)"), head=head).changes == 0


def test_exact() -> None:
    for argument, gain in (("product", 1), ("squares", 1), ("power", 0)):
        result = rewritten(ARGUMENTS[argument] + TANH + HALVES["gate"], math="exact")
        assert result.changes == 0
        assert [decline.relaxed_gain for decline in result.declines] == [gain]


TWO = "(float[N,4] x) => (float[A,B] y, float[C,D] z)"


@pytest.mark.parametrize(
    ("body", "more", "reason"),
    [
        (FACTOR + ERF + HALVES["gate"], {"opset": 20}, None),
        (FACTOR + ERF + HALVES["gate"], {"head": "(float16[N,4] x) => (float16[A,B] y)"}, None),
        (FACTOR + ERF + HALVES["gate"] + "\n z = Neg(e)", {"head": TWO}, "'e' is used elsewhere"),
        (FACTOR + ERF + HALVES["gate"], {"keep": ["t"]}, "it is to be kept"),
        (FACTOR.replace("inverse", "half") + ERF + HALVES["gate"], {}, None),
    ],
)
def test_what_stays(body: str, more: dict[str, Any], reason: str | None) -> None:
    result = rewritten(body, **more)
    assert (result.changes, result.reasons[:1]) == (0, [] if reason is None else [reason])
