"""fuse-convolutions: a convolution takes in the scales and shifts per channel before and behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from maxfold.model.data import Array, TensorData
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.affine import (
    AFFINE_OPERATORS,
    Affine,
    Channels,
    Factor,
    affine,
    composed,
    pieces,
    rounded,
    scaled,
    uses_of,
    why_not_weight,
)
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import growth_bytes, integer, integers, operand, text, too_large, why_not_absorbed
from maxfold.passes.operands import Growing
from maxfold.passes.rule import Decline, Match, frozen

_RELAXED = "weights that take in a scale or a shift round differently; only with --math relaxed"


@frozen
class FusedConvolution:
    """The nodes of a pattern, its last one first to become the convolution, and the new weight and bias."""

    last: Node
    convolution: Node
    removed: tuple[Node, ...]
    x: Tensor
    weight: TensorData | None
    bias: Array | None

    def apply(self, edit: Edit) -> None:
        """Makes the last node the convolution; the others go."""
        source = self.convolution
        weight: Tensor = source.inputs[1]
        inputs = [self.x, weight]
        if self.weight is not None:
            inputs[1] = edit.add_constant(self.weight, like=weight)
        if self.bias is not None:
            inputs.append(edit.add_constant(self.bias, like=self.last.outputs[0]))
        else:
            inputs += source.inputs[2:]
        edit.become(self.last, source.op, inputs, dict(source.attrs))
        edit.remove_unused(self.removed)


@frozen_value
class _Convolution:
    """A convolution with a constant weight of shape [M, C/group, ...], or [C, M/group, ...] where transposed."""

    node: Node
    weight: Constant
    bias: Constant | None
    group: int

    @property
    def is_transposed(self) -> bool:
        return self.node.op == "ConvTranspose"

    @property
    def rank(self) -> int:
        return len(self.weight.data.shape)

    @property
    def channels_in(self) -> int:
        first, second = self.weight.data.shape[:2]
        return first if self.is_transposed else second * self.group

    @property
    def channels_out(self) -> int:
        first, second = self.weight.data.shape[:2]
        return second * self.group if self.is_transposed else first

    def factor(self, scale_in: Array, scale_out: Array) -> Factor:
        """What rows of the weight are multiplied by: scales of input and output channels, in the weight's rank."""
        ones = (1,) * (self.rank - 2)
        by_row, by_column = (scale_in, scale_out) if self.is_transposed else (scale_out, scale_in)
        columns = by_column.reshape(self.group, -1)
        rows_per_group = self.weight.data.shape[0] // self.group

        def rows(part: slice) -> Array:
            groups = np.arange(part.start, part.stop) // rows_per_group
            table: Array = by_row[part, None] * columns[groups]
            return table.reshape(*table.shape, *ones)

        return rows

    def summed(self, *, by_input: bool) -> tuple[int, ...]:
        """The axes of the weight whose products are added up, input channels left out where each has its own scale."""
        places = tuple(range(2, self.rank))
        return places if by_input else (0 if self.is_transposed else 1, *places)

    def response(self, level: Array, view: View) -> Array:
        """What an input that is `level` everywhere in each channel gives in each output channel, without pads."""
        weight = self.weight.data
        sums = np.empty(weight.shape[:2])
        for part, values in pieces(weight, view):
            sums[part] = values.reshape(*values.shape[:2], -1).sum(axis=2)
        grouped = sums.reshape(self.group, -1, weight.shape[1])
        result: Array = np.einsum("goi,gi->go", grouped, level.reshape(self.group, -1)).reshape(-1)
        return result


def _convolution(node: Node, view: View) -> _Convolution | str | None:
    weight, bias = operand(node, 1), operand(node, 2)
    if not isinstance(weight, Constant):
        return None
    reason = why_not_weight(weight, view)
    if reason is not None:
        return reason
    group = integer(node, "group", 1)
    shape = weight.data.shape
    if len(shape) < 3 or group < 1 or not math.prod(shape) or shape[0] % group:
        return None
    if bias is not None and not isinstance(bias, Constant):
        return f"the bias {bias.name!r} is not constant"
    if bias is not None:
        reason = why_not_weight(bias, view)
        if reason is not None:
            return reason
    found = _Convolution(node, weight, bias, group)
    return None if bias is not None and bias.data.shape != (found.channels_out,) else found


