"""Writing IR: the `.xml` and `.bin` pair, together or not at all; weights go from file to file.

Layers keep the order, names, attributes and rt_info that they had; ids are numbered anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from lxml import etree

from maxfold.model import dtypes
from maxfold.model.adopt import adopt
from maxfold.model.errors import ModelError
from maxfold.model.graph import Constant, Graph, Node, Tensor
from maxfold.model.model import Model, guard_weights
from maxfold.model.openvino.ir import (
    ConstantLayer,
    Element,
    Net,
    Parameter,
    Port,
    PortMapEntry,
    Result,
    layer_of,
    port_of,
)
from maxfold.model.openvino.operations import BODY_TYPES
from maxfold.model.openvino.text import precision, spell
from maxfold.model.openvino.weights import Weights
from maxfold.model.output import real_path, write_files
from maxfold.model.storage import write_all

# Where layers that no file had stand among the others.
_FIRST, _EARLY, _LAST = -2, -1, 1 << 60
_EDGE = ("from-layer", "from-port", "to-layer", "to-port")


def write_openvino(model: Model, path: str | Path) -> int:
    """Writes a model as IR: `path` and the `.bin` file beside it; returns the bytes of both.

    Raises `ModelError` where they cannot be written.
    """
    adopt(model)
    target = real_path(path)
    if target == target.with_suffix(".bin"):
        raise ModelError(f"{target}: is the name of the weights' file; give the path of the .xml")
    guard_weights(model, target, target.with_suffix(".bin"))
    weights = Weights(model)

    def write_document(file: BinaryIO) -> None:
        for piece in _document(model, weights):
            write_all(file, piece)

    files = [(target.with_suffix(".bin"), weights.writer()), (target, write_document)]
    return write_files(files, [weights.nbytes])


def _document(model: Model, weights: Weights) -> Iterator[bytes]:
    """The `.xml` file in pieces. A tree of all layers would take many times the memory of their text."""
    net = model.net or Net(11, model.graph.name)
    own = {} if net.name is None else {"name": net.name}
    root = etree.Element("net", {**own, "version": str(net.version), **net.attributes})
    yield b"<?xml version='1.0' encoding='utf-8'?>\n"
    yield etree.tostring(root, encoding="utf-8").removesuffix(b"/>") + b">\n"
    yield from _Scope(model.graph, weights).text(net.extra, 1)
    yield b"</net>"


def _parent(name: str, children: Iterator[bytes], level: int) -> Iterator[bytes]:
    """The text of an element without attributes and its children, of which one at a time is there."""
    indent = "\t" * level
    first = next(children, None)
    if first is None:
        yield f"{indent}<{name}/>\n".encode()
        return
    yield f"{indent}<{name}>\n".encode()
    yield from chain((first,), children)
    yield f"{indent}</{name}>\n".encode()


def _text(element: Element, level: int) -> bytes:
    etree.indent(element, "\t", level=level)
    text: bytes = etree.tostring(element, encoding="utf-8", with_tail=False)
    return b"\t" * level + text + b"\n"


class _Scope:
    """The layers and edges of a scope, layers first."""

    def __init__(self, graph: Graph, weights: Weights) -> None:
        self._graph, self._weights = graph, weights
        self._sources: dict[Tensor, tuple[int, str]] = {}
        self._pending: list[tuple[int, list[Tensor], list[str]]] = []
        results = _results(graph)
        self._places = {id(result): place for place, result in enumerate(results)}
        entries: list[tuple[int, Any]] = [
            (_position(tensor.__dict__["parameter"], _FIRST), tensor) for tensor in graph.inputs
        ]
        entries += [(constant.position if constant.position >= 0 else _EARLY, constant) for constant in graph.constants]
        entries += [(node.position, node) for node in graph.nodes]
        entries += [(_position(result, _LAST), result) for result in results]
        self._items = [item for _, item in sorted(entries, key=lambda entry: entry[0])]

    def text(self, extra: Iterable[Element], level: int) -> Iterator[bytes]:
        """All that the element of the scope has in it."""
        yield from _parent("layers", self._layers(level + 1), level)
        yield from _parent("edges", (_text(edge, level + 1) for edge in self._edges()), level)
        for item in extra:
            yield _text(deepcopy(item), level)

    def ids(self) -> tuple[list[str], list[str]]:
        """The ids of the Parameter and Result layers, in the order of their file."""
        results = [str(index) for index, item in enumerate(self._items) if isinstance(item, Result)]
        others = (Constant, Node, Result)
        return [str(index) for index, item in enumerate(self._items) if not isinstance(item, others)], results

    def _layers(self, level: int) -> Iterator[bytes]:
        graph, weights = self._graph, self._weights
        for index, item in enumerate(self._items):
            element = etree.Element("layer")
            builder = _LayerBuilder(element, index, weights)
            if isinstance(item, Node):
                inputs, input_ids, output_ids = builder.node(item)
                places = ((index, port) for port in output_ids)
                self._sources.update(zip(item.outputs, places, strict=True))
                self._pending.append((index, inputs, input_ids))
            elif isinstance(item, Result):
                tensor = graph.outputs[self._places[id(item)]]
                self._pending.append((index, [tensor], builder.result(item, tensor)))
            else:
                port = builder.constant(item) if isinstance(item, Constant) else builder.parameter(item)
                self._sources[item] = (index, port)
            if isinstance(item, Node) and item.op in BODY_TYPES:
                yield from _with_bodies(element, item, weights, level)
            else:
                yield _text(element, level)

    def _edges(self) -> Iterator[Element]:
        """All edges, in the order of the layers that they leave."""
        edges = [
            (*self._sources[tensor], index, port)
            for index, tensors, input_ids in self._pending
            for tensor, port in zip(tensors, input_ids, strict=True)
        ]
        edges.sort(key=lambda edge: (edge[0], edge[2]))
        for edge in edges:
            yield etree.Element("edge", dict(zip(_EDGE, map(str, edge), strict=True)))


def _position(item: Parameter | Result, default: int) -> int:
    return item.position if item.position >= 0 else default


def _results(graph: Graph) -> list[Result]:
    if len(graph.results) != len(graph.outputs):
        raise ModelError(
            f"graph {graph.name!r} has {len(graph.outputs)} outputs but {len(graph.results)} Result layers"
        )
    return graph.results


class _LayerBuilder:
    """Fills one <layer> element."""

    def __init__(self, element: Element, layer_id: int, weights: Weights) -> None:
        self._element = element
        self._weights = weights
        element.set("id", str(layer_id))

    def node(self, node: Node) -> tuple[list[Tensor], list[str], list[str]]:
        """A layer of a node; returns its inputs and the ids of its ports."""
        layer = layer_of(node)
        version = (node.domain or "").partition(".")[2] or "extension"
        self._head(node.name, node.op, version, None if layer is None else layer.attributes)
        bodies = BODY_TYPES.get(node.op, ())
        data = {key: _spelled(node, key, value) for key, value in node.attrs.items() if key not in bodies}
        if data or node.__dict__.get("has_data"):
            self._data(data)
        if layer is not None:
            self._element.extend(deepcopy(item) for item in layer.extra)
        inputs = list(node.inputs)
        input_ids, output_ids = _port_ids(node)
        self._inputs(inputs, input_ids, [] if layer is None else layer.inputs)
        self._outputs(node.outputs, output_ids)
        return inputs, input_ids, output_ids

    def parameter(self, tensor: Tensor) -> str:
        """A Parameter layer; returns the id of its port."""
        parameter: Parameter = tensor.__dict__["parameter"]
        self._head(parameter.layer.name, "Parameter", parameter.layer.version, parameter.layer.attributes)
        self._data(parameter.data)
        self._element.extend(deepcopy(item) for item in parameter.layer.extra)
        port_id = _own_id(tensor, "0")
        self._outputs([tensor], [port_id])
        return port_id

    def result(self, result: Result, tensor: Tensor) -> list[str]:
        """A Result layer; returns the id of its port."""
        self._head(result.layer.name, "Result", result.layer.version, result.layer.attributes)
        if result.data is not None:
            self._data(result.data)
        self._element.extend(deepcopy(item) for item in result.layer.extra)
        ids = [str(port.port_id) for port in result.layer.inputs[:1]] or ["0"]
        self._inputs([tensor], ids, result.layer.inputs)
        return ids

    def constant(self, constant: Constant) -> str:
        """A Const layer; returns the id of its port."""
        origin = constant.origin if isinstance(constant.origin, ConstantLayer) else None
        layer = None if origin is None else origin.layer
        self._head(
            constant.__dict__.get("layer_name", constant.name) if layer is None else layer.name,
            "Const",
            "opset1" if layer is None else layer.version,
            None if layer is None else layer.attributes,
        )
        data = constant.data
        if data.dtype is None or data.dtype.openvino is None:
            raise ModelError(f"constant {constant.name!r} is of type {data.dtype}, which OpenVINO does not have")
        offset, size = self._weights.place_of(constant)
        self._data(
            {
                "element_type": data.dtype.openvino,
                "shape": ", ".join(map(str, data.shape)),
                "offset": str(offset),
                "size": str(size),
                **({} if origin is None else origin.data),
            }
        )
        if layer is not None:
            self._element.extend(deepcopy(item) for item in layer.extra)
        port_id = _own_id(constant, "0")
        self._outputs([constant], [port_id])
        return port_id

    def _head(self, name: str, kind: str, version: str, attributes: dict[str, str] | None) -> None:
        for key, value in (("name", name), ("type", kind), ("version", version), *(attributes or {}).items()):
            self._element.set(key, value)

    def _data(self, values: dict[str, str]) -> None:
        data = etree.SubElement(self._element, "data")
        for key, value in values.items():
            data.set(key, value)

    def _inputs(self, tensors: list[Tensor], ids: list[str], known: list[Port]) -> None:
        if not tensors:
            return
        element = etree.SubElement(self._element, "input")
        for index, (tensor, port_id) in enumerate(zip(tensors, ids, strict=True)):
            port = _port(element, tensor, port_id)
            if len(known) == len(tensors):
                _add_rest(port, known[index])

    def _outputs(self, tensors: list[Tensor], ids: list[str]) -> None:
        if not tensors:
            return
        element = etree.SubElement(self._element, "output")
        for tensor, port_id in zip(tensors, ids, strict=True):
            port = _port(element, tensor, port_id)
            known = port_of(tensor)
            if known is None:
                continue
            if known.names is not None:
                port.set("names", known.names)
            _add_rest(port, known)


def _spelled(node: Node, key: str, value: object) -> str:
    try:
        return spell(value)
    except TypeError as error:
        raise ModelError(f"attribute {key!r} of layer {node.name!r} ({node.op}): {error}; give it as text") from None


def _port(parent: Element, tensor: Tensor, port_id: str) -> Element:
    """A port with precision and dimensions: a copy of what is known, which no reader relies on."""
    element = etree.SubElement(parent, "port")
    element.set("id", port_id)
    known = port_of(tensor)
    if isinstance(tensor, Constant):
        element.set("precision", precision(tensor.data.dtype))
        dims = [str(dim) for dim in tensor.data.shape]
    elif known is not None:
        element.set("precision", known.precision)
        dims = known.dims
    else:
        dtype = None if tensor.dtype is None else dtypes.from_numpy(tensor.dtype)
        element.set("precision", precision(dtype))
        dims = [str(dim) if isinstance(dim, int) else "-1" for dim in tensor.shape or ()]
    for dim in dims:
        etree.SubElement(element, "dim").text = dim
    return element


def _add_rest(element: Element, port: Port) -> None:
    """Adds what the file says of a port beside its type and names."""
    for key, value in port.attributes.items():
        element.set(key, value)
    element.extend(deepcopy(item) for item in port.extra)


def _port_ids(node: Node) -> tuple[list[str], list[str]]:
    """The ids of a node's input and output ports: the file's, where they still fit."""
    layer = layer_of(node)
    ports = [port_of(tensor) for tensor in node.outputs]
    outputs = [port.port_id for port in ports if port is not None and port.port_id is not None]
    if layer is not None and len(layer.inputs) == len(node.inputs) and len(set(outputs)) == len(node.outputs):
        return [str(port.port_id) for port in layer.inputs], outputs
    inputs = [str(index) for index in range(len(node.inputs))]
    return inputs, [str(index + len(inputs)) for index in range(len(node.outputs))]


def _own_id(tensor: Tensor, default: str) -> str:
    port = port_of(tensor)
    return default if port is None or port.port_id is None else port.port_id


def _with_bodies(element: Element, node: Node, weights: Weights, level: int) -> Iterator[bytes]:
    """A layer with maps and bodies where OpenVINO puts them: maps before the ports, bodies behind."""
    graphs = {name: node.attrs.get(name) for name in BODY_TYPES[node.op]}
    bodies = {name: body for name, body in graphs.items() if isinstance(body, Graph)}
    scopes = {name: _Scope(body, weights) for name, body in bodies.items()}
    place = next((index for index, item in enumerate(element) if item.tag in ("input", "output")), 0)
    for name in reversed(BODY_TYPES[node.op]):
        entries = node.attrs.get(name)
        if isinstance(entries, list):
            body_name = {"then_port_map": "then_body", "else_port_map": "else_body"}.get(name, "body")
            element.insert(place, _map(name, entries, *scopes[body_name].ids()))
    # An empty child keeps the layer open.
    etree.SubElement(element, "body")
    head, _, tail = _text(element, level).rpartition(b"\t" * (level + 1) + b"<body/>\n")
    yield head
    for name, scope in scopes.items():
        yield from _parent(name, scope.text(bodies[name].__dict__.get("extra", ()), level + 2), level + 1)
    yield tail


def _map(name: str, entries: list[PortMapEntry], parameters: list[str], results: list[str]) -> Element:
    element = etree.Element(name)
    for entry in entries:
        item = etree.SubElement(element, entry.tag)
        if name == "back_edges":
            assert entry.body_output is not None
            assert entry.body_input is not None
            item.set("from-layer", results[entry.body_output])
            item.set("to-layer", parameters[entry.body_input])
        for key, value in entry.attributes.items():
            item.set(key, value)
        if name != "back_edges":
            place = entry.body_input
            item.set("internal_layer_id", parameters[place] if place is not None else results[entry.body_output or 0])
    return element
