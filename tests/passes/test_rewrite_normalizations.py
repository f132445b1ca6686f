"""rewrite-normalizations: squares and roots of normalizations, and those of other patterns, which stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.passes.closeness import assert_close
from tests.passes.normalizations import MINUS, ROOT, SQUARE, normalization
from tests.passes.outcome import Outcome, outcome

END = "n = Div(d, r)\n y = Mul(n, gamma)"
POWER = ROOT.replace("Sqrt(e)", "Pow(e, half)")


def rewritten(body: str, *, math: str = "relaxed", keep: tuple[str, ...] = (), **more: Any) -> Outcome:
    half = {"half": np.array(0.5, np.float64 if "double" in more.get("head", "") else np.float32)}
    return outcome("rewrite-normalizations", normalization(body, **{"opset": 13, **half, **more}), math=math, keep=keep)


def operators(result: Outcome) -> list[str]:
    return [node.op_type for node in result.after.graph.node]


@pytest.mark.parametrize("opset", [11, 13, 17, 20])
@pytest.mark.parametrize("parts", [SQUARE, POWER, SQUARE.replace("Sqrt(e)", "Pow(e, half)")])
@pytest.mark.parametrize("of", ["d", "x"])
def test_squares_and_roots(of: str, parts: str, opset: int) -> None:
    body = parts + END
    body = MINUS + body if of == "d" else body.replace("(d", "(x").replace("d)", "x)")
    result = rewritten(body, opset=opset)
    assert result.changes == (parts != POWER) + ("half" in parts)
    assert len(operators(result)) == len(result.before.graph.node)
    assert operators(result)[-6:] == ["Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul"]
    assert_close(result)
    assert rewritten(body, opset=opset, math="exact").changes == 0


def test_double() -> None:
    result = rewritten(MINUS + SQUARE + END, head="(double[N,3,4] x) => (double[A,B,C] y)")
    assert result.changes == 1
    assert_close(result)


@pytest.mark.parametrize(
    ("body", "more"),
    [
        (MINUS + ROOT + END, {}),
        (MINUS + SQUARE + END, {"axes": "1"}),
        ("s = Mul(x, x)\n y = Pow(s, half)", {}),
        (MINUS + ROOT.replace("Sqrt(e)", "Pow(e, two)") + END, {}),
    ],
)
def test_what_stays(body: str, more: dict[str, Any]) -> None:
    assert rewritten(body, **more).changes == 0


def test_kept_names() -> None:
    assert rewritten(MINUS + SQUARE + END, keep=("s",)).reasons == ["it is to be kept"]
    exact = rewritten(MINUS + SQUARE + END, math="exact")
    assert exact.reasons == ["a power may round differently; only with --math relaxed"]