class FuseConvolutions(Growing, SingleRulePass):
    """Conv and ConvTranspose take in BatchNormalization and Mul, Div, Add, Sub by one constant a channel.

    Removes the nodes that scale and shift. A scale before the convolution goes into the weights of its input
    channel; a shift before it goes where no pad is added, so that it reaches all positions alike.
    `max_growth_bytes`: how much the file may grow where the weights are used elsewhere too.
    """

    name: ClassVar[str] = "fuse-convolutions"
    summary: ClassVar[str] = "let convolutions take in scales and shifts per channel and BatchNormalization"
    mode: ClassVar[str] = "relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Conv"), ("", "ConvTranspose")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where weights are not constant, a result is needed elsewhere, values overflow, or the file grows."""
        if not _neighbours(node, view):
            return None
        convolution = _convolution(node, view)
        if convolution is None or isinstance(convolution, str):
            return None if convolution is None else Decline(convolution)
        after, why_not_after = _steps_after(convolution, view)
        before, why_not_before = _steps_before(convolution, view)
        reason = why_not_after or why_not_before
        if not after and not before:
            return None if reason is None else Decline(reason)
        return self._fused(convolution, before, after, view)

    def _fused(
        self, convolution: _Convolution, before: Sequence[Affine], after: Sequence[Affine], view: View
    ) -> Match | Decline:
        node, weight = convolution.node, convolution.weight
        steps = [*before, *after]
        dtype = weight.data.dtype
        assert dtype is not None
        scales = any(step.scales for step in steps)
        shifts = any(step.shifts for step in steps) or (scales and convolution.bias is not None)
        made = [(dtype, weight.data.shape)] if scales else []
        made += [(dtype, (convolution.channels_out,))] if shifts else []
        growth = growth_bytes(made, uses_of(steps, [weight if scales else None, convolution.bias]), view)
        if growth > self.max_growth_bytes:
            return Decline(too_large(growth, self.max_growth_bytes))
        if view.math == "exact":
            return Decline(_RELAXED, relaxed_gain=len(steps))
        scale_in, shift_in = composed(before, convolution.channels_in)
        scale_out, shift_out = composed(after, convolution.channels_out)
        new_weight = new_bias = None
        with np.errstate(all="ignore"):
            if scales:
                by_input = any(step.scales for step in before)
                factor = convolution.factor(scale_in, scale_out)
                summed = convolution.summed(by_input=by_input)
                new_weight = scaled(weight.data, factor, summed, is_supposed=view.supposes_weights)
            if shifts:
                total = np.zeros(convolution.channels_out)
                if convolution.bias is not None:
                    total = total + convolution.bias.values.astype(np.float64)
                if any(step.shifts for step in before):
                    total = total + convolution.response(shift_in, view)
                new_bias = rounded(total * scale_out + shift_out, dtype.numpy)
        if (scales and new_weight is None) or (shifts and new_bias is None):
            return Decline("the new weights would not be finite, or too small for their type")
        last = after[-1].node if after else node
        inner = tuple(item for item in (node, *(step.node for step in steps)) if item is not last)
        x = before[0].variable if before else node.inputs[0]
        return FusedConvolution(last, node, inner, x, new_weight, new_bias)


def _neighbours(node: Node, view: View) -> bool:
    """Whether anything beside a convolution scales or shifts; asked first, since most convolutions have nothing."""
    maker = None if operand(node, 0) is None else view.producer(node.inputs[0])
    if maker is not None and maker.op in AFFINE_OPERATORS:
        return True
    return any(consumer.op in AFFINE_OPERATORS for consumer in node.outputs[0].outputs[:8])


def _steps_after(convolution: _Convolution, view: View) -> tuple[list[Affine], str | None]:
    """The affine nodes behind a convolution in their order, and why no more follow."""
    channels = Channels(convolution.channels_out, convolution.rank - 1, convolution.rank)
    found: list[Affine] = []
    tail = convolution.node
    while True:
        reader = view.only_consumer(tail.outputs[0])
        if reader is None:
            return found, _why_shared(tail, channels, view)
        step = affine(reader, channels, view)
        if step is None or isinstance(step, str):
            return found, step
        if step.variable is not tail.outputs[0]:
            return found, None
        if view.is_kept(reader):
            return found, f"{reader.outputs[0].name!r} is to be kept"
        reason = why_not_absorbed([convolution.node, *(item.node for item in found)], reader, view)
        if reason is not None:
            return found, reason
        found.append(step)
        tail = reader


def _why_shared(tail: Node, channels: Channels, view: View) -> str | None:
    """Why the result of a node that several read stays, where one of them could be taken in."""
    result = tail.outputs[0]
    readers = view.consumers(result)
    if not any(isinstance(affine(reader, channels, view), Affine) for reader in readers[:8]):
        return None
    return f"{result.name!r} is {'a graph output' if view.is_graph_output(result) else 'used elsewhere'}"


def _steps_before(convolution: _Convolution, view: View) -> tuple[list[Affine], str | None]:
    """The affine nodes before a convolution in their order, and why there are no more."""
    channels = Channels(convolution.channels_in, convolution.rank - 1, convolution.rank)
    found: list[Affine] = []
    x = convolution.node.inputs[0]
    while True:
        maker = view.producer(x)
        step = None if maker is None else affine(maker, channels, view)
        if step is None or isinstance(step, str):
            return found, step
        reason = _why_not_before(step, convolution, channels, view)
        if reason is None:
            reason = why_not_absorbed([step.node, *(item.node for item in found)], convolution.node, view)
        if reason is not None:
            return found, reason
        found.insert(0, step)
        x = step.variable


def _why_not_before(step: Affine, convolution: _Convolution, channels: Channels, view: View) -> str | None:
    if step.shifts and convolution.is_transposed:
        return "a shift before ConvTranspose does not reach all positions alike"
    if step.shifts and not _is_unpadded(convolution):
        return "a shift before a convolution with pads does not reach all positions alike"
    if step.node.op in ("BatchNormalization", "Neg"):
        return None
    shape = view.shape(step.variable)
    if shape is None or len(shape) != channels.rank or shape[1] != channels.size:
        return f"{step.variable.name!r} is not known to have {channels.size} channels"
    return None


def _is_unpadded(convolution: _Convolution) -> bool:
    node = convolution.node
    auto_pad = text(node, "auto_pad", "NOTSET")
    if auto_pad == "NOTSET":
        return not any(integers(node, "pads", []))
    # SAME pads nothing where the kernel is one element.
    return auto_pad == "VALID" or all(dim == 1 for dim in convolution.weight.data.shape[2:])
