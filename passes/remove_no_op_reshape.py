"""remove-no-op-reshape: what gives a tensor the dimensions that it has gives the tensor."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.chains import cancelled, node_before
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import bypassed, operand
from maxfold.passes.rule import Decline, Match

# These keep the order of the elements and their number.
RESHAPING = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")


class RemoveNoOpReshape(SingleRulePass):
    """Reshape, Flatten, Squeeze, Unsqueeze, Expand and Tile that keep every dimension; of the first four also two in
    a row of which the second undoes the first.

    Dimensions are compared as derived, symbolic ones too. Tile keeps a dimension if it repeats once, or there is
    nothing to repeat. Removes one node.
    """

    name: ClassVar[str] = "remove-no-op-reshape"
    summary: ClassVar[str] = "remove reshapes, Expand and Tile that keep every dimension"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset(("", name) for name in (*RESHAPING, "Expand", "Tile"))

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the input cannot take the result's place."""
        source = operand(node, 0)
        if source is None:
            return None
        if has_dims_of(node.outputs[0], source, view):
            return bypassed(node, source, view)
        inner = node_before(node, RESHAPING, view) if node.op in RESHAPING else None
        if inner is None or not has_dims_of(node.outputs[0], inner.inputs[0], view):
            return None
        return cancelled(node, inner, view)


def has_dims_of(result: Tensor, source: Tensor, view: View) -> bool:
    """Whether two tensors have the same dimensions in every run."""
    dims = view.dims(result)
    return dims is not None and dims == view.dims(source)
