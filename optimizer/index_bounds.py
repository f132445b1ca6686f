"""How large integers that a model is fed may be: those that are indices stay inside of what they index."""

from __future__ import annotations

from collections.abc import Iterator

from maxfold.model import Model
from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.nodes import integer, known_integers, operand

# Operators that leave each integer what it is.
_MOVING = frozenset((
    "Cast", "Convert", "Expand", "Flatten", "Identity", "Reshape", "Slice", "Split", "Squeeze", "StridedSlice", "Tile",
    "Transpose", "Unsqueeze",
))  # fmt: skip
_MOST_FOLLOWED = 256


def index_bounds(model: Model) -> dict[str, int]:
    """For each graph input whose values index something of a known size, by name: how many there are to choose of."""
    view, bounds = View(model), {}
    for tensor in model.graph.inputs:
        found = list(_indexed_sizes(tensor, view))
        if found:
            bounds[tensor.name] = min(found)
    return bounds


def _indexed_sizes(tensor: Tensor, view: View) -> Iterator[int]:
    pending, seen = [tensor], {id(tensor)}
    while pending and len(seen) < _MOST_FOLLOWED:
        current = pending.pop()
        for node in view.consumers(current):
            size = _indexed_size(node, current, view)
            if size is not None:
                yield size
            elif node.op in _MOVING and node.inputs[0] is current:
                fresh = [output for output in node.outputs if id(output) not in seen]
                seen.update(map(id, fresh))
                pending += fresh


def _indexed_size(node: Node, tensor: Tensor, view: View) -> int | None:
    """The size of what a tensor indexes in a node, None where it does not, or where that is not known."""
    if node.op == "OneHot" and operand(node, 0) is tensor:
        depth = known_integers(operand(node, 1), view)
        return depth[0] if depth else None
    if node.op not in ("Gather", "GatherElements") or operand(node, 1) is not tensor:
        return None
    shape, axis = view.shape(node.inputs[0]), _axis(node, view)
    if shape is None or axis is None or not -len(shape) <= axis < len(shape):
        return None
    return shape[axis]


def _axis(node: Node, view: View) -> int | None:
    """An attribute of ONNX, the third operand of OpenVINO's Gather."""
    if len(node.inputs) <= 2:
        return integer(node, "axis", 0)
    known = known_integers(node.inputs[2], view)
    return known[0] if known else None
