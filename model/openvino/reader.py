"""Reading IR: layers and edges to a graph; constants are views of the `.bin` file.

Source: the IR format as OpenVINO 2026.4 writes and reads it.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

from maxfold.model.data import StoredData, TensorData
from maxfold.model.errors import ModelError
from maxfold.model.graph import Constant, Graph, Node, Tensor, Variable, new_constant, new_graph, new_node, new_variable
from maxfold.model.model import Model
from maxfold.model.openvino import text
from maxfold.model.openvino.bodies import read_bodies
from maxfold.model.openvino.document import child, children, read_tree, tag
from maxfold.model.openvino.ir import VERSIONS, ConstantLayer, Layer, Net, Parameter, Port, Result
from maxfold.model.openvino.operations import BODY_TYPES, canonical_type
from maxfold.model.openvino.strings import StringData
from maxfold.model.storage import FileSource, Region
from maxfold.model.validate import check_model

_CORE_ATTRIBUTES = ("id", "name", "type", "version")
_PORT_ATTRIBUTES = ("id", "precision", "names")
_CONSTANT_DATA = ("element_type", "shape", "offset", "size")
# More elements than this in one constant is a mistake before it is a model.
_MAX_ELEMENTS = 1 << 48


def read_openvino(path: str | Path) -> Model:
    """Reads an IR of version 10 or 11 from its `.xml` file; the weights are those of the `.bin` file beside it.

    Raises `ModelError` for anything that is not a usable IR.
    """
    path = Path(path)
    root = read_tree(path)
    try:
        return _read(root, path)
    except ModelError as error:
        message = str(error)
        raise ModelError(message if message.startswith(str(path)) else f"{path}: {message}") from None


def _read(root: Any, path: Path) -> Model:
    net = _net(root)
    weights = Weights(path)
    graph = new_graph(net.name or "")
    read_scope(root, graph, weights)
    if not graph.outputs and not any(node.op == "Assign" for node in graph.nodes):
        raise ModelError("has no Result layer, so that it computes nothing")
    model = Model(graph=graph, path=path, file_bytes=path.stat().st_size + weights.nbytes, format="openvino", net=net)
    check_states(graph)
    check_model(model)
    return model


def _net(root: Any) -> Net:
    version = root.get("version")
    if version is None or text.integer(version, "the version of <net>") not in VERSIONS:
        shown = "without a version" if version is None else f"of version {version.strip()[:20]}"
        is_newer = version is not None and int(version) > VERSIONS[-1]
        raise ModelError(
            f"is an IR {shown}; versions 10 and 11 can be read: convert the original model with "
            f"{'an older' if is_newer else 'a newer'} OpenVINO"
        )
    attributes = {key: value for key, value in root.attrib.items() if key not in ("name", "version")}
    extra = [deepcopy(item) for item in root if tag(item) not in ("layers", "edges")]
    return Net(int(version), root.get("name"), attributes, extra)


class Weights:
    """The `.bin` file, opened when the first constant asks for it."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_suffix(".bin")
        self._file: FileSource | None = None

    @property
    def nbytes(self) -> int:
        """The size of the file, 0 where no constant needed it."""
        return 0 if self._file is None else self._file.size

    def region(self, offset: int, size: int, what: str) -> Region:
        """A range of the file. Raises `ModelError` where it is not in there."""
        if self._file is None:
            if not self._path.exists():
                raise ModelError(
                    f"{what} has its values in {self._path.name}, which is not beside the .xml; put it there"
                )
            self._file = FileSource(self._path)
        if offset < 0 or size < 0 or offset + size > self._file.size:
            raise ModelError(
                f"{what} needs bytes {offset} to {offset + size} of {self._path.name}, which has {self._file.size}; "
                "the file is incomplete or belongs to another model"
            )
        return Region(self._file, offset, size)


def read_scope(root: Any, graph: Graph, weights: Weights) -> dict[str, Any]:
    """Reads layers and edges of a net or body into a scope; returns what each layer id stands for."""
    layers = child(root, "layers")
    if layers is None:
        raise ModelError("has no <layers>")
    if graph.parent is not None:
        graph.__dict__["extra"] = [deepcopy(item) for item in root if tag(item) not in ("layers", "edges")]
    return _ScopeReader(graph, weights).read(children(layers, "layer"), child(root, "edges"))


