"""The algebra of dims: what an expression is in a run is what the operations give there, and never below its bound."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from maxfold.model.inference.symbolic import (
    Dim,
    Expr,
    broadcast,
    ceil_div,
    choose_nonzero,
    exact_div,
    floor_div,
    lower_bound,
    maximum,
    minimum,
    product,
    symbol,
    truncated_div,
)
from tests.model.inference.evaluation import number

N, M = symbol("N"), symbol("M")
Formula = tuple[Dim, Callable[[Sequence[int]], int]]
_BINARY: list[tuple[Callable[[Dim, Dim], Dim], Callable[[int, int], int]]] = [
    (lambda a, b: a + b, lambda a, b: a + b),
    (lambda a, b: a - b, lambda a, b: a - b),
    (lambda a, b: a * b, lambda a, b: a * b),
    (minimum, min),
    (maximum, max),
    (choose_nonzero, lambda a, b: a or b),
]
_BY_NUMBER: list[tuple[Callable[[Dim, int], Dim], Callable[[int, int], int]]] = [
    (floor_div, lambda a, b: a // b),
    (ceil_div, lambda a, b: -(-a // b)),
    (truncated_div, lambda a, b: abs(a) // b * (1 if a >= 0 else -1)),
]


def formula(chance: random.Random, symbols: Sequence[Expr], depth: int) -> Formula:
    """A random expression, and the same in plain numbers."""
    if depth == 0:
        index, constant = chance.randrange(len(symbols) + 1), chance.randint(-9, 9)
        if index == len(symbols):
            return constant, lambda numbers: constant
        return symbols[index], lambda numbers: numbers[index]
    left, left_number = formula(chance, symbols, depth - 1)
    if chance.random() < 0.35:
        divisor = chance.randint(1, 9)
        divide, divide_numbers = chance.choice(_BY_NUMBER)
        return divide(left, divisor), lambda numbers: divide_numbers(left_number(numbers), divisor)
    right, right_number = formula(chance, symbols, depth - 1)
    combine, combine_numbers = chance.choice(_BINARY)
    return combine(left, right), lambda numbers: combine_numbers(left_number(numbers), right_number(numbers))


def test_random_formulas() -> None:
    chance = random.Random(0)
    symbols = [symbol(name) for name in "abc"]
    atoms = [next(iter(item.terms))[0] for item in symbols]
    for _ in range(3000):
        dim, compute = formula(chance, symbols, chance.randint(1, 4))
        low = lower_bound(dim)
        for _ in range(4):
            numbers = [chance.randint(0, 12) for _ in symbols]
            found = number(dim, dict(zip(atoms, numbers, strict=True)))
            assert found == compute(numbers), (dim, numbers)
            assert low is None or found >= low, (dim, numbers)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (N + M, M + N),
        ((N + 1) * (N - 1), N * N - 1),
        (floor_div(4 * N + 6, 2), 2 * N + 3),
        (floor_div(floor_div(N, 2), 3), floor_div(N, 6)),
        (floor_div(N - 1, 2) + 1, ceil_div(N, 2)),
        (8 * N - 8 * floor_div(7 * N, 8), 8 * ceil_div(N, 8)),
        (minimum(N, minimum(M, 5)), minimum(minimum(5, N), M)),
        (minimum(N, N + 1), N),
        (maximum(N, -1), N),
        (exact_div(12 * N * M, 4 * N), 3 * M),
        (exact_div(N * N - 1, N + 1), N - 1),
        (exact_div(N, M), None),
        (broadcast(N, 1), N),
        (broadcast(N, 7), 7),
        (broadcast(N, M + 2), M + 2),
        (broadcast(broadcast(N, M), N), broadcast(M, N)),
        (broadcast(N, minimum(N, 1024)), N),
        (choose_nonzero(N, N * M), N),
        (product([N, 2, M]), 2 * N * M),
        (N - N, 0),
    ],
)
def test_one_form(left: Dim | None, right: Dim | None) -> None:
    assert left == right


def test_sizes_that_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match="2 and 3"):
        broadcast(2, 3)


def test_symbols_are_equal_to_no_other() -> None:
    assert symbol("N") != symbol("N")


def test_what_grows_stays_small_and_printable() -> None:
    grown: Dim = N
    for _ in range(2000):
        grown = floor_div(maximum(grown * grown + M, 3), 2)
    assert len(repr(grown)) < 100_000
    assert lower_bound(grown) is not None
