"""Two nodes in a row: what lets the second do without the first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any

from maxfold.model.edit import Edit
from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.nodes import GivesOperand, bypassed, operand
from maxfold.passes.rule import Decline, Match, frozen


def node_before(node: Node, operators: Iterable[str], view: View) -> Node | None:
    """The ONNX node whose first result a node reads first, if it is one of the operators and in the node's graph.

    There all that the inner node reads can be read by the outer one.
    """
    source = operand(node, 0)
    inner = None if source is None else view.producer(source)
    if inner is None or inner.scope is not node.scope or inner.outputs[0] is not source:
        return None
    is_wanted = any(view.is_operator(inner, operator) for operator in operators)
    return inner if is_wanted and operand(inner, 0) is not None else None


@frozen
class ReadsThrough:
    """A node that reads what the node before it reads; attributes of value None go."""

    node: Node
    inner: Node
    attributes: dict[str, Any] = field(default_factory=dict)

    def apply(self, edit: Edit) -> None:
        """The inner node stays where others need it."""
        edit.set_inputs(self.node, [self.inner.inputs[0], *self.node.inputs[1:]])
        for name, value in self.attributes.items():
            edit.set_attribute(self.node, name, value)
        edit.remove_unused([self.inner])


@frozen
class CancelsOut:
    """A node whose result is what the node before it reads."""

    bypass: GivesOperand
    inner: Node

    def apply(self, edit: Edit) -> None:
        """The inner node stays where others need it."""
        self.bypass.apply(edit)
        edit.remove_unused([self.inner])


def cancelled(node: Node, inner: Node, view: View) -> Match | Decline:
    """The rewrite that lets everybody read what the inner node reads for the node's only result."""
    match = bypassed(node, inner.inputs[0], view)
    return CancelsOut(match, inner) if isinstance(match, GivesOperand) else match
