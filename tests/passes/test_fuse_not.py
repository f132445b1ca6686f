"""fuse-not: conditions that are inverted first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import outcome
from tests.text import golden, model

C = np.array([True, False, True])
INTEGERS = {"a": np.array([1, -2, 3]), "b": np.array([[7], [8]])}
FLOATS = {"a": np.array([-0.0, 0.0, np.nan], np.float32), "b": np.array([[-0.0], [-np.inf]], np.float32)}
RELAXED = "Where may make 0.0 of -0.0; only with --math relaxed"


def where(body: str, kind: str = "int64", **options: Any) -> Any:
    outputs = f"{kind}[2,3] y" + (f", {kind}[2,3] z" if "z = " in body else "") + (", bool[3] n" if "!" in body else "")
    source = model(f"g (bool[3] c, {kind}[3] a, {kind}[2,1] b) => ({outputs}) {{ {body.replace('!', '')} }}")
    return outcome("fuse-not", source, **options)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("n = Not(c) y = Where(n, a, b)", "y = Where(c, b, a)"),
        ("n = Not(c) y = Where(n, a, b) z = Where(n, b, a)", "y = Where(c, b, a)\nz = Where(c, a, b)"),
    ],
)
def test_the_other_side_is_taken(body: str, expected: str) -> None:
    result = where(body)
    assert nodes(result) == expected
    assert_same_results(result, c=C, **INTEGERS)


@pytest.mark.parametrize("kind", ["int32", "int64", "uint8", "string"])
def test_types_that_have_one_zero(kind: str) -> None:
    result = where("n = Not(c) y = Where(n, a, b)", kind)
    assert nodes(result) == "y = Where(c, b, a)"
    dtype = np.dtype(object) if kind == "string" else np.dtype(kind)
    a, b = (
        np.array(["p", "q", ""], object) if kind == "string" else np.array([1, 0, 2]).astype(dtype),
        np.array([["r"], ["s"]], object) if kind == "string" else np.array([[3], [0]]).astype(dtype),
    )
    assert_same_results(result, c=C, a=a, b=b)


def test_floats_only_relaxed() -> None:
    body = "n = Not(c) y = Where(n, a, b)"
    exact = where(body, "float")
    assert (exact.changes, exact.reasons) == (0, [RELAXED])
    assert exact.declines[0].relaxed_gain == 1
    assert nodes(where(body, "float", math="relaxed")) == "y = Where(c, b, a)"


def test_one_reader_of_floats_holds_the_others() -> None:
    source = model(
        """
        g (bool[3] c, float[3] a, int64[3] b) => (float[3] y, int64[3] z) {
            n = Not(c) y = Where(n, a, a2) z = Where(n, b, b2)
        }""",
        constants={"a2": np.ones(3, np.float32), "b2": np.ones(3, np.int64)},
    )
    result = outcome("fuse-not", source)
    assert (result.changes, result.reasons) == (0, [RELAXED, RELAXED])
    assert outcome("fuse-not", source, math="relaxed").changes == 2


@pytest.mark.parametrize(
    ("body", "keep", "reason"),
    [
        ("n = Not(c) y = Where(n, a, b) !", [], "'n' is a graph output, or to be kept"),
        ("n = Not(c) y = Where(n, a, b)", ["n"], "'n' is a graph output, or to be kept"),
        ("n = Not(c) y = Where(n, a, b) i = Cast<to = 7>(n) z = Add(i, y)", [], "'n' is used elsewhere"),
        ("n = Not(c) y = Where(n, a, b) z = Where(n, a, b)", ["z"], "'n' is used elsewhere"),
    ],
)
def test_what_is_left(body: str, keep: list[str], reason: str) -> None:
    result = where(body, keep=keep)
    assert result.changes == 0
    assert reason in result.reasons


def test_a_condition_that_is_chosen_too() -> None:
    source = model("g (bool[3] c, bool[3] a) => (bool[3] y) { n = Not(c) y = Where(n, n, a) }")
    result = outcome("fuse-not", source)
    assert (result.changes, result.reasons) == (0, ["'n' is used elsewhere"])


def test_a_reader_in_a_branch_holds_the_node() -> None:
    source = model("""
        g (bool c, int64[3] a, int64[3] b) => (int64[3] y, int64[3] z) {
            n = Not(c)
            y = Where(n, a, b)
            z = If (c) < then_branch = t () => (int64[3] o) { o = Where(n, b, a) },
                         else_branch = e () => (int64[3] p) { p = Neg(a) } >
        }""")
    result = outcome("fuse-not", source)
    assert (result.changes, result.reasons) == (0, ["'n' is used elsewhere"])


IF = """
    n = Not(c)
    y{} = If (n) < then_branch = t () => (float[2] o{}) {{ o = Abs(x) {} }},
                   else_branch = e () => (float[2] p{}) {{ p = Neg(x) {} }} >
"""


@pytest.mark.parametrize("more", [("", "", "", "", ""), (", z", ", float[2] q", "q = Exp(x)", ", float[2] r", "r = x")])
@pytest.mark.parametrize("condition", [True, False])
def test_the_branches_are_exchanged(more: tuple[str, ...], condition: bool) -> None:
    body = IF.format(*more).replace("r = x", "r = Sin(x)")
    outputs = "float[2] y, float[2] z" if more[0] else "float[2] y"
    result = outcome("fuse-not", model(f"g (bool c, float[2] x) => ({outputs}) {{ {body} }}"))
    assert result.changes == 1
    if not more[0]:
        assert nodes(result) == golden("""
            y = If(c)
              then_branch() => p
                p = Neg(x)
              else_branch() => o
                o = Abs(x)
            """)
    assert_same_results(result, c=np.array(condition), x=np.array([1.5, -2.0], np.float32))


def test_in_a_branch_and_in_a_function() -> None:
    source = model(
        """
        g (bool c, int64[3] a) => (int64[3] y, int64[3] z) {
            y = If (c) < then_branch = t () => (int64[3] o) { n = Not(c) i = Neg(a) o = Where(n, a, i) },
                         else_branch = e () => (int64[3] p) { p = Neg(a) } >
            z = local.f(c, a)
        }""",
        functions='<domain: "local", opset_import: ["" : 17]> f (c, a) => (y) '
        "{ n = Not(c) k = Constant<value = int64 {3}>() y = Where(n, a, k) }",
        domains='"local" : 1',
    )
    result = outcome("fuse-not", source)
    assert "o = Where(c, i, a)" in result.text
    assert (result.changes, result.reasons) == (2, [])
    assert_same_results(result, c=np.array(True), a=np.arange(3))


def test_a_condition_with_a_default_stays_the_condition() -> None:
    source = model(
        "g (bool c, int64[3] a) => (int64[3] y) { n = Not(c) i = Neg(a) y = Where(n, a, i) }",
        constants={"c": np.array(True)},
    )
    assert nodes(outcome("fuse-not", source)) == "i = Neg(a)\ny = Where(c, i, a)"
