"""A function's body as a graph of its own, for one call: references to its attributes become their values.

Source: the ONNX IR specification, "Functions".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import onnx
from onnx import AttributeProto

from maxfold.model import attributes
from maxfold.model.attributes import AttributeRef
from maxfold.model.data import ProtoData, TensorData
from maxfold.model.graph import (
    Constant,
    Function,
    Graph,
    Node,
    Tensor,
    new_constant,
    new_graph,
    new_node,
    new_variable,
)
from maxfold.model.model import ONNX_DOMAINS
from maxfold.model.names import NameAllocator
from maxfold.model.records import frozen_value, record


@frozen_value
class Argument:
    """The value of a function's attribute in one call, and what a file says of it: None for tensors made since."""

    value: Any
    proto: AttributeProto | None


def arguments(function: Function, call: Node) -> dict[str, Argument]:
    """The values that a call gives a function's attributes, or that the function has for them.

    One that has neither is left out, as are the attributes of nodes that refer to it.
    """
    said = {entry.name: entry for entry in call.proto.attribute} if call.proto is not None else {}
    found: dict[str, Argument] = {}
    for name, default in function.attrs.items():
        if name in call.attrs:
            found[name] = Argument(call.attrs[name], _proto(name, call.attrs[name], said.get(name)))
        elif isinstance(default, AttributeProto):
            found[name] = Argument(_decoded(default, function), default)
    return found


def copy_body(function: Graph, values: Mapping[str, Argument], scope: Graph, names: NameAllocator) -> Graph:
    """A body, or another graph, with its inputs and outputs, in no scope. Names, inside too, are free in `scope`."""
    copier = _Copier(values, scope, names)
    body = copier.graph(function, None)
    while copier.pending:
        copier.fill(*copier.pending.pop())
    return body


