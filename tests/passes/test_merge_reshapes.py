"""merge-reshapes: which two nodes become one and what it says, and each reason for leaving them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import golden, model


def merged(nodes_text: str, *, a: str = "float[2,3,4] a", opset: int = 17, **constants: Sequence[int]) -> Outcome:
    source = model(
        f"g ({a}) => (float[A,B] y, int64[C] z) {{ {nodes_text} y = Flatten<axis = 0>(c) z = Shape(c) }}",
        opset=opset,
        constants={name: np.array(values, np.int64) for name, values in constants.items()},
    )
    return outcome("merge-reshapes", source)


def made(result: Outcome) -> str:
    """What replaces the two nodes."""
    first, *rest = nodes(result).splitlines()
    assert rest == ["y = Flatten<axis=0>(c)", "z = Shape(c)"]
    return first


BY_PLACE = "a 0 in the shape of the Reshape before it copies a dimension by its place"
A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "inner",
    [
        "b = Reshape(a, s)", "b = Flatten(a)", "b = Unsqueeze(a, i)",
    ],
)  # fmt: skip
def test_a_reshape_needs_no_other_before_it(inner: str) -> None:
    result = merged(f"{inner} c = Reshape(b, t)", s=[6, 4], t=[8, -1], i=[1])
    assert made(result) == "c = Reshape(a, t)"
    assert_same_results(result, a=A)


def test_a_zero_that_copies_the_same_dimension_is_no_hindrance() -> None:
    result = merged("b = Reshape(a, s) c = Reshape(b, t)", a="float[N,3,4] a", s=[0, -1], t=[0, 4, 3])
    assert made(result) == "c = Reshape(a, t)"
    assert_same_results(result, a=A)


def test_a_reshape_that_keeps_zeros_copies_nothing() -> None:
    text = "b = Reshape(a, s) c = Reshape<allowzero = 1>(b, t)"
    result = merged(text, a="float[N,3,4] a", s=[4, 3, -1], t=[0, 7])
    assert made(result) == "c = Reshape<allowzero=1>(a, t)"


def test_attributes_before_operator_set_5() -> None:
    result = merged("b = Reshape<shape = [6, 4]>(a) c = Reshape<shape = [4, 6]>(b)", opset=4)
    assert made(result) == "c = Reshape<shape=[4, 6]>(a)"


@pytest.mark.parametrize(
    ("inner", "outer", "expected"),
    [
        ("Reshape(a, s)", "Unsqueeze(b, i)", [6, 1, 4]),
        ("Reshape(a, s)", "Unsqueeze(b, j)", [1, 6, 4, 1]),
        ("Reshape(a, u)", "Squeeze(b, i)", [6, 4]),
        ("Reshape(a, v)", "Unsqueeze(b, i)", [-1, 1, 4]),
    ],
)
def test_reshape_and_axes(inner: str, outer: str, expected: list[int]) -> None:
    result = merged(f"b = {inner} c = {outer}", s=[6, 4], u=[6, 1, 4], v=[-1, 4], i=[1], j=[0, -1])
    (constant,) = (item for item in result.after.graph.initializer if item.name == "c_constant")
    assert made(result) == "c = Reshape(a, c_constant)"
    assert list(np.frombuffer(constant.raw_data, np.int64)) == expected
    assert_same_results(result, a=A)


def test_zeros_are_kept_where_the_reshape_keeps_them() -> None:
    text = "b = Reshape<allowzero = 1>(a, s) c = Unsqueeze(b, i)"
    result = merged(text, a="float[0,3,4] a", s=[0, 12], i=[1])
    assert made(result) == "c = Reshape<allowzero=1>(a, c_constant)"
    assert_same_results(result, a=np.empty((0, 3, 4), np.float32))


@pytest.mark.parametrize(
    ("inner", "outer", "operator", "expected"),
    [
        ("Unsqueeze(a, i)", "Unsqueeze(b, i)", "Unsqueeze", [1, 2]),
        ("Unsqueeze(a, i)", "Unsqueeze(b, last)", "Unsqueeze", [1, 4]),
        ("Unsqueeze(a, two)", "Squeeze(b, third)", "Unsqueeze", [0]),
        ("Squeeze(a, i)", "Squeeze(b, last)", "Squeeze", [1, 3]),
        ("Unsqueeze(a, i)", "Squeeze(b, four)", "Squeeze", [1, 3]),
    ],
)
def test_axes_and_axes(inner: str, outer: str, operator: str, expected: list[int]) -> None:
    text, shape = f"b = {inner} c = {outer}", "float[2,1,3,1] a" if operator == "Squeeze" else "float[2,3,4] a"
    result = merged(text, a=shape, i=[1], last=[-1], two=[0, 2], third=[2], four=[1, 2, 4])
    (constant,) = (item for item in result.after.graph.initializer if item.name == "c_constant")
    assert made(result) == f"c = {operator}(a, c_constant)"
    assert list(np.frombuffer(constant.raw_data, np.int64)) == expected
    assert_same_results(result, a=np.ones((2, 1, 3, 1) if operator == "Squeeze" else (2, 3, 4), np.float32))


def test_axes_are_attributes_before_operator_set_13() -> None:
    result = merged("b = Unsqueeze<axes = [0]>(a) c = Unsqueeze<axes = [4, 0]>(b)", opset=11)
    assert made(result) == "c = Unsqueeze<axes=[0, 1, 4]>(a)"
    assert_same_results(result, a=A)


ALL_AXES = [list(axes) for size in (1, 2) for axes in itertools.permutations((0, 1, 2, -1), size)]


@pytest.mark.parametrize("first", ALL_AXES)
def test_every_pair_of_axes(first: list[int]) -> None:
    for second, operators in itertools.product(ALL_AXES, (("Unsqueeze", "Unsqueeze"), ("Unsqueeze", "Squeeze"))):
        a = np.arange(3, dtype=np.float32).reshape(1, 3, 1)
        shape = a.shape
        try:
            for operator, axes in zip(operators, (first, second), strict=True):
                apply = np.expand_dims if operator == "Unsqueeze" else np.squeeze
                shape = apply(np.empty(shape), tuple(axes)).shape
        except ValueError:
            continue
        text = f"b = {operators[0]}(a, i) c = {operators[1]}(b, j)"
        result = merged(text, a="float[1,3,1] a", i=first, j=second)
        if result.changes:
            assert_same_results(result, a=a)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("b = Reshape(a, s) c = Reshape(b, x)", "its shape is not constant"),
        ("b = Reshape(a, s) c = Reshape(b, zero)", "a 0 in its shape copies a dimension of its own input"),
        ("b = Flatten(a) c = Reshape(b, zero)", "a 0 in its shape copies a dimension of its own input"),
        ("b = Reshape(a, x) c = Unsqueeze(b, i)", "the shape of the Reshape before it is not constant"),
        ("b = Reshape(a, keep) c = Unsqueeze(b, i)", BY_PLACE),
        ("b = Reshape(a, s) c = Unsqueeze(b, k)", "'k' is not constant"),
        ("b = Reshape(a, s) d = Unsqueeze(b, i) e = Neg(b) c = Sub(d, e)", "'b' is used elsewhere"),
        ("b = Unsqueeze(f, i) c = Unsqueeze(b, i)", "the rank of the tensor is not known"),
    ],
)  # fmt: skip
def test_reasons(text: str, reason: str) -> None:
    before = "e = Reshape(a, w) f = Neg(e) " if "f" in text.split("(")[1] else ""
    inputs = "float[2,3,4] a, int64[2] x, int64[1] k, int64[W] w"
    result = merged(before + text, a=inputs, s=[6, 4], zero=[8, 0], keep=[0, 12], i=[1])
    assert (result.changes, result.reasons) == (0, [reason])


@pytest.mark.parametrize(
    "text",
    [
        "b = Flatten(a) c = Unsqueeze(b, i)",
        "b = Squeeze(a) c = Unsqueeze(b, i)",
        "b = Reshape(a, s) c = Squeeze(b, i)",
        "b = Unsqueeze(a, i) c = Squeeze(b, none)",
        "b = Squeeze(a, none) c = Squeeze(b, i)",
        "b = Reshape(a, s) c = Squeeze(b, none)",
        "b = Transpose(a) c = Reshape(b, s)",
        "b = Squeeze(a, one) c = Unsqueeze(b, i)",
    ],
)
def test_not_considered(text: str) -> None:
    result = merged(text, a="float[1,1,24] a", s=[24, -1], i=[1], one=[0], none=[])
    assert (result.changes, result.reasons) == (0, [])


def test_graph_outputs_keep_what_is_before_them() -> None:
    source = model("""
        g (float[2,3] a) => (float[3,2] y, float[6] z) <int64[2] s = {3, 2}, int64[1] t = {6}> {
            y = Reshape(a, s)
            z = Reshape(y, t)
        }""")
    assert nodes(outcome("merge-reshapes", source)) == "y = Reshape(a, s)\nz = Reshape(a, t)"


def test_a_chain_in_a_branch() -> None:
    source = model("""
        g (bool p, float[2,3] a) => (float[K] y) <int64[2] s = {3, 2}, int64[1] t = {6}> {
            b = Reshape(a, s)
            y = If (p) <
                then_branch = q () => (float[K] u) { c = Reshape(b, s) d = Reshape(c, s) u = Reshape(d, t) },
                else_branch = e () => (float[K] v) { v = Reshape(b, t) }
            >
        }""")
    assert nodes(outcome("merge-reshapes", source)) == golden("""
        b = Reshape(a, s)
        y = If(p)
          then_branch() => u
            u = Reshape(b, t)
          else_branch() => v
            v = Reshape(b, t)
        """)


@pytest.mark.parametrize(
    ("body", "shape", "expected"),
    [
        ("b = Unsqueeze(a, i) c = Squeeze(b)", [2, 1, 4], "c = Squeeze(a, c_constant)"),
        ("b = Unsqueeze(a, i) c = Squeeze(b)", [1, 1, 24], "c = Squeeze(a, c_constant)"),
        ("b = Squeeze(a, i) c = Squeeze(b)", [2, 1, 1, 4], "c = Squeeze(a, c_constant)"),
        ("b = Squeeze(a) c = Unsqueeze(b, i)", [2, 1, 1, 4], None),
        ("b = Reshape(a, s) c = Squeeze(b)", [2, 3, 4], "c = Reshape(a, c_constant)"),
        ("b = Unsqueeze(a, i) c = Squeeze(b)", ["N", 3, 4], None),
        ("b = Squeeze(a) c = Unsqueeze(b, i)", ["N", 1, 4], None),
    ],
)
def test_a_squeeze_that_names_no_axes(body: str, shape: list[object], expected: str | None) -> None:
    used = {name: values for name, values in {"i": [1], "s": [6, 1, 4]}.items() if f", {name})" in body}
    head = f"float[{','.join(map(str, shape))}] a"
    result = merged(body, a=head, **used)
    assert (made(result) if result.changes else None) == expected
    if expected is not None:
        assert_same_results(result, a=np.zeros([item for item in shape if isinstance(item, int)], np.float32))
