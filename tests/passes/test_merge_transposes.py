"""merge-transposes: two permutations in a row are one, or none."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import outcome
from tests.text import model

ORDERS = [list(order) for order in itertools.permutations(range(3))]


@pytest.mark.parametrize("first", [*ORDERS, None])
def test_every_pair_of_orders(first: list[int] | None) -> None:
    for second in [*ORDERS, None]:
        orders = ["" if order is None else f"<perm = {order}>" for order in (first, second)]
        body = f"b = Transpose{orders[0]}(a) c = Transpose{orders[1]}(b) y = Neg(c)"
        result = outcome("merge-transposes", model(f"g (float[2,N,4] a) => (float[A,B,C] y) {{ {body} }}"))
        together = np.transpose(np.transpose(np.empty((0, 1, 2)), first), second).shape
        expected = "y = Neg(a)" if together == (0, 1, 2) else f"c = Transpose<perm={list(together)}>(a)\ny = Neg(c)"
        assert nodes(result) == expected
        assert_same_results(result, a=np.arange(24, dtype=np.float32).reshape(2, 3, 4))


def test_a_chain_that_ends_in_an_output() -> None:
    source = model("""
        g (float[2,3,4] a) => (float[2,3,4] y, float[4,2,3] z) {
            n = Neg(a)
            b = Transpose<perm = [1, 2, 0]>(n)
            z = Transpose<perm = [1, 2, 0]>(b)
            y = Transpose<perm = [1, 2, 0]>(z)
        }""")
    result = outcome("merge-transposes", source)
    assert nodes(result) == "y = Neg(a)\nz = Transpose<perm=[2, 0, 1]>(y)"
    assert_same_results(result, a=np.arange(24, dtype=np.float32).reshape(2, 3, 4))


def test_an_inner_transpose_that_others_read_stays() -> None:
    source = model("""
        g (float[2,3,4] a) => (float[A,B,C] y) {
            b = Transpose<perm = [1, 2, 0]>(a)
            c = Transpose<perm = [1, 2, 0]>(b)
            d = Transpose<perm = [0, 2, 1]>(b)
            e = Add(b, d)
            y = MatMul(c, e)
        }""")
    assert "c = Transpose<perm=[2, 0, 1]>(a)\nd = Transpose<perm=[1, 0, 2]>(a)" in nodes(
        outcome("merge-transposes", source, check=False)
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("b = Transpose(a) y = Transpose(b)", "'y' is a graph output and 'a' is not made by a node beside it"),
        ("r = Reshape(a, s) b = Transpose(r) y = Transpose(b)", "the order of the dimensions is not known"),
    ],
)
def test_reasons(body: str, reason: str) -> None:
    source = model(f"g (float[2,3] a, int64[K] s) => (float[A,B] y) {{ {body} }}")
    result = outcome("merge-transposes", source, check=False)
    assert (result.changes, result.reasons) == (0, [reason])
