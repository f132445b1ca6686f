"""upgrade-opset: the model at a newer version of ONNX's own operator set, node by node, or not at all."""

from __future__ import annotations

import time
from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.passes.rule import Pass, PassResult, Progress, options


@options
class UpgradeOpset(Pass):
    """`opset`: the version of ONNX's own operator set that the model and its functions go to; None leaves them.

    Raises `ModelError`, and changes nothing, where a node has no equal in that version.
    """

    opset: int | None = None
    name: ClassVar[str] = "upgrade-opset"
    summary: ClassVar[str] = "bring the model to a newer version of ONNX's operator set"

    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """All nodes are planned first; then all are changed. The changes are the nodes, and one for the version."""
        started = time.perf_counter()
        changes = 0 if self.opset is None else _upgrade(edit, self.opset)
        return PassResult(self.name, changes, (), time.perf_counter() - started)


def _upgrade(edit: Edit, target: int) -> int:
    # The table of steps is imported by those who want to go somewhere.
    from maxfold.passes.upgrades.upgrading import upgrade

    return upgrade(edit, target)
