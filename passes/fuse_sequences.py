"""fuse-sequences: parts of a sequence are read without making the sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from maxfold.model.edit import Edit
from maxfold.model.errors import ModelError
from maxfold.model.graph import Node, Tensor
from maxfold.model.inference import Fact
from maxfold.model.view import View
from maxfold.passes.chains import cancelled, node_before
from maxfold.passes.driver import RulePass
from maxfold.passes.nodes import integer, is_same_axis, known_integers, operand, scalar
from maxfold.passes.rule import Decline, Match, Rule, frozen

# From this operator set on the sizes of the parts are an input of Split; before, an attribute.
_SPLIT_INPUTS_OPSET = 13
_MOST_PARTS = 1024


@frozen
class _Member:
    """SequenceAt that gives a member of a sequence that lists it."""

    node: Node
    member: Tensor
    construct: Node

    def apply(self, edit: Edit) -> None:
        """Lets everybody read the member; a graph output that cannot be the member is made of it."""
        if edit.why_not_replaceable(self.node.outputs[0], self.member) is None:
            edit.replace_uses(self.node.outputs[0], self.member)
            edit.remove_node(self.node)
        else:
            edit.become(self.node, "Identity", [self.member])
        edit.remove_unused([self.construct])


@frozen
class _Parts:
    """SplitToSequence into parts of known sizes, and the SequenceAt nodes that read it, by the part."""

    split: Node
    readers: tuple[tuple[Node, int], ...]
    sizes: tuple[int, ...]
    axis: int
    opset: int

    def apply(self, edit: Edit) -> None:
        """Makes a Split of it."""
        inputs = [self.split.inputs[0]]
        attributes: dict[str, object] = {"axis": self.axis}
        if self.opset < _SPLIT_INPUTS_OPSET:
            attributes["split"] = list(self.sizes)
        else:
            inputs.append(edit.add_constant(np.array(self.sizes, np.int64), like=self.split.outputs[0]))
        made = edit.add_node("Split", inputs, before=self.split, attributes=attributes, outputs=len(self.sizes))
        for reader, part in self.readers:
            edit.replace_results(reader, [made.outputs[part]])
        edit.remove_unused([self.split])


@frozen
class _Slices:
    """SplitToSequence into slices of one, and the SequenceAt nodes that read it, by the slice."""

    split: Node
    readers: tuple[tuple[Node, int], ...]
    axis: int
    keeps_axis: bool

    def apply(self, edit: Edit) -> None:
        """Makes a Gather of each SequenceAt: like it, it fails for a slice that there is not."""
        for reader, part in self.readers:
            place = np.array([part] if self.keeps_axis else part, np.int64)
            index = edit.add_constant(place, like=reader.outputs[0])
            edit.become(reader, "Gather", [self.split.inputs[0], index], {"axis": self.axis})
        edit.remove_unused([self.split])


@frozen
class ReadMember(Rule):
    """SequenceAt of SequenceConstruct is the member; of SplitToSequence it is a result of Split, or a Gather.

    Removes SequenceAt nodes and the sequence, for which there is one Split at most.
    """

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "SequenceAt")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the place, or the number of members, is not known, and where more than members is read."""
        made = node_before(node, ("SequenceConstruct", "SplitToSequence"), view)
        if made is None:
            return None
        if made.op == "SplitToSequence":
            return _split(made, view)
        place = _place(node, len(made.inputs), view)
        reason = view.why_fixed(node.outputs[0]) or view.why_not_settled(node)
        reason = reason or view.why_not_known({node.outputs[0]: view.ever_known(made.inputs[place])})
        return _Member(node, made.inputs[place], made) if reason is None else Decline(reason)


