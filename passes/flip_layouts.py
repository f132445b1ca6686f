"""flip-layouts: whole regions of a graph compute in another order of axes where that saves Transposes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Graph, Node
from maxfold.passes.layout_regions import Finder, Order, order_of
from maxfold.passes.layout_rewrite import rewrite
from maxfold.passes.nodes import operand
from maxfold.passes.operands import DEFAULT_MAX_GROWTH_BYTES
from maxfold.passes.rule import DeclineRecord, Pass, PassResult, Progress, options

# Orders of axes that are tried in one scope: the most frequent ones.
_MOST_ORDERS = 8
# Each round that changes something saves Transposes; a few are enough.
_MOST_ROUNDS = 100


@options
class FlipLayouts(Pass):
    """Nodes that may work in any order of axes (`layouts`) take the one that leaves the fewest elements to transpose.

    A region is a connected set of such nodes. Which of its nodes change is a minimum cut, see `layout_regions`. Each
    flip lowers the number of transposed elements, or leaves it and lowers the number of nodes.
    `max_growth_bytes`: how much the file may grow for a constant that is needed in both orders.
    """

    max_growth_bytes: int = DEFAULT_MAX_GROWTH_BYTES
    name: ClassVar[str] = "flip-layouts"
    summary: ClassVar[str] = "let regions compute in the order of axes that needs the fewest Transposes"
    mode: ClassVar[str] = "exact, more with relaxed"

    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """Flips until nothing gains any more."""
        started = time.perf_counter()
        changes = 0
        declines: list[DeclineRecord] = []
        for scope in edit.model.scopes() if edit.model.format == "onnx" else ():
            changes += self._in_scope(scope, edit, declines)
        edit.take_touched()
        return PassResult(self.name, changes, tuple(declines), time.perf_counter() - started)

    def _in_scope(self, scope: Graph, edit: Edit, declines: list[DeclineRecord]) -> int:
        changes = 0
        for _ in range(_MOST_ROUNDS):
            found: dict[Node, str] = {}
            before = changes
            for order in _orders(scope, edit):
                changes += self._flip(scope, order, edit, found)
            if changes == before:
                break
        declines += [
            DeclineRecord(self.name, node.name or node.outputs[0].name, node.op, reason)
            for node, reason in found.items()
        ]
        return changes

    def _flip(self, scope: Graph, order: Order, edit: Edit, declines: dict[Node, str]) -> int:
        """Flips all regions of one order that gain. Returns how many nodes changed."""
        finder = Finder(scope, order, edit, self.max_growth_bytes)
        changes = 0
        for region in finder.regions():
            flipped, reason = region.best()
            if reason is not None:
                declines.setdefault(next(iter(region.nodes)), reason)
            if flipped:
                changes += len(flipped)
                rewrite(region, flipped, edit)
        for node, reason in finder.refusals.items():
            if reason:
                declines.setdefault(node, reason)
        if changes:
            edit.flush()
        return changes


def _orders(scope: Graph, edit: Edit) -> Iterator[Order]:
    """The orders that Transposes of a scope bring about or undo, the most frequent first."""
    counts: Counter[Order] = Counter()
    for node in scope.nodes:
        if node.op != "Transpose" or not edit.is_operator(node, "Transpose"):
            continue
        source = operand(node, 0)
        order = None if source is None else order_of(node, edit.rank(source))
        if order is not None and order != tuple(sorted(order)):
            counts[order] += 1
            counts[tuple(order.index(axis) for axis in range(len(order)))] += 1
    ranked = sorted(counts, key=lambda order: (-counts[order], order))
    yield from ranked[:_MOST_ORDERS]
