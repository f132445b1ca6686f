"""Types and shapes that can be derived, as opposed to declared.

onnx's shape inference runs on the model without weights and without the declared types of results: exporters
declare wrong ranks, and nothing may be rewritten on their word. Declared types of graph inputs hold, since a
runtime checks them.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from maxfold.model import dtypes
from maxfold.model.dtypes import DType
from maxfold.model.graph import Constant, Graph, Node, Tensor, subgraphs
from maxfold.model.model import Model, graph_protos, inner_graph_protos
from maxfold.model.onnx_writer import to_proto

# Constants up to this size take part in data propagation (shape vectors, axes).
_SMALL_BYTES = 1024


@dataclass(frozen=True, slots=True)
class TensorType:
    """A derived type: None for what could not be derived, also as a dimension."""

    dtype: DType | None
    shape: tuple[int | None, ...] | None


def infer_types(model: Model) -> dict[Tensor, TensorType]:
    """Derived types of the results of all nodes in the main graph and its subgraphs.

    Empty where inference fails as a whole.
    """
    proto = to_proto(model, max_data_bytes=_SMALL_BYTES)
    proto.ClearField("training_info")
    _forget_declarations(proto)
    try:
        inferred = onnx.shape_inference.infer_shapes(proto, data_prop=True)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError, UnicodeDecodeError):
        return {}
    found: dict[Tensor, TensorType] = {}
    pending: list[tuple[Graph, onnx.GraphProto]] = [(model.graph, inferred.graph)]
    while pending:
        scope, scope_proto = pending.pop()
        types = {info.name: _type(info.type) for info in (*scope_proto.value_info, *scope_proto.output)}
        types.update((info.name, _type(info.type)) for info in scope_proto.input)
        tensors = [tensor for node in scope.nodes for tensor in node.outputs]
        for tensor in (*scope.inputs, *tensors):
            if tensor.name in types:
                found[tensor] = types[tensor.name]
        pending += _inner_pairs(scope, scope_proto)
    return found


def constant_type(constant: Constant) -> TensorType:
    """The type of a constant, which needs no derivation."""
    return TensorType(constant.data.dtype, constant.data.shape)


def declared_type(info: onnx.ValueInfoProto) -> TensorType:
    """The type that a graph input is declared to have, which a runtime checks."""
    return _type(info.type)


def _forget_declarations(proto: onnx.ModelProto) -> None:
    for info in proto.graph.input:
        for dim in info.type.tensor_type.shape.dim:
            if dim.HasField("dim_value") and dim.dim_value < 0:
                dim.ClearField("dim_value")
    for function in proto.functions:
        function.ClearField("value_info")
    for graph in graph_protos([proto.graph]):
        graph.ClearField("value_info")
        for info in graph.output:
            info.ClearField("type")
        for info in graph.input if graph is not proto.graph else ():
            if info.type.HasField("tensor_type"):
                info.type.tensor_type.ClearField("shape")


def _inner_pairs(scope: Graph, proto: onnx.GraphProto) -> list[tuple[Graph, onnx.GraphProto]]:
    """The subgraphs of a scope with their protos; nodes are matched by the names of their outputs."""
    holders: dict[tuple[str, ...], Node] = {}
    for node in scope.nodes:
        if node.attrs and next(subgraphs(node), None) is not None:
            holders[tuple(tensor.name for tensor in node.outputs)] = node
    if not holders:
        return []
    pairs: list[tuple[Graph, onnx.GraphProto]] = []
    for node_proto in proto.node:
        holder = holders.get(tuple(node_proto.output))
        if holder is not None:
            pairs += zip(subgraphs(holder), inner_graph_protos(node_proto), strict=False)
    return pairs


def _type(proto: onnx.TypeProto) -> TensorType:
    if proto.WhichOneof("value") != "tensor_type":
        return TensorType(None, None)
    tensor = proto.tensor_type
    dtype = dtypes.from_onnx(tensor.elem_type)
    if not tensor.HasField("shape"):
        return TensorType(dtype, None)
    dims = tuple(
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None for dim in tensor.shape.dim
    )
    return TensorType(dtype, dims)