@record
class _Copier:
    values: Mapping[str, Argument]
    scope: Graph
    names: NameAllocator
    tensors: dict[Tensor, Tensor] = field(default_factory=dict)
    pending: list[tuple[Graph, Graph]] = field(default_factory=list)

    def graph(self, source: Graph, parent: Node | None) -> Graph:
        """An empty graph that is filled when the scopes around it are complete."""
        proto = onnx.GraphProto(name=source.name)
        if isinstance(source.proto, onnx.GraphProto):
            proto.CopyFrom(source.proto)
        made = new_graph(source.name, parent, proto)
        made.doc_string = source.doc_string
        self.pending.append((source, made))
        return made

    def fill(self, source: Graph, made: Graph) -> None:
        """Copies what a scope defines, then its nodes: they may stand in any order."""
        renamed: dict[str, str] = {}
        for tensor in (*source.constants, *source.inputs, *(item for node in source.nodes for item in node.outputs)):
            if tensor in self.tensors:
                continue
            renamed[tensor.name] = name = self.names.carried(tensor.name, self.scope)
            maker = tensor.inputs[0] if tensor.inputs else None
            constant = None if maker is None else self._constant(maker, name, made)
            self.tensors[tensor] = copy = _copied(tensor, name, made) if constant is None else constant
            if isinstance(copy, Constant):
                made.constants.append(copy)
        made.inputs += [self.tensors[tensor] for tensor in source.inputs]
        for node in source.nodes:
            if not any(isinstance(self.tensors[tensor], Constant) for tensor in node.outputs):
                self._node(node, made)
        made.outputs += [self.tensors[tensor] for tensor in source.outputs]
        made.value_info = [_info(info, renamed) for info in source.value_info if info.name not in source.forgotten]
        made.output_info = [
            _info(info, {info.name: tensor.name})
            for info, tensor in zip(source.output_info, made.outputs, strict=False)
        ]
        made.input_info = {renamed[name]: _info(info, renamed) for name, info in source.input_info.items()}
        for annotation in getattr(made.proto, "quantization_annotation", ()):
            annotation.tensor_name = renamed.get(annotation.tensor_name, annotation.tensor_name)
            for entry in annotation.quant_parameter_tensor_names:
                entry.value = renamed.get(entry.value, entry.value)

    def _node(self, source: Node, made: Graph) -> None:
        node = new_node(
            source.op,
            [self.tensors[tensor] if tensor.name else new_variable("", made) for tensor in source.inputs],
            [self.tensors[tensor] for tensor in source.outputs],
            made,
            domain=source.domain,
            name=self.names.carried(source.name, self.scope, is_node=True),
            proto=self._proto(source.proto),
            position=source.position,
        )
        for name, value in source.attrs.items():
            if not isinstance(value, AttributeRef):
                node.attrs[name] = self._attribute(value, node)
            elif value.name in self.values:
                node.attrs[name] = self._attribute(self.values[value.name].value, node)
        made.nodes.append(node)

    def _attribute(self, value: Any, node: Node) -> Any:
        if isinstance(value, list):
            return [self._attribute(item, node) for item in value]
        if isinstance(value, Graph):
            return self.graph(value, node)
        if isinstance(value, Constant):
            return new_constant(value.name, value.data, node.scope, value.origin)
        return value

    def _proto(self, proto: onnx.NodeProto | None) -> onnx.NodeProto | None:
        """What the file said of a node, with values for references."""
        if proto is None or not any(entry.ref_attr_name for entry in proto.attribute):
            return proto
        made = onnx.NodeProto()
        made.CopyFrom(proto)
        made.ClearField("attribute")
        for entry in proto.attribute:
            given = self.values.get(entry.ref_attr_name) if entry.ref_attr_name else Argument(None, entry)
            if given is not None and given.proto is not None:
                added = made.attribute.add()
                added.CopyFrom(given.proto)
                added.name = entry.name
        return made

    def _constant(self, source: Node, name: str, made: Graph) -> Constant | None:
        """The constant of a Constant node whose value was a reference."""
        if source.op != "Constant" or (source.domain or "") not in ONNX_DOMAINS or source.inputs:
            return None
        proto = self._proto(source.proto)
        if len(source.outputs) != 1 or proto is None or len(proto.attribute) != 1:
            return None
        given = [self.values.get(item.name) for item in source.attrs.values() if isinstance(item, AttributeRef)]
        if len(given) != 1 or given[0] is None:
            return None
        value = given[0].value
        data: TensorData | None = attributes.constant_data(proto.attribute[0])
        if proto.attribute[0].name == "value" and isinstance(value, Constant):
            data = value.data
        return None if data is None else new_constant(name, data, made, proto, source.position)


def _copied(tensor: Tensor, name: str, scope: Graph) -> Tensor:
    if isinstance(tensor, Constant):
        return new_constant(name, tensor.data, scope, tensor.origin, tensor.position)
    made = new_variable(name, scope)
    made.__dict__.update(type=tensor.type, dtype=tensor.dtype, shape=tensor.shape)
    if "declared" in tensor.__dict__:
        made.__dict__["declared"] = tensor.__dict__["declared"]
    return made


def _info(info: onnx.ValueInfoProto, names: Mapping[str, str]) -> onnx.ValueInfoProto:
    made = onnx.ValueInfoProto()
    made.CopyFrom(info)
    made.name = names.get(info.name, info.name)
    return made


def _proto(name: str, value: Any, said: AttributeProto | None) -> AttributeProto | None:
    if said is not None and (attributes.is_nested(value) or attributes.is_unchanged(said, value)):
        return said
    return None if attributes.is_nested(value) else attributes.encode(name, value)


def _decoded(proto: AttributeProto, function: Function) -> Any:
    """The value of a default; functions have no graphs for defaults."""
    if attributes.kind(proto) == AttributeProto.TENSOR:
        return new_constant(proto.t.name, ProtoData(proto.t), function, proto.t)
    return attributes.decode(proto)
