"""Nodes that let a file load only while little is known in front of them, and what has to stay as it is for that.

Static checks refuse a whole file for one node: in a branch that no run takes, or where they are stricter than the
kernel that runs. As long as what such a node reads is computed, they do not know enough to refuse it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from maxfold.model.graph import Constant, Function, Graph, Node, Tensor, scopes_of, subgraphs
from maxfold.model.inference import Inference
from maxfold.model.inference.strictness import is_strict, why_refused
from maxfold.model.inference.upper_bound import UpperBound, declared_shapes
from maxfold.model.types import declared_shape

if TYPE_CHECKING:
    from maxfold.model.view import View

# Functions that call functions are looked into so deep, and so many times in all.
_DEEPEST_CALL = 8
_MOST_CALLS = 500


def frozen_nodes(view: View) -> dict[Node, str]:
    """The nodes that have to stay what they are, each with the reason: fragile ones, and all that they depend on."""
    found: dict[Node, str] = {}
    for node, refusal in _Finder(view).fragile():
        reason = f"{shown(node)}, which depends on it, would be refused when the file is loaded: {refusal}"
        _freeze(node, reason, view, found)
    return found


def shown(node: Node) -> str:
    """A node as reasons name it."""
    return f"{node.op} {node.name or next((tensor.name for tensor in node.outputs if tensor.name), '')!r}"


class _Finder:
    """Looks for fragile nodes."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._known: Inference | None = None
        self._calls = 0

    def fragile(self) -> Iterator[tuple[Node, str]]:
        """Fragile nodes, with why they are refused."""
        if self._view.model.format != "onnx":
            return
        for scope in scopes_of(self._view.model.graph):
            yield from self._in_scope(scope, scope.parent is not None, None, 0)

    def _in_scope(
        self, scope: Graph, is_inner: bool, inference: Inference | None, depth: int
    ) -> Iterator[tuple[Node, str]]:
        view = self._view
        for node in scope.nodes:
            is_call = view.is_function_call(node)
            if not (is_inner or is_call or is_strict(node)) or not view.is_live(node):
                continue
            known = self._knowledge() if inference is None else inference
            if is_call:
                yield from self.in_function(node, is_inner, known, depth)
                continue
            refusal = _refusal(node, is_inner, known)
            if refusal is not None:
                yield node, refusal

    def in_function(self, node: Node, is_inner: bool, known: Inference, depth: int) -> Iterator[tuple[Node, str]]:
        """What is fragile inside a function with the inputs of this call."""
        function = self._view.called_function(node)
        self._calls += 1
        if function is None or depth == _DEEPEST_CALL or self._calls > _MOST_CALLS:
            return
        body = known.of_call(function, node)
        for scope in scopes_of(function):
            yield from self._in_scope(scope, is_inner or scope.parent is not None, body, depth + 1)

    def _knowledge(self) -> Inference:
        """What static checks may ever know."""
        if self._known is None:
            view = self._view
            has_bodies = any(scope.parent is not None for scope in view.model.scopes())
            # Where all nodes run, what is declared and wrong is no matter of rewrites.
            self._known = UpperBound(view, declared_shapes(view)) if has_bodies else view._inference
        return self._known


def is_fragile_kind(node: Node, view: View) -> bool:
    """Whether a node need not run, or is of an operator that static checks are stricter about than its kernel."""
    return node.scope.parent is not None or is_strict(node) or view.is_function_call(node)


def refusal_of(node: Node, known: Inference) -> str | None:
    """Why a node is refused when so much is known."""
    return _refusal(node, node.scope.parent is not None, known)


def fragile_in_call(node: Node, known: Inference) -> Iterator[tuple[Node, str]]:
    """The nodes of a function that are refused when so much is known of what a call gives it."""
    return _Finder(known.view).in_function(node, node.scope.parent is not None, known, 0)


def _is_told(node: Node) -> bool:
    """Whether static checks know now what they can ever know of what a node reads."""
    is_given = (
        isinstance(item, Constant) or not (item.inputs or item.scope.parent or isinstance(item.scope, Function))
        for item in node.inputs
    )
    return not node.attrs.get("body") and all(is_given)


def _refusal(node: Node, is_inner: bool, known: Inference) -> str | None:
    """Why static checks refuse a node: one that may never run, or one that runs although they do."""
    if _is_told(node):
        return None
    refusal = why_refused(known, node)
    if refusal is not None:
        return refusal
    return known.refusal(node) if is_inner else None


def _freeze(node: Node, reason: str, view: View, found: dict[Node, str]) -> None:
    """Freezes a node and all that says something of what it reads."""
    pending = [node]
    while pending:
        item = pending.pop()
        if item in found:
            continue
        found[item] = reason
        for tensor in _read_by(item, view):
            pending += _behind(tensor, view)


def _read_by(node: Node, view: View) -> Iterator[Tensor]:
    yield from node.inputs
    for scope in subgraphs(node) if node.attrs else ():
        yield from scope.outputs
    function = view.called_function(node) if view.is_function_call(node) else None
    if function is not None:
        yield from function.outputs


def _behind(tensor: Tensor, view: View) -> Iterable[Node]:
    """The nodes that decide what is known of a tensor."""
    if isinstance(tensor, Constant):
        return ()
    if tensor.inputs:
        return tensor.inputs
    scope = tensor.scope
    if isinstance(scope, Function):
        return [node for node in view.nodes() if view.is_function_call(node) and view.called_function(node) is scope]
    return () if scope.parent is None or tensor not in scope.inputs else (scope.parent,)


def contradicted_nodes(view: View) -> dict[Node, Tensor]:
    """The nodes behind outputs that are declared wrongly, up to what keeps the checker from knowing."""
    found: dict[Node, Tensor] = {}
    for scope in view.model.scopes() if view.model.format == "onnx" else ():
        for tensor, info in zip(scope.outputs, scope.output_info, strict=False):
            declared = declared_shape(info)
            derived = None if declared is None else view.shape(tensor)
            if declared is None or derived is None or not contradicts(declared, derived):
                continue
            pending = list(tensor.inputs)
            while pending:
                node = pending.pop()
                if node in found:
                    continue
                found[node] = tensor
                # The checker derives nothing beyond a target that it does not know.
                is_open = node.op == "Reshape" and len(node.inputs) > 1 and bool(node.inputs[1].inputs)
                if is_open:
                    found.update(dict.fromkeys(node.inputs[1].inputs, tensor))
                else:
                    pending += [maker for operand in node.inputs for maker in operand.inputs]
    return found


def contradicts(declared: Sequence[int | None], derived: Sequence[int | None]) -> bool:
    """Whether no tensor has both shapes; None is a dimension of any size."""
    if len(declared) != len(derived):
        return True
    return any(None not in pair and pair[0] != pair[1] for pair in zip(declared, derived, strict=True))
