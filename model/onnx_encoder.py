"""Encoding a model as protobuf: what no rewrite touched goes back as it came, large data as regions of files.

Source: onnx.proto; the ONNX IR specification for scopes and external data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx
from onnx import AttributeProto

from maxfold.model import attributes
from maxfold.model.data import AttributeData, ProtoData, SparseData, StoredData, TensorData, raw_bytes, tensor_proto
from maxfold.model.external import EXTERNAL_BYTES, ExternalLayout
from maxfold.model.graph import Constant, Function, Graph, Node, Tensor, scopes_of
from maxfold.model.model import ONNX_DOMAINS, Model
from maxfold.model.onnx_tensors import bring_in, renamed_tensor, set_text, sparse_tensor, tensor_shell, to_bytes
from maxfold.model.order import node_reads
from maxfold.model.storage import Region, Source
from maxfold.model.types import is_as_declared, value_info
from maxfold.model.wire import CUT_BYTES, RAW_DATA, Pieces, Skeleton, split_fields

# Field numbers of onnx.proto.
_MODEL_GRAPH, _MODEL_FUNCTIONS = 7, 25
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_SPARSE, _GRAPH_INPUT, _GRAPH_OUTPUT, _GRAPH_VALUE_INFO = 1, 5, 15, 11, 12, 13
_FUNCTION_INPUT, _FUNCTION_OUTPUT, _FUNCTION_NODE, _FUNCTION_VALUE_INFO = 4, 5, 7, 12
_NODE_ATTRIBUTE = 5
_ATTRIBUTE_T = 5


def encode_model(
    model: Model,
    layout: ExternalLayout | None = None,
    *,
    keep_inline: bool = False,
    skeleton: Skeleton | None = None,
) -> Pieces:
    """A serialized ModelProto, large data still in its files.

    With a `layout`, initializers of at least 1 KiB go there (with `keep_inline` only what was external already).
    With a `skeleton`, large data that would stand in the message is cut out and goes there.
    """
    return _Encoder(model, layout, keep_inline, skeleton).model()


_NESTED_FIELDS = {(False, False): "t", (False, True): "tensors", (True, False): "g", (True, True): "graphs"}


_NESTED_NUMBERS = {(False, False): _ATTRIBUTE_T, (False, True): 10, (True, False): 6, (True, True): 11}


def _nested_kind(is_graph: bool, is_list: bool) -> AttributeProto.AttributeType:
    if is_graph:
        return AttributeProto.GRAPHS if is_list else AttributeProto.GRAPH
    return AttributeProto.TENSORS if is_list else AttributeProto.TENSOR


class _Encoder:
    def __init__(
        self, model: Model, layout: ExternalLayout | None, keep_inline: bool, skeleton: Skeleton | None
    ) -> None:
        self._model = model
        self._layout = layout
        self._keep_inline = keep_inline
        self._skeleton = skeleton

    def model(self) -> Pieces:
        model = self._model
        out = Pieces([to_bytes(_model_rest(model))])
        out.add_field(_MODEL_GRAPH, self._graph(model.graph))
        for function in model.functions:
            out.add_field(_MODEL_FUNCTIONS, self._function(function))
        return out

    def _graph(self, graph: Graph) -> Pieces:
        out = Pieces()
        self._nodes(graph, _GRAPH_NODE, out)
        out.add(to_bytes(_rest_of(graph)))
        for constant in graph.constants:
            if constant.is_node or self._needs_node(constant):
                continue
            if isinstance(constant.data, SparseData):
                out.add_field(_GRAPH_SPARSE, sparse_tensor(constant))
            else:
                out.add_field(_GRAPH_INITIALIZER, self._tensor(constant, constant.name, is_initializer=True))
        for tensor in graph.inputs:
            out.add_field(_GRAPH_INPUT, to_bytes(_info(tensor, graph.input_info.get(tensor.name))))
        for tensor, info in zip(graph.outputs, _output_infos(graph), strict=True):
            out.add_field(_GRAPH_OUTPUT, to_bytes(_info(tensor, info)))
        self._value_info(graph, _GRAPH_VALUE_INFO, out)
        return out

    def _function(self, function: Function) -> Pieces:
        out = Pieces([to_bytes(_rest_of(function))])
        for number, tensors in ((_FUNCTION_INPUT, function.inputs), (_FUNCTION_OUTPUT, function.outputs)):
            for tensor in tensors:
                out.add_field(number, tensor.name.encode())
        self._nodes(function, _FUNCTION_NODE, out)
        self._value_info(function, _FUNCTION_VALUE_INFO, out)
        return out

    def _value_info(self, graph: Graph, number: int, out: Pieces) -> None:
        for info in graph.value_info:
            if info.name not in graph.forgotten:
                out.add_field(number, to_bytes(info))

    def _needs_node(self, constant: Constant) -> bool:
        """Whether a constant must be a Constant node: functions have no initializers, before IR version 4 an
        initializer had to be a graph input too, and onnx derives no type of an inner graph's output from one."""
        scope = constant.scope
        if isinstance(scope, Function):
            return True
        if constant.origin is None and scope.parent is not None and any(item is constant for item in scope.outputs):
            return True
        return constant.origin is None and self._model.ir_version < 4 and constant not in constant.scope.inputs

    def _nodes(self, graph: Graph, number: int, out: Pieces) -> None:
        """Nodes in their order. A Constant node stands where it stood, but never behind a node that reads it; new
        ones stand before their first consumer."""
        held = [constant for constant in graph.constants if constant.is_node or self._needs_node(constant)]
        if not held:
            for node in graph.nodes:
                out.add_field(number, self._node(node))
            return
        pending = dict.fromkeys(held)
        placed = sorted((constant for constant in held if constant.position >= 0), key=lambda item: item.position)
        upcoming = 0
        for node in graph.nodes:
            due = []
            while upcoming < len(placed) and placed[upcoming].position < node.position:
                due.append(placed[upcoming])
                upcoming += 1
            due += [tensor for tensor in node_reads(node) if isinstance(tensor, Constant) and _is_free(tensor, node)]
            for constant in due:
                if constant in pending:
                    del pending[constant]
                    out.add_field(number, self._constant_node(constant))
            out.add_field(number, self._node(node))
        for constant in pending:
            out.add_field(number, self._constant_node(constant))

    def _node(self, node: Node) -> Pieces | bytes:
        proto = node.proto
        if proto is not None and _is_same(node, proto) and not any(map(attributes.is_nested, node.attrs.values())):
            return to_bytes(proto)
        rest = onnx.NodeProto()
        if proto is not None:
            rest.CopyFrom(proto)
            for field in ("input", "output", "attribute"):
                rest.ClearField(field)
        set_text(rest, "op_type", node.op)
        set_text(rest, "name", node.name)
        set_text(rest, "domain", node.domain or "")
        rest.input.extend(tensor.name for tensor in node.inputs)
        rest.output.extend(tensor.name for tensor in node.outputs)
        head, tail = split_fields(to_bytes(rest), _NODE_ATTRIBUTE)
        out = Pieces([head])
        originals = {entry.name: entry for entry in proto.attribute} if proto is not None else {}
        for name, value in node.attrs.items():
            out.add_field(_NODE_ATTRIBUTE, self._attribute(name, value, originals.get(name)))
        out.add(tail)
        return out

    def _attribute(self, name: str, value: Any, original: AttributeProto | None) -> Pieces | bytes:
        if not attributes.is_nested(value):
            if original is not None and attributes.is_unchanged(original, value):
                return to_bytes(original)
            return to_bytes(attributes.encode(name, value))
        items: Sequence[Any] = value if isinstance(value, list) else [value]
        is_graph = isinstance(items[0], Graph)
        rest = AttributeProto(name=name)
        if original is not None:
            rest.CopyFrom(original)
        if original is None:
            rest.type = _nested_kind(is_graph, isinstance(value, list))
        rest.ClearField(_NESTED_FIELDS[is_graph, isinstance(value, list)])
        number = _NESTED_NUMBERS[is_graph, isinstance(value, list)]
        head, tail = split_fields(to_bytes(rest), number)
        out = Pieces([head])
        for item in items:
            out.add_field(number, self._graph(item) if is_graph else self._tensor(item, item.name))
        out.add(tail)
        return out

    def _constant_node(self, constant: Constant) -> Pieces:
        """The Constant node of a constant; its attribute is the file's own where its values are still the file's."""
        origin = constant.origin if isinstance(constant.origin, onnx.NodeProto) else None
        rest = onnx.NodeProto(op_type="Constant", output=[constant.name])
        original: AttributeProto | None = None
        if origin is not None:
            rest.CopyFrom(origin)
            rest.ClearField("attribute")
            rest.output[0] = constant.name
            original = origin.attribute[0]
        head, tail = split_fields(to_bytes(rest), _NODE_ATTRIBUTE)
        out = Pieces([head])
        out.add_field(_NODE_ATTRIBUTE, self._constant_attribute(constant, original))
        out.add(tail)
        return out

    def _constant_attribute(self, constant: Constant, original: AttributeProto | None) -> Pieces | bytes:
        if original is not None and isinstance(constant.data, (ProtoData, SparseData, AttributeData)):
            return to_bytes(original)
        value = AttributeProto(name="value", type=AttributeProto.TENSOR)
        name = ""
        if original is not None and original.HasField("t"):
            name = original.t.name
            value.CopyFrom(original)
            value.ClearField("t")
        head, tail = split_fields(to_bytes(value), _ATTRIBUTE_T)
        out = Pieces([head])
        out.add_field(_ATTRIBUTE_T, self._tensor(constant, name))
        out.add(tail)
        return out

    def _tensor(self, constant: Constant, name: str, *, is_initializer: bool = False) -> Pieces | bytes:
        data = constant.data
        if isinstance(data, ProtoData) and not self._moves_out(data, is_initializer):
            return to_bytes(renamed_tensor(data.proto, name))
        shell = tensor_shell(constant, name)
        if data.dtype is not None and data.dtype.kind == "string":
            shell.string_data.extend(tensor_proto(data.elements(), data.dtype).string_data)
            return to_bytes(shell)
        values: Region | bytes
        if isinstance(data, StoredData):
            values = data.region
        else:
            assert data.dtype is not None
            values = raw_bytes(data.elements(), data.dtype)
        if self._moves_out(data, is_initializer):
            assert self._layout is not None
            self._layout.place(shell, values)
            return to_bytes(shell)
        bring_in(shell)
        field = data.field if isinstance(data, StoredData) and data.field is not None else RAW_DATA
        if self._skeleton is not None and self._cut(shell, field, values):
            return to_bytes(shell)
        head, tail = split_fields(to_bytes(shell), field)
        out = Pieces([head])
        out.add_field(field, values)
        out.add(tail)
        return out

    def _cut(self, shell: onnx.TensorProto, field: int, values: Region | bytes) -> bool:
        """Whether the data is large enough to be cut out of the message, which is marked then."""
        assert self._skeleton is not None
        region = values if isinstance(values, Region) else Region(Source(values), 0, len(values))
        if region.nbytes < CUT_BYTES or shell.HasField("segment"):
            return False
        shell.segment.begin, shell.segment.end = len(self._skeleton.cuts), self._skeleton.token
        self._skeleton.cuts.append((field, region))
        return True

    def _moves_out(self, data: TensorData, is_initializer: bool) -> bool:
        """Whether a tensor goes to the external data file. Tensors in attributes stay as they were, since few
        runtimes look for external data there."""
        if self._layout is None or data.dtype is None or data.dtype.kind == "string":
            return False
        if isinstance(data, StoredData) and data.field is None:
            return True
        if isinstance(data, ProtoData) and data.proto.HasField("segment"):
            return False
        return is_initializer and not self._keep_inline and data.nbytes >= EXTERNAL_BYTES


