"""merge-equal-nodes: nodes that compute the same from the same become one."""

from __future__ import annotations

import time
from collections.abc import Hashable
from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Graph, Node, Tensor
from maxfold.model.order import in_order
from maxfold.passes.numbering import node_key
from maxfold.passes.rule import DeclineRecord, Pass, PassResult, Progress


class MergeEqualNodes(Pass):
    """Equal means: same operator, attributes, input tensors and named results, and nothing random.

    Nodes of different graphs stay apart, as do calls of functions, operators of domains that nobody knows and nodes
    with graphs inside. Of equal nodes the first stays.
    """

    name: ClassVar[str] = "merge-equal-nodes"
    summary: ClassVar[str] = "keep one of several nodes that compute the same (common subexpressions)"

    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """Looks at each scope in topological order, so that what equal nodes lead to is merged at once."""
        started = time.perf_counter()
        changes = 0
        declines: list[DeclineRecord] = []
        for scope in edit.model.scopes():
            changes += _Scope(edit, declines).merge(scope)
        edit.flush()
        edit.take_touched()
        return PassResult(self.name, changes, tuple(declines), time.perf_counter() - started)


class _Scope:
    """The nodes of one scope met so far, by what they compute."""

    def __init__(self, edit: Edit, declines: list[DeclineRecord]) -> None:
        self._edit = edit
        self._declines = declines
        self._first: dict[Hashable, Node] = {}
        # Where a node that goes makes a graph output, the node that stays takes over its tensor: both are one value.
        self._same_as: dict[Tensor, Tensor] = {}
        self._numbers: dict[Tensor, int] = {}

    def merge(self, scope: Graph) -> int:
        changes = 0
        for node in in_order(scope):
            key = node_key(node, self._edit, self._number)
            if key is None:
                continue
            first = self._first.setdefault(key, node)
            if first is node:
                continue
            reason = self._why_not(first, node)
            if reason is None:
                self._replace(node, first)
                changes += 1
            else:
                shown = node.name or next(tensor.name for tensor in node.outputs if tensor.name)
                self._declines.append(DeclineRecord(MergeEqualNodes.name, shown, node.op, reason))
        return changes

    def _number(self, tensor: Tensor) -> int:
        return self._numbers.setdefault(self._same_as.get(tensor, tensor), len(self._numbers))

    def _why_not(self, first: Node, node: Node) -> str | None:
        if self._edit.is_kept(node):
            return "it is to be kept"
        for own, other in zip(node.outputs, first.outputs, strict=True):
            reason = self._edit.why_not_replaceable(own, other) if own.name else None
            if reason is not None:
                return reason
        return None

    def _replace(self, node: Node, first: Node) -> None:
        for own, other in zip(list(node.outputs), list(first.outputs), strict=True):
            if own.name:
                self._same_as[own] = self._same_as.get(other, other)
                self._edit.replace_uses(own, other)
        self._edit.remove_node(node)