class _ScopeReader:
    def __init__(self, graph: Graph, weights: Weights) -> None:
        self._graph = graph
        self._weights = weights
        self._names: set[str] = set()
        self._outputs: dict[tuple[str, str], Tensor] = {}
        self._inputs: dict[str, list[str]] = {}
        self._elements: dict[str, Any] = {}

    def read(self, elements: list[Any], edges: Any | None) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for position, element in enumerate(elements):
            layer_id = _required(element, "id", "a layer")
            text.integer(layer_id, "the id of a layer")
            if layer_id in found:
                raise ModelError(f"two layers have the id {layer_id}; give one of them another")
            found[layer_id] = self._layer(element, layer_id, position)
        sources = self._edges(edges, found)
        for layer_id, item in found.items():
            self._connect(layer_id, item, sources)
        for layer_id, item in found.items():
            if isinstance(item, Node) and item.op in BODY_TYPES:
                read_bodies(item, self._elements[layer_id], lambda body, scope: read_scope(body, scope, self._weights))
        self._graph.results = [item for item in found.values() if isinstance(item, Result)]
        return found

    def _layer(self, element: Any, layer_id: str, position: int) -> Any:
        layer = _layer(element, layer_id)
        what = f"layer {layer.name!r} ({layer.type})"
        data = child(element, "data")
        values = None if data is None else dict(data.attrib)
        inputs = child(element, "input")
        ports = [] if inputs is None else children(inputs, "port")
        layer.inputs = [_port(port, port.get("precision", ""), f"an input port of {what}") for port in ports]
        input_ids = [str(port.port_id) for port in layer.inputs]
        self._inputs[layer_id] = input_ids
        if len(set(input_ids)) != len(input_ids):
            raise ModelError(f"{what} has two input ports of one id")
        if layer.type == "Result":
            if not ports:
                raise ModelError(f"{what} has no input port")
            return Result(layer, values, position)
        tensors = self._output_tensors(element, layer, layer_id, what)
        if layer.type == "Parameter":
            return self._parameter(layer, values, tensors, position, what)
        if layer.type == "Const":
            return self._constant(layer, values, tensors, layer_id, position, what)
        self._elements[layer_id] = element
        node = new_node(
            layer.type, (), tensors, self._graph, domain=f"openvino.{layer.version}", name=layer.name,
            attributes=dict(values or {}), position=position,
        )  # fmt: skip
        node.__dict__.update(layer=layer, has_data=values is not None)
        self._graph.nodes.append(node)
        return node

    def _output_tensors(self, element: Any, layer: Layer, layer_id: str, what: str) -> list[Tensor]:
        outputs = child(element, "output")
        tensors: list[Tensor] = []
        for index, port in enumerate([] if outputs is None else children(outputs, "port")):
            precision = _required(port, "precision", f"an output port of {what}")
            text.precision_dtype(precision, what)
            known = _port(port, precision, f"an output port of {what}")
            tensor = new_variable(self._fresh(known.names, layer.name, index), self._graph)
            tensor.__dict__["port"] = known
            port_id = str(known.port_id)
            if (layer_id, port_id) in self._outputs:
                raise ModelError(f"{what} has two output ports of the id {port_id}")
            self._outputs[layer_id, port_id] = tensor
            tensors.append(tensor)
        return tensors

    def _fresh(self, names: str | None, layer_name: str, index: int) -> str:
        """A name of its own for a tensor: its first name in the file, else the layer's."""
        first = split_names(names)[0] if names and split_names(names) else ""
        base = first or (layer_name if not index else f"{layer_name}.{index}") or "tensor"
        name, count = base, 0
        while name in self._names:
            count += 1
            name = f"{base}_{count}"
        self._names.add(name)
        return name

    def _parameter(
        self, layer: Layer, data: dict[str, str] | None, tensors: list[Tensor], position: int, what: str
    ) -> Parameter:
        if data is None or len(tensors) != 1:
            raise ModelError(f"{what} needs a <data> element and one output port")
        shape = text.partial_shape(data.get("shape", ""), f"the shape of {what}")
        dtype = text.element_type(data.get("element_type", "dynamic"), what)
        tensor = tensors[0]
        assert isinstance(tensor, Variable)
        tensor.shape = None if shape is None else [low if low == high else None for low, high in shape]
        tensor.dtype = None if dtype is None else dtype.numpy
        parameter = Parameter(layer, data, position)
        tensor.__dict__["parameter"] = parameter
        self._graph.inputs.append(tensor)
        return parameter

    def _constant(
        self, layer: Layer, data: dict[str, str] | None, tensors: list[Tensor], layer_id: str, position: int, what: str
    ) -> Constant:
        if data is None or len(tensors) != 1:
            raise ModelError(f"{what} needs a <data> element and one output port")
        missing = [key for key in _CONSTANT_DATA if key not in data]
        if missing:
            raise ModelError(f"{what} does not say its {missing[0]}")
        variable = tensors[0]
        origin = ConstantLayer(layer, {key: value for key, value in data.items() if key not in _CONSTANT_DATA})
        constant = new_constant(variable.name, self._values(data, what), self._graph, origin, position)
        constant.__dict__["port"] = variable.__dict__["port"]
        self._outputs[layer_id, str(variable.__dict__["port"].port_id)] = constant
        self._graph.constants.append(constant)
        return constant

    def _values(self, data: dict[str, str], what: str) -> TensorData:
        dtype = text.element_type(data["element_type"], what)
        if dtype is None:
            raise ModelError(f"{what} is a constant of a dynamic element type")
        shape = tuple(text.integers(data["shape"], f"the shape of {what}"))
        count = 1
        for dim in shape:
            count *= dim
            if dim < 0 or count > _MAX_ELEMENTS:
                raise ModelError(f"{what} has the shape [{data['shape'][:80]}], which no constant can have")
        offset, size = (text.integer(data[key], f"the {key} of {what}") for key in ("offset", "size"))
        if dtype.kind == "string":
            return StringData(self._weights.region(offset, size, what), dtype, shape, what)
        needed = dtype.nbytes(count)
        if size < needed:
            raise ModelError(f"{what} needs {needed} bytes for its shape [{data['shape'][:80]}] but has {size}")
        region = self._weights.region(offset, size, what)
        return StoredData(Region(region.source, offset, needed), dtype, shape, None)

    def _edges(self, edges: Any | None, found: dict[str, Any]) -> dict[tuple[str, str], Tensor]:
        sources: dict[tuple[str, str], Tensor] = {}
        for edge in [] if edges is None else children(edges, "edge"):
            ends = [_required(edge, key, "an edge") for key in ("from-layer", "from-port", "to-layer", "to-port")]
            source = self._outputs.get((ends[0], ends[1]))
            if source is None:
                raise ModelError(f"an edge starts at port {ends[1]} of layer {ends[0]}, which does not exist")
            if ends[3] not in self._inputs.get(ends[2], ()):
                raise ModelError(f"an edge ends at port {ends[3]} of layer {ends[2]}, which does not exist")
            if (ends[2], ends[3]) in sources:
                raise ModelError(f"two edges end at port {ends[3]} of layer {ends[2]}; remove one")
            sources[ends[2], ends[3]] = source
        return sources

    def _connect(self, layer_id: str, item: Any, sources: dict[tuple[str, str], Tensor]) -> None:
        tensors: list[Tensor] = []
        for port_id in self._inputs[layer_id]:
            tensor = sources.get((layer_id, port_id))
            if tensor is None:
                raise ModelError(f"no edge ends at input port {port_id} of layer {layer_id}")
            tensors.append(tensor)
        if isinstance(item, Result):
            self._graph.outputs.append(tensors[0])
        elif isinstance(item, Node):
            list.extend(item.inputs, tensors)
            for tensor in tensors:
                list.append(tensor.outputs, item)


