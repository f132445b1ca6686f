"""sort-nodes: nodes that stand before what they read are put behind it."""

from __future__ import annotations

import time
from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.order import is_sorted
from maxfold.passes.rule import Pass, PassResult, Progress


class SortNodes(Pass):
    """ONNX asks for topological order. Graphs that have it stay as they are; in others few nodes move."""

    name: ClassVar[str] = "sort-nodes"
    summary: ClassVar[str] = "put nodes in topological order where they are not"

    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """Each scope by itself."""
        started = time.perf_counter()
        changes = 0
        # The layers of an IR may stand in any order.
        for scope in edit.model.scopes() if edit.model.format == "onnx" else ():
            if not is_sorted(scope):
                edit.sort_nodes(scope)
                changes += 1
        return PassResult(self.name, changes, (), time.perf_counter() - started)
