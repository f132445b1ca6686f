"""remove-dead-nodes: what no graph output and no sink needs goes."""

from __future__ import annotations

import time
from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Graph, Node, subgraphs
from maxfold.model.view import IR_DOMAIN
from maxfold.passes.rule import Pass, PassResult, Progress


class RemoveDeadNodes(Pass):
    """Roots are the outputs of all graphs, and sinks: nodes without outputs, and what sets a variable of an IR.

    Unused constants go too, except those that the interface, training or annotations name.
    """

    name: ClassVar[str] = "remove-dead-nodes"
    summary: ClassVar[str] = "remove nodes and constants that nothing needs"

    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """Marks from the roots backwards, with a stack."""
        started = time.perf_counter()
        live = _live_nodes(edit)
        dead = [node for node in edit.nodes() if node not in live]
        for node in reversed(dead):
            if edit.is_live(node):
                edit.remove_node(node)
        constants = [
            constant
            for constant in edit.model.constants()
            if not edit.use_count(constant) and edit.is_removable(constant)
        ]
        for constant in constants:
            edit.remove_constant(constant)
        edit.flush()
        edit.take_touched()
        changes = len(dead) + len(constants)
        return PassResult(self.name, changes, (), time.perf_counter() - started)


def _live_nodes(edit: Edit) -> set[Node]:
    live: set[Node] = set()
    pending: list[Node] = []
    for root in edit.model.roots():
        pending += _roots_of(root, edit)
    while pending:
        node = pending.pop()
        if node in live:
            continue
        live.add(node)
        if node.scope.parent is not None:
            pending.append(node.scope.parent)
        for tensor in node.inputs:
            pending += tensor.inputs
        for graph in subgraphs(node) if node.attrs else ():
            pending += _roots_of(graph, edit)
    return live


def _roots_of(graph: Graph, edit: Edit) -> list[Node]:
    """The nodes that a graph needs if it runs at all: those that make its outputs, sinks, and those to be kept."""
    roots = [node for tensor in graph.outputs for node in tensor.inputs]
    roots += [node for node in graph.nodes if _is_root(node, edit)]
    return roots


def _is_root(node: Node, edit: Edit) -> bool:
    if edit.is_kept(node) or any(edit.is_bound(tensor) for tensor in node.outputs):
        return True
    return edit.is_operator(node, "Assign", IR_DOMAIN) or not any(tensor.name for tensor in node.outputs)
