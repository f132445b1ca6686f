"""fuse-not: Where and If choose the other way instead of inverting their condition."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.chains import node_before
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.rule import Decline, Match, frozen

_BRANCHES = ("then_branch", "else_branch")


@frozen
class _Exchanged:
    """A node that chooses by an inverted condition, and the Not."""

    node: Node
    inverted: Node

    def apply(self, edit: Edit) -> None:
        """Reads the condition itself, and takes the other side."""
        condition = self.inverted.inputs[0]
        if self.node.op == "Where":
            _, chosen, other = self.node.inputs
            edit.set_inputs(self.node, [condition, other, chosen])
        else:
            first, second = (self.node.attrs[name] for name in _BRANCHES)
            edit.set_inputs(self.node, [condition])
            edit.set_attribute(self.node, _BRANCHES[0], second)
            edit.set_attribute(self.node, _BRANCHES[1], first)
        edit.remove_unused([self.inverted])


class FuseNot(SingleRulePass):
    """Where(Not(c), a, b) is Where(c, b, a); an If of Not(c) is an If of c with its branches exchanged.

    Each match leaves one reader less to a Not that only such nodes read, so that it goes with the last. ONNX Runtime's
    Where makes 0.0 of -0.0 on one of its sides, so that floats need `--math relaxed`.
    """

    name: ClassVar[str] = "fuse-not"
    summary: ClassVar[str] = "let Where and If choose the other way instead of inverting their condition"
    mode: ClassVar[str] = "exact, more with relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Where"), ("", "If")})
    results: ClassVar[int | None] = None

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where something else reads the Not, and for floats in exact mode."""
        inverted = node_before(node, ("Not",), view)
        if inverted is None or not _is_whole(node):
            return None
        result = inverted.outputs[0]
        if view.is_graph_output(result) or view.why_fixed(result) is not None or view.is_kept(inverted):
            return Decline(f"{result.name!r} is a graph output, or to be kept")
        readers = view.consumers(result)
        if not all(_is_condition(result, reader, inverted, view) for reader in readers):
            return Decline(f"{result.name!r} is used elsewhere")
        if view.math == "exact" and not all(_is_exact(reader, view) for reader in readers):
            return Decline("Where may make 0.0 of -0.0; only with --math relaxed", relaxed_gain=len(readers) == 1)
        return _Exchanged(node, inverted)


def _is_whole(node: Node) -> bool:
    """Whether a node has all that is exchanged."""
    if node.op == "Where":
        return len(node.inputs) == 3 and len(node.outputs) == 1 and all(tensor.name for tensor in node.inputs)
    return len(node.inputs) == 1 and all(name in node.attrs for name in _BRANCHES)


def _is_condition(tensor: Tensor, reader: Node, inverted: Node, view: View) -> bool:
    """Whether a node beside the Not reads its result as its condition alone, and may be rewritten."""
    if reader.scope is not inverted.scope or view.is_kept(reader) or not _is_whole(reader):
        return False
    if not (view.is_operator(reader, "Where") or view.is_operator(reader, "If")):
        return False
    return [item is tensor for item in reader.inputs] == [True, *[False] * (len(reader.inputs) - 1)]


def _is_exact(reader: Node, view: View) -> bool:
    dtype = view.dtype(reader.outputs[0]) if reader.op == "Where" else None
    return reader.op == "If" or (dtype is not None and dtype.kind not in ("float", "complex"))
