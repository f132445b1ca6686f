"""What takes a node without a row out of an ONNX model before it is converted."""

from __future__ import annotations

from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.fuse_sequences import FuseSequences
from maxfold.passes.inline_constant_if import InlineConstantIf
from maxfold.passes.rule import Decline, Rule
from maxfold.passes.unroll_loop import UnrollLoop


def hint_for(node: Node, view: View) -> str:
    """The end of a message about an operator without a row: what the user can do about this node, "" where nothing."""
    key = ("", node.op)
    rules: list[Rule] = [InlineConstantIf(), UnrollLoop(), *FuseSequences().rules()]
    for rule in rules:
        if view.is_operator(node, node.op) and key in rule.operators:
            found = rule.match(node, view)
            if found is not None and not isinstance(found, Decline):
                return "; maxfold optimize replaces it here: run it first"
    return ""
