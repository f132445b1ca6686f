"""What an ONNX file says of a node, tensor or value beside what is computed, and how an IR keeps it.

An IR keeps it as JSON in runtime information of the kind that OpenVINO leaves to its users, and reads and writes
again: so any text survives. The other way, what an IR says of a layer is XML in the metadata of an ONNX node or value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx
from lxml import etree

from maxfold.model.openvino.document import children, tag

# Runtime information of a layer or port in an IR.
USER_DATA = "maxfold_onnx"
# Metadata of an ONNX node, value or tensor.
LAYER_KEY = "maxfold.openvino.layer"

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Said:
    """Doc string, metadata in its order (keys may repeat), and for values the denotation of type and dimensions."""

    doc_string: str = ""
    metadata: Pairs = ()
    denotation: str = ""
    dimensions: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.doc_string or self.metadata or self.denotation or any(self.dimensions))

    def without(self, key: str) -> Said:
        """The same without the metadata of a key."""
        left = tuple(pair for pair in self.metadata if pair[0] != key)
        return Said(self.doc_string, left, self.denotation, self.dimensions)

    def with_metadata(self, key: str, value: str) -> Said:
        """The same with one more entry of metadata."""
        return Said(self.doc_string, (*self.metadata, (key, value)), self.denotation, self.dimensions)

    def value(self, key: str) -> str | None:
        """The first metadata of a key, None where there is none."""
        return next((value for name, value in self.metadata if name == key), None)

    def to_json(self) -> dict[str, Any]:
        """What is not empty, as JSON holds it."""
        found: dict[str, Any] = {
            "doc_string": self.doc_string, "metadata_props": [list(pair) for pair in self.metadata],
            "denotation": self.denotation, "dimensions": list(self.dimensions) if any(self.dimensions) else [],
        }  # fmt: skip
        return {key: value for key, value in found.items() if value}


def said_in_json(found: Any) -> Said:
    """What JSON says, where it is what we wrote; nothing where it is anything else."""
    if not isinstance(found, dict):
        return Said()
    pairs = [pair for pair in listed(found.get("metadata_props")) if _is_pair(pair)]
    dimensions = [item for item in listed(found.get("dimensions")) if isinstance(item, str)]
    return Said(
        text_of(found, "doc_string"),
        tuple((key, value) for key, value in pairs),
        text_of(found, "denotation"),
        dimensions,
    )


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(item, str) for item in value)


def listed(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text_of(found: Mapping[str, Any], key: str) -> str:
    """A text of a JSON object, empty where it is none."""
    value = found.get(key)
    return value if isinstance(value, str) else ""


def said_of(proto: Any) -> Said:
    """What a NodeProto, TensorProto, GraphProto or ValueInfoProto says."""
    metadata = tuple((entry.key, entry.value) for entry in proto.metadata_props)
    if not isinstance(proto, onnx.ValueInfoProto):
        return Said(proto.doc_string, metadata)
    dims = proto.type.tensor_type.shape.dim
    return Said(proto.doc_string, metadata, proto.type.denotation, tuple(dim.denotation for dim in dims))


def say(proto: Any, said: Said) -> None:
    """Adds it to a proto; the denotations of dimensions only where there are as many."""
    if said.doc_string:
        proto.doc_string = said.doc_string
    for key, value in said.metadata:
        proto.metadata_props.add(key=key, value=value)
    if not isinstance(proto, onnx.ValueInfoProto):
        return
    if said.denotation:
        proto.type.denotation = said.denotation
    dims = proto.type.tensor_type.shape.dim
    if len(dims) == len(said.dimensions):
        for dim, denotation in zip(dims, said.dimensions, strict=True):
            if denotation:
                dim.denotation = denotation


def to_user_data(found: Mapping[str, Any]) -> Any:
    """A rt_info element that keeps a JSON object."""
    root = etree.Element("rt_info")
    data = etree.SubElement(root, "user_data")
    for key, text in (("name", USER_DATA), ("value", json.dumps(found, sort_keys=True)), ("version", "")):
        data.set(key, text)
    return root


def from_user_data(elements: Iterable[Any]) -> tuple[dict[str, Any], list[Any]]:
    """The JSON object among a layer's or port's elements, and what else stands there, as copies."""
    found: dict[str, Any] = {}
    rest: list[Any] = []
    for element in elements:
        copy = etree.fromstring(etree.tostring(element, with_tail=False))
        if tag(copy) == "rt_info":
            for item in children(copy, "user_data"):
                if item.get("name") == USER_DATA:
                    found.update(parsed(item.get("value", "")))
                    copy.remove(item)
        if tag(copy) != "rt_info" or len(copy) or copy.attrib:
            rest.append(copy)
    return found, rest


def parsed(text: str) -> dict[str, Any]:
    """A JSON object, empty where the text is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def to_xml(name: str, attributes: Mapping[str, str], elements: Iterable[Any]) -> str:
    """Attributes and elements as one text; empty where there are none."""
    root = etree.Element(name)
    for key, value in attributes.items():
        root.set(key, value)
    root.extend([etree.fromstring(_flat(element)) for element in elements])
    return etree.tostring(root, encoding="unicode") if len(root) or root.attrib else ""


def _flat(element: Any) -> bytes:
    """An element as it is written, without the white space between its children."""
    copy = etree.fromstring(etree.tostring(element, with_tail=False), etree.XMLParser(remove_blank_text=True))
    flat: bytes = etree.tostring(copy)
    return flat


def from_xml(text: str) -> Any | None:
    """The element of such a text, None where it is none: somebody may have changed it."""
    if "<!" in text:
        return None
    parser = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False)
    try:
        return etree.fromstring(text.encode(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
