"""An IR file as plain data, element by element: also what OpenVINO drops, skips or cannot read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.model.openvino.plain import Plain, differences

Element = ET.Element

_BODIES = ("body", "then_body", "else_body")
_PORT_MAPS = ("port_map", "then_port_map", "else_port_map")
# Bytes for how many elements, of types that do not fill whole bytes each.
_PACKING = {"u1": (1, 8), "u2": (1, 4), "u3": (3, 8), "u4": (1, 2), "i4": (1, 2), "u6": (3, 4)}
_PACKING |= {"nf4": (1, 2), "f4e2m1": (1, 2)}
_BYTES = {1: "boolean i8 u8 f8e4m3 f8e5m2 f8e8m0", 2: "i16 u16 f16 bf16", 4: "i32 u32 f32", 8: "i64 u64 f64"}
_PACKING |= {name: (nbytes, 1) for nbytes, names in _BYTES.items() for name in names.split()}


def file_differences(original: Path, rewritten: Path, *, ports: bool = True) -> list[str]:
    """Where two IR files differ. Ids and the order of layers and edges do not count.

    `ports` tells whether the dims and precisions that ports repeat count.
    """
    return differences(describe(original, ports=ports), describe(rewritten, ports=ports), "net")


def describe(path: Path, *, ports: bool = True) -> Plain:
    """The whole file; constants as the bytes that they have in the `.bin`."""
    root = ET.fromstring(path.read_bytes())
    for element in root.iter():
        element.tag = element.tag.partition("}")[2] or element.tag
    weights = path.with_suffix(".bin")
    data = weights.read_bytes() if weights.exists() else b""
    return {"attributes": _attributes(root), **_Net(root, data, ports).description()}


def _attributes(element: Element, *without: str) -> dict[str, Plain]:
    return {key: value for key, value in element.attrib.items() if key not in without}


def _type(layer: Element) -> str:
    """OpenVINO reads types in any case, and Constant as Const."""
    kind = layer.get("type", "").lower()
    return "const" if kind == "constant" else kind


def _outputs(layer: Element) -> list[Element]:
    """The output ports; a Result has none, whatever the file says."""
    return [] if _type(layer) == "result" else layer.findall("output/port")


def _tree(element: Element) -> Plain:
    return {
        "tag": element.tag,
        "attributes": _attributes(element),
        "text": (element.text or "").strip(),
        "children": [_tree(child) for child in element],
    }


def _others(element: Element, *known: str) -> list[Plain]:
    return [_tree(child) for child in element if child.tag not in known]


class _Net:
    """The layers and edges of the file, or of one body."""

    def __init__(self, element: Element, weights: bytes, ports: bool) -> None:
        self.element, self.weights, self.ports = element, weights, ports
        self.layers = {layer.get("id", ""): layer for layer in element.iterfind("layers/layer")}
        self.sources = {
            (edge.get("to-layer"), edge.get("to-port")): (edge.get("from-layer", ""), edge.get("from-port"))
            for edge in element.iterfind("edges/edge")
        }
        self.numbers = {layer: number for number, layer in enumerate(self._in_order())}

    def description(self) -> dict[str, Plain]:
        """Layers in an order that depends on the graph alone."""
        return {
            "parameters": [self.numbers[layer] for layer in self._of_type("parameter")],
            "results": [self.numbers[layer] for layer in self._of_type("result")],
            "layers": [self._layer(self.layers[layer]) for layer in self.numbers],
            "others": _others(self.element, "layers", "edges"),
        }

    def _of_type(self, kind: str) -> list[str]:
        return [key for key, layer in self.layers.items() if _type(layer) == kind]

    def _in_order(self) -> list[str]:
        """Each layer after its inputs: first those that the results need, result by result."""
        roots = self._of_type("result") + sorted(self._of_type("assign"), key=self._by_data)
        roots += sorted(self.layers, key=lambda key: (self.layers[key].get("name", ""), _type(self.layers[key])))
        order: dict[str, None] = {}
        for root in roots:
            pending = [(root, False)]
            while pending:
                key, inputs_are_done = pending.pop()
                if key in order:
                    continue
                if inputs_are_done:
                    order[key] = None
                    continue
                pending.append((key, True))
                pending += [(source, False) for source, _ in reversed(list(self._inputs(key))) if source]
        return list(order)

    def _by_data(self, key: str) -> str:
        data = self.layers[key].find("data")
        return "" if data is None else data.get("variable_id", "")

    def _inputs(self, key: str) -> Iterator[tuple[str, str | None]]:
        for port in self.layers[key].iterfind("input/port"):
            yield self.sources.get((key, port.get("id")), ("", None))

    def _source(self, layer: str, port: str | None) -> Plain:
        if not layer:
            return None
        ports = [entry.get("id") for entry in self.layers[layer].iterfind("output/port")]
        return [self.numbers[layer], ports.index(port)]

    def _layer(self, layer: Element) -> Plain:
        known = ("data", "input", "output", "back_edges", *_BODIES, *_PORT_MAPS)
        found: dict[str, Plain] = {
            "type": _type(layer),
            "attributes": _attributes(layer, "id", "type"),
            "from": [self._source(*source) for source in self._inputs(layer.get("id", ""))],
            "inputs": [self._port(port) for port in layer.iterfind("input/port")],
            "outputs": [self._port(port) for port in _outputs(layer)],
            "others": _others(layer, *known),
        }
        data = layer.find("data")
        if data is not None:
            found["data"] = self._data(layer, data)
        for kind in _BODIES:
            if (body := layer.find(kind)) is not None:
                found[kind] = self._body(layer, body, kind.replace("body", "port_map"))
        return found

    def _port(self, port: Element) -> Plain:
        names = sorted(filter(None, port.get("names", "").split(",")))
        found: dict[str, Plain] = {"names": list(names), "others": _others(port, "dim")}
        found["attributes"] = _attributes(port, "id", "names", "precision")
        if self.ports:
            found["precision"] = port.get("precision")
            found["dims"] = [dim.text for dim in port.iterfind("dim")]
        return found

    def _data(self, layer: Element, data: Element) -> Plain:
        if _type(layer) != "const" or "offset" not in data.attrib:
            return _attributes(data)
        found = _attributes(data, "offset", "size")
        found["shape"] = list[Plain](_dims(data.get("shape", "")))
        start, size = int(data.get("offset", "")), int(data.get("size", ""))
        found["bytes"] = self.weights[start : start + min(size, _needed(data, size))]
        return found

    def _body(self, layer: Element, body: Element, port_map: str) -> Plain:
        if port_map == "port_map" and layer.find("port_map") is None:
            return _tree(body)
        net = _Net(body, self.weights, self.ports)
        entries = [net.map_entry(entry) for entry in layer.iterfind(f"{port_map}/*")]
        back_edges: list[Plain] = [
            [net.numbers[edge.get("from-layer", "")], net.numbers[edge.get("to-layer", "")]]
            for edge in layer.iterfind("back_edges/edge")
        ]
        return {
            "port_map": sorted(entries, key=repr),
            "back_edges": sorted(back_edges, key=repr),
            **net.description(),
        }

    def map_entry(self, entry: Element) -> Plain:
        """One entry of the port map of this body, with the layer's number for its id."""
        layer = self.numbers[entry.get("internal_layer_id", "")]
        return {"tag": entry.tag, "layer": layer, **_attributes(entry, "internal_layer_id")}


def _needed(data: Element, size: int) -> int:
    """Bytes of a constant; `size` where type and shape do not tell."""
    count = math.prod(_dims(data.get("shape", "")))
    if data.get("element_type") not in _PACKING:
        return size
    nbytes, per = _PACKING[data.get("element_type", "")]
    return -(-count // per) * nbytes


def _dims(text: str) -> list[int]:
    return [int(dim) for dim in text.replace("[", "").replace("]", "").split(",") if dim.strip()]
