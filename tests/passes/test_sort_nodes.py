"""sort-nodes: only graphs out of order change, and nodes move as little as possible."""

from __future__ import annotations

import pytest

from maxfold.model import ModelError
from tests.passes.outcome import outcome
from tests.text import golden, model

HEAD = "g (float a) => (float y)"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = Neg(p)\n p = Abs(a)", "p = Abs(a)\ny = Neg(p)"),
        ("q = Neg(p)\n r = Abs(a)\n p = Exp(a)\n y = Add(q, r)", "r = Abs(a)\np = Exp(a)\nq = Neg(p)\ny = Add(q, r)"),
        ("y = Add(p, q)\n q = Neg(p)\n p = Neg(r)\n r = Neg(a)", "r = Neg(a)\np = Neg(r)\nq = Neg(p)\ny = Add(p, q)"),
    ],
)
def test_order(body: str, expected: str) -> None:
    result = outcome("sort-nodes", model(f"{HEAD} {{ {body} }}"))
    assert (result.text, result.changes) == (expected, 1)


def test_a_sorted_graph_stays_in_its_own_order() -> None:
    source = model(f"{HEAD} {{ z = Exp(a)\n b = Neg(a)\n y = Add(b, z)\n c = Abs(a) }}")
    result = outcome("sort-nodes", source)
    assert result.changes == 0
    assert result.after == source


def test_what_an_inner_graph_reads_counts() -> None:
    source = model("""
        g (bool c, float a) => (float y) {
            y = If (c) <
                then_branch = t () => (float q) { q = Neg(p) },
                else_branch = e () => (float r) { r = Identity(p) }
            >
            p = Exp(a)
        }""")
    assert outcome("sort-nodes", source).text == golden("""
        p = Exp(a)
        y = If(c)
          then_branch() => q
            q = Neg(p)
          else_branch() => r
            r = Identity(p)
        """)


def test_each_graph_is_sorted_by_itself() -> None:
    source = model("""
        g (bool c, float a) => (float y) {
            b = Abs(a)
            y = If (c) <
                then_branch = t () => (float q) { q = Neg(p)
                    p = Exp(b) },
                else_branch = e () => (float r) { r = Identity(a) }
            >
        }""")
    assert outcome("sort-nodes", source).text == golden("""
        b = Abs(a)
        y = If(c)
          then_branch() => q
            p = Exp(b)
            q = Neg(p)
          else_branch() => r
            r = Identity(a)
        """)


def test_constant_nodes_come_before_their_readers() -> None:
    source = model(f"{HEAD} {{ y = Add(p, k)\n p = Abs(a)\n k = Constant<value = float {{1}}>() }}")
    lines = outcome("sort-nodes", source).text.splitlines()
    assert lines.index("k = Constant<value=float {1.0}>()") < lines.index("y = Add(p, k)")
    assert lines.index("p = Abs(a)") < lines.index("y = Add(p, k)")


def test_functions_are_sorted_too() -> None:
    source = model(
        "g (float a) => (float y) { y = custom.f(a) }",
        domains='"custom" : 1',
        functions="""<domain: "custom", opset_import: ["" : 17]>
        f (x) => (z) { z = Neg(p)
            p = Abs(x) }""",
    )
    assert outcome("sort-nodes", source).text.splitlines()[-2:] == ["  p = Abs(x)", "  z = Neg(p)"]


def test_cycles_are_refused() -> None:
    with pytest.raises(ModelError, match=r"nodes form a cycle: .* needs its own result; export the model again"):
        outcome("sort-nodes", model(f"{HEAD} {{ y = Add(p, a)\n p = Neg(y) }}"))