def _is_free(constant: Constant, reader: Node) -> bool:
    """Whether a Constant node may have to move before its reader: one of them is new, or reads other than it did.

    A file whose nodes are in another order keeps it.
    """
    if constant.position < 0 or reader.proto is None:
        return True
    return [tensor.name for tensor in reader.inputs] != list(reader.proto.input)


def _is_same(node: Node, proto: onnx.NodeProto) -> bool:
    """Whether a node is still what the file said, graphs and tensors in attributes aside."""
    if (node.op, node.name, node.domain or "") != (proto.op_type, proto.name, proto.domain):
        return False
    if [tensor.name for tensor in node.inputs] != list(proto.input):
        return False
    if [tensor.name for tensor in node.outputs] != list(proto.output) or len(node.attrs) != len(proto.attribute):
        return False
    return all(
        entry.name in node.attrs
        and (attributes.is_nested(node.attrs[entry.name]) or attributes.is_unchanged(entry, node.attrs[entry.name]))
        for entry in proto.attribute
    )


def _output_infos(graph: Graph) -> list[onnx.ValueInfoProto | None]:
    """What the file declared of each output: by place, or by name where a script has changed the outputs."""
    infos = graph.output_info
    if [tensor.name for tensor in graph.outputs] == [info.name for info in infos]:
        return list(infos)
    by_name = {info.name: info for info in infos}
    return [by_name.get(tensor.name) for tensor in graph.outputs]


