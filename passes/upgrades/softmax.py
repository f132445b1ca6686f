"""Softmax, LogSoftmax and Hardmax: before version 13 they see a matrix, whose rows begin at `axis`.

Source: the specifications of versions 11 and 13.
"""

from __future__ import annotations

from collections.abc import Mapping

from maxfold.passes.upgrades.draft import Adapter, Draft, Facts, Refusal, Value, as_int64


def _softmax(draft: Draft, facts: Facts) -> None:
    """`axis` is written out, since its default changed from 1 to -1. Where more than one dimension of more than one
    element follows it, Flatten makes the matrix and Reshape undoes it."""
    axis = draft.attribute("axis", 1)
    data = draft.input(0)
    if data is None:
        raise Refusal("its input is missing")
    shape = facts.shape(data)
    if shape is not None and not -len(shape) <= axis < len(shape):
        raise Refusal(f"axis {axis} is outside its input of rank {len(shape)}")
    if axis == -1 or (shape is not None and _is_one_axis(shape, axis % len(shape))):
        draft.attributes["axis"] = axis
        return
    matrix = Draft("Flatten", [data], {"axis": axis})
    rows = Draft(draft.op, [matrix], {**draft.attributes, "axis": -1})
    if shape is not None and all(shape):
        target: Value = as_int64(shape)
        draft.attributes = {}
    elif facts.target >= 14:
        target = Draft("Shape", [data])
        draft.attributes = {"allowzero": 1}
    else:
        # A dimension of 0 that is computed would mean one of the matrix, until Reshape-14 can say otherwise.
        raise Refusal("the shape of its input is not known; it takes opset 14 or newer")
    draft.op, draft.inputs = "Reshape", [rows, target]


def _is_one_axis(shape: tuple[int | None, ...], axis: int) -> bool:
    return all(dim == 1 for dim in shape[axis + 1 :])


ADAPTERS: Mapping[tuple[str, int], Adapter] = {
    ("Hardmax", 13): _softmax,
    ("LogSoftmax", 13): _softmax,
    ("Softmax", 13): _softmax,
}
