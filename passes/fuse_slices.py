"""fuse-slices: Slice nodes that take one tensor apart become one Split, behind what is done to every part."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np

from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.driver import RulePass
from maxfold.passes.nodes import operand
from maxfold.passes.rule import Decline, Match, Rule, frozen
from maxfold.passes.slices import bounds

# Before this operator set the sizes of Split were an attribute, and before the other one an input or an attribute.
_SIZES_INPUT_OPSET = 13
_SIZES_ATTRIBUTE_OPSET = 2
# Tensors with more readers are not looked at: each of them would look at all others.
_MOST_USES = 64
# Each element of the result depends on that of the input alone: to the last bit where that is exact or rounded once. In
# other functions runtimes round by the place of an element, since what is left at the end is not computed in vectors.
_PLACELESS = (
    "Abs", "Cast", "Ceil", "Floor", "LeakyRelu", "Neg", "Not", "Reciprocal", "Relu", "Round", "Sign", "Sqrt",
    "ThresholdedRelu",
)  # fmt: skip
_ELEMENTWISE = (
    *_PLACELESS, "Celu", "Cos", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "Log", "Mish", "Selu",
    "Sigmoid", "Sin", "Softplus", "Softsign", "Tanh",
)  # fmt: skip


@frozen_value
class Part:
    """A Slice along one axis in steps of 1, and the places that it takes of it."""

    node: Node
    axis: int
    start: int
    end: int


@frozen
class TakenApart:
    """Slice nodes whose parts, in this order, are the whole of a tensor along an axis."""

    source: Tensor
    parts: tuple[Part, ...]
    has_sizes_input: bool

    def apply(self, edit: Edit) -> None:
        """The results of the Split take the place of those of the Slice nodes."""
        sizes = [part.end - part.start for part in self.parts]
        attributes: dict[str, object] = {"axis": self.parts[0].axis}
        inputs = [self.source]
        before = self.parts[0].node
        if self.has_sizes_input:
            inputs.append(edit.add_constant(np.array(sizes, np.int64), like=before.outputs[0]))
        else:
            attributes["split"] = sizes
        split = edit.add_node("Split", inputs, before=before, attributes=attributes, outputs=len(sizes))
        for part, result in zip(self.parts, list(split.outputs), strict=True):
            edit.replace_uses(part.node.outputs[0], result)
            edit.remove_node(part.node)


@frozen
class DoneBefore:
    """A Split, and the equal nodes that read one part each."""

    split: Node
    readers: tuple[Node, ...]

    def apply(self, edit: Edit) -> None:
        """Makes a Split of new tensors: values of its results are others."""
        first, source = self.readers[0], self.split.inputs[0]
        done = edit.add_node(first.op, [source], before=self.split, attributes=dict(first.attrs))
        parts = edit.add_node(
            "Split", [done.outputs[0], *self.split.inputs[1:]], before=self.split, attributes=dict(self.split.attrs),
            outputs=len(self.readers),
        )  # fmt: skip
        for reader, result in zip(self.readers, list(parts.outputs), strict=True):
            edit.replace_uses(reader.outputs[0], result)
            edit.remove_node(reader)
        edit.remove_node(self.split)


@frozen
class WholeOfSlices(Rule):
    """Every Slice of a tensor along an axis is one of the parts, which do not overlap and leave nothing out.

    The size of the axis is known. Vectors of integers, which are shapes most of the time, stay as they are. Removes all
    nodes of the group but one.
    """

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Slice")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where one of the nodes or its result is to stay."""
        source, opset = operand(node, 0), view.opset(node)
        if source is None or opset is None or opset < _SIZES_ATTRIBUTE_OPSET or _is_shape(source, view):
            return None
        own = _part(node, view)
        if own is None or not 1 < view.use_count(source) <= _MOST_USES:
            return None
        siblings = [_part(other, view) for other in view.consumers(source) if other.scope is node.scope]
        parts = sorted(
            (part for part in siblings if part is not None and part.axis == own.axis), key=lambda part: part.start
        )
        if not _are_whole(parts, source, view):
            return None
        for part in parts:
            reason = "it is to be kept" if view.is_kept(part.node) else view.why_fixed(part.node.outputs[0])
            if reason is not None:
                return Decline(reason)
        return TakenApart(source, tuple(parts), opset >= _SIZES_INPUT_OPSET)


