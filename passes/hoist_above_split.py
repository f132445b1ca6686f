"""hoist-above-split: what is done to all results of a Split, with the same constants, is done once before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass, named_results
from maxfold.passes.nodes import integer, is_same_axis, operand, other_power
from maxfold.passes.rule import Decline, Match, frozen
from maxfold.passes.slices import bounds

_BROADCASTING_OPSET = 7
_ELEMENTWISE = frozenset(("Add", "Div", "Mul", "Pow", "Sub"))


@frozen
class _Hoisted:
    """A Split, and the nodes that do the same to each of its results."""

    split: Node
    nodes: tuple[Node, ...]

    def apply(self, edit: Edit) -> None:
        """Does it once, before a new Split, since the results of the old one are others."""
        first, old = self.nodes[0], self.split
        inputs = [old.inputs[0] if tensor is old.outputs[0] else tensor for tensor in first.inputs]
        hoisted = edit.add_node(first.op, inputs, before=first, attributes=dict(first.attrs))
        inputs = [hoisted.outputs[0], *old.inputs[1:]]
        split = edit.add_node("Split", inputs, before=first, attributes=dict(old.attrs), outputs=len(self.nodes))
        for node, result in zip(self.nodes, list(split.outputs), strict=True):
            edit.replace_uses(node.outputs[0], result)
            edit.remove_node(node)
        edit.remove_unused([old])


class HoistAboveSplit(SingleRulePass):
    """An arithmetic operator with a scalar constant, or a product with itself, or a Slice along other axes.

    Removes all of these nodes but one. Where the last axis is split, powers of floats need `--math relaxed`, and those
    of integers stay.
    """

    name: ClassVar[str] = "hoist-above-split"
    summary: ClassVar[str] = "do once before a Split what is done to all its results with the same constants"
    mode: ClassVar[str] = "exact, more with relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Split")})
    results: ClassVar[int | None] = None

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where a result is a graph output or to be kept."""
        if named_results(node) != len(node.outputs) or len(node.outputs) < 2 or operand(node, 0) is None:
            return None
        readers: list[Node] = []
        for tensor in node.outputs:
            reader = _only_reader(tensor, view)
            if reader is None or reader.scope is not node.scope or not _is_same(reader, tensor, readers, node, view):
                return None
            readers.append(reader)
        for reader, tensor in zip(readers, node.outputs, strict=True):
            reason = _why_not_moved(reader, view) or view.why_fixed(tensor)
            if reason is not None:
                return Decline(reason)
        return _other_power(readers, node, view) or _Hoisted(node, tuple(readers))


def _other_power(readers: Sequence[Node], split: Node, view: View) -> Decline | None:
    """The refusal of a power; ONNX Runtime goes by whether the last axis has one element, which other axes leave."""
    rank = view.rank(split.inputs[0])
    if rank is not None and not is_same_axis(integer(split, "axis", 0), -1, rank):
        return None
    return other_power(readers[0], view, len(readers) - 1)


def _only_reader(tensor: Tensor, view: View) -> Node | None:
    """The only node that reads a tensor, which may read it twice."""
    if view.is_graph_output(tensor) or not 0 < view.use_count(tensor) <= 2:
        return None
    readers = view.consumers(tensor)
    return readers[0] if len(readers) == 1 else None


def _why_not_moved(node: Node, view: View) -> str | None:
    result = node.outputs[0]
    if view.is_graph_output(result):
        return f"{result.name!r} is a graph output"
    return f"{result.name!r} is to be kept" if view.is_kept(node) else view.why_fixed(result)


def _is_same(reader: Node, tensor: Tensor, before: Sequence[Node], split: Node, view: View) -> bool:
    """Whether a node does to a part what the readers of the parts before do to theirs, and no more than allowed."""
    opset = view.opset(reader)
    if opset is None or opset < _BROADCASTING_OPSET or named_results(reader) != 1:
        return False
    if not view.is_operator(reader, reader.op) or (before and before[0].op != reader.op):
        return False
    if reader.op == "Slice":
        return _is_same_slice(reader, tensor, before, split, view)
    if reader.op not in _ELEMENTWISE or len(reader.inputs) != 2 or reader.attrs:
        return False
    others = [item for item in reader.inputs if item is not tensor]
    # The shape is asked for as derived: a default value may be overridden by a tensor of another one.
    if any(not isinstance(item, Constant) or view.shape(item) != () for item in others):
        return False
    return not before or all(
        own is other or (own is tensor and other is split.outputs[0])
        for own, other in zip(reader.inputs, before[0].inputs, strict=True)
    )


def _is_same_slice(reader: Node, tensor: Tensor, before: Sequence[Node], split: Node, view: View) -> bool:
    """Whether a Slice is along other axes than the Split, the same as those before it."""
    rank = view.rank(tensor)
    found = bounds(reader, view) if operand(reader, 0) is tensor else None
    if rank is None or found is None or view.use_count(tensor) != 1:
        return False
    axis = integer(split, "axis", 0)
    if any(is_same_axis(own, axis, rank) for own in found.axes):
        return False
    return not before or bounds(before[0], view) == found
