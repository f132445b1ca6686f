"""flatten-concats: trees of Concat along one axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import outcome
from tests.text import model

A = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("c = Concat<axis = 1>(a, b) y = Concat<axis = 1>(c, a)", "y = Concat<axis=1>(a, b, a)"),
        ("c = Concat<axis = -1>(a, b) y = Concat<axis = 1>(b, c)", "y = Concat<axis=1>(b, a, b)"),
        (
            "c = Concat<axis = 0>(a, b) d = Concat<axis = 0>(b, a) y = Concat<axis = 0>(c, d, a)",
            "y = Concat<axis=0>(a, b, b, a, a)",
        ),
        ("c = Concat<axis = 1>(a) y = Concat<axis = 1>(c, a)", "y = Concat<axis=1>(a, a)"),
    ],
)
def test_trees(body: str, expected: str) -> None:
    result = outcome("flatten-concats", model(f"g (float[2,N] a, float[2,N] b) => (float[A,B] y) {{ {body} }}"))
    assert nodes(result) == expected
    assert_same_results(result, a=A, b=A + 10)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("c = Concat<axis = 0>(a, b) y = Concat<axis = 1>(c, c)", "the axes differ"),
        ("c = Concat<axis = 0>(a, b) y = Concat<axis = -1>(c, c)", "the axes differ"),
        ("c = Concat<axis = 1>(a, b) y = Concat<axis = 1>(c, c)", "'c' has 2 uses"),
        (
            "c = Concat<axis = 1>(a, b) d = Concat<axis = 1>(c, a) e = Concat<axis = 1>(b, c) y = Add(d, e)",
            "'c' has 2 uses",
        ),
    ],
)
def test_reasons(body: str, reason: str) -> None:
    result = outcome("flatten-concats", model(f"g (float[2,N] a, float[2,N] b) => (float[A,B] y) {{ {body} }}"))
    assert (result.changes, set(result.reasons)) == (0, {reason})


def test_an_unknown_rank() -> None:
    source = model("""
        g (float[4] a, int64[K] s) => (int64[R] y) {
            r = Reshape(a, s) c = Concat<axis = 0>(r, r) d = Concat<axis = -1>(c, c) y = Shape(d)
        }""")
    assert outcome("flatten-concats", source).reasons == ["the rank of the tensors is not known"]


def test_graph_outputs_stay() -> None:
    source = model(
        "g (float[N] a) => (float[M] c, float[K] y) { c = Concat<axis = 0>(a, a) y = Concat<axis = 0>(c, a) }"
    )
    assert outcome("flatten-concats", source).reasons == ["'c' is a graph output"]


def test_what_another_graph_makes_stays() -> None:
    source = model("""
        g (bool p, float[N] a) => (float[M] y) {
            c = Concat<axis = 0>(a, a)
            y = If (p) <
                then_branch = t () => (float[M] u) { u = Concat<axis = 0>(c, a) },
                else_branch = e () => (float[M] v) { v = Neg(a) }
            >
        }""")
    assert outcome("flatten-concats", source).reasons == ["'c' is made in another graph"]


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("order", ["{0}, a", "a, {0}", "{0}, k"])
def test_a_chain_is_joined_at_once(order: str, is_reversed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is rewired grows with the length of the chain, and not with its square."""
    rewired: list[int] = []
    rewire = Edit.set_inputs

    def counted(edit: Edit, node: Node, inputs: Sequence[Tensor]) -> None:
        rewired.append(len(inputs))
        rewire(edit, node, inputs)

    lines = [f"t{index + 1} = Concat<axis = 0>({order.format(f't{index}')})" for index in range(200)]
    body = " ".join(reversed(lines) if is_reversed else lines)
    source = model(
        f"g (float[1,3] t0, float[1,3] a) => (float[M,3] y) {{ {body} y = Neg(t200) }}",
        constants={"k": A[:1]},
    )
    monkeypatch.setattr(Edit, "set_inputs", counted)
    result = outcome("flatten-concats", source, check=not is_reversed)
    assert result.changes == 1
    assert set(rewired) == {201}
    assert_same_results(result, t0=A[:1], a=A[1:])


def test_a_tree_ends_where_a_reader_is_another_one() -> None:
    source = model("""
        g (float[1,3] a) => (float[P,Q] y, float[R,3] z) {
            b = Concat<axis = 0>(a, a) c = Concat<axis = 0>(b, a) d = Concat<axis = 1>(c, c)
            e = Concat<axis = -1>(d, d) f = Concat<axis = 1>(e, d) y = Neg(f) z = Neg(c)
        }""")
    result = outcome("flatten-concats", source)
    assert (
        nodes(result)
        == "c = Concat<axis=0>(a, a, a)\nd = Concat<axis=1>(c, c)\nf = Concat<axis=1>(d, d, d)\ny = Neg(f)\nz = Neg(c)"
    )
    assert_same_results(result, a=A[:1])
