"""inline-functions: calls of model-local functions become what the functions do, where that is asked for."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Function, Graph, Node, Tensor, new_variable, scopes_of, subgraphs
from maxfold.model.model import ONNX_DOMAINS, Model
from maxfold.model.records import record
from maxfold.model.splice import why_kept_inside, why_not_moved, why_not_replaced
from maxfold.passes.rule import DeclineRecord, Pass, PassResult, Progress, options

# A file of a few functions that call each other twice may stand for more nodes than any memory holds.
_MOST_NODES = 1_000_000

Key = tuple[str, str, str]


@options
class InlineFunctions(Pass):
    """`inline_functions`: whether to do it at all; without, functions are only cleaned inside.

    Calls in the main graph, also those that come with a body, are replaced; then functions that nothing calls go. The
    bodies keep their meaning: they must import the same versions of operator sets as the model.
    """

    inline_functions: bool = False
    name: ClassVar[str] = "inline-functions"
    summary: ClassVar[str] = "replace calls of model-local functions by what they do, if asked for"

    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """Outer calls first, so that every reference to an attribute finds its value."""
        started = time.perf_counter()
        if not self.inline_functions or not edit.model.functions:
            return PassResult(self.name, 0, (), time.perf_counter() - started)
        changes, declines = inline_calls(edit, progress=progress)
        return PassResult(self.name, changes, declines, time.perf_counter() - started)


def inline_calls(
    edit: Edit, left: Collection[Function] = (), *, progress: Progress | None = None
) -> tuple[int, tuple[DeclineRecord, ...]]:
    """Inlines all calls but those of functions in `left`; returns the number of changes, and the calls that stay."""
    inliner = _Inliner(edit)
    inliner.functions = {key: function for key, function in inliner.functions.items() if function not in left}
    changes = inliner.run(progress)
    edit.flush()
    for function in _uncalled(edit.model):
        edit.remove_function(function)
        changes += 1
    edit.flush()
    edit.take_touched()
    return changes, tuple(inliner.declines)


def with_callers(reasons: Mapping[Function, str], model: Model) -> dict[Function, str]:
    """The same for all functions that call these, at any distance."""
    functions = _by_key(model)
    callers: dict[Function, list[Function]] = {}
    for function in functions.values():
        for inner in _calls(function, functions):
            callers.setdefault(inner, []).append(function)
    found, pending = dict(reasons), list(reasons)
    while pending:
        inner = pending.pop()
        for function in callers.get(inner, ()):
            if function not in found:
                found[function] = found[inner]
                pending.append(function)
    return found


@record
class _Inliner:
    edit: Edit
    declines: list[DeclineRecord] = field(default_factory=list)
    functions: dict[Key, Function] = field(default_factory=dict)
    sizes: dict[Function, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.functions = _by_key(self.edit.model)
        self.sizes = _expanded_sizes(self.functions)

    def run(self, progress: Progress | None) -> int:
        """Replaces all calls in the main graph and the graphs inside it; returns how many."""
        pending = [node for scope in scopes_of(self.edit.model.graph) for node in scope.nodes]
        pending.reverse()
        changes = 0
        budget: float = _MOST_NODES
        while pending:
            node = pending.pop()
            function = self.functions.get(called(node))
            if function is None:
                continue
            reason = self._why_not(function, node, budget)
            if reason is not None:
                shown = node.name or next((tensor.name for tensor in node.outputs if tensor.name), "")
                self.declines.append(DeclineRecord(InlineFunctions.name, shown, node.op, reason))
                continue
            body = self.edit.copy_function(function, node)
            made = [inner for scope in scopes_of(body) for inner in scope.nodes]
            self._replace(body, node)
            budget -= len(made)
            changes += 1
            pending += reversed(made)
            if progress is not None:
                progress(InlineFunctions.name, changes, changes + len(pending))
        return changes

    def _replace(self, body: Graph, node: Node) -> None:
        given: list[Tensor] = list(node.inputs)
        given += [new_variable("", node.scope) for _ in body.inputs[len(given) :]]
        bindings = dict(zip(body.inputs, given, strict=True))
        self.edit.replace_results(node, self.edit.inline_graph(body, before=node, bindings=bindings))

    def _why_not(self, function: Function, node: Node, budget: float) -> str | None:
        edit = self.edit
        if edit.is_kept(node):
            return "it is to be kept"
        if edit.why_frozen(node) is not None:
            return edit.why_frozen(node)
        if len(node.inputs) > len(function.inputs) or len(node.outputs) > len(function.outputs):
            return f"{function.name!r} has not that many inputs and outputs"
        if any(True for _ in subgraphs(node)):
            return "a graph is given to it as an attribute"
        size = self.sizes[function]
        if size > budget:
            return f"{function.name!r} stands for too many nodes" if size < float("inf") else "it calls itself"
        reason = _why_other_versions(function, edit) or why_kept_inside(function, edit)
        if reason is not None:
            return reason
        bindings: dict[Tensor, Tensor | None] = dict(zip(function.inputs, node.inputs, strict=False))
        bindings.update(dict.fromkeys(function.inputs[len(node.inputs) :]))
        missing = {tensor for tensor, given in bindings.items() if given is None or not given.name}
        returned = [bindings.get(tensor) or tensor for tensor in function.outputs]
        if missing.intersection(function.outputs):
            return f"{function.name!r} returns an input that is left out"
        return why_not_moved(function, node, edit, bindings) or why_not_replaced(node, returned, edit, function)


def called(node: Node) -> Key:
    """The key of the function that a node calls, if there is one."""
    overload = node.proto.overload if node.proto is not None else ""
    return "" if (node.domain or "") in ONNX_DOMAINS else node.domain, node.op, overload


def _by_key(model: Model) -> dict[Key, Function]:
    keys = ((function, function.key) for function in model.functions)
    return {("" if key[0] in ONNX_DOMAINS else key[0], *key[1:]): function for function, key in keys}


def _calls(function: Graph, functions: dict[Key, Function]) -> list[Function]:
    keys = (called(node) for scope in scopes_of(function) for node in scope.nodes)
    return [functions[key] for key in keys if key in functions]


def _expanded_sizes(functions: dict[Key, Function]) -> dict[Function, float]:
    """How many nodes each function stands for with all that it calls; infinite where it calls itself."""
    calls = {function: _calls(function, functions) for function in functions.values()}
    sizes: dict[Function, float] = {}
    waiting = {function: len(set(inner)) for function, inner in calls.items()}
    callers: dict[Function, list[Function]] = {function: [] for function in calls}
    for function, inner in calls.items():
        for other in dict.fromkeys(inner):
            callers[other].append(function)
    ready = [function for function, count in waiting.items() if not count]
    while ready:
        function = ready.pop()
        own = sum(len(scope.nodes) for scope in scopes_of(function))
        sizes[function] = own + sum(sizes[inner] for inner in calls[function])
        for caller in callers[function]:
            waiting[caller] -= 1
            if not waiting[caller]:
                ready.append(caller)
    return {function: sizes.get(function, float("inf")) for function in calls}


def _why_other_versions(function: Function, edit: Edit) -> str | None:
    """Why nodes of a body may mean something else in the main graph, None where they may not."""
    model = edit.model
    own, outer = model.opsets(function), model.opsets(model.graph)
    nodes = (node for scope in scopes_of(function) for node in scope.nodes)
    domains = dict.fromkeys("" if (node.domain or "") in ONNX_DOMAINS else node.domain for node in nodes)
    if any(True for scope in scopes_of(function) for _ in scope.constants):
        domains[""] = None
    for domain in domains:
        if own.get(domain) != outer.get(domain):
            shown = domain or "ai.onnx"
            return f"{function.name!r} imports {shown} {own.get(domain)}, the model {outer.get(domain)}"
    return None


def _uncalled(model: Model) -> Iterable[Function]:
    """Functions that neither the main graph reaches nor training, which may call any."""
    if model.proto.training_info:
        return []
    functions = _by_key(model)
    pending = _calls(model.graph, functions)
    reached = set(pending)
    while pending:
        for inner in _calls(pending.pop(), functions):
            if inner not in reached:
                reached.add(inner)
                pending.append(inner)
    return [function for function in model.functions if function not in reached]
