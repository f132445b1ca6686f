"""Changes to IR files after which OpenVINO still reads them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from xml.etree import ElementTree as ET

Element = ET.Element
Edit = Callable[[Element], None]

_PADDING = 3
# Spelled otherwise, OpenVINO takes them for other operations, and the model for an empty one.
_NEVER_RESPELLED = ("Parameter", "Result", "Const", "Assign", "ReadValue")


def _layers(root: Element) -> Iterator[Element]:
    """All layers, those of bodies too."""
    return root.iter("layer")


def _lists(root: Element, tag: str) -> list[Element]:
    """All lists of layers or of edges, those of bodies too."""
    return list(root.iter(tag))


def _ports(root: Element, side: str) -> Iterator[Element]:
    for layer in _layers(root):
        yield from layer.iterfind(f"{side}/port")


def _reverse(tag: str) -> Edit:
    def reverse(root: Element) -> None:
        for element in _lists(root, tag):
            element[:] = element[::-1]

    return reverse


def _edges_first(root: Element) -> None:
    for parent in list(root.iter()):
        edges = parent.find("edges")
        if edges is not None:
            parent.remove(edges)
            parent.insert(0, edges)


def _sparse_layer_ids(root: Element) -> None:
    names = ("from-layer", "to-layer", "internal_layer_id")
    for element in root.iter():
        if element.tag == "layer":
            element.set("id", str(7 * int(element.get("id", "")) + 3))
        for name in names:
            if name in element.attrib:
                element.set(name, str(7 * int(element.get(name, "")) + 3))


def _sparse_port_ids(root: Element) -> None:
    """Port maps go on counting ports: they do not refer to these ids."""
    for edge in root.iter("edge"):
        for name in ("from-port", "to-port"):
            if name in edge.attrib:
                edge.set(name, str(5 * int(edge.get(name, "")) + 2))
    for port in [*_ports(root, "input"), *_ports(root, "output")]:
        port.set("id", str(5 * int(port.get("id", "")) + 2))


def _without(tag: str, attribute: str) -> Edit:
    def remove(root: Element) -> None:
        for element in root.iter(tag):
            element.attrib.pop(attribute, None)

    return remove


def _without_input_precision(root: Element) -> None:
    for port in _ports(root, "input"):
        port.attrib.pop("precision", None)


def _with_precision(change: Callable[[str], str]) -> Edit:
    def edit(root: Element) -> None:
        for port in [*_ports(root, "input"), *_ports(root, "output")]:
            if "precision" in port.attrib:
                port.set("precision", change(port.get("precision", "")))

    return edit


_ELEMENT_TYPES = {"FP32": "f32", "FP16": "f16", "FP64": "f64", "BOOL": "boolean"}


def _without_dims(root: Element) -> None:
    for port in root.iter("port"):
        for dim in port.findall("dim"):
            port.remove(dim)


def _wrong_dims(root: Element) -> None:
    for dim, size in zip(root.iter("dim"), itertools.cycle(["-1", "17", "0"]), strict=False):
        dim.text = size


def _with_type(change: Callable[[str], str]) -> Edit:
    def edit(root: Element) -> None:
        for layer in _layers(root):
            if layer.get("type") not in _NEVER_RESPELLED:
                layer.set("type", change(layer.get("type", "")))

    return edit


def _newer_versions(root: Element) -> None:
    for layer in _layers(root):
        if layer.get("type") in ("Parameter", "Result", "Const", "Add", "Multiply", "ReLU", "Convert"):
            layer.set("version", "opset13")


def _version_10(root: Element) -> None:
    root.set("version", "10")


def _unknown_attributes(root: Element) -> None:
    for element in list(root.iter()):
        if element.tag in ("layer", "data", "port", "net"):
            element.set("invented", "a<b")


def _unknown_elements(root: Element) -> None:
    for layer in list(_layers(root)):
        ET.SubElement(layer, "invented", {"a": "1"}).text = "text"
    ET.SubElement(root, "invented", {"a": "1"})


def _runtime_info_everywhere(root: Element) -> None:
    for element in list(root.iter()):
        if element.tag in ("layer", "port"):
            info = ET.SubElement(element, "rt_info")
            ET.SubElement(info, "attribute", {"name": "fused_names", "version": "0", "value": "a,b"})


def _without_runtime_info(root: Element) -> None:
    for parent in list(root.iter()):
        for info in parent.findall("rt_info"):
            parent.remove(info)


def _spurious_result_output(root: Element) -> None:
    for layer in _layers(root):
        if layer.get("type") == "Result":
            ET.SubElement(ET.SubElement(layer, "output"), "port", {"id": "1", "precision": "FP32"})


def _padded_offsets(root: Element) -> None:
    """The weights must get as many bytes in front: see `padded`."""
    for data in root.iter("data"):
        if "offset" in data.attrib:
            data.set("offset", str(int(data.get("offset", "")) + _PADDING))


def padded(weights: bytes) -> bytes:
    """The weights for the padded offsets, with bytes behind that nothing uses."""
    return b"\xff" * _PADDING + weights + b"left over"


def _body_first(root: Element) -> None:
    for layer in _layers(root):
        for kind in ("then_body", "else_body", "body"):
            body = layer.find(kind)
            if body is not None:
                layer.remove(body)
                layer.insert(0, body)


def _port_maps_reversed(root: Element) -> None:
    for kind in ("port_map", "then_port_map", "else_port_map", "back_edges"):
        _reverse(kind)(root)


def _slices_by_default(root: Element) -> None:
    """Removes what the reader would put there anyway."""
    defaults = {"start": "0", "end": "-1", "stride": "1", "part_size": "1"}
    for element in [*root.iter("input"), *root.iter("output")]:
        for name, value in defaults.items():
            if element.get(name) == value:
                element.attrib.pop(name)


def _unused_layers(root: Element) -> None:
    """Adds layers that no result needs to every list of layers."""
    for layers in _lists(root, "layers"):
        ids = [int(layer.get("id", "")) for layer in layers]
        data = {"element_type": "u8", "shape": "0", "offset": "0", "size": "0"}
        for number in (max(ids) + 1, max(ids) + 2):
            layer = ET.SubElement(
                layers, "layer", {"id": str(number), "name": f"u{number}", "type": "Const", "version": "opset1"}
            )
            ET.SubElement(layer, "data", data)
            ET.SubElement(ET.SubElement(layer, "output"), "port", {"id": "0", "precision": "U8"})


EDITS: dict[str, Edit] = {
    "unchanged": lambda root: None,
    "layers in reverse": _reverse("layers"),
    "edges in reverse": _reverse("edges"),
    "edges first": _edges_first,
    "sparse layer ids": _sparse_layer_ids,
    "sparse port ids": _sparse_port_ids,
    "no names": _without("port", "names"),
    "no output_names": _without("layer", "output_names"),
    "no input precision": _without_input_precision,
    "precisions in small letters": _with_precision(lambda text: _ELEMENT_TYPES.get(text, text.lower())),
    "wrong precisions": _with_precision(lambda text: "FP32" if text == "I64" else "I64"),
    "no dims": _without_dims,
    "wrong dims": _wrong_dims,
    "types in capitals": _with_type(str.upper),
    "types in small letters": _with_type(str.lower),
    "newer versions": _newer_versions,
    "version 10": _version_10,
    "no net name": _without("net", "name"),
    "unknown attributes": _unknown_attributes,
    "unknown elements": _unknown_elements,
    "rt_info everywhere": _runtime_info_everywhere,
    "no rt_info": _without_runtime_info,
    "output port of Result": _spurious_result_output,
    "padded offsets": _padded_offsets,
    "bodies first": _body_first,
    "port maps in reverse": _port_maps_reversed,
    "slices by default": _slices_by_default,
    "unused layers": _unused_layers,
}
"""Whether each is a change at all depends on the model."""

# OpenVINO refuses version 10 where a Result would have to share a name with a Parameter.
UNREADABLE = (("strings", "version 10"), ("names", "version 10"))
