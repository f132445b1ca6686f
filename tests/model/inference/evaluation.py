"""Derived facts compared with the arrays of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.model.inference.symbolic import Atom, Dim, Expr
from maxfold.model.view import View

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Symbols: TypeAlias = "dict[Atom, int]"

_OPERATIONS: dict[str, Callable[[list[int]], int]] = {
    "broadcast": lambda values: next((value for value in values if value != 1), 1),
    "floor_div": lambda values: values[0] // values[1],
    "max": max,
    "min": min,
    "nonzero": lambda values: values[0] or values[1],
    "product": lambda values: math.prod(values * (3 - len(values))),
    "sum": sum,
    "truncated_div": lambda values: int(values[0] / values[1]),
}


def number(dim: Dim, symbols: Mapping[Atom, int]) -> int:
    """What a dim is in a run. Raises KeyError for a symbol that the run does not show."""
    if isinstance(dim, int):
        return dim
    return sum(factor * math.prod(_atom(atom, symbols) for atom in monomial) for monomial, factor in dim.terms.items())


def _atom(atom: Atom, symbols: Mapping[Atom, int]) -> int:
    if atom.kind == "symbol":
        return symbols[atom]
    found = _OPERATIONS[atom.kind]([number(argument, symbols) for argument in atom.arguments])
    assert atom.low is None or found >= atom.low, atom
    return found


def bind(dims: tuple[Dim, ...], shape: tuple[int, ...], symbols: Symbols) -> None:
    """Learns the symbols that are dims by themselves."""
    for dim, size in zip(dims, shape, strict=True):
        if isinstance(dim, Expr) and len(dim.terms) == 1:
            ((monomial, factor),) = dim.terms.items()
            if factor == 1 and len(monomial) == 1 and monomial[0].kind == "symbol":
                symbols.setdefault(monomial[0], size)


def contradictions(view: View, tensors: Iterable[Tensor], arrays: Mapping[str, Array]) -> list[str]:
    """Where what was derived of tensors is not what a run has shown, in the order of the tensors."""
    symbols: Symbols = {}
    return [
        f"{tensor.name}: {problem}"
        for tensor in tensors
        if tensor.name in arrays
        for problem in _problems(view, tensor, arrays[tensor.name], symbols)
    ]


def _problems(view: View, tensor: Tensor, array: Array, symbols: Symbols) -> Iterable[str]:
    dtype, dims, value = view.dtype(tensor), view.dims(tensor), view.value(tensor)
    if dtype is not None and dtype.kind != "string" and dtype.numpy != array.dtype:
        yield f"is {array.dtype}, not {dtype}"
    if dims is None:
        return
    if len(dims) != array.ndim:
        yield f"has the shape {array.shape}, not {dims}"
        return
    bind(dims, array.shape, symbols)
    if not all(_may_be(dim, size, symbols) for dim, size in zip(dims, array.shape, strict=True)):
        yield f"has the shape {array.shape}, not {dims}"
    if value is None:
        return
    if value.shape != array.shape:
        yield f"has the shape {array.shape}, not the value {value}"
        return
    for element, actual in zip(value.elements, array.reshape(-1).tolist(), strict=True):
        if element is not None and not _may_be(element, actual, symbols):
            yield f"has the element {actual}, not {element}"


def _may_be(element: Dim | float, actual: Any, symbols: Symbols) -> bool:
    """Whether an element is the number that a run has shown, as far as the run shows its symbols."""
    try:
        return bool((number(element, symbols) if isinstance(element, Expr) else element) == actual)
    except KeyError:
        return True
