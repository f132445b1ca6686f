"""Operands of associative operators: where a tree of one operator ends, and what its constants come to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from maxfold.model.broadcast import BroadcastError, numpy_shape
from maxfold.model.computed import computed, is_small
from maxfold.model.data import Array, ArrayData, SparseData, TensorData
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.reading import read_array
from maxfold.model.records import frozen_value
from maxfold.model.storage import Region
from maxfold.model.view import View
from maxfold.passes.nodes import growth_bytes, too_large
from maxfold.passes.rule import Pass, options

# How much a file may grow for one rewrite, unless the caller says otherwise.
DEFAULT_MAX_GROWTH_BYTES = 64 * 1024

# Constants of more different shapes than this in one tree are merged with those of equal shape only.
_MAX_SHAPES = 32


@options
class Growing(Pass):
    """A pass that may make a file grow, by so much for one rewrite."""

    max_growth_bytes: int = DEFAULT_MAX_GROWTH_BYTES


def why_not_inlined(tensor: Tensor, consumer: Node, view: View) -> str | None:
    """Why the node that makes an operand cannot become part of the node that reads it, None where it can."""
    producer = view.producer(tensor)
    assert producer is not None
    if producer.scope is not consumer.scope:
        return f"{tensor.name!r} is made in another graph"
    if view.is_graph_output(tensor):
        return f"{tensor.name!r} is a graph output"
    if view.use_count(tensor) != 1:
        return f"{tensor.name!r} has {view.use_count(tensor)} uses"
    if view.is_kept(producer):
        return f"{tensor.name!r} is to be kept"
    return view.why_fixed(tensor)


def is_inner(node: Node, view: View, is_same: Callable[[Node, View], bool]) -> bool:
    """Whether a node will be looked at as part of the tree of the only node that reads it."""
    result = node.outputs[0]
    consumers = view.consumers(result) if view.is_single_use(result) else []
    return (
        len(consumers) == 1
        and is_same(consumers[0], view)
        and not view.is_kept(consumers[0])
        and why_not_inlined(result, consumers[0], view) is None
    )


@frozen_value
class MergedConstant:
    """A constant that takes the place of several: their values combined, and their places in the list merged from.

    `data` is the constant for the model, which does not keep a large value.
    """

    value: Array
    data: TensorData
    members: tuple[int, ...]


def merge_constants(
    constants: Sequence[Constant],
    uses: Counter[Constant],
    combine: Callable[[Sequence[Array]], Array],
    view: View,
    max_growth_bytes: int,
) -> tuple[list[MergedConstant], str | None]:
    """Groups of constants that may be one, where the result has no more bytes than they have.

    `uses` counts how often the tree reads each, which tells what goes from the file. Returns the groups of at least
    two and, where some could not join any, the reason.
    """
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for index, constant in enumerate(constants):
        by_shape.setdefault(constant.data.shape, []).append(index)
    groups: list[tuple[tuple[int, ...], list[int]]] = []
    for shape, members in by_shape.items():
        place = _fitting(groups, shape, members, constants)
        if place is None:
            groups.append((shape, members))
        else:
            groups[place] = (numpy_shape(groups[place][0], shape), groups[place][1] + members)
    reason = None
    if len(groups) > 1:
        shapes = " and ".join(str(list(shape)) for shape, _ in groups[:2])
        reason = f"constants of shapes {shapes} would be larger merged than they are apart"
    merged: list[MergedConstant] = []
    for shape, members in groups:
        if len(members) < 2:
            continue
        dtype = constants[0].data.dtype
        assert dtype is not None
        dying = Counter({constants[index]: uses[constants[index]] for index in members})
        growth = growth_bytes([(dtype, shape)], dying, view)
        if growth > max_growth_bytes:
            reason = f"merging constants: {too_large(growth, max_growth_bytes)}"
            continue
        merged.append(_combined([constants[index].data for index in members], combine, tuple(sorted(members))))
    return merged, reason


def _combined(
    sources: Sequence[TensorData], combine: Callable[[Sequence[Array]], Array], members: tuple[int, ...]
) -> MergedConstant:
    def compute() -> Array:
        return combine([read_array(data) for data in sources])

    value = compute()
    dtype = sources[0].dtype
    assert dtype is not None
    is_kept = dtype.is_packed or is_small(dtype, value.shape)
    data = ArrayData(value, dtype) if is_kept else computed(dtype, value.shape, compute, sources)
    return MergedConstant(value, data, members)


def _fitting(
    groups: Sequence[tuple[tuple[int, ...], list[int]]],
    shape: tuple[int, ...],
    members: Sequence[int],
    constants: Sequence[Constant],
) -> int | None:
    """The first group that constants of a shape can join without making the whole larger."""
    if len(groups) > _MAX_SHAPES:
        return None
    for place, (group_shape, group_members) in enumerate(groups):
        try:
            joined = numpy_shape(group_shape, shape)
        except BroadcastError:
            continue
        everything = {constants[index] for index in (*group_members, *members)}
        if _nbytes(joined, constants[0]) <= sum(constant.data.nbytes for constant in everything):
            return place
    return None


def _nbytes(shape: tuple[int, ...], constant: Constant) -> int:
    dtype = constant.data.dtype
    assert dtype is not None
    return dtype.nbytes(math.prod(shape))


def keeps_shape(removed: Tensor, others: Iterable[Tensor], view: View) -> bool:
    """Whether the broadcast shape of `others` is provably the same with and without a constant operand."""
    assert isinstance(removed, Constant)
    shape = removed.data.shape
    remaining = list(others)
    if not remaining:
        return False
    if not shape:
        return True
    shapes = [found for found in map(view.shape, remaining) if found is not None]
    if not any(len(other) >= len(shape) for other in shapes):
        return False
    return all(
        dim == 1 or any(len(other) >= axis and other[-axis] == dim for other in shapes)
        for axis, dim in enumerate(reversed(shape), start=1)
    )


def why_not_merged(constant: Constant, view: View) -> str | None:
    """Why the value of a constant operand may not be combined with others, None where it may."""
    if isinstance(constant.data, SparseData):
        return f"{constant.name!r} is sparse, and would be stored dense"
    return view.why_not_constant(constant)


def all_equal_bits(constant: Constant, value: object) -> bool:
    """Whether every element of a constant has the bits of `value`, for types of whole bytes.

    Reads the first element before the rest, and the rest in pieces, so that weights are not mapped.
    """
    data = constant.data
    if data.dtype is None or data.dtype.kind in ("string", "opaque") or data.dtype.is_packed:
        return False
    if isinstance(data, SparseData) or not data.nbytes:
        return False
    expected = np.asarray(value, data.dtype.numpy).tobytes()
    stored = data.value_bytes()
    if not isinstance(stored, Region):
        return stored == expected * (len(stored) // len(expected))
    if stored.source.read(stored.offset, len(expected)) != expected:
        return False
    return all(chunk == expected * (len(chunk) // len(expected)) for chunk in stored.chunks())


def all_finite(constant: Constant) -> bool:
    """Whether every element of a constant is a number other than infinity and NaN; read in pieces, not mapped."""
    data = constant.data
    if data.dtype is None or isinstance(data, SparseData):
        return False
    if data.dtype.kind != "float" or data.dtype.is_packed:
        return data.dtype.kind in ("int", "uint", "bool")
    stored = data.value_bytes()
    pieces = stored.chunks() if isinstance(stored, Region) else (stored,)
    return all(bool(np.isfinite(np.frombuffer(piece, data.dtype.numpy)).all()) for piece in pieces)
