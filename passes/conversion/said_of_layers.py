"""What files of both formats say of nodes, values and constants beside what they compute, from one to the other.

A node's metadata goes to the operation that makes its first result. What has no counterpart is noted as lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import onnx
from lxml import etree

from maxfold.model.errors import ModelError
from maxfold.model.graph import Constant, Graph, Node, Tensor
from maxfold.model.model import Model
from maxfold.model.openvino.document import child, children, tag
from maxfold.model.openvino.ir import ConstantLayer, Layer, Parameter, Port, layer_of, port_of
from maxfold.model.openvino.text import partial_shape
from maxfold.passes.conversion.names import BOUNDS_KEY
from maxfold.passes.conversion.said import (
    LAYER_KEY,
    Said,
    from_user_data,
    from_xml,
    parsed,
    said_in_json,
    said_of,
    say,
    to_user_data,
    to_xml,
)
from maxfold.passes.conversion.sites.site import Target

# What belongs to the interface, or is said by the ONNX model itself.
_OWN_ATTRIBUTES = ("output_names",)
_OWN_DATA = ("shape", "element_type", "offset", "size")


def node_to_layer(node: Node, made: Sequence[Node], target: Target) -> None:
    """What an ONNX node says, to one of the operations made of it."""
    if node.proto is None:
        return
    name = node.name or _first_name(node)
    if len(getattr(node.proto, "device_configurations", ())):
        target.lose("device configurations of nodes", name)
    if any(attribute.doc_string for attribute in node.proto.attribute):
        target.lose("doc strings of attributes", name)
    said = said_of(node.proto)
    if not said:
        return
    carrier = _carrier(node, made, target)
    if carrier is None:
        target.lose("metadata of nodes that are no operation of their own", name)
        return
    layer = Layer(carrier.name, carrier.op, carrier.domain.partition(".")[2])
    carrier.__dict__["layer"] = layer
    _restore(layer, said, "node", {}, carrier.outputs, len(carrier.inputs))


def _first_name(node: Node) -> str:
    return next((tensor.name for tensor in node.outputs if tensor.name), "")


def _carrier(node: Node, made: Sequence[Node], target: Target) -> Node | None:
    """The new node that stands for the old one: what makes its first result, else the last one."""
    for tensor in node.outputs:
        result = target.tensors.get(tensor)
        if result is not None and result.inputs and any(result.inputs[0] is item for item in made):
            return result.inputs[0]
    return made[-1] if made else None


def _restore(
    layer: Layer, said: Said, key: str, data: dict[str, str], outputs: Sequence[Tensor], input_count: int = 0
) -> None:
    """Gives a layer what an ONNX node or value says: as it once stood in an IR, and the rest as JSON."""
    text = said.value(LAYER_KEY)
    root = None if text is None else from_xml(text)
    if root is not None:
        said = said.without(LAYER_KEY)
        layer.attributes.update(root.attrib)
        layer.extra += [item for item in root if tag(item) not in ("data", "input", "output")]
        data.update(next((item.attrib for item in children(root, "data")), {}))
        inputs = _ports(root, "input")
        if len(inputs) == input_count:
            layer.inputs = [
                Port("", [], None, str(index), list(port), dict(port.attrib)) for index, port in enumerate(inputs)
            ]
        for tensor, port in zip(outputs, _ports(root, "output"), strict=False):
            known = _port(tensor)
            known.extra += list(port)
            known.attributes.update(port.attrib)
    if said:
        _add_user_data(layer.extra, {key: said.to_json()})


def _ports(root: Any, name: str) -> list[Any]:
    group = child(root, name)
    return [] if group is None else children(group, "port")


def _port(tensor: Tensor) -> Port:
    port: Port = tensor.__dict__.setdefault("port", Port("UNSPECIFIED", []))
    return port


def _add_user_data(extra: list[Any], found: Mapping[str, Any]) -> None:
    """Adds it to what is kept already; OpenVINO reads one entry of a name."""
    kept, extra[:] = from_user_data(extra)
    for key, value in found.items():
        kept[key] = {**kept[key], **value} if key in kept else value
    element = to_user_data(kept)
    known = next((item for item in extra if tag(item) == "rt_info"), None)
    if known is None:
        extra.append(element)
    else:
        known.extend(list(element))


def _bounded(shape: str, bounds: object) -> str:
    """A Parameter's shape with the bounds that it once had in an IR, where they still fit."""
    if not isinstance(bounds, str):
        return shape
    try:
        known, now = partial_shape(bounds, ""), partial_shape(shape, "")
    except ModelError:
        return shape
    if known is None or now is None or len(known) != len(now):
        return shape
    fits = all(one == other or other == (0, None) for one, other in zip(known, now, strict=True))
    return bounds if fits else shape


