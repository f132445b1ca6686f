"""Einsum, whose sizes of 1 broadcast, though onnx's own inference takes the first size that a letter has."""

from __future__ import annotations

import string
from collections.abc import Callable

from maxfold.model.inference.call import Call
from maxfold.model.inference.elementwise import shared_dtype
from maxfold.model.inference.facts import Fact, Unknown
from maxfold.model.inference.symbolic import Dim, broadcast

_Label = str | int
"""A letter, or the place, counted from the last one, of a dimension that an ellipsis stands for."""


def einsum(call: Call) -> Fact:
    """Einsum: each label has the size to which all dimensions that carry it broadcast."""
    terms, arrow, result = _equation(call).partition("->")
    listed = terms.split(",")
    if len(listed) != call.input_count:
        raise Unknown
    sizes: dict[_Label, Dim] = {}
    count: dict[_Label, int] = {}
    for index, term in enumerate(listed):
        dims = call.known_dims(index)
        for label, dim in zip(_labels(term, len(dims)), dims, strict=True):
            sizes[label] = broadcast(sizes.get(label, 1), dim)
            count[label] = count.get(label, 0) + 1
    covered = [label for label in range(-len(sizes), 0) if label in sizes]
    if arrow:
        kept = _labels(result, len(result.replace("...", "")) + ("..." in result) * len(covered))
    else:
        letters = [label for label in sizes if isinstance(label, str)]
        kept = [*covered, *sorted(letter for letter in letters if count[letter] == 1)]
    if len(set(kept)) != len(kept) or not set(kept) <= set(sizes):
        raise Unknown
    return Fact(shared_dtype(call), tuple(sizes[label] for label in kept))


def _equation(call: Call) -> str:
    equation = call.attribute("equation")
    if not isinstance(equation, str):
        raise Unknown
    return equation.replace(" ", "")


def _labels(term: str, rank: int) -> list[_Label]:
    """The labels of an operand's dimensions."""
    before, ellipsis, after = term.partition("...")
    covered = rank - len(before) - len(after)
    if not set(before + after) <= set(string.ascii_letters) or covered < 0 or (covered and not ellipsis):
        raise Unknown
    return [*before, *range(-covered, 0), *after]


SHAPE_FUNCTIONS: dict[str, Callable[[Call], Fact | list[Fact]]] = {"Einsum": einsum}
