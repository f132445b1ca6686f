"""Values are followed only where they fit their type: integers of a tensor wrap around, dims do not."""

from __future__ import annotations

import random

import numpy as np
import pytest

from maxfold.model.inference.spans import span
from maxfold.model.inference.symbolic import Expr, symbol
from tests.model.inference.test_symbolic import formula
from tests.model.inference.test_symbolic_shapes import value_of

LARGEST = (1 << 30) - 1


def test_random_formulas_stay_in_their_spans() -> None:
    chance = random.Random(1)
    symbols = [symbol(name) for name in "abc"]
    known = 0
    for _ in range(3000):
        dim, compute = formula(chance, symbols, chance.randint(1, 4))
        found = span(dim)
        if found is None:
            continue
        known += isinstance(dim, Expr)
        for _ in range(6):
            number = compute([chance.choice((0, 1, LARGEST - 1, LARGEST, chance.randint(0, 99))) for _ in symbols])
            assert found[0] <= number <= found[1], dim
    assert known > 2000


def followed(steps: str, inputs: str = "float[N,M,K] x, float[L,J] z", **constants: object) -> str:
    """The value that y has after steps that begin with n, m, k, l and j, the dimensions as INT64."""
    parts = "sx = Shape(x) n, m, k = Split<axis = 0>(sx) sz = Shape(z) l, j = Split<axis = 0>(sz) "
    return value_of(parts + steps, inputs, constants=constants)


I32 = {"one": np.array([1], np.int32), "two": np.array([2], np.int32), "three": np.array([3], np.int32)}
CAST = "a = Cast<to = 6>(n) b = Cast<to = 6>(l) "


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("y = Cast<to = 7>(a)", "x.0"),
        ("y = Add(a, one)", "x.0 + 1"),
        ("y = Add(a, b)", "x.0 + z.0"),
        ("y = Mul(a, two)", "2*x.0"),
        ("y = Mul(a, three)", "None"),
        ("y = Mul(a, b)", "None"),
        ("c = Mul(a, two) y = Add(c, two)", "None"),
        ("c = Mul(a, two) y = Sub(c, two)", "2*x.0 + -2"),
        ("c = Mul(a, two) d = Add(c, one) y = Div(d, two)", "x.0"),
        ("c = Add(a, a) d = Add(c, a) y = Div(d, three)", "None"),
        ("y = ReduceProd<axes = [0]>(c) c = Concat<axis = 0>(a, b)", "None"),
        ("c = Concat<axis = 0>(a, b) y = ReduceSum(c)", "x.0 + z.0"),
        ("y = Mod(a, three)", "x.0 + -3*floor_div(x.0, 3)"),
        ("c = Max(a, three) y = Min(c, b)", "min(max(3, x.0), z.0)"),
        ("c = Sub(a, b) y = Neg(c)", "-1*x.0 + z.0"),
    ],
)
def test_32_bits(steps: str, expected: str) -> None:
    assert sorted(followed(CAST + steps, **I32)) == sorted(expected)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("y = Mul(n, l)", "x.0*z.0"),
        ("c = Mul(n, l) y = Mul(c, seven)", "7*x.0*z.0"),
        ("c = Mul(n, l) y = Mul(c, nine)", "None"),
        # A tensor has these three dimensions, so that their product is the size of it.
        ("c = Mul(n, m) y = Mul(c, k)", "x.0*x.1*x.2"),
        ("c = Mul(n, m) d = Mul(c, k) y = Mul(d, two)", "None"),
        ("y = ReduceProd<axes = [0]>(sx)", "x.0*x.1*x.2"),
        ("c = Mul(n, m) y = Mul(c, l)", "None"),
        ("c = Mul(n, n) y = Mul(c, n)", "None"),
        ("y = Mul(n, large)", "8589934591*x.0"),
        ("y = Mul(n, huge)", "None"),
    ],
)
def test_64_bits(steps: str, expected: str) -> None:
    constants = {"two": [2], "seven": [7], "nine": [9], "large": [(1 << 33) - 1], "huge": [1 << 34]}
    assert sorted(followed(steps, **constants)) == sorted(expected)


@pytest.mark.parametrize(
    ("target", "steps", "expected"),
    [
        (3, "y = Cast<to = 3>(n)", "None"),
        (2, "y = Cast<to = 2>(n)", "None"),
        (2, "c = Min(n, most) y = Cast<to = 2>(c)", "min(255, x.0)"),
        (3, "c = Min(n, most) y = Cast<to = 3>(c)", "None"),
        (12, "y = Cast<to = 12>(n)", "x.0"),
        (12, "c = Sub(n, l) y = Cast<to = 12>(c)", "None"),
        (13, "c = Cast<to = 13>(n) d = Cast<to = 13>(l) y = Sub(c, d)", "None"),
    ],
)
def test_other_types(target: int, steps: str, expected: str) -> None:
    assert followed(steps, most=[255]) == expected
