"""What files of both formats say of the model as a whole, and how it crosses.

`metadata_props` stand in an IR where OpenVINO's own conversion puts them, under <framework>, as far as XML can hold
them; all of it stands in JSON beside that. The other way, an IR's runtime information is one XML text in
`metadata_props`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import onnx
from lxml import etree

from maxfold.model.model import Model
from maxfold.model.openvino.document import children, tag
from maxfold.model.openvino.ir import Net
from maxfold.passes.conversion.check import is_writable
from maxfold.passes.conversion.names import BOUNDS_KEY, SHAPES_KEY
from maxfold.passes.conversion.said import Pairs, from_xml, parsed, said_in_json, say, text_of, to_xml

_FRAMEWORK = "framework"
_MODEL = "maxfold_onnx"
_NET_KEY = "maxfold.openvino.net"
_OURS = (SHAPES_KEY, _MODEL)
# What a model that is made of an IR says of itself.
_DEFAULTS: dict[str, Any] = {
    "producer_name": "maxfold", "producer_version": "", "domain": "", "model_version": 0, "doc_string": "",
    "metadata_props": [], "graph": {},
}  # fmt: skip


def to_net(model: Model, net: Net, root: Any) -> None:
    """Adds to an IR's rt_info, and to its net, what the ONNX model says."""
    facts = _facts(model)
    text = next((value for key, value in facts["metadata_props"] if key == _NET_KEY), None)
    kept = None if text is None else from_xml(text)
    facts["metadata_props"] = [
        pair for pair in facts["metadata_props"] if pair[0] != BOUNDS_KEY and (pair[0] != _NET_KEY or kept is None)
    ]
    if kept is not None:
        net.attributes.update(kept.attrib)
        infos = children(kept, "rt_info")
        root.extend([item for info in infos for item in info])
        net.extra.extend(item for item in kept if tag(item) != "rt_info")
    if _facts_of(root, {}) == facts:
        return
    for item in children(root, _FRAMEWORK):
        root.remove(item)
    framework = _framework(facts["metadata_props"])
    if len(framework):
        root.append(framework)
    said = {key: value for key, value in facts.items() if value != _DEFAULTS[key]}
    if said:
        etree.SubElement(root, _MODEL).set("value", json.dumps(said, sort_keys=True))


def _facts(model: Model) -> dict[str, Any]:
    proto, graph = model.proto, model.graph
    of_graph = [] if graph.proto is None else [[entry.key, entry.value] for entry in graph.proto.metadata_props]
    said = {"doc_string": graph.doc_string or "", "metadata_props": of_graph}
    return {
        "producer_name": graph.producer_name or "", "producer_version": graph.producer_version or "",
        "domain": proto.domain, "model_version": proto.model_version, "doc_string": proto.doc_string,
        "metadata_props": [[entry.key, entry.value] for entry in proto.metadata_props],
        "graph": {key: value for key, value in said.items() if value},
    }  # fmt: skip


def _framework(pairs: Sequence[Sequence[str]]) -> Any:
    """The first value of each key, as OpenVINO's conversion writes them: sorted, and named where a key is no tag."""
    root = etree.Element(_FRAMEWORK)
    first: dict[str, str] = {}
    for key, value in pairs:
        first.setdefault(key, value)
    for key, value in sorted(first.items()):
        if not is_writable(key) or not is_writable(value):
            continue
        if _is_tag(key):
            etree.SubElement(root, key).set("value", value)
        else:
            item = etree.SubElement(root, "info")
            item.set("name", key)
            item.set("value", value)
    return root


def _is_tag(key: str) -> bool:
    return key.isascii() and key.isidentifier() and key != "info" and not key.lower().startswith("xml")


def to_model(net: Net | None, made: onnx.ModelProto, graph: Any) -> None:
    """Gives an ONNX model what an IR says of it, and what else stands in the IR as metadata."""
    infos = [item for item in ([] if net is None else net.extra) if tag(item) == "rt_info"]
    root = etree.Element("rt_info")
    root.extend([_copy(item) for info in infos for item in info])
    said = next((parsed(item.get("value", "")) for item in children(root, _MODEL)), {})
    facts = _facts_of(root, said)
    for item in [item for item in root if tag(item) in _OURS]:
        root.remove(item)
    for item in children(root, _FRAMEWORK) if said else ():
        if to_xml("rt_info", {}, [item]) == to_xml("rt_info", {}, [_framework(facts["metadata_props"])]):
            root.remove(item)
    for key in ("producer_name", "producer_version", "domain", "model_version", "doc_string"):
        # What is empty stays away, as it does in files that do not say it.
        if facts[key]:
            setattr(made, key, facts[key])
    graph.producer_name, graph.producer_version = made.producer_name, made.producer_version
    say(graph.proto, said_in_json(facts["graph"]))
    graph.doc_string = graph.proto.doc_string
    for key, value in facts["metadata_props"]:
        made.metadata_props.add(key=key, value=value)
    others = [_copy(item) for item in ([] if net is None else net.extra) if tag(item) != "rt_info"]
    kept = to_xml("net", {} if net is None else net.attributes, [*([root] if len(root) else []), *others])
    if kept:
        made.metadata_props.add(key=_NET_KEY, value=kept)


def _copy(element: Any) -> Any:
    return etree.fromstring(etree.tostring(element, with_tail=False))


def _facts_of(root: Any, said: dict[str, Any]) -> dict[str, Any]:
    """What an IR says of an ONNX model, by our JSON, else by what stands under <framework>."""
    pairs: Pairs = said_in_json(said).metadata
    if not said:
        leaves = [
            item for part in children(root, _FRAMEWORK) for item in part if not len(item) and "value" in item.attrib
        ]
        pairs = [(item.get("name", "") if tag(item) == "info" else tag(item), item.get("value")) for item in leaves]
    found = {**_DEFAULTS, "metadata_props": [list(pair) for pair in pairs]}
    for key in ("producer_name", "producer_version", "domain", "doc_string"):
        if key in said:
            found[key] = text_of(said, key)
    version = said.get("model_version")
    if isinstance(version, int) and not isinstance(version, bool) and -(1 << 63) <= version < 1 << 63:
        found["model_version"] = version
    if "graph" in said:
        found["graph"] = said_in_json(said["graph"]).to_json()
    return found