def interface_to_layers(model: Model, target: Target) -> None:
    """What an ONNX model says of its inputs, outputs, constants and intermediate results, to the finished IR."""
    graph = model.graph
    kept = next((entry.value for entry in model.proto.metadata_props if entry.key == BOUNDS_KEY), "")
    bounds = parsed(kept)
    for tensor in graph.inputs:
        info, made = graph.input_info.get(tensor.name), target.tensors.get(tensor)
        parameter = None if made is None else made.__dict__.get("parameter")
        if parameter is not None:
            parameter.data["shape"] = _bounded(parameter.data["shape"], bounds.get(tensor.name))
        if info is not None and parameter is not None and made is not None:
            _restore(parameter.layer, said_of(info), "value", parameter.data, [made])
    infos = {info.name: info for info in graph.output_info}
    for tensor, result in zip(graph.outputs, target.graph.results, strict=True):
        if tensor.name in infos:
            data: dict[str, str] = dict(result.data or {})
            _restore(result.layer, said_of(infos[tensor.name]), "value", data, [], 1)
            result.data = data or result.data
    _values_to_layers(graph, target)
    if model.proto.training_info:
        target.lose("training information", graph.name)
    for annotation in getattr(graph.proto, "quantization_annotation", ()):
        target.lose("quantization annotations", annotation.tensor_name)


def body_to_layers(graph: Graph, target: Target) -> None:
    """What an ONNX model says of constants and intermediate results of a body, to the finished body of an IR."""
    _values_to_layers(graph, target)
    infos = (*graph.input_info.values(), *graph.output_info)
    for name in [info.name for info in infos if said_of(info)]:
        target.lose("metadata of inputs and outputs of bodies", name)


def _values_to_layers(graph: Graph, target: Target) -> None:
    for constant in graph.constants:
        _constant_to_layer(constant, target)
    made_of = {tensor.name: made for tensor, made in target.tensors.items()}
    for info in graph.value_info:
        said = said_of(info)
        if not said or info.name in graph.forgotten:
            continue
        if info.name in made_of:
            _add_user_data(_port(made_of[info.name]).extra, {"values": {info.name: said.to_json()}})
        else:
            target.lose("metadata of values that are not there", info.name)


def _constant_to_layer(constant: Constant, target: Target) -> None:
    origin, made = constant.origin, target.tensors.get(constant)
    found: dict[str, Said] = {}
    tensor: Any = origin.values if isinstance(origin, onnx.SparseTensorProto) else origin
    if isinstance(origin, onnx.NodeProto):
        found["node"] = said_of(origin)
        tensor = origin.attribute[0].t if len(origin.attribute) else None
    if isinstance(tensor, onnx.TensorProto):
        found["tensor"] = said_of(tensor)
    if not any(found.values()):
        return
    if not isinstance(made, Constant):
        target.lose("metadata of constants that are not there", constant.name)
        return
    layer = Layer(made.__dict__.get("layer_name", made.name), "Const", "opset1")
    data: dict[str, str] = {}
    for key, said in found.items():
        if said:
            _restore(layer, said, key, data, [made])
    made.origin = ConstantLayer(layer, data)


