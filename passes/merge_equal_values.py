"""merge-equal-values: integers that are computed in different ways, and always equal, are computed once.

The dimensions of one tensor are often asked for again and again: Shape and Gather here, Shape and Slice there, a
product that is divided again. What inference knows of such a value is a polynomial over the dimensions of the graph's
inputs, and two values with one polynomial are one.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Graph, Node, Tensor
from maxfold.model.inference.symbolic import Expr
from maxfold.model.order import in_order
from maxfold.model.view import domain_of
from maxfold.passes.fold_shapes import VALUE_OPERATORS
from maxfold.passes.rule import DeclineRecord, Pass, PassResult, Progress


class MergeEqualValues(Pass):
    """Of results of one scope with equal types, shapes and values in terms of dimensions, the first stays."""

    name: ClassVar[str] = "merge-equal-values"
    summary: ClassVar[str] = "compute equal functions of the input's dimensions once"

    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """Looks at each scope in topological order. What nothing reads any more is left to remove-dead-nodes."""
        started = time.perf_counter()
        changes = 0
        declines: list[DeclineRecord] = []
        for scope in edit.model.scopes():
            changes += _merge(scope, edit, declines)
        edit.flush()
        edit.take_touched()
        return PassResult(self.name, changes, tuple(declines), time.perf_counter() - started)


def _merge(scope: Graph, edit: Edit, declines: list[DeclineRecord]) -> int:
    changes = 0
    first: dict[Hashable, Tensor] = {}
    for node in in_order(scope):
        key = _key(node, edit)
        if key is None:
            continue
        result = node.outputs[0]
        twin = first.setdefault(key, result)
        if twin is result:
            continue
        reason = _why_not(node, twin, edit)
        if reason is None:
            edit.replace_uses(result, twin)
            edit.remove_node(node)
            if edit.is_graph_output(result):
                # It took the place of its twin, which is gone.
                first[key] = result
            changes += 1
        else:
            declines.append(DeclineRecord(MergeEqualValues.name, node.name or result.name, node.op, reason))
    return changes


def _key(node: Node, edit: Edit) -> Hashable:
    """What the result of a node is, where all of it is known and some of it in terms of dimensions only."""
    if (domain_of(node), node.op) not in VALUE_OPERATORS or len(node.outputs) != 1 or edit.is_function_call(node):
        return None
    result = node.outputs[0]
    if not result.name:
        return None
    dtype, value = edit.dtype(result), edit.value(result)
    if dtype is None or value is None or dtype.kind not in ("int", "uint", "bool"):
        return None
    if any(element is None for element in value.elements):
        return None
    if not any(isinstance(element, Expr) for element in value.elements):
        return None
    return dtype, value


def _why_not(node: Node, twin: Tensor, edit: Edit) -> str | None:
    if edit.is_kept(node):
        return "it is to be kept"
    return edit.why_not_replaceable(node.outputs[0], twin)
