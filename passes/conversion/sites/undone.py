"""What takes back what stands before it: not made at all, where a row has added either.

OpenVINO has sequences with the batch first, and pads in two parts, ONNX has neither. A row that turns tensors around
meets what the row of the other direction has added to the file; both stay out, so that models do not grow from one
conversion to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any

from maxfold.model.graph import Constant, Node, Tensor

_INVERSE = {"Transpose": "Transpose", "Squeeze": "Unsqueeze", "Unsqueeze": "Squeeze"}


def undone(source: Node, op: str, inputs: Sequence[Tensor], attributes: Mapping[str, Any]) -> Tensor | None:
    """The tensor that an operator would give back if it were added for a node of the source; None where it does more,
    or both it and what stands before it are those of the file."""
    if not inputs or not inputs[0].inputs:
        return None
    before = inputs[0].inputs[0]
    if source.op == op and not before.__dict__.get("is_added"):
        return None
    if op == "Concat":
        parts = list(before.outputs)
        is_whole = before.op == "Split" and len(inputs) == len(parts) and all(map(is_, inputs, parts))
        return before.inputs[0] if is_whole and _axis(before) == attributes.get("axis", 0) else None
    if op not in _INVERSE or before.op != _INVERSE[op] or len(before.outputs) != 1:
        return None
    one, other = _numbers(before.inputs, before.attrs), _numbers(inputs, attributes)
    if one is None or other is None or len(one) != len(other):
        return None
    is_inverse = one == other if op != "Transpose" else [one[place] for place in other] == list(range(len(one)))
    return before.inputs[0] if is_inverse else None


def _axis(split: Node) -> int | None:
    """The axis of a Split of ONNX (an attribute) or OpenVINO (an input)."""
    if "num_splits" not in split.attrs:
        return int(split.attrs.get("axis", 0))
    axis = split.inputs[1]
    return int(axis.values) if isinstance(axis, Constant) else None


def _numbers(inputs: Sequence[Tensor], attributes: Mapping[str, Any]) -> list[int] | None:
    """The order of a Transpose, or the axes of a Squeeze or Unsqueeze."""
    if "perm" in attributes:
        return list(attributes["perm"])
    constant = inputs[1] if len(inputs) > 1 else None
    if not isinstance(constant, Constant):
        return None
    found = [int(item) for item in constant.values.reshape(-1)]
    return found or None


def parts_of(tensor: Tensor, axis: int, count: int, size: int) -> list[Tensor] | None:
    """The parts of `size` elements each that a Concat has joined to `count` times as many; None where they may have
    other sizes."""
    before = tensor.inputs[0] if tensor.inputs else None
    if before is None or before.op != "Concat" or len(before.inputs) != count or int(before.attrs["axis"]) != axis:
        return None
    constants = [part for part in before.inputs if isinstance(part, Constant)]
    others = [part for part in before.inputs if not isinstance(part, Constant)]
    if not all(part.inputs for part in others) or any(part.shape[axis] != size for part in constants):
        return None
    # The only other part, or all parts of one Split, have the size that is left for them.
    splits = {id(part.inputs[0]): part.inputs[0] for part in others}
    is_even = all(split.op == "Split" and _axis(split) == axis for split in splits.values())
    return list(before.inputs) if len(others) <= 1 or (len(splits) == 1 and is_even) else None
