"""Concat: what is known of its result, although runtimes do not compare empty operands with the others.

ONNX Runtime takes the dims beside the axis from the first operand that is not empty, from the first where all are. On
the axis it adds all sizes. Loops that have collected nothing rely on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxfold.model.data import Array
from maxfold.model.inference.call import Call, normal_axis
from maxfold.model.inference.facts import MOST_ELEMENTS, Fact, PartialValue, Unknown, static, value_of
from maxfold.model.inference.symbolic import Atom, Dim, Expr, exact_div, floor_div


def concat(call: Call) -> Fact:
    """Concat, on axis 1 where old versions name none."""
    return joined(call, range(call.input_count), call.attribute("axis", 1))


def joined(call: Call, indices: Sequence[int], axis: int) -> Fact:
    """Some of the inputs side by side."""
    facts = [call.fact(index) for index in indices]
    dtype = next((fact.dtype for fact in facts if fact.dtype is not None), None)
    shapes = [call.dims(index) for index in indices]
    ranked = [shape for shape in shapes if shape is not None]
    full = [shape for shape in ranked if all(call.is_at_least(dim, 1) for dim in shape)]
    is_of_one_rank = len(ranked) == len(shapes) and len({len(shape) for shape in ranked}) == 1
    if not full and not is_of_one_rank:
        return Fact(dtype)
    rank = len((full or ranked)[0])
    axis = normal_axis(axis, rank)
    dims: list[Dim | None]
    if full:
        dims = [_agreed([shape[other] for shape in full if len(shape) == rank]) for other in range(rank)]
    else:
        is_first = all(_is_empty_with(ranked[0], shape) for shape in ranked[1:])
        dims = [_common([shape[other] for shape in ranked], is_first) for other in range(rank)]
    dims[axis] = sum((shape[axis] for shape in ranked), start=0) if is_of_one_rank else None
    return Fact(dtype, tuple(dims), _joined_values(call, indices, axis, dims))


def _agreed(dims: Sequence[Dim]) -> Dim:
    """The dim that several must be equal to: the number among them, if any."""
    return next((dim for dim in dims if isinstance(dim, int)), dims[0])


def _common(dims: Sequence[Dim], is_first: bool) -> Dim | None:
    """A dim of operands that may be empty: what all have, or the first where that is empty only if all are."""
    return dims[0] if is_first or all(dim == dims[0] for dim in dims) else None


def _is_empty_with(first: Sequence[Dim], other: Sequence[Dim]) -> bool:
    """Whether an operand has no elements in every run in which the first one has none."""
    return all(any(_is_0_with(mine, dim) for mine in other) for dim in first if not _is_positive(dim))


def _is_positive(dim: Dim) -> bool:
    return isinstance(dim, int) and dim > 0


def _is_0_with(dim: Dim, other: Dim) -> bool:
    """Whether a dim is 0 wherever another one is."""
    if dim in (0, other):
        return True
    if isinstance(other, int) or isinstance(dim, int):
        return False
    ((monomial, factor),) = other.terms.items() if len(other.terms) == 1 else (((), 0),)
    if len(monomial) == 1 and factor > 0 and _at_0(dim, monomial[0]) == 0:
        return True
    return exact_div(dim, other) is not None


def _at_0(dim: Dim, atom: Atom) -> Dim | None:
    """A dim where an atom is 0, None where that is not followed."""
    if isinstance(dim, int):
        return dim
    total: Dim = 0
    for monomial, factor in dim.terms.items():
        if atom in monomial:
            continue
        term: Dim = factor
        for other in monomial:
            value = _atom_at_0(other, atom)
            if value is None:
                return None
            term = term * value if isinstance(term, Expr) else value * term
        total = total + term if isinstance(total, Expr) else term + total
    return total


def _atom_at_0(other: Atom, atom: Atom) -> Dim | None:
    if other.kind == "symbol":
        return Expr({(other,): 1})
    if other.kind != "floor_div":
        return None
    dividend, divisor = (_at_0(argument, atom) for argument in other.arguments)
    return None if dividend is None or divisor in (None, 0) else floor_div(dividend, divisor)


def _joined_values(call: Call, indices: Sequence[int], axis: int, dims: Sequence[Dim | None]) -> PartialValue | None:
    """Values side by side; vectors may take part of which only the length is known."""
    shape = static(tuple(dims))
    if shape is None or not 0 < np.prod(shape, dtype=object) <= MOST_ELEMENTS:
        return None
    values = [call.value(index) for index in indices]
    if all(value is None for value in values):
        return None
    pairs = zip(indices, values, strict=True)
    parts = [_unknown_array(call, index) if value is None else value.array() for index, value in pairs]
    return value_of(np.concatenate(parts, axis))


def _unknown_array(call: Call, index: int) -> Array:
    shape = static(call.dims(index))
    if shape is None:
        raise Unknown
    return np.full(shape, None, object)