def _split(split: Node, view: View) -> Match | Decline:
    """The rewrite of all that reads a split at once."""
    sequence, opset = split.outputs[0], view.opset(split)
    readers = view.consumers(sequence)
    if opset is None or not all(_is_reader(item, sequence, view) for item in readers):
        return Decline(f"{sequence.name!r} is used elsewhere")
    reason = _why_not_gone(split, readers, view)
    if reason is not None:
        return Decline(reason)
    axis, keeps_axis = integer(split, "axis", 0), bool(integer(split, "keepdims", 1))
    shape = view.shape(split.inputs[0])
    if shape is not None and not -len(shape) <= axis < len(shape):
        return Decline(f"there is no axis {axis}")
    size = None if shape is None else shape[axis]
    if operand(split, 1) is None:
        dtype = view.dtype(split.inputs[0])
        if dtype is None or dtype.kind == "string":
            return Decline("ONNX Runtime gathers no more than the first string of each row")
        places = tuple((item, _place(item, size, view)) for item in readers)
        reason = _why_not_known(split, readers, axis, [1] * len(readers) if keeps_axis else [None] * len(readers), view)
        return _Slices(split, places, axis, keeps_axis) if reason is None else Decline(reason)
    sizes = _sizes(split, size, keeps_axis, view)
    if isinstance(sizes, Decline):
        return sizes
    parts = tuple((item, _place(item, len(sizes), view)) for item in readers)
    reason = _why_not_known(split, readers, axis, [sizes[part] for _, part in parts], view)
    return _Parts(split, parts, sizes, axis, opset) if reason is None else Decline(reason)


def _why_not_known(
    split: Node, readers: Sequence[Node], axis: int, sizes: Sequence[int | None], view: View
) -> str | None:
    """Why the shapes of parts had better not be known; a size of None stands for an axis that goes."""
    whole = view.ever_known(split.inputs[0])
    if whole.dims is None or not -len(whole.dims) <= axis < len(whole.dims):
        return None
    axis %= len(whole.dims)
    given: dict[Tensor, Fact] = {}
    for reader, size in zip(readers, sizes, strict=True):
        part = () if size is None else (size,)
        given[reader.outputs[0]] = Fact(whole.dtype, (*whole.dims[:axis], *part, *whole.dims[axis + 1 :]))
    return view.why_not_known(given)


def _is_reader(node: Node, sequence: Tensor, view: View) -> bool:
    return view.is_operator(node, "SequenceAt") and node.scope is sequence.scope and node.inputs[0] is sequence


def _why_not_gone(split: Node, readers: Sequence[Node], view: View) -> str | None:
    sequence = split.outputs[0]
    if view.is_graph_output(sequence):
        return f"{sequence.name!r} is a graph output"
    if view.is_kept(split):
        return f"{sequence.name!r} is to be kept"
    reasons = [view.why_fixed(sequence), *(view.why_fixed(item.outputs[0]) for item in readers)]
    reasons += [f"{item.outputs[0].name!r} is to be kept" for item in readers if view.is_kept(item)]
    reasons += [view.why_not_settled(item) for item in readers]
    return next((reason for reason in reasons if reason is not None), None)


def _place(node: Node, count: int | None, view: View) -> int:
    """Which member a node reads, from the front where their number is known. ModelError where it is not known."""
    place = scalar(operand(node, 1), view)
    if not isinstance(place, int) or isinstance(place, bool):
        raise ModelError("the place in the sequence is not known")
    if count is None:
        return place
    if not -count <= place < count:
        raise ModelError(f"there is no place {place} in a sequence of {count}")
    return place % count


