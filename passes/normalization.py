"""What patterns that divide by a root of a mean of squares have in common."""

from __future__ import annotations

from collections import Counter

import numpy as np

from maxfold.model.data import Array
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.view import View
from maxfold.passes.affine import why_not_weight
from maxfold.passes.nodes import growth_bytes, made_by, operand, why_not_absorbed
from maxfold.passes.operands import DEFAULT_MAX_GROWTH_BYTES
from maxfold.passes.patterns import is_type, orders
from maxfold.passes.root_mean_square import RootMeanSquare
from maxfold.passes.rule import Decline, Match, frozen

TYPES = ("FLOAT", "DOUBLE")


@frozen
class FusedNormalization:
    """The last node of a pattern becomes a normalization of `x`, which scales and shifts.

    The operators compute the statistics in float32 by default, whatever the type of `x`.
    """

    operator: str
    last: Node
    x: Tensor
    axis: int
    epsilon: float
    scale: Constant | Array
    bias: Constant | None
    inner: tuple[Node, ...]

    def apply(self, edit: Edit) -> None:
        """Rewrites the last node and removes the others."""
        scale = self.scale
        if not isinstance(scale, Constant):
            scale = edit.add_constant(scale, like=self.last.outputs[0])
        inputs = [self.x, scale] if self.bias is None else [self.x, scale, self.bias]
        edit.become(self.last, self.operator, inputs, {"axis": self.axis, "epsilon": self.epsilon})
        edit.remove_unused(self.inner)


def fused_normalization(
    operator: str, found: RootMeanSquare, x: Tensor, inner: tuple[Node, ...], view: View
) -> Match | Decline:
    """The normalization that a pattern is, with the scale behind it, and the bias where the operator has one."""
    count = found.trailing(view)
    shape = view.shape(x)
    sizes = () if count is None or shape is None else shape[-count:]
    if count is None or not sizes or not all(isinstance(size, int) and size > 0 for size in sizes):
        return Decline(f"the axes of {x.name!r} that are normalized are not known to be the last ones, of known sizes")
    dtype = view.dtype(x)
    if dtype is None or dtype.name != "FLOAT":
        # The operators compute their statistics in float32, which a pattern in another type does not.
        return Decline(f"{x.name!r} is not known to be float32")
    last, scale = found.last, None
    nodes = [*inner, *found.inner]
    half = _in_half_precision(x, last, view)
    if half is not None:
        nodes.append(last)
        x, last = half
        dtype = view.dtype(x) or dtype
    taken = _operand_behind(last, "Mul", sizes, view)
    if taken is not None:
        nodes.append(last)
        last, scale = taken
    taken = _operand_behind(last, "Add", sizes, view) if operator == "LayerNormalization" else None
    bias = None
    if taken is not None:
        nodes.append(last)
        last, bias = taken
    ones = (dtype, tuple(size for size in sizes if size is not None))
    growth = growth_bytes([ones] if scale is None else [], Counter(), view)
    if growth > DEFAULT_MAX_GROWTH_BYTES:
        return Decline(f"the file would grow by {growth} bytes, more than {DEFAULT_MAX_GROWTH_BYTES}")
    blocked = why_not_absorbed(nodes, last, view)
    if blocked is not None or view.is_kept(last):
        return Decline(blocked or f"{last.outputs[0].name!r} is to be kept")
    if view.math == "exact":
        return Decline(f"{operator} rounds differently; only with --math relaxed", relaxed_gain=len(nodes))
    taken_in = np.ones(ones[1], dtype.numpy) if scale is None else scale
    return FusedNormalization(operator, last, x, -count, found.epsilon, taken_in, bias, tuple(reversed(nodes)))


def _in_half_precision(x: Tensor, last: Node, view: View) -> tuple[Tensor, Node] | None:
    """What is widened to float32 for the statistics alone, and the Cast that makes the result as narrow again."""
    widening, narrowing = made_by(x, "Cast", view), view.only_consumer(last.outputs[0])
    source = None if widening is None else operand(widening, 0)
    if source is None or narrowing is None or narrowing.scope is not last.scope:
        return None
    if not view.is_operator(narrowing, "Cast") or not is_type(source, ("FLOAT16",), view):
        return None
    return (source, narrowing) if is_type(narrowing.outputs[0], ("FLOAT16",), view) else None


def _operand_behind(
    node: Node, operator: str, sizes: tuple[int | None, ...], view: View
) -> tuple[Node, Constant] | None:
    """The only reader, if it is that operator with a constant of exactly the normalized shape."""
    reader = view.only_consumer(node.outputs[0])
    if reader is None or reader.scope is not node.scope:
        return None
    for variable, constant in orders(reader, operator, view):
        if variable is node.outputs[0] and isinstance(constant, Constant) and constant.data.shape == sizes:
            return (reader, constant) if why_not_weight(constant, view) is None else None
    return None
