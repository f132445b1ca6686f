"""Attributes that became inputs: axes, lengths, shapes, limits.

Source: the operators' specifications, the versions named in `ADAPTERS`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from maxfold.model.data import Array
from maxfold.passes.upgrades.draft import Adapter, Draft, Facts, Refusal, as_int64

_LOWEST, _HIGHEST = float(np.finfo(np.float32).min), float(np.finfo(np.float32).max)


def _axes(draft: Draft, facts: Facts) -> None:
    """Squeeze, Unsqueeze and the reductions: absent axes are all of them before and after.

    The specifications leave open what an empty list meant; the new ones say "all" (Squeeze: nothing).
    """
    axes = draft.take("axes")
    if axes is None:
        return
    if not axes and draft.op != "Unsqueeze":
        raise Refusal("attribute 'axes' is an empty list, whose meaning was not specified")
    draft.set_input(1, as_int64(axes))


def _slice(draft: Draft, facts: Facts) -> None:
    """Axes are written out: where they were absent, the first ones were meant, as many as there are starts."""
    starts, ends = draft.take("starts"), draft.take("ends")
    if starts is None or ends is None or len(starts) != len(ends):
        raise Refusal("attributes 'starts' and 'ends' are missing or of different lengths")
    axes = draft.take("axes", list(range(len(starts))))
    for index, values in enumerate((starts, ends, axes), start=1):
        draft.set_input(index, as_int64(values))


def _split(draft: Draft, facts: Facts) -> None:
    lengths = draft.take("split")
    if lengths is not None:
        draft.set_input(1, as_int64(lengths))


def _split_count(draft: Draft, facts: Facts) -> None:
    """Version 18 wants the number of equal parts where no lengths are given."""
    if draft.input(1) is None and draft.node is not None:
        draft.attributes["num_outputs"] = len(draft.node.outputs)


def _reshape(draft: Draft, facts: Facts) -> None:
    draft.take("consumed_inputs")
    shape = draft.take("shape")
    if shape is None:
        raise Refusal("attribute 'shape' is missing")
    draft.set_input(1, as_int64(shape))


def _top_k(draft: Draft, facts: Facts) -> None:
    count = draft.take("k")
    if count is None:
        raise Refusal("attribute 'k' is missing")
    draft.set_input(1, as_int64([count]))


def _pad(draft: Draft, facts: Facts) -> None:
    pads, value = draft.take("pads"), draft.take("value", 0.0)
    if pads is None:
        raise Refusal("attribute 'pads' is missing")
    draft.set_input(1, as_int64(pads))
    # Plus zero is what an absent value means; minus zero has to be written.
    if draft.attribute("mode", "constant") == "constant" and np.float32(value).tobytes() != bytes(4):
        draft.set_input(2, _scalar(draft, facts, value))


def _paddings(draft: Draft, facts: Facts) -> None:
    """The text of version 1 has one order of its numbers, and its example another: they may have to be the same."""
    paddings = draft.take("paddings")
    if paddings is None:
        raise Refusal("attribute 'paddings' is missing")
    if list(paddings[::2]) + list(paddings[1::2]) != list(paddings):
        raise Refusal("the order of its paddings was not clear")
    draft.attributes["pads"] = paddings


def _tile(draft: Draft, facts: Facts) -> None:
    """The number of repetitions of one axis, and the axis, were two numbers of the type of the input."""
    tiles, axis = (facts.constant(draft.input(index)) for index in (1, 2))
    rank = facts.rank(draft.input(0))
    if tiles is None or axis is None or rank is None:
        raise Refusal("its number of repetitions and its axis are not constant, or its rank is not known")
    count, place = (_whole(values) for values in (tiles, axis))
    if count < 0 or not -rank <= place < rank:
        raise Refusal("its number of repetitions is negative, or its axis is outside its input")
    repeats = [1] * rank
    repeats[place] = count
    draft.inputs = [draft.input(0), as_int64(repeats)]


def _whole(values: Array) -> int:
    """One number, of whatever type."""
    if values.size != 1 or values.dtype.kind not in "biuf" or values.item() != int(values.item()):
        raise Refusal("its number of repetitions or its axis is not one whole number")
    return int(values.item())


def _clip(draft: Draft, facts: Facts) -> None:
    """Absent limits were the lowest and the highest float32, and are those of the element type from 11 on."""
    dtype = facts.dtype(draft.input(0))
    is_float32 = dtype is not None and dtype.name == "FLOAT"
    for index, (name, default) in enumerate((("min", _LOWEST), ("max", _HIGHEST)), start=1):
        value = draft.take(name)
        if value is not None or not is_float32:
            draft.set_input(index, _scalar(draft, facts, default if value is None else value))


def _scalar(draft: Draft, facts: Facts, value: float) -> Array:
    """A float attribute as a scalar of the first input's type."""
    dtype = facts.dtype(draft.input(0))
    if dtype is None or dtype.kind != "float":
        raise Refusal("the element type of its input is not known")
    with np.errstate(over="ignore"):
        return np.array(np.float32(value), np.float32).astype(dtype.numpy)


def _dft(draft: Draft, facts: Facts) -> None:
    """The default axis changed from 1 to -2, so it is written out."""
    draft.set_input(2, as_int64(draft.take("axis", 1)))


def _dropout(draft: Draft, facts: Facts) -> None:
    """A Dropout that says nothing of training runs in inference mode, as all of them did before version 12.

    What the mask is in that mode was not specified before.
    """
    if facts.is_used(draft, 1):
        raise Refusal("its mask is used")
    ratio = draft.take("ratio")
    if ratio is not None:
        draft.set_input(1, np.array(ratio, np.float32))


_REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSumSquare",
)  # fmt: skip

ADAPTERS: Mapping[tuple[str, int], Adapter] = {
    ("Clip", 11): _clip,
    ("DFT", 20): _dft,
    ("Dropout", 12): _dropout,
    ("Pad", 2): _paddings,
    ("Pad", 11): _pad,
    ("ReduceSum", 13): _axes,
    **{(operator, 18): _axes for operator in _REDUCTIONS},
    ("Reshape", 5): _reshape,
    ("Slice", 10): _slice,
    ("Split", 13): _split,
    ("Split", 18): _split_count,
    ("Squeeze", 13): _axes,
    ("Tile", 6): _tile,
    ("TopK", 10): _top_k,
    ("Unsqueeze", 13): _axes,
}
