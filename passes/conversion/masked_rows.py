"""Rows that are all minus infinity, found element by element.

OpenVINO's CPU begins a ReduceMax with the lowest finite number, so that it never gives minus infinity. Attention, as
ONNX defines it, finds the rows that a mask leaves empty by comparing a ReduceMax with it.
"""

from __future__ import annotations

import numpy as np

from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor


def spell_out(edit: Edit) -> None:
    """Makes ReduceMax(x) == -inf the ReduceMin of x == -inf, which is the same for NaN too: both are false."""
    found = [node for node in edit.nodes() if edit.is_operator(node, "Equal") and len(node.inputs) == 2]
    replaced = [node for node in found if _spelled_out(node, edit)]
    if replaced:
        edit.flush()
        edit.take_touched()


def _spelled_out(node: Node, edit: Edit) -> bool:
    for largest, limit in (tuple(node.inputs), tuple(reversed(node.inputs))):
        maker = edit.producer(largest)
        if maker is None or not edit.is_operator(maker, "ReduceMax") or not _is_lowest(limit, edit):
            continue
        # Beside a scalar, a limit in a list would make the comparison a list.
        if edit.rank(limit) != 0 and not edit.rank(largest):
            continue
        dtype = edit.dtype(maker.inputs[0])
        if dtype is None or dtype.kind != "float" or maker.scope is not node.scope:
            continue
        is_lowest = edit.add_node("Equal", [maker.inputs[0], limit], before=node)
        edit.become(node, "ReduceMin", [is_lowest.outputs[0], *maker.inputs[1:]], dict(maker.attrs))
        edit.remove_unused([maker])
        return True
    return False


def _is_lowest(tensor: Tensor, edit: Edit) -> bool:
    """Whether a tensor is one minus infinity, of whatever type it was cast from."""
    maker = edit.producer(tensor)
    while maker is not None and maker.op in ("Cast", "CastLike") and edit.is_operator(maker, maker.op):
        tensor = maker.inputs[0]
        maker = edit.producer(tensor)
    if not isinstance(tensor, Constant) or tensor.data.shape not in ((), (1,)):
        return False
    dtype = tensor.data.dtype
    return dtype is not None and dtype.kind == "float" and bool(np.all(tensor.values == -np.inf))
