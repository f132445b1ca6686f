"""Where small differences grow: behind what was rounded otherwise stands something that jumps."""

from __future__ import annotations

from collections import Counter

from maxfold.model.edit import Edit
from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.optimizer.wording import listed

# Their results jump where their operands pass a step, or two operands change places.
_STEPS = frozenset(
    (
        "QuantizeLinear", "DynamicQuantizeLinear", "FakeQuantize", "Round", "Floor", "Ceil", "Ceiling", "Sign",
        "ArgMax", "ArgMin", "TopK", "Hardmax", "NonMaxSuppression",
    )
)  # fmt: skip
# Their results do not depend on values.
_BLIND = frozenset(("Shape", "Size", "ShapeOf"))


def warnings_of(edit: Edit) -> tuple[str, ...]:
    """A line for a relaxed run after which steps depend on what was rewritten."""
    steps = _steps_behind(edit)
    if not steps:
        return ()
    counts = Counter(node.op for node in steps)
    named = [f"{count:,} {operator}" for operator, count in sorted(counts.items())]
    return (f"small differences may grow in {listed(named)}, which depend on what may be rounded differently",)


def _steps_behind(edit: Edit) -> list[Node]:
    pending = [node for node in edit.math_log.rounded if edit.is_live(node)]
    seen = set(pending)
    found = []
    while pending:
        node = pending.pop()
        if node.op in _BLIND:
            continue
        if _is_step(node, edit):
            found.append(node)
        for reader in _readers(node, edit):
            if reader not in seen:
                seen.add(reader)
                pending.append(reader)
    return found


def _readers(node: Node, edit: Edit) -> list[Node]:
    """What reads results of a node, and the nodes around those in inner graphs."""
    readers = [reader for tensor in node.outputs for reader in edit.consumers(tensor)]
    if node.scope.parent is not None:
        readers.append(node.scope.parent)
    return readers


def _is_step(node: Node, view: View) -> bool:
    if node.op in _STEPS:
        return True
    if node.op not in ("Cast", "Convert") or not node.inputs or not node.outputs:
        return False
    source, target = view.dtype(node.inputs[0]), view.dtype(node.outputs[0])
    return source is not None and target is not None and source.kind == "float" and target.kind in ("int", "uint")
