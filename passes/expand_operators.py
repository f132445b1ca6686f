"""expand-operators: operators that ONNX defines by others become those, where that is asked for."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Node
from maxfold.passes.rule import DeclineRecord, Pass, PassResult, Progress


@dataclass(frozen=True)
class ExpandOperators(Pass):
    """`expand`: the operators of ONNX's own domain that are replaced by what ONNX's specification defines them as.

    For runtimes that lack one. The parts round each for itself, where a kernel of the whole may not.
    """

    expand: tuple[str, ...] = ()
    name: ClassVar[str] = "expand-operators"
    summary: ClassVar[str] = "replace operators by those that ONNX defines them by, where asked for"
    mode: ClassVar[str] = "relaxed"

    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """Definitions are expanded too, where they have operators that were asked for."""
        started = time.perf_counter()
        wanted = frozenset(self.expand)
        changes, left = 0, dict[Node, str]()
        if wanted and edit.math == "relaxed":
            # The definitions are imported by those who want some.
            from maxfold.passes.expansion import expand

            expansion = expand(edit, lambda node: node.op in wanted)
            changes, left = len(expansion.made), expansion.refused
        elif wanted:
            asked = [node for node in edit.nodes() if node.op in wanted and edit.is_operator(node, node.op)]
            left = dict.fromkeys(asked, "its parts may round otherwise; --math relaxed allows that")
        declines = tuple(DeclineRecord(self.name, _shown(node), node.op, reason) for node, reason in left.items())
        return PassResult(self.name, changes, declines, time.perf_counter() - started)


def _shown(node: Node) -> str:
    return node.name or next((tensor.name for tensor in node.outputs if tensor.name), "")
