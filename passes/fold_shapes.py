"""fold-shapes: integers that follow from shapes, whatever the model is run with, become constants."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from maxfold.model.data import Array
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node
from maxfold.model.inference import PartialValue
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.rule import Decline, Match, frozen

# Operators that shape arithmetic is made of; values of others are not followed.
VALUE_OPERATORS = frozenset(
    ("", operator)
    for operator in (
        "Abs", "Add", "And", "Cast", "Concat", "ConstantOfShape", "Div", "Equal", "Expand", "Flatten", "Gather",
        "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Max", "Min", "Mod", "Mul", "Neg", "Not",
        "Or", "Range", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum", "Reshape", "ScatterElements", "ScatterND",
        "Shape", "Size", "Slice", "Split", "Squeeze", "Sub", "Tile", "Unsqueeze", "Where", "Xor",
    )
)  # fmt: skip


@frozen
class KnownResult:
    """A node whose only result is known."""

    node: Node
    value: Array

    def apply(self, edit: Edit) -> None:
        """Puts the value in the place of the node."""
        edit.fold(self.node, [self.value])


class FoldShapes(SingleRulePass):
    """Shape of a tensor of known shape, a dimension of it, a comparison of ranks, what is computed from these.

    Removes one node a match; the value has at most as many elements as inference follows (256).
    """

    name: ClassVar[str] = "fold-shapes"
    summary: ClassVar[str] = "replace what is computed from known shapes by its value"
    operators: ClassVar[frozenset[tuple[str, str]]] = VALUE_OPERATORS

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """None where a value is not wholly known; declines where the result has to stay what it is."""
        if all(isinstance(tensor, Constant) for tensor in node.inputs):
            return None
        result = node.outputs[0]
        dtype, value = view.dtype(result), view.value(result)
        if dtype is None or value is None or dtype.kind not in ("int", "uint", "bool") or dtype.is_packed:
            return None
        array = _array(value, dtype.numpy)
        if array is None:
            return None
        reason = view.why_fixed(result) or view.why_not_settled(node)
        return KnownResult(node, array) if reason is None else Decline(reason)


def _array(value: PartialValue, dtype: np.dtype[np.generic]) -> Array | None:
    if not all(isinstance(element, (bool, int)) for element in value.elements):
        return None
    if dtype.kind in "iu":
        limits = np.iinfo(dtype.name)
        if not all(limits.min <= element <= limits.max for element in value.elements):  # type: ignore[operator]
            return None
    return np.array(value.elements, dtype).reshape(value.shape)