def layer_to_node(node: Node, made: Sequence[Node], target: Target) -> None:
    """What an IR says of a layer and its ports, to one of the ONNX nodes made of it."""
    layer = layer_of(node)
    if layer is None:
        return
    said = _said_of_layer(layer, "node", {}, node.outputs)
    if not said:
        return
    carrier = _carrier(node, made, target)
    if carrier is None:
        target.lose("runtime information of layers that are no node of their own", node.name)
        return
    carrier.proto = onnx.NodeProto()
    say(carrier.proto, said)


def _said_of_layer(layer: Layer, key: str, data: Mapping[str, str], outputs: Sequence[Tensor]) -> Said:
    """What an ONNX model once said of a layer, and as XML what an IR says."""
    found, rest = from_user_data(layer.extra)
    attributes = {name: value for name, value in layer.attributes.items() if name not in _OWN_ATTRIBUTES}
    others = {name: value for name, value in data.items() if name not in _OWN_DATA}
    if others:
        rest.append(etree.Element("data", others))
    ports = [port for port in map(port_of, outputs) if port is not None]
    for name, group in (("input", layer.inputs), ("output", ports)):
        element = _group(name, group)
        if element is not None:
            rest.append(element)
    text = to_xml("layer", attributes, rest)
    said = said_in_json(found.get(key))
    return said.with_metadata(LAYER_KEY, text) if text else said


def _group(name: str, ports: Iterable[Port]) -> Any | None:
    """What is said of ports beside their types, None where nothing is."""
    group, is_empty = etree.Element(name), True
    for port in ports:
        element = etree.SubElement(group, "port", port.attributes)
        element.extend(from_user_data(port.extra)[1])
        is_empty = is_empty and not len(element) and not element.attrib
    return None if is_empty else group


def interface_to_infos(model: Model, target: Target, graph: Graph) -> None:
    """What an IR says of Parameters, Results, constants and ports, to the finished ONNX graph."""
    for tensor in model.graph.inputs:
        parameter: Parameter = tensor.__dict__["parameter"]
        said = _said_of_layer(parameter.layer, "value", parameter.data, [tensor])
        name = next(item.name for item in graph.inputs if _is_made_of(item, target.tensors[tensor]))
        say(graph.input_info[name], said)
    # Outputs for what is remembered come last.
    for result, info in zip(model.graph.results, graph.output_info, strict=False):
        say(info, _said_of_layer(result.layer, "value", result.data or {}, []))
    for constant in model.graph.constants:
        _layer_to_constant(constant, target)
    declared = {info.name for info in graph.output_info} | set(graph.input_info)
    for tensor, made in target.tensors.items():
        port = port_of(tensor)
        values = {} if port is None else from_user_data(port.extra)[0].get("values")
        for name, value in values.items() if isinstance(values, dict) else ():
            made_info = target.info_of(made) if made.name == name and name not in declared else None
            if made_info is None:
                target.lose("metadata of values that are not there", name)
                continue
            say(made_info, said_in_json(value))
            graph.value_info.append(made_info)


def _is_made_of(item: Tensor, made: Tensor) -> bool:
    """Whether a graph input is the tensor made of a Parameter, or what a Cast makes that tensor of."""
    return item is made or (bool(made.inputs) and made.inputs[0].inputs[0] is item)


def _layer_to_constant(constant: Constant, target: Target) -> None:
    origin, made = constant.origin, target.tensors.get(constant)
    if not isinstance(origin, ConstantLayer) or not isinstance(made, Constant):
        return
    said = _said_of_layer(origin.layer, "tensor", origin.data, [constant])
    of_node = said_in_json(from_user_data(origin.layer.extra)[0].get("node"))
    dtype = made.data.dtype
    if not (said or of_node) or dtype is None or dtype.onnx is None:
        return
    tensor = onnx.TensorProto(data_type=dtype.onnx, dims=made.data.shape)
    say(tensor, said)
    made.origin = tensor
    if of_node:
        value = onnx.AttributeProto(name="value", type=onnx.AttributeProto.TENSOR, t=tensor)
        made.origin = onnx.NodeProto(op_type="Constant", output=[made.name], attribute=[value])
        say(made.origin, of_node)
