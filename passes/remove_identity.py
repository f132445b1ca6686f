"""remove-identity: Identity, and Dropout where it does not drop, give their input."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import bypassed, integer, operand, scalar
from maxfold.passes.rule import Decline, Match

# Before this operator set an attribute told Dropout not to drop, from the second on an input may tell it to.
_INFERENCE_ONLY_OPSET = 7
_TRAINING_INPUT_OPSET = 12


class RemoveIdentity(SingleRulePass):
    """Any Identity; Dropout in inference mode or with a ratio of 0, if nothing needs its mask. Removes one node."""

    name: ClassVar[str] = "remove-identity"
    summary: ClassVar[str] = "remove Identity, and Dropout outside training"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Identity"), ("", "Dropout")})
    results: ClassVar[int | None] = None

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where a graph returns both ends, where Dropout may drop, and where its mask is needed."""
        source = operand(node, 0)
        if source is None:
            return None
        reason = _why_needed(node, view)
        return bypassed(node, source, view) if reason is None else Decline(reason)


def _why_needed(node: Node, view: View) -> str | None:
    for tensor in node.outputs[1:]:
        if tensor.name and (view.use_count(tensor) or view.is_graph_output(tensor) or view.is_bound(tensor)):
            return f"{tensor.name!r} is needed too"
    return _why_drops(node, view) if node.op == "Dropout" else None


def _why_drops(node: Node, view: View) -> str | None:
    opset = view.opset(node)
    if opset is None:
        return "the model imports no operator set for it"
    if opset < _INFERENCE_ONLY_OPSET:
        return None if integer(node, "is_test", 0) else "it is in training mode"
    if opset < _TRAINING_INPUT_OPSET:
        return None
    mode = operand(node, 2)
    if mode is None or scalar(mode, view) is False or scalar(operand(node, 1), view) == 0:
        return None
    return "it is in training mode" if scalar(mode, view) is True else "it may be in training mode"
