"""spread-scales: quantized products with equal scales do not share the product of the scales, so that each is fused.

ONNX Runtime makes one operator of MatMulInteger, Cast and Mul if nothing else reads the product of the scales. Before,
it merges equal nodes, and takes two constants of a few equal values for one, but not two larger ones.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import numpy as np

from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import growth_bytes, made_by, too_large
from maxfold.passes.operands import Growing, why_not_merged
from maxfold.passes.patterns import orders
from maxfold.passes.rule import Decline, Match, frozen, options
from maxfold.passes.targets import Target

# ONNX Runtime merges equal constants of no more elements.
_MERGED_ELEMENTS = 8


@frozen
class _Spread:
    """A node that scales a quantized product, what makes its scales, and which operand of that is to be a vector."""

    node: Node
    scales: Node
    constant: Constant
    size: int

    def apply(self, edit: Edit) -> None:
        """The node gets a product of scales of its own."""
        values = np.broadcast_to(self.constant.values.reshape(-1), (self.size,))
        vector = edit.add_constant(np.ascontiguousarray(values), like=self.constant)
        inputs = [vector if tensor is self.constant else tensor for tensor in self.scales.inputs]
        own = edit.add_node("Mul", inputs, before=self.node).outputs[0]
        shared = self.scales.outputs[0]
        edit.set_inputs(self.node, [own if tensor is shared else tensor for tensor in self.node.inputs])
        edit.remove_unused([self.scales])


@options
class SpreadScales(Growing, SingleRulePass):
    """Cast(MatMulInteger(a, b)) * (sa * sb), where something else reads sa * sb, or a product equal to it.

    Then sb, a number or a vector, is repeated for each column in a vector of its own. The same bits. Reduces the number
    of readers of products that are shared. `target`: the runtime that is to run the model; only ONNX Runtime gains.
    """

    target: Target = "any"
    name: ClassVar[str] = "spread-scales"
    summary: ClassVar[str] = "give quantized products with equal scales their own, with --target onnxruntime"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Mul")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the scale has to stay what it is, or the file would grow."""
        for product, scales in orders(node, "Mul", view) if self.target == "onnxruntime" else ():
            columns = _columns(product, view)
            maker = made_by(scales, "Mul", view)
            if columns is None or maker is None or maker.scope is not node.scope:
                continue
            found = _scales(maker, view)
            if found is None or found[1].data.shape not in ((), (1,), (columns,)):
                return None
            if not _is_shared(maker, *found, view):
                return None
            return self._spread(node, maker, found[1], columns, view)
        return None

    def _spread(self, node: Node, maker: Node, constant: Constant, columns: int, view: View) -> Match | Decline:
        dtype = constant.data.dtype
        reason = why_not_merged(constant, view) or view.why_fixed(maker.outputs[0])
        if reason is not None or dtype is None:
            return Decline(reason or f"{constant.name!r} has an element type that is not known")
        growth = growth_bytes([(dtype, (columns,))], Counter(), view)
        if growth > self.max_growth_bytes:
            return Decline(too_large(growth, self.max_growth_bytes))
        return _Spread(node, maker, constant, columns)


def _columns(product: Tensor, view: View) -> int | None:
    """How many columns a quantized product with a constant weight has, if they are enough."""
    cast = made_by(product, "Cast", view)
    maker = None if cast is None else made_by(cast.inputs[0], "MatMulInteger", view)
    weight = None if maker is None else maker.inputs[1]
    if not isinstance(weight, Constant) or len(weight.data.shape) != 2:
        return None
    columns = weight.data.shape[1]
    return columns if columns > _MERGED_ELEMENTS else None


def _scales(maker: Node, view: View) -> tuple[Tensor, Constant] | None:
    """The scale of the left operand, a single number that is computed, and the constant one of the weight."""
    for scale, constant in orders(maker, "Mul", view):
        if isinstance(constant, Constant) and not isinstance(scale, Constant) and view.shape(scale) in ((), (1,)):
            return scale, constant
    return None


def _is_shared(maker: Node, scale: Tensor, constant: Constant, view: View) -> bool:
    """Whether several nodes read the product of scales, or one that ONNX Runtime takes for the same."""
    if view.use_count(maker.outputs[0]) > 1:
        return True
    if constant.data.shape not in ((), (1,)) or view.constant(constant) is None:
        return False
    twins = (found for other in view.consumers(scale) if other is not maker and (found := _scales(other, view)))
    return any(
        left is scale and twin.data.shape == constant.data.shape and view.constant(twin) is not None
        and np.array_equal(twin.values, constant.values)
        for left, twin in twins
    )  # fmt: skip
