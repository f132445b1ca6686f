"""What patterns that divide by a root of a mean of squares have in common."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from maxfold.model.data import Array
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.view import View
from maxfold.passes.affine import why_not_weight
from maxfold.passes.nodes import axes, growth_bytes, integer, made_by, operand, why_not_absorbed
from maxfold.passes.operands import DEFAULT_MAX_GROWTH_BYTES
from maxfold.passes.patterns import orders, scalar_maker, scalar_step
from maxfold.passes.rule import Decline, Match, frozen

TYPES = ("FLOAT", "DOUBLE")


@dataclass(frozen=True, slots=True)
class RootMeanSquare:
    """d / Sqrt(ReduceMean(d * d, axes) + epsilon), which `last` computes; `mean` and `plus` are nodes of it."""

    d: Tensor
    axes: tuple[int, ...]
    epsilon: float
    last: Node
    mean: Node
    plus: Node
    inner: tuple[Node, ...]

    def trailing(self, view: View) -> int | None:
        """How many axes it is along if these are the last ones, None where they are not known to be."""
        rank = view.rank(self.d)
        if rank is None:
            return None
        places = sorted(axis % rank for axis in self.axes if -rank <= axis < rank)
        count = len(self.axes)
        return count if places == list(range(rank - count, rank)) else None


def root_mean_square(node: Node, view: View) -> RootMeanSquare | None:
    """A Div, or a Mul by an inverse, as the end of such a pattern."""
    if view.is_operator(node, "Div") and len(node.inputs) == 2:
        return _of(node, node.inputs[0], node.inputs[1], (), view)
    for d, inverse in orders(node, "Mul", view):
        maker = made_by(inverse, "Reciprocal", view)
        root = None if maker is None else operand(maker, 0)
        if maker is None:
            step = scalar_step(made_by(inverse, "Div", view), "Div", view)
            if step is None or not step.is_left or step.value != 1:
                continue
            maker, root = step.node, step.variable
        found = None if root is None else _of(node, d, root, (maker,), view)
        if found is not None:
            return found
    return None


def _of(last: Node, d: Tensor, root: Tensor, inner: tuple[Node, ...], view: View) -> RootMeanSquare | None:
    sqrt = made_by(root, "Sqrt", view)
    plus = None if sqrt is None else scalar_maker(sqrt.inputs[0], "Add", view)
    mean = None if plus is None else made_by(plus.variable, "ReduceMean", view)
    if sqrt is None or plus is None or mean is None or integer(mean, "keepdims", 1) != 1:
        return None
    square = view.producer(mean.inputs[0])
    places = axes(mean, 1, view)
    if square is None or not places or not _is_square(square, d, view):
        return None
    return RootMeanSquare(
        d, tuple(places), plus.value, last, mean, plus.node, (*inner, sqrt, plus.node, mean, square)
    )  # fmt: skip


def _is_square(node: Node, d: Tensor, view: View) -> bool:
    power = scalar_step(node, "Pow", view)
    if power is not None:
        return power.variable is d and power.value == 2 and not power.is_left
    return view.is_operator(node, "Mul") and list(node.inputs) == [d, d]


@frozen
class FusedNormalization:
    """The last node of a pattern becomes a normalization of `x`, which scales and shifts."""

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
        # The operators compute their statistics in float32, whatever the type.
        return Decline(f"{x.name!r} is not known to be float32")
    last, scale = found.last, None
    nodes = [*inner, *found.inner]
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
