"""remove-no-op-reduction: a sum, mean, maximum, minimum or product of one element is the element."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import bypassed, integers, operand
from maxfold.passes.remove_no_op_reshape import has_dims_of
from maxfold.passes.rule import Decline, Match

_OF_TENSORS = ("Mean", "Min", "Sum")
_OF_WINDOWS = ("AveragePool", "MaxPool")
_OF_AXES = (
    "GlobalAveragePool", "GlobalMaxPool", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
)  # fmt: skip
# Runtimes give the element itself, whatever it is.
_EXACT = (*_OF_TENSORS, "ReduceMax", "ReduceMin", "ReduceProd")


class RemoveNoOpReduction(SingleRulePass):
    """Reductions over axes that have one element in every run and stay, pooling with a window of one element, and
    Sum, Mean and Min of one tensor. Removes one node.

    Sums that start from 0 make 0.0 of -0.0, and maxima that start from the lowest number lose NaN: sums, means and
    pooling of floats need `--math relaxed`.
    """

    name: ClassVar[str] = "remove-no-op-reduction"
    summary: ClassVar[str] = "remove reductions and pooling of one element"
    mode: ClassVar[str] = "exact, more with relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset(
        ("", name) for name in (*_OF_TENSORS, *_OF_WINDOWS, *_OF_AXES)
    )

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines for sums, means and pooling of floats in exact mode."""
        source = operand(node, 0)
        if source is None or not _is_of_one(node, view):
            return None
        match = bypassed(node, source, view)
        dtype = view.dtype(source)
        is_exact = node.op in _EXACT or (dtype is not None and dtype.kind in ("int", "uint"))
        if is_exact or view.math == "relaxed" or isinstance(match, Decline):
            return match
        return Decline(f"{node.op} of one float may change -0.0 or NaN; only with --math relaxed", relaxed_gain=1)


def _is_of_one(node: Node, view: View) -> bool:
    if node.op in _OF_TENSORS:
        return len(node.inputs) == 1
    # An axis that is reduced and stays has size 1 afterwards: as before, if no dimension changes.
    has_same_dims = has_dims_of(node.outputs[0], node.inputs[0], view)
    if node.op in _OF_AXES:
        return has_same_dims
    window = integers(node, "kernel_shape")
    is_moved_by_one = all(step == 1 for step in integers(node, "strides", [1]))
    is_padded = any(integers(node, "pads", [0]))
    return all(size == 1 for size in window) and not is_padded and (is_moved_by_one or has_same_dims)
