"""remove-no-op-where: conditions that are the same everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import model


def where(
    call: str, condition: Any, *, inputs: str = "int32[2,3] a, int32[3] b, bool[2,3] p", math: str = "exact"
) -> Outcome:
    kind = inputs.split("[")[0]
    source = model(
        f"g ({inputs}) => ({kind}[A,B] y, int64[R] r) {{ c = {call} y = Flatten<axis = 1>(c) r = Shape(c) }}",
        constants={"k": np.asarray(condition)},
    )
    return outcome("remove-no-op-where", source, math=math)


A, B = np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(3, dtype=np.int32)


@pytest.mark.parametrize(
    ("call", "condition"),
    [
        ("Where(k, a, b)", True),
        ("Where(k, b, a)", [False]),
        ("Where(k, a, b)", np.ones((2, 3), bool)),
        ("Where(p, a, a)", True),
        ("Where(k, a, a)", [True, False, True]),
    ],
)
def test_what_goes(call: str, condition: Any) -> None:
    result = where(call, condition)
    assert nodes(result) == "y = Flatten<axis=1>(a)\nr = Shape(a)"
    assert_same_results(result, a=A, b=B, p=A > 2)


@pytest.mark.parametrize(
    ("call", "condition", "reasons"),
    [
        ("Where(k, a, b)", [True, False, True], []),
        ("Where(p, a, b)", True, []),
        ("Where(k, b, a)", True, ["the other operands may widen 'b'"]),
        ("Where(k, a, b)", False, ["the other operands may widen 'b'"]),
        ("Where(p, b, b)", False, ["the other operands may widen 'b'"]),
    ],
)
def test_what_stays(call: str, condition: Any, reasons: list[str]) -> None:
    result = where(call, condition)
    assert (result.changes, result.reasons) == (0, reasons)


def test_a_wider_condition_or_an_unknown_size_widens() -> None:
    assert where("Where(k, a, b)", np.ones((1, 1, 1), bool)).reasons == ["the other operands may widen 'a'"]
    inputs = "int32[N,3] a, int32[M,3] b, bool p"
    assert where("Where(k, a, b)", True, inputs=inputs).reasons == ["the other operands may widen 'a'"]


def test_a_condition_that_the_caller_may_set_stays() -> None:
    inputs = "int32[2,3] a, int32[3] b, bool k"
    assert where("Where(k, a, b)", True, inputs=inputs).changes == 0


@pytest.mark.parametrize("call", ["Where(k, a, b)", "Where(p, a, a)"])
def test_floats_only_relaxed(call: str) -> None:
    inputs = "float[2,3] a, float[3] b, bool[2,3] p"
    exact = where(call, True, inputs=inputs)
    assert exact.reasons == ["Where may make 0.0 of -0.0; only with --math relaxed"]
    assert exact.declines[0].relaxed_gain == 1
    assert nodes(where(call, True, inputs=inputs, math="relaxed")).startswith("y = Flatten<axis=1>(a)")
