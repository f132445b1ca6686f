"""fuse-arithmetic: constants that merge over Mul, Div, Add and Sub, inverses and signs that go, and what stays."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from tests.passes.closeness import assert_close, nodes, random_feeds
from tests.passes.outcome import Outcome, outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import Array, model

F32 = np.float32
RELAXED = "floats round differently in another order; only with --math relaxed"


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-arithmetic", source, **{"math": "relaxed", **options})


def source_of(body: str, dtype: str = "float", shape: str = "N,3", outputs: str = "", **constants: Any) -> ModelProto:
    kind = {"float": np.float32, "int32": np.int32, "int64": np.int64, "float16": np.float16}[dtype]
    everything = {"c": np.array(3, kind), "d": np.array([4, 5, 7], kind), "one": np.array(1, kind), **constants}
    used = {name: array for name, array in everything.items() if f"({name}," in body or f" {name})" in body}
    rank = max(shape.count(",") + bool(shape), *(array.ndim for array in used.values()), 0) if used else 2
    result = ",".join("ABCD"[:rank])
    return model(f"g ({dtype}[{shape}] x) => ({dtype}[{result}] y{outputs}) {{ {body} }}", constants=used)


FORMS = ["{op}({v}, {k})", "{op}({k}, {v})"]


@pytest.mark.parametrize("family", [("Mul", "Div"), ("Add", "Sub")])
@pytest.mark.parametrize("inner", FORMS)
@pytest.mark.parametrize("outer", FORMS)
def test_all_orders(family: tuple[str, str], inner: str, outer: str) -> None:
    for first, second in itertools.product(family, family):
        if first == second == "Add":
            continue
        body = f"p = {inner.format(op=first, v='x', k='c')}\n y = {outer.format(op=second, v='p', k='d')}"
        source = source_of(body)
        result = fused(source)
        assert len(result.after.graph.node) == 1, body
        assert_close(result)
        exact = fused(source, math="exact")
        assert (exact.changes, exact.reasons, exact.declines[0].relaxed_gain) == (0, [RELAXED], 1)
        if family == ("Add", "Sub"):
            whole = fused(source_of(body, "int64"), math="exact")
            assert len(whole.after.graph.node) == 1, body
            feeds = random_feeds(whole.before)
            assert_equal(in_onnxruntime(whole.after, feeds), in_onnxruntime(whole.before, feeds), zeros_differ=True)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p = Mul(x, c)\n y = Mul(p, d)", "y = Mul(x, y_constant)"),
        ("p = Mul(c, x)\n q = Div(p, d)\n y = Mul(q, c)", "y = Mul(x, y_constant)"),
        ("p = Div(x, c)\n y = Div(p, d)", "y = Div(x, y_constant)"),
        ("p = Sub(c, x)\n y = Sub(d, p)", "y = Add(x, y_constant)"),
        ("p = Reciprocal(x)\n y = Mul(d, p)", "y = Div(d, x)"),
        ("q = Exp(x)\n p = Div(one, q)\n y = Mul(x, p)", "q = Exp(x)\ny = Div(x, q)"),
    ],
)
def test_goldens(body: str, expected: str) -> None:
    result = fused(source_of(body))
    assert nodes(result) == expected
    assert_close(result)


@pytest.mark.parametrize("dtype", ["float", "int32"])
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p = Neg(x)\n q = Abs(x)\n y = Add(q, p)", "q = Abs(x)\ny = Sub(q, x)"),
        ("p = Neg(x)\n q = Abs(x)\n y = Add(p, q)", "q = Abs(x)\ny = Sub(q, x)"),
        ("p = Neg(x)\n q = Abs(x)\n y = Sub(q, p)", "q = Abs(x)\ny = Add(q, x)"),
    ],
)
def test_signs_go_exactly(dtype: str, body: str, expected: str) -> None:
    result = fused(source_of(body, dtype), math="exact")
    assert nodes(result) == expected
    feeds = random_feeds(result.before)
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(result.before, feeds), zeros_differ=True)


def test_integer_products_wrap_around() -> None:
    large = np.array(1 << 20, np.int32)
    source = source_of("p = Mul(x, c)\n y = Mul(p, d)", "int32", c=large, d=large)
    result = fused(source, math="exact")
    assert nodes(result) == "y = Mul(x, y_constant)"
    assert_equal(
        in_onnxruntime(result.after, random_feeds(source)), in_onnxruntime(source, random_feeds(source)),
        zeros_differ=True,
    )  # fmt: skip


LEFT: list[tuple[str, str, dict[str, Array], str | None]] = [
    ("p = Add(x, c)\n y = Add(p, d)", "float", {}, None),
    ("p = Mul(x, c)\n y = Add(p, d)", "float", {}, None),
    ("p = Mul(x, c)\n y = Div(p, d)", "int64", {}, None),
    ("z = Mul(x, c)\n y = Div(z, d)", "float", {}, "'z' is a graph output"),
    ("p = Mul(x, c)\n z = Exp(p)\n y = Div(p, d)", "float", {}, "'p' is used elsewhere"),
    ("p = Mul(x, c)\n y = Div(p, d)", "float", {"d": np.array(0, F32)}, "the merged constant would not be finite"),
    ("p = Mul(x, c)\n y = Mul(p, d)", "float", {"c": np.array(3e38, F32)}, "the merged constant would not be finite"),
    ("p = Mul(x, c)\n y = Mul(p, d)", "float", {"c": np.array(1e-30, F32), "d": np.array(1e-30, F32)},
     "the merged constant would be too small for its type"),
    ("p = Mul(x, c)\n y = Mul(p, d)", "float", {"c": np.ones((4, 1), F32), "d": np.ones(3, F32)},
     "constants of shapes [4, 1] and [3] would be larger merged than apart"),
    ("z = Reciprocal(x)\n y = Mul(d, z)", "float", {}, "'z' is a graph output"),
    ("z = Neg(x)\n q = Abs(x)\n y = Add(q, z)", "float", {}, "'z' is a graph output"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "dtype", "constants", "reason"), LEFT)
def test_what_is_left(body: str, dtype: str, constants: dict[str, Array], reason: str | None) -> None:
    outputs = f", {dtype}[E,F] z" if "z = " in body else ""
    result = fused(source_of(body, dtype, outputs=outputs, **constants))
    assert (result.changes, result.reasons) == (0, [] if reason is None else [reason])


def test_growth_and_constants_that_may_change() -> None:
    source = source_of("p = Mul(x, c)\n y = Div(p, d)\n z = Mul(x, d)", outputs=", float[E,F] z")
    reason = "the file would grow by 8 bytes, more than 7; --max-growth allows more"
    assert fused(source, max_growth_bytes=7).reasons == [reason]
    assert fused(source, max_growth_bytes=8).changes == 1
    plain = source_of("p = Mul(x, c)\n y = Div(p, d)")
    for name in ("c", "d", "p", "y"):
        assert fused(plain, keep=[name]).changes == 0


@pytest.mark.parametrize("value", [1e-4, 1e-6])
def test_a_merged_constant_that_loses_its_digits_is_not_made(value: float) -> None:
    source = model(
        "g (float16[N] x) => (float16[M] y) { p = Mul(x, c)\n y = Mul(p, d) }",
        constants={"c": np.array(1e-3, np.float16), "d": np.array(value, np.float16)},
    )
    result = outcome("fuse-arithmetic", source, math="relaxed")
    assert result.reasons == ["the merged constant would be too small for its type"]


@pytest.mark.parametrize(
    ("body", "gain"),
    [
        ("p = Add(x, zero)\n y = Sub(zero, p)", 0),
        ("p = Sub(x, c)\n y = Add(p, zero)", 0),
        ("p = Add(x, c)\n y = Sub(c, p)", 1),
        ("p = Add(x, c)\n q = Add(p, zero)\n y = Sub(c, q)", 1),
    ],
)
def test_an_added_zero_is_no_gain_of_its_own(body: str, gain: int) -> None:
    """What fuse-add counts already; a zero in a tree with other constants is not dropped by itself."""
    constants = {"zero": np.array(0, np.float32), "c": np.array(2, np.float32)}
    used = {name: value for name, value in constants.items() if name in body}
    result = outcome("fuse-arithmetic", model(f"g (float[N] x) => (float[M] y) {{ {body} }}", constants=used))
    assert [decline.relaxed_gain for decline in result.declines] == [gain]


@pytest.mark.parametrize("body", ["n = Neg(x)\n y = Add(n, n)", "n = Reciprocal(x)\n y = Mul(n, n)"])
def test_a_result_that_is_read_twice_would_stay(body: str) -> None:
    source = model(f"g (float[N] x) => (float[M] y) {{ {body} }}")
    assert outcome("fuse-arithmetic", source, math="relaxed").changes == 0
