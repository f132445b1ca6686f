"""settle-reshapes: a computed target of Reshape becomes a constant with 0 and -1 where that says the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.inference.facts import Element
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.hoist_transposes import why_norm_is_lost
from maxfold.passes.nodes import integer, operand, why_not_absorbed, why_not_target
from maxfold.passes.reshape_targets import settled_target
from maxfold.passes.rule import Decline, Match, frozen

# From this operator set on the target is an input.
_TARGET_INPUT_OPSET = 5
_RESHAPING = ("Flatten", "Reshape", "Squeeze", "Unsqueeze")
# How many reshapes are looked through.
_MOST_RESHAPES = 8


@frozen
class ConstantTarget:
    """A Reshape, what it reads from now on, and its target."""

    node: Node
    data: Tensor
    target: tuple[int, ...]

    def apply(self, edit: Edit) -> None:
        """Puts the constant in the place of the computed target, whose nodes go if nothing else needs them."""
        producers = [maker for tensor in self.node.inputs for maker in tensor.inputs]
        target = edit.add_constant(np.array(self.target, np.int64), like=self.node.outputs[0])
        edit.set_inputs(self.node, [self.data, target])
        # A 0 copies a dimension from now on; a computed one that was 0 did so too, or had the same size.
        edit.set_attribute(self.node, "allowzero", None)
        edit.remove_unused(producers)


class SettleReshapes(SingleRulePass):
    """An element that always equals the data's dimension in its place is 0, one element that is left is -1.

    Exact for empty tensors too: -1 is used only beside dimensions that are never 0, or where it stood before. Reduces
    the number of computed targets.
    """

    name: ClassVar[str] = "settle-reshapes"
    summary: ClassVar[str] = "give Reshape a constant target where its computed one says no more"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Reshape")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where two elements or more are neither known nor copied from the data."""
        opset = view.opset(node)
        data, target = operand(node, 0), operand(node, 1)
        if opset is None or opset < _TARGET_INPUT_OPSET or data is None or target is None:
            return None
        if len(node.inputs) != 2:
            return None
        direct = self._through(node, view)
        if direct is not None or isinstance(target, Constant):
            return direct
        value = view.value(target)
        dims = view.dims(target)
        if value is None:
            elements: Sequence[Element] | None = None
            if dims is not None and len(dims) == 1 and isinstance(dims[0], int):
                elements = [None] * dims[0]
        else:
            elements = value.elements
        if elements is None:
            return Decline("how many dimensions its target has is not known")
        is_zero_allowed = integer(node, "allowzero", 0) == 1
        settled = settled_target(
            elements, view.dims(data), view.dims(node.outputs[0]), view, is_zero_allowed=is_zero_allowed
        )
        if settled is None:
            return Decline("its target has more than one element that is neither known nor copied from the data")
        reason = view.why_fixed(node.outputs[0]) or view.why_not_settled(node)
        reason = reason or why_not_target(node, data, settled, view) or why_norm_is_lost(node, view)
        return ConstantTarget(node, data, settled) if reason is None else Decline(reason)

    def _through(self, node: Node, view: View) -> Match | None:
        """Reads what reshapes before this one read, where the result's dimensions can be told from there."""
        # What asks for the shapes of a whole model comes last.
        chain = list(_before(node, view))
        result = view.dims(node.outputs[0]) if chain else None
        if result is None or 0 in result or view.why_fixed(node.outputs[0]) or view.why_not_settled(node):
            return None
        for data in reversed(chain):
            settled = settled_target(result, view.dims(data), result, view)
            if settled is not None and why_not_target(node, data, settled, view) is None:
                return ConstantTarget(node, data, settled)
        return None


def _before(node: Node, view: View) -> Iterator[Tensor]:
    """What a chain of reshapes that only this one needs begins with, the nearest first."""
    for _ in range(_MOST_RESHAPES):
        inner = view.producer(node.inputs[0])
        if inner is None or not any(view.is_operator(inner, operator) for operator in _RESHAPING):
            return
        if not inner.inputs or inner.inputs[0].scope is not node.scope or why_not_absorbed([inner], node, view):
            return
        yield inner.inputs[0]
        node = inner
