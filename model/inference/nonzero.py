"""Dimensions that are not 0 in any run that succeeds.

A Reshape with -1 in its target divides by the other dimensions: the specification leaves open what it does where one of
them is 0, and runtimes refuse. So a model that does it for every input cannot be run with an empty batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING

from maxfold.model.graph import Node
from maxfold.model.inference.facts import Element
from maxfold.model.inference.symbolic import Atom, Dim, Expr

if TYPE_CHECKING:
    from maxfold.model.view import View


def nonzero_atoms(view: View) -> frozenset[Atom]:
    """The factors that the Reshape nodes of the main graph, which always run, show not to be 0."""
    found: set[Atom] = set()
    for node in view.model.graph.nodes if view.model.format == "onnx" else ():
        if node.op == "Reshape" and view.is_live(node) and view.is_operator(node, "Reshape") and len(node.inputs) == 2:
            value, dims = view.value(node.inputs[1]), view.dims(node.outputs[0])
            if value is not None and dims is not None:
                found |= nonzero_factors(node, value.elements, dims)
    return frozenset(found)


def nonzero_factors(node: Node, target: Sequence[Element], dims: Sequence[Dim | None]) -> set[Atom]:
    """The factors that a Reshape shows not to be 0, from its target and the dims of its result.

    A computed element that a run makes 0 copies a dim: what is not 0 are the dims, and not the elements.
    """
    if -1 not in target or len(target) != len(dims) or node.attrs.get("allowzero", 0) != 0:
        return set()
    kept = (dim for element, dim in zip(target, dims, strict=True) if element != -1)
    return {factor for dim in kept for factor in _factors(dim)}


def is_nonzero(dim: Dim, atoms: Set[Atom]) -> bool:
    """Whether a dimension is a number other than 0, or a product of nonzero factors."""
    if isinstance(dim, int):
        return dim != 0
    factors = list(_factors(dim))
    return bool(factors) and all(factor in atoms for factor in factors)


def _factors(dim: object) -> Iterator[Atom]:
    """The factors of a single product; nothing for a sum, of which none has to be other than 0."""
    if isinstance(dim, Expr) and len(dim.terms) == 1:
        yield from next(iter(dim.terms))
