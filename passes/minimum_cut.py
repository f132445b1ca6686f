"""The minimum cut of a network of integer capacities."""

from __future__ import annotations

from collections import deque

# More than any cut of finite capacities has.
UNBOUNDED = 1 << 120


class Network:
    """Nodes are numbered from 0 on in the order in which they are added; 0 is the source and 1 the sink."""

    def __init__(self) -> None:
        self._edges: list[list[int]] = [[], []]
        self._heads: list[int] = []
        self._left: list[int] = []

    def add_node(self) -> int:
        """A new node."""
        self._edges.append([])
        return len(self._edges) - 1

    def connect(self, tail: int, head: int, capacity: int, back: int = 0) -> None:
        """What may flow from one node to another, and back."""
        for start, end, left in ((tail, head, capacity), (head, tail, back)):
            self._edges[start].append(len(self._heads))
            self._heads.append(end)
            self._left.append(left)

    def source_side(self, budget: int) -> set[int] | None:
        """The nodes on the side of the source: the fewest of all minimum cuts.

        None where the flow is not found with `budget` looks at an edge. (Dinic's algorithm.)
        """
        while True:
            levels = self._levels()
            if levels[1] < 0:
                return {node for node, level in enumerate(levels) if level >= 0}
            budget = self._block(levels, budget - len(self._heads))
            if budget < 0:
                return None

    def _levels(self) -> list[int]:
        levels = [-1] * len(self._edges)
        levels[0] = 0
        queue = deque([0])
        while queue:
            node = queue.popleft()
            for edge in self._edges[node]:
                head = self._heads[edge]
                if self._left[edge] and levels[head] < 0:
                    levels[head] = levels[node] + 1
                    queue.append(head)
        return levels

    def _block(self, levels: list[int], budget: int) -> int:
        """Sends what can be sent along shortest paths. Returns what is left of the budget."""
        places = [0] * len(self._edges)
        path: list[int] = []
        node = 0
        while budget >= 0:
            budget -= 1
            if node == 1:
                self._send(path)
                path.clear()
                node = 0
            elif places[node] < len(self._edges[node]):
                edge = self._edges[node][places[node]]
                head = self._heads[edge]
                if self._left[edge] and levels[head] == levels[node] + 1:
                    path.append(edge)
                    node = head
                else:
                    places[node] += 1
            elif path:
                edge = path.pop()
                node = self._heads[edge ^ 1]
                places[node] += 1
            else:
                return budget
        return budget

    def _send(self, path: list[int]) -> None:
        flow = min(self._left[edge] for edge in path)
        for edge in path:
            self._left[edge] -= flow
            self._left[edge ^ 1] += flow