def split_names(names: str) -> list[str]:
    """The tensor names of a port; a comma inside a name is written with a backslash before it."""
    found: list[str] = []
    current = ""
    index = 0
    while index < len(names):
        if names.startswith("\\,", index):
            current += ","
            index += 2
            continue
        if names[index] == ",":
            found.append(current)
            current = ""
        else:
            current += names[index]
        index += 1
    return [name for name in (*found, current) if name]


def join_names(names: list[str]) -> str:
    """Escaped tensor names as a port lists them, each once: the first comes first, by which the tensor is known, the
    others are sorted."""
    return ",".join([*names[:1], *sorted(set(names) - set(names[:1]))])


def _layer(element: Any, layer_id: str) -> Layer:
    what = f"layer {layer_id}"
    name, kind, version = (_required(element, key, what) for key in _CORE_ATTRIBUTES[1:])
    attributes = {key: value for key, value in element.attrib.items() if key not in _CORE_ATTRIBUTES}
    handled = {"data", "input", "output", *BODY_TYPES.get(canonical_type(kind), ())}
    extra = [deepcopy(item) for item in element if tag(item) not in handled]
    return Layer(name, canonical_type(kind), version, attributes, extra)


def _required(element: Any, key: str, what: str) -> str:
    value = element.get(key)
    if value is None:
        raise ModelError(f"{what} has no {key}")
    return str(value)


def _port(element: Any, precision: str, what: str) -> Port:
    port_id = _required(element, "id", what)
    extra = [deepcopy(item) for item in element if tag(item) != "dim"]
    attributes = {key: value for key, value in element.attrib.items() if key not in _PORT_ATTRIBUTES}
    return Port(precision, _check_dims(element, what), element.get("names"), port_id, extra, attributes)


def _check_dims(port: Any, what: str) -> list[str]:
    """The dimensions of a port as text: only a rough copy of the real ones, but they must be numbers."""
    dims = [(item.text or "").strip() for item in children(port, "dim")]
    for dim in dims:
        if text.integer(dim, f"a dimension of a port of {what}") < -1:
            raise ModelError(f"{what} has a port with the dimension {dim}, which no shape has")
    return dims


def check_states(graph: Graph) -> None:
    """Every ReadValue and Assign names its variable, and every Assign one that a ReadValue has."""
    known: set[str] = set()
    for node in graph.nodes:
        if node.op in ("ReadValue", "Assign") and "variable_id" not in node.attrs:
            raise ModelError(f"layer {node.name!r} ({node.op}) does not say its variable_id")
        if node.op == "ReadValue":
            known.add(node.attrs["variable_id"])
    for node in graph.nodes:
        if node.op == "Assign" and node.attrs["variable_id"] not in known:
            raise ModelError(
                f"layer {node.name!r} (Assign) sets the variable {node.attrs['variable_id']!r}, which nothing reads"
            )
