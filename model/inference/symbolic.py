"""Dimensions as integer polynomials over symbols.

A `Dim` is an int or an `Expr`: a sum of integer multiples of products of atoms. An atom is a symbol (a number of at
least 0 that a run decides) or an operation that no polynomial can express (`floor_div`, `minimum`, ...). Atoms of equal
operations on equal arguments are one object, so that comparing never descends. Equal dims are equal in every run; dims
that differ may still be.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any
from weakref import WeakValueDictionary

from maxfold.model.inference.spans import operation_span

# Polynomials that grow beyond this become atoms, so that long chains of operations stay linear.
_MOST_TERMS = 32
_HIGHEST_DEGREE = 16
_LARGEST_FACTOR = 1 << 80
_MOST_ARGUMENTS = 8
_SHOWN_LEVELS = 6

_serials = itertools.count()


class Atom:
    """A factor of a term: a symbol or an operation.

    `low` is a number that the value is never below, None where none is known; `span` is what `spans` says of it.
    """

    __slots__ = ("__weakref__", "arguments", "kind", "low", "serial", "span")

    def __init__(self, kind: str, arguments: Any, low: int | None) -> None:
        self.kind = kind
        self.arguments = arguments
        self.low = low if low is None else min(low, _LARGEST_FACTOR)
        self.serial = next(_serials)
        self.span = operation_span(kind, arguments)

    def __repr__(self) -> str:
        return _shown_atom(self, _SHOWN_LEVELS)


Monomial = tuple[Atom, ...]


class Expr:
    """A polynomial that is no plain number: `terms` are the coefficients of its monomials, () the constant's."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: dict[Monomial, int]) -> None:
        self.terms = terms
        self._hash = hash(frozenset(terms.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self._hash == other._hash and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Dim) -> Dim:
        terms = dict(self.terms)
        for monomial, factor in _terms(other):
            terms[monomial] = terms.get(monomial, 0) + factor
        return _dim(terms)

    def __neg__(self) -> Dim:
        return Expr({monomial: -factor for monomial, factor in self.terms.items()})

    def __sub__(self, other: Dim) -> Dim:
        return self + -other

    def __rsub__(self, other: int) -> Dim:
        return -self + other

    def __mul__(self, other: Dim) -> Dim:
        if isinstance(other, Expr) and len(self.terms) * len(other.terms) > _MOST_TERMS:
            return _atom("product", frozenset((self, other)), _product_low(self, other))
        terms: dict[Monomial, int] = {}
        for left, factor in self.terms.items():
            for right, other_factor in _terms(other):
                monomial = tuple(sorted(left + right, key=_serial)) if left and right else left + right
                terms[monomial] = terms.get(monomial, 0) + factor * other_factor
        return _dim(terms)

    __radd__ = __add__
    __rmul__ = __mul__

    def __repr__(self) -> str:
        return _shown(self, _SHOWN_LEVELS)


Dim = int | Expr


def symbol(name: str) -> Expr:
    """A new symbol, equal to no other; the name is for people."""
    return Expr({(Atom("symbol", name, 0),): 1})


def lower_bound(dim: Dim) -> int | None:
    """A number that a dim is never below, None where none is known."""
    if isinstance(dim, int):
        return dim
    total = 0
    for monomial, factor in dim.terms.items():
        low = _monomial_low(monomial)
        if low is None or (factor < 0 and monomial):
            return None
        total += factor * low
    return total


def product(dims: Iterable[Dim]) -> Dim:
    """The product of all dims, 1 for none."""
    result: Dim = 1
    for dim in dims:
        result = result * dim
    return result


def floor_div(dividend: Dim, divisor: Dim) -> Dim:
    """The quotient, rounded down. Raises ZeroDivisionError."""
    if isinstance(divisor, Expr):
        exact = exact_div(dividend, divisor)
        return _opaque_div(dividend, divisor) if exact is None else exact
    if divisor < 0:
        return floor_div(-dividend, -divisor)
    if isinstance(dividend, int):
        return dividend // divisor
    if divisor == 0:
        raise ZeroDivisionError
    return _floor_div_number(dividend, divisor)


def ceil_div(dividend: Dim, divisor: int) -> Dim:
    """The quotient, rounded up; the divisor is positive."""
    return floor_div(dividend + (divisor - 1), divisor)


def truncated_div(dividend: Dim, divisor: int) -> Dim:
    """The quotient by a positive number, rounded towards zero."""
    low = lower_bound(dividend)
    if divisor == 1 or (low is not None and low >= 0):
        return floor_div(dividend, divisor)
    if isinstance(dividend, int):
        return -(-dividend // divisor)
    return _atom("truncated_div", (dividend, divisor), None if low is None else -(-low // divisor))


def exact_div(dividend: Dim, divisor: Dim) -> Dim | None:
    """The polynomial that times the divisor is the dividend, None where there is none."""
    if divisor == 0:
        return None
    if dividend == divisor:
        return 1
    lead, factor = _leading(divisor)
    rest: Dim = dividend
    quotient: Dim = 0
    for _ in range(_MOST_TERMS):
        if rest == 0:
            return quotient
        monomial, amount = _leading(rest)
        left = _without(monomial, lead)
        if left is None or amount % factor:
            return None
        part = _dim({left: amount // factor})
        quotient, rest = quotient + part, rest - part * divisor
    return None


def minimum(left: Dim, right: Dim) -> Dim:
    """The smaller one."""
    return _extreme("min", left, right)


def maximum(left: Dim, right: Dim) -> Dim:
    """The larger one."""
    return _extreme("max", left, right)


def broadcast(left: Dim, right: Dim) -> Dim:
    """The dimension to which two broadcast: the one that is not 1. Raises ValueError where they do not."""
    if left == right or right == 1:
        return left
    if left == 1:
        return right
    for dim in (left, right):
        if isinstance(dim, int) or (lower_bound(dim) or 0) > 1:
            if isinstance(left, int) and isinstance(right, int):
                raise ValueError(f"{left} and {right} do not broadcast")
            return dim
    for dim, other in ((left, right), (right, left)):
        if _is_capped(other, dim):
            return dim
    members = _members("broadcast", left) | _members("broadcast", right)
    return _atom("broadcast", members, min((lower_bound(dim) or 0) for dim in members))


def choose_nonzero(wanted: Dim, otherwise: Dim) -> Dim:
    """The first dim, or the second where a run makes the first 0."""
    if (lower_bound(wanted) or 0) > 0 or exact_div(otherwise, wanted) is not None:
        return wanted
    low, other_low = lower_bound(wanted), lower_bound(otherwise)
    is_known = low is not None and low >= 0 and other_low is not None
    return _atom("nonzero", (wanted, otherwise), min(1, other_low or 0) if is_known else None)


def _serial(atom: Atom) -> int:
    return atom.serial


def _terms(dim: Dim) -> Iterable[tuple[Monomial, int]]:
    return dim.terms.items() if isinstance(dim, Expr) else (((), dim),)


def _dim(terms: dict[Monomial, int]) -> Dim:
    """The dim of coefficients, which are no longer used elsewhere."""
    if 0 in terms.values():
        terms = {monomial: factor for monomial, factor in terms.items() if factor}
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    made = Expr(terms)
    is_large = len(terms) > _MOST_TERMS or any(
        len(monomial) > _HIGHEST_DEGREE or abs(factor) > _LARGEST_FACTOR for monomial, factor in terms.items()
    )
    return _atom("sum", frozenset((made,)), lower_bound(made)) if is_large else made


_atoms: WeakValueDictionary[tuple[str, Any], Atom] = WeakValueDictionary()


def _atom(kind: str, arguments: Any, low: int | None) -> Expr:
    key = kind, arguments
    found = _atoms.get(key)
    if found is None:
        found = _atoms[key] = Atom(kind, arguments, low)
    return Expr({(found,): 1})


def _members(kind: str, dim: Dim) -> frozenset[Dim]:
    """The arguments of an operation that is its own flattening, or the dim itself."""
    atom = single_atom(dim)
    if atom is None or atom.kind != kind or len(atom.arguments) > _MOST_ARGUMENTS:
        return frozenset((dim,))
    members: frozenset[Dim] = atom.arguments
    return members


def single_atom(dim: Dim) -> Atom | None:
    """The atom that a dim consists of."""
    if isinstance(dim, int) or len(dim.terms) != 1:
        return None
    ((monomial, factor),) = dim.terms.items()
    return monomial[0] if factor == 1 and len(monomial) == 1 else None


def _is_capped(dim: Dim, other: Dim) -> bool:
    """Whether a dim is the minimum of the other and of numbers above 1: broadcasting can only give the other."""
    atom = single_atom(dim)
    if atom is None or atom.kind != "min" or other not in atom.arguments:
        return False
    return all(member == other or (lower_bound(member) or 0) > 1 for member in atom.arguments)


def _extreme(kind: str, left: Dim, right: Dim) -> Dim:
    """The minimum or maximum as an atom, without arguments that another one makes superfluous."""
    sign = 1 if kind == "min" else -1
    kept: list[Dim] = []
    for dim in sorted(_members(kind, left) | _members(kind, right), key=_is_expr):
        if any(_is_at_most(sign * other, sign * dim) for other in kept):
            continue
        kept = [other for other in kept if not _is_at_most(sign * dim, sign * other)]
        kept.append(dim)
    if len(kept) == 1:
        return kept[0]
    lows = [lower_bound(dim) for dim in kept]
    known = [low for low in lows if low is not None]
    if kind == "min":
        return _atom(kind, frozenset(kept), min(known) if len(known) == len(kept) else None)
    return _atom(kind, frozenset(kept), max(known, default=None))


def _is_expr(dim: Dim) -> bool:
    return isinstance(dim, Expr)


def _is_at_most(left: Dim, right: Dim) -> bool:
    low = lower_bound(right - left)
    return low is not None and low >= 0


def _monomial_low(monomial: Monomial) -> int | None:
    result = 1
    for atom in monomial:
        if atom.low is None or atom.low < 0:
            return atom.low if len(monomial) == 1 else None
        result *= atom.low
    return result


def _product_low(left: Dim, right: Dim) -> int | None:
    low, other = lower_bound(left), lower_bound(right)
    return low * other if low is not None and other is not None and low >= 0 and other >= 0 else None


def _floor_div_number(dividend: Expr, divisor: int) -> Dim:
    """By a positive number: whole multiples come out, and what is left is reduced and merged with inner quotients.

    The factors that are left are as near 0 as can be, the first one positive, so that rounding up has one form too.
    """
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, factor in dividend.terms.items():
        whole[monomial], rest[monomial] = divmod(factor, divisor)
        if monomial and 2 * rest[monomial] > divisor:
            whole[monomial], rest[monomial] = whole[monomial] + 1, rest[monomial] - divisor
    offset = rest.pop((), 0)
    rest = {monomial: factor for monomial, factor in rest.items() if factor}
    quotient = _dim(whole)
    if not rest:
        return quotient
    common = math.gcd(divisor, *rest.values())
    divisor, offset = divisor // common, offset // common
    reduced = _dim({monomial: factor // common for monomial, factor in rest.items()})
    if divisor == 1:
        return quotient + reduced + offset
    if _leading(reduced)[1] < 0:
        return quotient - floor_div(divisor - 1 - offset - reduced, divisor)
    atom = single_atom(reduced)
    if atom is not None and atom.kind == "floor_div" and isinstance(atom.arguments[1], int):
        inner, inner_divisor = atom.arguments
        if inner_divisor * divisor > _LARGEST_FACTOR:
            return quotient + _opaque_div(reduced + offset, divisor)
        return quotient + floor_div(inner + offset * inner_divisor, inner_divisor * divisor)
    return quotient + _opaque_div(reduced + offset, divisor)


def _opaque_div(dividend: Dim, divisor: Dim) -> Expr:
    low, divisor_low = lower_bound(dividend), lower_bound(divisor)
    if low is None or divisor_low is None or low < 0 or divisor_low < 0:
        return _atom("floor_div", (dividend, divisor), None)
    return _atom("floor_div", (dividend, divisor), low // divisor if isinstance(divisor, int) else 0)


def _leading(dim: Dim) -> tuple[Monomial, int]:
    """The first term in an order of monomials that products keep."""
    return min(_terms(dim), key=lambda term: (-len(term[0]), [atom.serial for atom in term[0]]))


def _without(monomial: Monomial, factors: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in factors:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _shown(dim: Dim, levels: int) -> str:
    """A dim as text, down to a number of levels of operations in operations."""
    if isinstance(dim, int):
        return str(dim)
    return " + ".join(_shown_term(monomial, factor, levels) for monomial, factor in dim.terms.items())


def _shown_term(monomial: Monomial, factor: int, levels: int) -> str:
    names = "*".join(_shown_atom(atom, levels) for atom in monomial)
    if not names:
        return str(factor)
    return names if factor == 1 else f"{factor}*{names}"


def _shown_atom(atom: Atom, levels: int) -> str:
    if atom.kind == "symbol":
        return str(atom.arguments)
    if levels == 0:
        return f"{atom.kind}(...)"
    shown = [_shown(argument, levels - 1) for argument in atom.arguments]
    return f"{atom.kind}({', '.join(sorted(shown) if isinstance(atom.arguments, frozenset) else shown)})"
