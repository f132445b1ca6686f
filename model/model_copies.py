"""A whole model once more: what is done to the copy is not seen in the original."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import onnx

from maxfold.model.attributes import is_nested
from maxfold.model.graph import (
    Constant,
    Function,
    Graph,
    Node,
    Tensor,
    init_scope,
    new_constant,
    new_graph,
    new_node,
    new_variable,
)
from maxfold.model.model import Model

# What a copy has of its own.
_LINKS = frozenset({"inputs", "outputs", "scope", "_values"})
_OF_NODES = frozenset({"op", "inputs", "outputs", "scope", "domain", "name", "attrs", "proto", "position"})
_SAID_OF_SCOPES = ("doc_string", "opset", "ir_version", "producer_name", "producer_version", "name_idx", "extra")
_PLAIN = (str, int, float, bytes, tuple, type(None), type, np.dtype)


def copy_model(model: Model) -> Model:
    """A model with graphs, functions and declarations of its own. All names stay; the data of constants, and what
    nodes were read from, are shared, since nothing changes them in place."""
    return _Copier().model(model)


class _Copier:
    def __init__(self) -> None:
        self._tensors: dict[Tensor, Tensor] = {}
        # Scopes that stand in others are filled when those around them are complete.
        self._pending: list[tuple[Graph, Graph]] = []

    def model(self, source: Model) -> Model:
        proto = onnx.ModelProto()
        proto.CopyFrom(source.proto)
        graph = self._scope(source.graph, None)
        functions = [self._function(function) for function in source.functions]
        graph.functions = functions
        while self._pending:
            self._fill(*self._pending.pop())
        if source.graph.import_domains is not None:
            graph.import_domains = list(proto.opset_import)
        return replace(source, graph=graph, functions=functions, proto=proto, net=deepcopy(source.net))

    def _scope(self, source: Graph, parent: Node | None) -> Graph:
        made = new_graph(source.name, parent, _copied(source.proto))
        self._add(source, made)
        return made

    def _function(self, source: Function) -> Function:
        made = Function(name=source.name, domain=source.domain)
        init_scope(made, None, _copied(source.proto))
        made.attrs = dict(source.attrs)
        made.import_domains = deepcopy(source.import_domains)
        self._add(source, made)
        return made

    def _add(self, source: Graph, made: Graph) -> None:
        for name in _SAID_OF_SCOPES:
            if name in source.__dict__:
                made.__dict__[name] = deepcopy(source.__dict__[name])
        self._pending.append((source, made))

    def _fill(self, source: Graph, made: Graph) -> None:
        """Copies what a scope defines, then its nodes: they may stand in any order."""
        made.constants += [self._define(constant, made) for constant in source.constants]
        made.inputs += [self._define(tensor, made) for tensor in source.inputs]
        for node in source.nodes:
            for tensor in node.outputs:
                self._define(tensor, made)
        for node in source.nodes:
            made.nodes.append(self._node(node, made))
        made.outputs += [self._define(tensor, made) for tensor in source.outputs]
        made.value_info = [_copied(info) for info in source.value_info]
        made.output_info = [_copied(info) for info in source.output_info]
        made.input_info = {name: _copied(info) for name, info in source.input_info.items()}
        made.forgotten = set(source.forgotten)
        made.results = deepcopy(source.results)

    def _define(self, tensor: Tensor, scope: Graph) -> Tensor:
        found = self._tensors.get(tensor)
        if found is None:
            found = self._tensors[tensor] = _tensor(tensor, scope)
        return found

    def _node(self, source: Node, made: Graph) -> Node:
        tensors = self._tensors
        node = new_node(
            source.op,
            [tensors.get(tensor) or self._define(tensor, made) for tensor in source.inputs],
            [tensors[tensor] for tensor in source.outputs],
            made,
            domain=source.domain,
            name=source.name,
            proto=source.proto,
            position=source.position,
        )
        if len(source.__dict__) > len(_OF_NODES):
            node.__dict__.update(_others(source, _OF_NODES))
        for name, value in source.attrs.items():
            node.attrs[name] = value if isinstance(value, _PLAIN) else self._attribute(value, node)
        return node

    def _attribute(self, value: Any, node: Node) -> Any:
        if isinstance(value, list):
            return [self._attribute(item, node) for item in value] if is_nested(value) else deepcopy(value)
        if isinstance(value, Graph):
            return self._scope(value, node)
        if isinstance(value, Constant):
            return _tensor(value, node.scope)
        return deepcopy(value)


def _tensor(source: Tensor, scope: Graph) -> Tensor:
    is_constant = isinstance(source, Constant)
    made = new_constant(source.name, source.data, scope) if is_constant else new_variable(source.name, scope)
    made.__dict__.update(_others(source, _LINKS))
    return made


def _others(item: Any, own: frozenset[str]) -> dict[str, Any]:
    """The fields of an object beside those that its copy has already."""
    return {
        name: value if isinstance(value, _PLAIN) or name == "origin" else _field(value)
        for name, value in item.__dict__.items()
        if name not in own
    }


def _field(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(item, _PLAIN) for item in value):
        return list(value)
    return deepcopy(value)


def _copied(proto: Any) -> Any:
    """A message of its own, None where there is none."""
    if proto is None:
        return None
    made = type(proto)()
    made.CopyFrom(proto)
    return made
