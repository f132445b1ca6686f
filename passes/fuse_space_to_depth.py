"""fuse-space-to-depth: the Concat of strided Slices of an image is SpaceToDepth, its channels in another order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from maxfold.model.computed import computed_rows, is_small
from maxfold.model.data import Array, ArrayData, TensorData
from maxfold.model.dtypes import DType
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.reading import read_rows
from maxfold.model.view import View
from maxfold.passes.affine import why_not_weight
from maxfold.passes.driver import RulePass
from maxfold.passes.nodes import growth_bytes, integer, known_integers, made_by, operand, too_large, why_not_absorbed
from maxfold.passes.operands import Growing
from maxfold.passes.rule import Decline, Match, Rule, frozen
from maxfold.passes.slices import INPUTS_OPSET, bounds

# Ends from here on stand for the end of any axis.
_OPEN_END = 2**31 - 1
_LARGEST_BLOCK = 8
# ONNX Runtime has no SpaceToDepth for other types; Slice and Concat take all.
_DTYPES = ("FLOAT", "DOUBLE")
_RELAXED = "a convolution over channels in another order rounds differently; only with --math relaxed"


@frozen
class _Gathered:
    """A Concat that becomes SpaceToDepth, followed by a Gather where `order` is not None."""

    concat: Node
    x: Tensor
    block: int
    order: Array | None
    slices: tuple[Node, ...]

    def apply(self, edit: Edit) -> None:
        """Rewrites the Concat; the Slices go."""
        attributes = {"blocksize": self.block}
        if self.order is None:
            edit.become(self.concat, "SpaceToDepth", [self.x], attributes)
        else:
            made = edit.add_node("SpaceToDepth", [self.x], before=self.concat, attributes=attributes)
            indices = edit.add_constant(self.order, like=self.concat.outputs[0])
            edit.become(self.concat, "Gather", [made.outputs[0], indices], {"axis": 1})
        edit.remove_unused(self.slices)


@frozen
class SlicesToSpaceToDepth(Rule):
    """Concat of x[:, :, i::b, j::b] over all i, j < b is SpaceToDepth(x), where that has another order with a Gather.

    Removes the Slices. Sizes that b does not divide are an error before and after: parts of different sizes.
    """

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Concat")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where a part is needed elsewhere, where the channels are not known and in another order, for sizes
        that b does not divide, and for types that SpaceToDepth may not take.
        """
        opset = view.opset(node)
        first = made_by(operand(node, 0), "Slice", view)
        block = next((size for size in range(2, _LARGEST_BLOCK + 1) if size * size == len(node.inputs)), None)
        if opset is None or opset < INPUTS_OPSET or first is None or block is None or integer(node, "axis", 0) != 1:
            return None
        x = first.inputs[0]
        shape = view.shape(x)
        if shape is None or len(shape) != 4:
            return None
        slices = [made_by(tensor, "Slice", view) for tensor in node.inputs]
        makers = [maker for maker in slices if maker is not None and maker.inputs[0] is x]
        phases = [_phase(maker, block, shape, view) for maker in makers]
        order = [row * block + column for row, column in (phase for phase in phases if phase is not None)]
        if sorted(order) != list(range(block * block)):
            return None
        dtype = view.dtype(x)
        if dtype is None or dtype.name not in _DTYPES:
            return Decline(f"{x.name!r} is not of a type that SpaceToDepth takes everywhere")
        if any(size is not None and size % block for size in shape[2:]):
            return Decline(f"height or width of {x.name!r} is no multiple of {block}")
        channels = shape[1]
        indices: Array | None = None
        if order != sorted(order):
            if channels is None:
                return Decline(f"the channels of {x.name!r} are not known, and the parts in another order")
            indices = (np.array(order, np.int64)[:, None] * channels + np.arange(channels)).reshape(-1)
        reason = why_not_absorbed(makers, node, view)
        return Decline(reason) if reason is not None else _Gathered(node, x, block, indices, tuple(makers))


