"""Running a pass under test; what must hold after every pass is checked on every run.

outcome("fuse-max", model).text        the rewritten model as `tests.text.lines` has it
outcome("fuse-max", model).reasons     why rewrites were declined
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import onnx
from onnx import GraphProto, ModelProto

from maxfold.model import Model, read_onnx, write_onnx
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Graph, Node, Tensor, subgraphs
from maxfold.model.view import View
from maxfold.passes import CATALOGUE, DeclineRecord, PassResult
from tests.passes import surviving
from tests.text import lines

# How declines end that are due to training.
BOUND = "takes part in training, which changes it"

_PASSES = {entry.name: entry for entry in CATALOGUE}
# Larger models are run without being looked at after each rewrite.
_MOST_WATCHED = 64


@dataclass(frozen=True)
class Outcome:
    """The model before and after one run of a pass, and what the pass said."""

    before: ModelProto
    after: ModelProto
    result: PassResult

    @property
    def text(self) -> str:
        return lines(self.after)

    @property
    def changes(self) -> int:
        return self.result.changes

    @property
    def reasons(self) -> list[str]:
        return [decline.reason for decline in self.result.declines]

    @property
    def declines(self) -> tuple[DeclineRecord, ...]:
        return self.result.declines


def outcome(
    name: str,
    source: ModelProto,
    *,
    math: str = "exact",
    keep: Iterable[str] = (),
    check: bool = True,
    **options: Any,
) -> Outcome:
    """Runs one pass on a copy of a model. `check=False` is for models that onnx's checker refuses to begin with."""
    model = read_onnx(source)
    edit = Edit(model, math=math, keep=keep)
    result = _watched(name, source, edit, options)
    assert_consistent(model, edit)
    again = _PASSES[name](**options).run(edit)
    assert again.changes == 0, "a second run changes the model"
    assert _said(again) == _said(result), "other declines in a second run"
    data = saved(model)
    after = ModelProto.FromString(data)
    if check:
        onnx.checker.check_model(after, full_check=True)
    assert_same_interface(source, after)
    assert_declarations_match(after.graph)
    _assert_stable(name, data, math, keep, options)
    other = read_onnx(source)
    _PASSES[name](**options).run(Edit(other, math=math, keep=keep))
    assert saved(other) == data, "two runs give different bytes"
    if not result.changes:
        assert data == saved(read_onnx(source)), "no change is reported, but the model is another"
    return Outcome(source, after, result)


def _watched(name: str, source: ModelProto, edit: Edit, options: dict[str, Any]) -> PassResult:
    """Runs a pass; after each rewrite what is left must hold what it held, and all that is known of it be true."""
    entry = _PASSES[name](**options)
    feeds = surviving.feed_sets(source)
    if feeds is None or len(source.graph.node) > _MOST_WATCHED:
        return entry.run(edit)
    watch = surviving.Watch(feeds)
    watch.begin(edit)
    with watch.watching():
        result = entry.run(edit)
    watch.look(edit, name)
    return result


def saved(model: Model) -> bytes:
    """The bytes that a model is written as."""
    stream = io.BytesIO()
    write_onnx(model, stream)
    return stream.getvalue()


def assert_consistent(model: Model, edit: View) -> None:
    """Counts, back-pointers, owners and names are those of the graph as it stands."""
    view = View(model)
    reads: Counter[Tensor] = Counter()
    for scope in model.scopes():
        _assert_scope(scope)
        for node in scope.nodes:
            assert edit.is_live(node), f"{node.name!r} is removed and still there"
            reads.update(node.inputs)
    for tensor in _tensors(model):
        if not tensor.name:
            continue  # an omitted input or output
        assert Counter(tensor.outputs) == Counter(_readers(tensor, model)), f"consumers of {tensor.name!r}"
        assert reads[tensor] == view.use_count(tensor) == edit.use_count(tensor), f"uses of {tensor.name!r}"
        assert view.is_graph_output(tensor) == edit.is_graph_output(tensor), tensor.name
        assert set(view.consumers(tensor)) == set(edit.consumers(tensor)) == set(tensor.outputs)
        made_by = [node for node in tensor.inputs if any(output is tensor for output in node.outputs)]
        assert len(made_by) == len(tensor.inputs) <= 1, f"producers of {tensor.name!r}"
        assert not (isinstance(tensor, Constant) and tensor.inputs), f"{tensor.name!r} is constant and made by a node"


