"""declare-shapes: the shape of what Reshape or Expand makes, where runtimes cannot derive it and fold others by it.

ONNX Runtime settles the computed target of a Reshape itself, if it knows by name the dimensions that a Shape reads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Graph, Node, Tensor
from maxfold.model.inference import Dim
from maxfold.model.types import value_info
from maxfold.model.view import View
from maxfold.passes.hoist_transposes import why_norm_is_lost
from maxfold.passes.nodes import known_integers, made_by, operand
from maxfold.passes.reshape_targets import settled_target
from maxfold.passes.rule import DeclineRecord, Pass, PassResult, Progress
from maxfold.passes.runtime_patterns import NORMALIZATIONS, pattern_of

_RESHAPING = ("Expand", "Reshape")
_BEFORE_SUMS = "runtimes would fuse the Add and the normalization behind it into a kernel that is slower than the two"


@dataclass(frozen=True)
class DeclareShapes(Pass):
    """A dimension that has a name in the file keeps it, others get one; equal names are equal sizes in every run.

    Nothing is declared before a normalization of a sum, and what is declared already stays. Each record is one more
    result that is declared.
    """

    name: ClassVar[str] = "declare-shapes"
    summary: ClassVar[str] = "declare shapes that runtimes cannot derive, where they settle targets of Reshape by them"

    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """Adds records to the main graph; no node changes."""
        started = time.perf_counter()
        graph = edit.model.graph
        wanted = _wanted(graph, edit) if edit.model.format == "onnx" else set()
        candidates = list(_candidates(graph, wanted, edit)) if wanted else []
        declines: list[DeclineRecord] = []
        changes = 0
        if candidates:
            slow, names = _before_sums(graph, edit), _namer(graph, edit)
            for node, dims in candidates:
                reason = _BEFORE_SUMS if node in slow else _why_not_declared(node, edit)
                if reason is not None:
                    declines.append(DeclineRecord(self.name, node.name or node.outputs[0].name, node.op, reason))
                    continue
                dtype = edit.dtype(node.outputs[0])
                shape = [dim if isinstance(dim, int) else names(dim) for dim in dims]
                graph.value_info.append(value_info(node.outputs[0].name, dtype.onnx if dtype else None, shape))
                changes += 1
        return PassResult(self.name, changes, tuple(declines), time.perf_counter() - started)


def _wanted(graph: Graph, view: View) -> set[Dim]:
    """The dimensions, other than numbers, of what a Reshape makes by a computed target that says no more than 0 and -1.

    Of such there are those that a rewrite may not settle, since an output is declared wrongly.
    """
    found: set[Dim] = set()
    for node in graph.nodes:
        target = operand(node, 1) if view.is_operator(node, "Reshape") else None
        value = None if target is None or isinstance(target, Constant) else view.value(target)
        dims = view.dims(node.outputs[0]) if value is not None else None
        if value is None or dims is None:
            continue
        if settled_target(value.elements, view.dims(node.inputs[0]), dims, view) is not None:
            found.update(dim for dim in dims if not isinstance(dim, int))
    return found


def _candidates(graph: Graph, wanted: set[Dim], view: View) -> Iterator[tuple[Node, tuple[Dim, ...]]]:
    """Nodes whose result has a wanted dimension that runtimes cannot name, and the dimensions of it."""
    declared = {info.name for info in graph.value_info} | graph.forgotten
    named = _named(graph, view)
    for node in graph.nodes:
        if not any(view.is_operator(node, operator) for operator in _RESHAPING) or len(node.inputs) != 2:
            continue
        result = node.outputs[0]
        dims = view.dims(result)
        if dims is None or view.dtype(result) is None or result.name in declared or view.is_graph_output(result):
            continue
        if any(dim in wanted and not _is_derived(node, axis, dim, named, view) for axis, dim in enumerate(dims)):
            yield node, dims


def _is_derived(node: Node, axis: int, dim: Dim, named: dict[Dim, str], view: View) -> bool:
    """Whether runtimes know the name of a dimension: one of an input's that the node leaves in its place."""
    target = known_integers(operand(node, 1), view)
    return node.op == "Reshape" and target is not None and dim in named and target[axis] == 0


def _named(graph: Graph, view: View) -> dict[Dim, str]:
    """The dimensions of inputs that have names."""
    found: dict[Dim, str] = {}
    for tensor in graph.inputs:
        info = graph.input_info.get(tensor.name)
        dims = view.dims(tensor)
        if info is None or dims is None:
            continue
        for dim, declared in zip(dims, info.type.tensor_type.shape.dim, strict=False):
            if declared.dim_param and not isinstance(dim, int):
                found.setdefault(dim, declared.dim_param)
    return found


def _namer(graph: Graph, view: View) -> Callable[[Dim], str]:
    """Gives each dimension a name: its own, or one that nothing in the graph has."""
    names = _named(graph, view)
    infos = (*graph.input_info.values(), *graph.output_info, *graph.value_info)
    used = {dim.dim_param for info in infos for dim in info.type.tensor_type.shape.dim}

    def name(dim: Dim) -> str:
        if dim not in names:
            number = 1
            while f"dim_{number}" in used:
                number += 1
            names[dim] = f"dim_{number}"
            used.add(names[dim])
        return names[dim]

    return name


def _why_not_declared(node: Node, view: View) -> str | None:
    result = node.outputs[0]
    reason = view.why_fixed(result) or view.why_not_settled(node) or why_norm_is_lost(node, view)
    return reason or view.why_not_known({result: view.fact(result)})


def _before_sums(graph: Graph, view: View) -> set[Node]:
    """The nodes before an Add whose result is normalized."""
    found: set[Node] = set()
    pending: list[Node] = []
    for node in graph.nodes:
        is_part = pattern_of(node, view) in NORMALIZATIONS
        if is_part or any(view.is_operator(node, operator) for operator in NORMALIZATIONS):
            sums = [made_by(tensor, "Add", view) for tensor in node.inputs[:1]]
            pending += [item for item in sums if item is not None and not _has_constant(item)]
    while pending:
        node = pending.pop()
        if node in found:
            continue
        found.add(node)
        pending += [maker for tensor in node.inputs for maker in tensor.inputs]
    return found


def _has_constant(node: Node) -> bool:
    tensors: list[Tensor] = list(node.inputs)
    return any(isinstance(tensor, Constant) for tensor in tensors)