def _info(tensor: Tensor, original: onnx.ValueInfoProto | None) -> onnx.ValueInfoProto:
    """What the file declared of a graph input or output, with the type that a script may have given it since."""
    if isinstance(tensor, Constant):
        return original if original is not None else value_info(tensor.name, tensor.dtype, tensor.data.shape)
    if original is not None and is_as_declared(tensor):
        return original
    info = value_info(tensor.name, tensor.dtype, tensor.shape)
    if original is not None:
        info.doc_string = original.doc_string
        info.metadata_props.extend(original.metadata_props)
    return info


def _model_rest(model: Model) -> onnx.ModelProto:
    """The model's own fields, with what a graphsurgeon script may have changed on the graph."""
    rest, graph = onnx.ModelProto(), model.graph
    rest.CopyFrom(model.proto)
    set_text(rest, "producer_name", graph.producer_name or "")
    set_text(rest, "producer_version", graph.producer_version or "")
    if graph.ir_version and graph.ir_version != rest.ir_version:
        rest.ir_version = graph.ir_version
    imported = {entry.domain for entry in rest.opset_import}
    for domain in _new_domains(graph):
        if domain not in imported:
            rest.opset_import.add(domain=domain, version=1)
    if model.opsets(graph).get("") != graph.opset:
        for entry in rest.opset_import:
            if entry.domain in ONNX_DOMAINS:
                entry.version = graph.opset
    return rest


def _new_domains(graph: Graph) -> list[str]:
    """Domains of nodes that a script has made or changed; those of a file's own nodes stay as they were imported."""
    found = {
        node.domain: None
        for scope in scopes_of(graph)
        for node in scope.nodes
        if (node.domain or "") not in ONNX_DOMAINS and (node.proto is None or node.proto.domain != node.domain)
    }
    return sorted(found)


def _rest_of(graph: Graph) -> Any:
    """The fields of a graph or function that are not nodes, tensors or types."""
    assert graph.proto is not None
    rest: Any = type(graph.proto)()
    rest.CopyFrom(graph.proto)
    set_text(rest, "name", graph.name)
    set_text(rest, "doc_string", graph.doc_string or "")
    if isinstance(graph, Function):
        imported = {entry.domain for entry in rest.opset_import}
        for domain in _new_domains(graph):
            if domain not in imported:
                rest.opset_import.add(domain=domain, version=1)
    return rest