def assert_same_interface(before: ModelProto, after: ModelProto) -> None:
    """Inputs and outputs of the graph and of all functions are byte for byte those of before."""
    assert [info.SerializeToString() for info in after.graph.input] == [
        info.SerializeToString() for info in before.graph.input
    ]
    assert [info.SerializeToString() for info in after.graph.output] == [
        info.SerializeToString() for info in before.graph.output
    ]
    heads = [
        [(function.domain, function.name, list(function.input), list(function.output)) for function in proto.functions]
        for proto in (before, after)
    ]
    assert heads[0] == heads[1]
    for field in ("metadata_props", "training_info", "opset_import", "doc_string", "ir_version"):
        assert getattr(before, field) == getattr(after, field), field
    defaults = [_defaults(proto.graph) for proto in (before, after)]
    assert defaults[0] == defaults[1], "a default value of an input is gone or another"


def assert_declarations_match(graph: GraphProto) -> None:
    """Every declared intermediate result exists, here and in the graphs inside."""
    names = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    names.update(name for node in graph.node for name in node.output)
    assert {info.name for info in graph.value_info} <= names, "a declaration of a tensor that is gone"
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                assert_declarations_match(inner)


def _defaults(graph: GraphProto) -> dict[str, bytes]:
    inputs = {info.name for info in graph.input}
    return {tensor.name: tensor.SerializeToString() for tensor in graph.initializer if tensor.name in inputs}


def _assert_scope(scope: Graph) -> None:
    names = Counter(tensor.name for tensor in scope.constants)
    names.update(tensor.name for tensor in scope.inputs if not isinstance(tensor, Constant))
    for node in scope.nodes:
        assert node.scope is scope
        assert all(inner.parent is node for inner in subgraphs(node))
        names.update(tensor.name for tensor in node.outputs if tensor.name)
        assert all(tensor.scope is scope for tensor in node.outputs)
    assert all(constant.scope is scope for constant in scope.constants)
    assert "" not in names, "a constant without a name"
    assert [name for name, count in names.items() if count > 1] == []


def _tensors(model: Model) -> dict[Tensor, None]:
    found: dict[Tensor, None] = {}
    for scope in model.scopes():
        found.update(dict.fromkeys((*scope.inputs, *scope.constants, *scope.outputs)))
        for node in scope.nodes:
            found.update(dict.fromkeys((*node.inputs, *node.outputs)))
    return found


def _readers(tensor: Tensor, model: Model) -> list[Node]:
    """Who reads a tensor, found from the nodes alone; only for small models."""
    return [node for node in model.nodes() for item in node.inputs if item is tensor]


def _said(result: PassResult) -> Counter[tuple[str, str]]:
    """Who declined and why; counts of uses may have been taken before later rewrites."""
    return Counter((decline.node, re.sub(r"\d+ uses", "uses", decline.reason)) for decline in result.declines)


def _assert_stable(name: str, data: bytes, math: str, keep: Iterable[str], options: dict[str, Any]) -> None:
    """After save and load the pass finds nothing more to do, and the file stays what it is."""
    model = read_onnx(data)
    kept = [item for item in keep if item in _names(model)]
    result = _PASSES[name](**options).run(Edit(model, math=math, keep=kept))
    assert result.changes == 0, "a run on the saved model changes it"
    assert saved(model) == data


def _names(model: Model) -> set[str]:
    names = {tensor.name for tensor in _tensors(model)}
    return names | {node.name for node in model.nodes()}