def _phase(node: Node, block: int, shape: tuple[int | None, ...], view: View) -> tuple[int, int] | None:
    """The row and column that a Slice begins at, where it takes each block-th of both up to the end."""
    found = bounds(node, view)
    if found is None or sorted(axis % 4 for axis in found.axes) != [2, 3] or set(found.steps) != {block}:
        return None
    starts = {}
    for axis, start, end in zip(found.axes, found.starts, found.ends, strict=True):
        size = shape[axis % 4]
        if not 0 <= start < block or end < (_OPEN_END if size is None else size):
            return None
        starts[axis % 4] = start
    return starts[2], starts[3]


@frozen
class _Ordered:
    """A convolution that reads what a Gather reads, with its weight in that order."""

    convolution: Node
    gather: Node
    weight: TensorData

    def apply(self, edit: Edit) -> None:
        """Bypasses the Gather, which goes."""
        inputs = list(self.convolution.inputs)
        inputs[0] = self.gather.inputs[0]
        inputs[1] = edit.add_constant(self.weight, like=inputs[1])
        edit.set_inputs(self.convolution, inputs)
        edit.remove_unused([self.gather])


@frozen
class OrderedConvolution(Rule):
    """Conv over channels that a Gather puts in another order is Conv with weights in another order.

    Removes the Gather.
    """

    max_growth_bytes: int
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Conv")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines in exact mode, where the Gather is needed elsewhere, and where the file would grow."""
        gather = made_by(operand(node, 0), "Gather", view)
        weight = operand(node, 1)
        if gather is None or not isinstance(weight, Constant) or integer(node, "group", 1) != 1:
            return None
        indices = known_integers(operand(gather, 1), view)
        dtype, shape = weight.data.dtype, weight.data.shape
        if dtype is None or not _is_order(gather, indices, shape, view) or indices is None:
            return None
        reason = why_not_weight(weight, view) or why_not_absorbed([gather], node, view)
        if reason is not None:
            return Decline(reason)
        growth = growth_bytes([(dtype, shape)], Counter([weight]), view)
        if growth > self.max_growth_bytes:
            return Decline(too_large(growth, self.max_growth_bytes))
        if view.math == "exact":
            return Decline(_RELAXED, relaxed_gain=1)
        inverse = np.argsort(np.array(indices))
        return _Ordered(node, gather, _reordered(weight.data, dtype, inverse))


def _reordered(weight: TensorData, dtype: DType, order: Array) -> TensorData:
    """A weight with its second axis in another order."""

    def rows(part: slice) -> Array:
        return np.ascontiguousarray(read_rows(weight, part)[:, order])

    if is_small(dtype, weight.shape):
        return ArrayData(rows(slice(0, weight.shape[0])), dtype)
    return computed_rows(dtype, weight.shape, rows, [weight])


def _is_order(gather: Node, indices: Sequence[int] | None, shape: tuple[int, ...], view: View) -> bool:
    """Whether a Gather puts all of as many channels as a weight has in another order."""
    given = operand(gather, 1)
    source = view.shape(gather.inputs[0])
    if indices is None or given is None or source is None or view.rank(given) != 1 or len(source) != len(shape):
        return False
    if integer(gather, "axis", 0) != 1 or source[1] != shape[1]:
        return False
    return sorted(indices) == list(range(shape[1]))


class FuseSpaceToDepth(Growing, RulePass):
    """`max_growth_bytes`: how much the file may grow where weights are used elsewhere too."""

    name: ClassVar[str] = "fuse-space-to-depth"
    summary: ClassVar[str] = "make SpaceToDepth of strided Slices and Concat"
    mode: ClassVar[str] = "exact, more with relaxed"
    makes: ClassVar[frozenset[str]] = frozenset(("SpaceToDepth",))

    def rules(self) -> Sequence[Rule]:
        """The first makes what the second looks for."""
        return (SlicesToSpaceToDepth(), OrderedConvolution(self.max_growth_bytes))
