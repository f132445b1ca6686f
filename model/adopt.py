"""Making graphsurgeon's own objects ours, in place.

A script may have built the whole graph with graphsurgeon, or put some of its nodes and tensors into one of ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_graphsurgeon as gs
from onnx_graphsurgeon.ir.tensor import LazyValues, SparseValues

from maxfold.model.attributes import encode
from maxfold.model.data import ArrayData, ProtoData, SparseData, TensorData
from maxfold.model.graph import Constant, Function, Graph, Node, Variable, init_scope
from maxfold.model.model import ONNX_DOMAINS, Model


def from_graphsurgeon(graph: gs.Graph) -> Model:
    """A model around a graphsurgeon graph, which is adopted in place: the caller's graph sees every rewrite."""
    proto = onnx.ModelProto(
        ir_version=graph.ir_version or onnx.IR_VERSION,
        producer_name=graph.producer_name or "",
        producer_version=graph.producer_version or "",
    )
    domains = {entry.domain for entry in graph.import_domains or ()}
    proto.opset_import.extend(graph.import_domains or ())
    if not domains & set(ONNX_DOMAINS):
        proto.opset_import.add(domain="", version=graph.opset)
    model = Model(graph=graph, functions=graph.functions, proto=proto)
    adopt(model)
    return model


def adopt(model: Model) -> None:
    """Re-classes what is not ours yet and finds constants that no scope lists. Linear, and idempotent."""
    pending: list[tuple[gs.Graph, Node | None]] = [(root, None) for root in model.roots()]
    pending.reverse()
    while pending:
        graph, parent = pending.pop()
        _adopt_graph(graph, parent)
        inner = [(scope, node) for node in graph.nodes if node.attrs for scope in _graphs(node)]
        pending.extend(reversed(inner))


def _graphs(node: gs.Node) -> list[gs.Graph]:
    found: list[gs.Graph] = []
    for value in node.attrs.values():
        items = value if isinstance(value, list) else [value]
        found += [item for item in items if isinstance(item, gs.Graph)]
    return found


def _adopt_graph(graph: Any, parent: Node | None) -> None:
    if not isinstance(graph, Graph):
        is_function = isinstance(graph, gs.Function)
        graph.__class__ = Function if is_function else Graph
        init_scope(graph, parent, _function_proto(graph) if is_function else onnx.GraphProto(name=graph.name))
    listed = set(graph.constants)
    kept: list[Node] = []
    for node in graph.nodes:
        for tensor in (*node.inputs, *node.outputs):
            _adopt_tensor(tensor, graph)
        _adopt_attributes(node, graph)
        constant = _as_constant(node, graph)
        if constant is not None:
            graph.constants.append(constant)
            listed.add(constant)
            continue
        if not isinstance(node, Node):
            node.__class__ = Node
            node.__dict__.update(proto=None, position=-1)
        node.__dict__.update(scope=graph)
        kept.append(node)
    if len(kept) != len(graph.nodes):
        graph.nodes[:] = kept
    for tensor in (*graph.inputs, *graph.outputs):
        _adopt_tensor(tensor, graph)
    for node in kept:
        _list_constants(node.inputs, graph, listed)
    _list_constants((*graph.inputs, *graph.outputs), graph, listed)


def _list_constants(tensors: Any, graph: Graph, listed: set[Constant]) -> None:
    for tensor in tensors:
        if isinstance(tensor, Constant) and tensor.scope is graph and tensor not in listed:
            listed.add(tensor)
            graph.constants.append(tensor)


def _adopt_tensor(tensor: Any, graph: Graph) -> None:
    if isinstance(tensor, Constant):
        _raise_scope(tensor, graph)
        return
    if isinstance(tensor, Variable):
        return
    if isinstance(tensor, gs.Constant):
        tensor.__class__ = Constant
        data = _data(tensor._values, tensor._export_dtype)
        tensor.__dict__.update(_values=data, scope=graph, origin=None, position=-1)
        return
    tensor.__class__ = Variable
    tensor.__dict__.update(scope=graph)


def _raise_scope(constant: Constant, reader: Graph) -> None:
    """Moves a constant that a graph outside its own reads to the outermost graph, which both can see."""
    outer: Graph | None = reader
    while outer is not None:
        if outer is constant.scope:
            return
        root = outer
        outer = outer.parent.scope if outer.parent is not None else None
    if constant in constant.scope.constants:
        constant.scope.constants.remove(constant)
    constant.scope = root
    root.constants.append(constant)


def _data(values: Any, export_dtype: Any) -> TensorData:
    if isinstance(values, TensorData):
        return values
    if isinstance(values, SparseValues):
        return SparseData(values.tensor)
    if isinstance(values, LazyValues):
        return ProtoData(values.tensor)
    if export_dtype is not None and not isinstance(export_dtype, int):
        values = np.asarray(values).astype(export_dtype)
    return ArrayData(values)


def _adopt_attributes(node: gs.Node, graph: Graph) -> None:
    for value in node.attrs.values():
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, gs.Constant):
                _adopt_tensor(item, graph)


def _as_constant(node: gs.Node, graph: Graph) -> Constant | None:
    """The output of a graphsurgeon Constant node, made a constant of the scope."""
    value = node.attrs.get("value") if len(node.attrs) == 1 else None
    if node.op != "Constant" or (node.domain or "") not in ONNX_DOMAINS or not isinstance(value, Constant):
        return None
    if isinstance(node, Node) or len(node.outputs) != 1:
        return None
    output: Any = node.outputs[0]
    node.outputs.clear()
    data = value.data
    output.__dict__.pop("shape", None)
    output.__dict__.pop("dtype", None)
    output.__class__ = Constant
    output.__dict__.update(
        _values=data, _export_dtype=None, data_location=None, scope=graph, position=-1,
        origin=onnx.NodeProto(op_type="Constant", name=node.name, output=[output.name]),
    )  # fmt: skip
    attribute = output.origin.attribute.add(name="value", type=onnx.AttributeProto.TENSOR)
    if isinstance(data, ProtoData):
        attribute.t.CopyFrom(data.proto)
    attribute.t.name = value.name
    constant: Constant = output
    return constant


def _function_proto(function: Any) -> onnx.FunctionProto:
    proto = onnx.FunctionProto(name=function.name, domain=function.domain, doc_string=function.doc_string or "")
    proto.opset_import.extend(function.import_domains or [onnx.OperatorSetIdProto(domain="", version=function.opset)])
    for name, value in function.attrs.items():
        if value is None:
            proto.attribute.append(name)
        else:
            proto.attribute_proto.append(encode(name, value))
    return proto
