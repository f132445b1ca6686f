"""trim-scales: scales and biases of normalizations are vectors, as ONNX Runtime asks for to fuse them."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import growth_bytes
from maxfold.passes.operands import DEFAULT_MAX_GROWTH_BYTES, why_not_merged
from maxfold.passes.rule import Decline, Match, frozen
from maxfold.passes.runtime_patterns import NORMALIZATIONS, pattern_of


@frozen
class _Trimmed:
    """A node that scales or shifts, and which of its operands becomes a vector."""

    node: Node
    place: int
    constant: Constant

    def apply(self, edit: Edit) -> None:
        """Puts the vector in the place of the constant."""
        inputs = list(self.node.inputs)
        inputs[self.place] = edit.add_constant(self.constant.values.reshape(-1), like=self.constant)
        edit.set_inputs(self.node, inputs)


class TrimScales(SingleRulePass):
    """A constant [1, ..., n] that scales or shifts a normalization is [n], where its rank does not make the result's.

    Reduces the number of axes of constants. The same bits: leading axes of size 1 only broadcast.
    """

    name: ClassVar[str] = "trim-scales"
    summary: ClassVar[str] = "make vectors of the scales and biases of normalizations"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Add"), ("", "Mul")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the constant has to stay what it is, or the file would grow."""
        if pattern_of(node, view) not in NORMALIZATIONS or len(node.inputs) != 2:
            return None
        for place, (constant, other) in enumerate((node.inputs, node.inputs[::-1])):
            if not isinstance(constant, Constant) or isinstance(other, Constant):
                continue
            shape, dtype, rank = constant.data.shape, constant.data.dtype, view.rank(other)
            if dtype is None or rank is None or not 1 < len(shape) <= rank or any(dim != 1 for dim in shape[:-1]):
                return None
            if shape[-1] == 1:
                return None
            reason = why_not_merged(constant, view) or view.why_fixed(node.outputs[0])
            if reason is not None:
                return Decline(reason)
            growth = growth_bytes([(dtype, shape)], Counter([constant]), view)
            if growth > DEFAULT_MAX_GROWTH_BYTES:
                return Decline(f"the file would grow by {growth} bytes, more than {DEFAULT_MAX_GROWTH_BYTES}")
            return _Trimmed(node, place, constant)
        return None