@frozen
class SameForAllParts(Rule):
    """One elementwise operator is all that reads each part of a Split: it may as well come first.

    Removes all nodes of the group but one. Functions that are not rounded once need `--math relaxed`.
    """

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Split")})
    results: ClassVar[int | None] = None

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where one of the nodes or of the tensors is to stay, and where the place of an element counts."""
        if operand(node, 0) is None or len(node.outputs) < 2 or not all(tensor.name for tensor in node.outputs):
            return None
        found = [view.only_consumer(tensor) for tensor in node.outputs]
        readers = [reader for reader in found if reader is not None]
        if len(readers) < len(found) or not _are_equal(readers, node, view):
            return None
        for reader, part in zip(readers, node.outputs, strict=True):
            fixed = view.why_fixed(part) or view.why_fixed(reader.outputs[0])
            if view.is_kept(reader) or fixed is not None:
                return Decline(fixed or "it is to be kept")
        if view.math == "exact" and not _is_placeless(readers[0], view):
            operator, gain = readers[0].op, len(readers) - 1
            return Decline(f"{operator} may round by the place of an element; only with --math relaxed", gain)
        return DoneBefore(node, tuple(readers))


def _is_placeless(node: Node, view: View) -> bool:
    """Whether the bits of an element do not depend on where it stands. Floats beyond an integer type are undefined."""
    if node.op != "Cast":
        return node.op in _PLACELESS
    types = view.dtype(node.inputs[0]), view.dtype(node.outputs[0])
    return all(dtype is not None for dtype in types) and [dtype and dtype.kind for dtype in types] not in (
        ["float", "int"], ["float", "uint"],
    )  # fmt: skip


def _are_equal(readers: Sequence[Node], split: Node, view: View) -> bool:
    first = readers[0]
    return first.op in _ELEMENTWISE and all(
        view.is_operator(reader, first.op)
        and reader.scope is split.scope
        and reader.attrs == first.attrs
        and (len(reader.inputs), len(reader.outputs)) == (1, 1)
        for reader in readers
    )


class FuseSlices(RulePass):
    """See the rules."""

    name: ClassVar[str] = "fuse-slices"
    summary: ClassVar[str] = "make one Split of the Slice nodes that take a tensor apart, behind what all parts undergo"
    mode: ClassVar[str] = "exact, more with relaxed"

    def rules(self) -> Sequence[Rule]:
        """One for each operator."""
        return (WholeOfSlices(), SameForAllParts())


def _is_shape(tensor: Tensor, view: View) -> bool:
    dtype = view.dtype(tensor)
    return view.rank(tensor) == 1 and (dtype is None or dtype.kind == "int")


def _part(node: Node, view: View) -> Part | None:
    """What a Slice takes, None if it is no Slice along one axis of known size in steps of 1."""
    source = operand(node, 0)
    if source is None or not view.is_operator(node, "Slice") or not node.outputs[0].name:
        return None
    found, shape = bounds(node, view), view.shape(source)
    if found is None or shape is None or len(found.axes) != 1 or found.steps != (1,):
        return None
    (axis,) = found.axes
    size = shape[axis] if -len(shape) <= axis < len(shape) else None
    if size is None:
        return None
    start, end, _ = slice(found.starts[0], found.ends[0]).indices(size)
    return Part(node, axis % len(shape), start, end)


def _are_whole(parts: list[Part], source: Tensor, view: View) -> bool:
    if len(parts) < 2 or parts[0].start != 0 or any(part.end <= part.start for part in parts):
        return False
    shape = view.shape(source)
    is_whole = shape is not None and parts[-1].end == shape[parts[0].axis]
    return is_whole and all(part.end == after.start for part, after in pairwise(parts))
