"""Topological order, without recursion and linear in nodes and edges."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from maxfold.model.errors import ModelError
from maxfold.model.graph import Constant, Graph, Node, Tensor, scopes_of, subgraphs


def node_reads(node: Node) -> Iterable[Tensor]:
    """The tensors a node needs: its inputs, and what the graphs inside it take from outside."""
    graphs = subgraphs(node)
    if not graphs:
        return node.inputs
    reads = list(node.inputs)
    for graph in graphs:
        for scope in scopes_of(graph):
            for inner in scope.nodes:
                reads += inner.inputs
            reads += scope.outputs
    return reads


def is_sorted(graph: Graph) -> bool:
    """Whether each node of the scope stands after those it reads."""
    made: set[Tensor] = set()
    for node in graph.nodes:
        for tensor in node_reads(node) if node.attrs else node.inputs:
            if tensor not in made and tensor.scope is graph and not _stands_before(tensor, node):
                return False
        made.update(node.outputs)
    return True


def _stands_before(tensor: Tensor, node: Node) -> bool:
    """Whether a tensor that no node before this one makes can be read by it."""
    if isinstance(tensor, Constant):
        return not tensor.is_node or tensor.position < node.position or node.position < 0
    return not tensor.inputs


def in_order(graph: Graph) -> list[Node]:
    """A copy of the scope's nodes in topological order, whatever order they stand in. `ModelError` for a cycle."""
    return list(graph.nodes) if is_sorted(graph) else sorted_nodes(graph)


def sorted_nodes(graph: Graph) -> list[Node]:
    """The nodes of a scope in topological order, the file's order kept where it allows.

    Raises `ModelError` where nodes form a cycle.
    """
    index = {node: position for position, node in enumerate(graph.nodes)}
    consumers: list[list[int]] = [[] for _ in graph.nodes]
    waiting = [0] * len(graph.nodes)
    for node, position in index.items():
        producers = {index[maker] for tensor in node_reads(node) for maker in tensor.inputs if maker in index}
        waiting[position] = len(producers)
        for producer in producers:
            consumers[producer].append(position)
    ready = [position for position, count in enumerate(waiting) if not count]
    ordered: list[Node] = []
    while ready:
        position = heapq.heappop(ready)
        ordered.append(graph.nodes[position])
        for consumer in consumers[position]:
            waiting[consumer] -= 1
            if not waiting[consumer]:
                heapq.heappush(ready, consumer)
    if len(ordered) == len(graph.nodes):
        return ordered
    stuck = _on_cycle([node for node, position in index.items() if waiting[position]])
    raise ModelError(
        f"nodes form a cycle: {stuck.name or stuck.op!r} ({stuck.op}) in graph {graph.name!r} needs its own result; "
        "export the model again"
    )


def _on_cycle(waiting: list[Node]) -> Node:
    """A node that is part of a cycle, not only behind one: walks back until it meets a node again."""
    members = set(waiting)
    node, seen = waiting[0], set[Node]()
    while node not in seen:
        seen.add(node)
        node = next(maker for tensor in node_reads(node) for maker in tensor.inputs if maker in members)
    return node