def _sizes(split: Node, size: int | None, keeps_axis: bool, view: View) -> tuple[int, ...] | Decline:
    """The sizes of the parts: a list of them, or one for all, of which the last may be smaller."""
    given, rank = known_integers(operand(split, 1), view), view.rank(split.inputs[1])
    if given is None or rank is None or not given:
        return Decline("the sizes of the parts are not known")
    if rank == 1:
        if min(given) < 0 or (size is not None and sum(given) != size):
            return Decline("the sizes of the parts are not those of what is split")
        return tuple(given)
    if not keeps_axis:
        return Decline("runtimes differ in what keepdims means for parts of one size")
    part = given[0]
    if size is None or part < 1 or -(-size // part) > _MOST_PARTS:
        return Decline("the number of parts is not known, or large")
    return tuple(min(part, size - start) for start in range(0, size, part))


@frozen
class _Concatenated:
    """ConcatFromSequence and the list that it concatenates."""

    node: Node
    construct: Node
    axis: int

    def apply(self, edit: Edit) -> None:
        """Makes a Concat of it."""
        edit.become(self.node, "Concat", list(self.construct.inputs), {"axis": self.axis})
        edit.remove_unused([self.construct])


@frozen
class Concatenate(Rule):
    """ConcatFromSequence of SequenceConstruct is Concat; of SplitToSequence along the same axis it is what was split.

    Removes the sequence if unused.
    """

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "ConcatFromSequence")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where axes may differ, or shapes are known not to fit."""
        made = node_before(node, ("SequenceConstruct", "SplitToSequence"), view)
        if made is None:
            return None
        reason = view.why_not_settled(node)
        if reason is not None:
            return Decline(reason)
        if made.op == "SplitToSequence":
            return _rejoined(node, made, view)
        axis = integer(node, "axis")
        if integer(node, "new_axis", 0):
            return None
        shapes = [view.shape(tensor) for tensor in made.inputs]
        if not all(_fits(shape, shapes[0], axis) for shape in shapes):
            return Decline("the members are known not to fit together")
        reason = view.why_not_known({node.outputs[0]: _joined(made.inputs, axis, view)})
        return _Concatenated(node, made, axis) if reason is None else Decline(reason)


def _joined(members: Sequence[Tensor], axis: int, view: View) -> Fact:
    """What may be known of a Concat; members without elements, which may be of any shape, are left out."""
    dtype = view.dtype(members[0])
    shapes = [dims for dims in (view.ever_known(item).dims for item in members) if dims is not None and 0 not in dims]
    if not shapes or not -len(shapes[0]) <= axis < len(shapes[0]):
        return Fact(dtype)
    dims = [next((dim for dim in sizes if isinstance(dim, int)), None) for sizes in zip(*shapes, strict=False)]
    sizes = [shape[axis] for shape in shapes if len(shape) == len(dims)]
    is_told = len(sizes) == len(members) and all(isinstance(size, int) for size in sizes)
    dims[axis] = sum(size for size in sizes if isinstance(size, int)) if is_told else None
    return Fact(dtype, tuple(dims))


def _fits(shape: tuple[int | None, ...] | None, other: tuple[int | None, ...] | None, axis: int) -> bool:
    """Whether nothing is known against a Concat of two shapes."""
    if shape is None or other is None:
        return True
    if len(shape) != len(other) or not -len(shape) <= axis < len(shape):
        return False
    pairs = enumerate(zip(shape, other, strict=True))
    return all(None in pair or pair[0] == pair[1] for place, pair in pairs if place != axis % len(shape))


def _rejoined(node: Node, split: Node, view: View) -> Match | Decline | None:
    rank = view.rank(split.inputs[0])
    keeps_axis = bool(integer(split, "keepdims", 1))
    sizes = operand(split, 1)
    if not keeps_axis and sizes is not None and view.rank(sizes) != 1:
        return Decline("runtimes differ in what keepdims means for parts of one size")
    if bool(integer(node, "new_axis", 0)) is (keeps_axis or sizes is not None):
        return None
    is_same = is_same_axis(integer(node, "axis"), integer(split, "axis", 0), rank)
    if not is_same:
        return Decline("the rank of the tensors is not known") if is_same is None else None
    reason = view.why_not_known({node.outputs[0]: view.ever_known(split.inputs[0])})
    return cancelled(node, split, view) if reason is None else Decline(reason)


class FuseSequences(RulePass):
    """See the rules. A place that there is not in the sequence is left to fail where the model runs."""

    name: ClassVar[str] = "fuse-sequences"
    summary: ClassVar[str] = "read and concatenate the members of a sequence without making the sequence"

    def rules(self) -> Sequence[Rule]:
        """One for each operator."""
        return (ReadMember(), Concatenate())
