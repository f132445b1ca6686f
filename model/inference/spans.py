"""Between which numbers a dim lies, taking it that no dimension of a tensor is 2^30 or more.

Integers of a tensor wrap around where a dim, which has no bounds, does not: a value is followed only where it fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxfold.model.inference.symbolic import Dim, Monomial

Span = tuple[int, int]
"""The least and the greatest number that a dim can be."""

# So that twice a dimension, the sum of two and what is rounded up to a multiple still fit into 32 bits.
_LARGEST_DIMENSION = (1 << 30) - 1
# No tensor has so many elements; of an empty one the dimensions that are not 0 count.
MOST_ELEMENTS_OF_ALL = 1 << 62
# Beyond this nothing is known.
_LARGEST_NUMBER = 1 << 80


def span(dim: Dim, most: Callable[[Monomial], int | None] | None = None) -> Span | None:
    """The span of a dim, None where nothing is known. `most` may know a better bound of a product."""
    if isinstance(dim, int):
        return dim, dim
    low = high = 0
    for monomial, factor in dim.terms.items():
        found = _product_span(atom.span for atom in monomial)
        if most is not None and len(monomial) > 1:
            bound = most(monomial)
            found = found if bound is None else (0, bound)
        if found is None:
            return None
        ends = found[0] * factor, found[1] * factor
        low, high = low + min(ends), high + max(ends)
    return _known(low, high)


def operation_span(kind: str, arguments: Any) -> Span | None:
    """The span of an atom, from those of its arguments."""
    if kind == "symbol":
        return 0, _LARGEST_DIMENSION
    found = [span(argument) for argument in arguments]
    spans = [item for item in found if item is not None]
    if len(spans) < len(found):
        return None
    lows, highs = [low for low, _ in spans], [high for _, high in spans]
    if kind == "min":
        return min(lows), min(highs)
    if kind == "max":
        return max(lows), max(highs)
    if kind in ("broadcast", "nonzero"):
        return min(lows), max(highs)
    if kind in ("floor_div", "truncated_div"):
        return _quotient_span(*spans)
    # The argument of a "product" may be the only one, squared.
    return _product_span(spans * 2 if kind == "product" and len(spans) == 1 else spans)


def _product_span(spans: Iterable[Span | None]) -> Span | None:
    result: Span | None = (1, 1)
    for item in spans:
        if item is None or result is None:
            return None
        ends = [one * other for one in result for other in item]
        result = _known(min(ends), max(ends))
    return result


def _quotient_span(dividend: Span, divisor: Span) -> Span:
    """Of a quotient rounded either way; a divisor of 0 fails a run."""
    if dividend[0] >= 0 and divisor[0] >= 0:
        return 0, dividend[1] // max(divisor[0], 1)
    size = max(abs(dividend[0]), abs(dividend[1]))
    if divisor[0] <= 0:
        return -size - 1, size + 1
    return dividend[0] // divisor[0] if dividend[0] < 0 else 0, max(dividend[1], 0) // divisor[0]


def _known(low: int, high: int) -> Span | None:
    return (low, high) if low >= -_LARGEST_NUMBER and high <= _LARGEST_NUMBER else None
