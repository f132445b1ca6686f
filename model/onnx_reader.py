"""Reading ONNX: wire scan, skeleton, graph. Large tensors stay in the file.

Source: onnx.proto; the ONNX IR specification for scopes and external data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError, EncodeError
from onnx import AttributeProto

from maxfold.model import attributes, dtypes, wire
from maxfold.model.data import ProtoData, SparseData, StoredData, TensorData, check_size
from maxfold.model.errors import ModelError
from maxfold.model.external import ExternalFiles
from maxfold.model.graph import (
    Constant,
    Function,
    Graph,
    Node,
    Tensor,
    new_constant,
    new_function,
    new_graph,
    new_node,
    new_variable,
)  # fmt: skip
from maxfold.model.mistaken import mistaken
from maxfold.model.model import ONNX_DOMAINS, Model
from maxfold.model.storage import FileSource, Source
from maxfold.model.types import declare
from maxfold.model.validate import check_model

_IR_STARTS = (b"<?xml", b"<net")
_IR_START_BYTES = 64
_NO_GRAPH = "is not an ONNX model: it has no graph; give the path of a model file"

ModelSource = str | Path | bytes | onnx.ModelProto


def read_onnx(source: ModelSource) -> Model:
    """Reads an ONNX model from a path, bytes or a ModelProto.

    Large tensors are views of the file (and of its external data files, whose paths are checked first).
    Raises `ModelError` for anything that is not a usable ONNX model.
    """
    if isinstance(source, (str, Path)):
        path = Path(source)
        return _read(FileSource(path), path)
    if isinstance(source, bytes):
        return _read(Source(source), None)
    try:
        return _read(Source(source.SerializeToString(), "<ModelProto>"), None)
    except (EncodeError, ValueError) as error:
        raise ModelError(f"<ModelProto>: cannot be serialized: {error}; save it with external data first") from None


def _read(source: Source, path: Path | None) -> Model:
    name = source.name
    if not source.size:
        raise ModelError(f"{name}: is empty; give the path of a model file")
    try:
        model, unresolved = _parse(source, path, frozenset())
        if unresolved:
            # Data stands where nothing looks for tensors, such as beside a reference: it has to stay in its message.
            model, _ = _parse(source, path, unresolved)
        check_model(model)
    except (wire.WireError, DecodeError) as error:
        what = mistaken(source, path) or f"is not an ONNX model, or is cut short: {error}{_hint(source, path)}"
        raise ModelError(f"{name}: {what}") from None
    except ModelError as error:
        message = str(error)
        if message == _NO_GRAPH:
            message = mistaken(source, path) or message
        raise ModelError(message if message.startswith(name) else f"{name}: {message}") from None
    return model


def _hint(source: Source, path: Path | None) -> str:
    """What to do where the bytes are a file of OpenVINO IR under a path that is none of an IR."""
    if path is not None and path.suffix.lower() == ".bin":
        return "; if it has the weights of an OpenVINO IR, give the path of its .xml"
    start = source.sample(0, min(source.size, _IR_START_BYTES)).lstrip(b"\xef\xbb\xbf \t\r\n")
    return "; it looks like OpenVINO IR, whose path has to end in .xml" if start.startswith(_IR_STARTS) else ""


def _parse(source: Source, path: Path | None, left: frozenset[int]) -> tuple[Model, frozenset[int]]:
    """The model, and the offsets of data that was cut out but belongs to no tensor that was read."""
    skeleton = wire.cut(source, left)
    proto = onnx.ModelProto()
    proto.ParseFromString(skeleton.data)
    return _read_skeleton(proto, skeleton, source, path)


def read_message(proto: onnx.ModelProto, skeleton: wire.Skeleton, name: str) -> Model | None:
    """The model of a message from which large data was cut, and is taken apart.

    None where some of that belongs to no tensor that was read. Raises `ModelError`, which begins with `name`.
    """
    try:
        model, unresolved = _read_skeleton(proto, skeleton, Source(b"", name), None)
        if unresolved:
            return None
        check_model(model)
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from None
    return model


def _read_skeleton(
    proto: onnx.ModelProto, skeleton: wire.Skeleton, source: Source, path: Path | None
) -> tuple[Model, frozenset[int]]:
    if not proto.HasField("graph"):
        raise ModelError(_NO_GRAPH)
    if proto.ir_version >= 3 and not proto.opset_import:
        raise ModelError("imports no operator set, so that its operators mean nothing; export the model again")
    reader = _Reader(source, skeleton, path)
    model = reader.model(proto)
    regions = (region for index, (_, region) in enumerate(skeleton.cuts) if index not in reader.resolved)
    return model, frozenset(region.offset for region in regions)


class _Reader:
    def __init__(self, source: Source, skeleton: wire.Skeleton, path: Path | None) -> None:
        self._source = source
        self._skeleton = skeleton
        self._path = path
        self._external = ExternalFiles(path)
        self.resolved: set[int] = set()
        # Bodies of subgraphs are read after the scope around them is complete, since they see its names.
        self._pending: list[tuple[Graph, onnx.GraphProto, Names]] = []

    def model(self, proto: onnx.ModelProto) -> Model:
        """Takes the skeleton apart: what becomes graph is cleared in it, the rest stays as the model's proto."""
        graph = new_graph(proto.graph.name, proto=proto.graph)
        self._pending.append((graph, proto.graph, ()))
        graph.functions = [new_function(function) for function in proto.functions]
        for function in graph.functions:
            self._function(function)
        while self._pending:
            self._scope(*self._pending.pop())
        proto.ClearField("graph")
        proto.ClearField("functions")
        model = Model(
            graph=graph, functions=graph.functions, proto=proto, path=self._path,
            file_bytes=self._source.size + self._external.nbytes, has_external_data=self._external.is_used,
        )  # fmt: skip
        graph.import_domains = list(proto.opset_import)
        graph.opset = model.opsets(graph).get("", 1)
        graph.ir_version = proto.ir_version
        graph.producer_name, graph.producer_version = proto.producer_name, proto.producer_version
        return model

    def _scope(self, graph: Graph, proto: onnx.GraphProto, outer: Names) -> None:
        graph.doc_string = proto.doc_string
        local: dict[str, Tensor] = {}
        for initializer in proto.initializer:
            constant = new_constant(_text(initializer.name), self._tensor(initializer), graph, initializer)
            self._declare_constant(graph, local, constant)
        for sparse in proto.sparse_initializer:
            constant = new_constant(_text(sparse.values.name), SparseData(sparse), graph, sparse)
            self._declare_constant(graph, local, constant)
        for info in proto.input:
            if _text(info.name) in graph.input_info:
                raise ModelError(f"graph {proto.name!r} has two inputs named {info.name!r}; rename one")
            graph.input_info[info.name] = info
            tensor = local.get(info.name)
            if tensor is None:
                tensor = local[info.name] = declare(new_variable(info.name, graph), info)
            graph.inputs.append(tensor)
        self._body(graph, proto.node, local, outer)
        for info in proto.value_info:
            graph.value_info.append(info)
            tensor = local.get(_text(info.name))
            if tensor is not None and info.name not in graph.input_info:
                declare(tensor, info)
        for info in proto.output:
            graph.output_info.append(info)
            tensor = _find(info.name, (local, *outer))
            if tensor is None:
                raise ModelError(
                    f"output {info.name!r} of graph {proto.name!r} is made by no node, input or initializer"
                )
            if tensor.scope is graph and info.name not in graph.input_info:
                declare(tensor, info)
            graph.outputs.append(tensor)
        for field in ("node", "initializer", "sparse_initializer", "input", "output", "value_info"):
            proto.ClearField(field)

    def _function(self, function: Function) -> None:
        proto = function.proto
        assert isinstance(proto, onnx.FunctionProto)
        local: dict[str, Tensor] = {}
        for name in proto.input:
            local[name] = new_variable(name, function)
            function.inputs.append(local[name])
        function.attrs = dict.fromkeys(proto.attribute)
        function.attrs.update((entry.name, entry) for entry in proto.attribute_proto)
        self._body(function, proto.node, local, ())
        for info in proto.value_info:
            function.value_info.append(info)
            if info.name in local:
                declare(local[info.name], info)
        for name in proto.output:
            if name not in local:
                raise ModelError(f"output {name!r} of function {proto.name!r} is made by no node or input")
            function.outputs.append(local[name])
        for field in ("node", "input", "output", "value_info"):
            proto.ClearField(field)

    def _declare_constant(self, graph: Graph, local: dict[str, Tensor], constant: Constant) -> None:
        if constant.name in local:
            raise ModelError(f"two initializers are named {constant.name!r} in graph {graph.name!r}; rename one")
        local[constant.name] = constant
        graph.constants.append(constant)

    def _body(self, graph: Graph, protos: Any, local: dict[str, Tensor], outer: Names) -> None:
        """Declares all results of a scope, then links the nodes: the file may list them in any order."""
        made: list[tuple[int, onnx.NodeProto, list[Tensor]]] = []
        for position, proto in enumerate(protos):
            constant = self._constant_node(proto, graph, position)
            if constant is not None:
                _declare_result(graph, local, constant)
                graph.constants.append(constant)
                continue
            outputs: list[Tensor] = []
            for name in map(_text, proto.output):
                result = new_variable(name, graph)
                if name:
                    _declare_result(graph, local, result)
                outputs.append(result)
            made.append((position, proto, outputs))
        visible = (local, *outer)
        for position, proto, outputs in made:
            graph.nodes.append(self._node(graph, proto, position, outputs, visible))

    def _node(self, graph: Graph, proto: onnx.NodeProto, position: int, outputs: list[Tensor], visible: Names) -> Node:
        inputs: list[Tensor] = []
        for name in proto.input:
            tensor = _find(name, visible) if name else new_variable("", graph)
            if tensor is None:
                raise ModelError(
                    f"input {name!r} of node {proto.name or proto.op_type!r} ({proto.op_type}) is made by no node, "
                    f"input or initializer that it can see in {graph.name!r}"
                )
            inputs.append(tensor)
        node = new_node(
            _text(proto.op_type),
            inputs,
            outputs,
            graph,
            domain=_text(proto.domain),
            name=_text(proto.name),
            proto=proto,
            position=position,
        )
        for attribute in proto.attribute:
            if _text(attribute.name) in node.attrs:
                raise ModelError(
                    f"node {proto.name or proto.op_type!r} has two attributes named {attribute.name!r}; remove one"
                )
            node.attrs[attribute.name] = self._attribute(node, attribute, visible)
        return node

    def _attribute(self, node: Node, proto: AttributeProto, visible: Names) -> Any:
        kind = attributes.kind(proto)
        if proto.ref_attr_name or kind not in attributes.NESTED_KINDS:
            return attributes.decode(proto)
        if kind == AttributeProto.GRAPH:
            return self._subgraph(node, proto.g, visible)
        if kind == AttributeProto.GRAPHS:
            return [self._subgraph(node, graph, visible) for graph in proto.graphs]
        if kind == AttributeProto.TENSOR:
            return new_constant(proto.t.name, self._tensor(proto.t), node.scope, proto.t)
        return [new_constant(tensor.name, self._tensor(tensor), node.scope, tensor) for tensor in proto.tensors]

    def _subgraph(self, node: Node, proto: onnx.GraphProto, visible: Names) -> Graph:
        graph = new_graph(proto.name, node, proto)
        self._pending.append((graph, proto, visible))
        return graph

    def _constant_node(self, proto: onnx.NodeProto, graph: Graph, position: int) -> Constant | None:
        if proto.op_type != "Constant" or proto.domain not in ONNX_DOMAINS or len(proto.attribute) != 1:
            return None
        attribute = proto.attribute[0]
        if len(proto.output) != 1 or not proto.output[0] or proto.input or attribute.ref_attr_name:
            return None
        data = self._constant_value(attribute)
        return None if data is None else new_constant(_text(proto.output[0]), data, graph, proto, position)

    def _constant_value(self, proto: AttributeProto) -> TensorData | None:
        """The value of a Constant node; types as in the operator's specification (Constant-13)."""
        kind = attributes.kind(proto)
        if proto.name == "value" and kind == AttributeProto.TENSOR:
            return self._tensor(proto.t)
        if proto.name == "sparse_value" and kind == AttributeProto.SPARSE_TENSOR:
            return SparseData(proto.sparse_tensor)
        return attributes.constant_data(proto)

    def _tensor(self, proto: onnx.TensorProto) -> TensorData:
        """The data of a tensor; its marker or external entry is resolved to a region."""
        dtype = dtypes.from_onnx(proto.data_type)
        shape = tuple(proto.dims)
        if proto.HasField("segment") and proto.segment.end == self._skeleton.token:
            self.resolved.add(proto.segment.begin)
            field, region = self._skeleton.cuts[proto.segment.begin]
            proto.ClearField("segment")
            if field in _FIELD_TYPES and proto.data_type not in _FIELD_TYPES[field]:
                raise ModelError(f"tensor {proto.name!r} has its data in the field of another type; export it again")
            check_size(proto, region.nbytes)
            return StoredData(region, dtype, shape, field)
        if proto.data_location == onnx.TensorProto.EXTERNAL:
            region = self._external.region(proto)
            check_size(proto, region.nbytes)
            return StoredData(region, dtype, shape, None)
        check_size(proto)
        return ProtoData(proto)


Names = tuple[dict[str, Tensor], ...]
"""The names that a node can see: its own scope's, then those of the scopes around it."""

_FIELD_TYPES = {
    wire.FLOAT_DATA: (onnx.TensorProto.FLOAT, onnx.TensorProto.COMPLEX64),
    wire.DOUBLE_DATA: (onnx.TensorProto.DOUBLE, onnx.TensorProto.COMPLEX128),
}


def _text(value: str | bytes) -> str:
    """A name; protobuf hands out bytes where it is not valid UTF-8."""
    if isinstance(value, bytes):
        raise ModelError(f"the name {value!r} is not valid UTF-8; export the model again")
    return value


def _find(name: str, visible: Names) -> Tensor | None:
    for names in visible:
        tensor = names.get(name)
        if tensor is not None:
            return tensor
    return None


def _declare_result(graph: Graph, local: dict[str, Tensor], result: Tensor) -> None:
    if result.name in local:
        raise ModelError(
            f"{result.name!r} in graph {graph.name!r} is made twice (by two nodes, or by a node and an input or "
            "initializer); rename one"
        )
    local[result.name] = result
