"""Bodies of TensorIterator, Loop and If: graphs inside a layer, and how their ports are mapped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maxfold.model.errors import ModelError
from maxfold.model.graph import Graph, Node, Tensor, new_graph
from maxfold.model.openvino.document import child, tag
from maxfold.model.openvino.ir import Parameter, PortMapEntry, Result
from maxfold.model.openvino.operations import BODY_TYPES, OPERATIONS

# Which body each map is about.
_BODY_OF_MAP = {"port_map": "body", "back_edges": "body", "then_port_map": "then_body", "else_port_map": "else_body"}

ReadScope = Callable[[Any, Graph], dict[str, Any]]


def read_bodies(node: Node, element: Any, read_scope: ReadScope) -> None:
    """Reads the bodies and maps of a layer into the node's attributes. Raises `ModelError` for a broken map."""
    what = f"layer {node.name!r} ({node.op})"
    found: dict[str, dict[str, Any]] = {}
    for name in BODY_TYPES[node.op]:
        part = child(element, name)
        if part is None and OPERATIONS[node.op][-1].attributes[name].is_required:
            raise ModelError(f"{what} has no <{name}>")
        if part is None or name in _BODY_OF_MAP:
            continue
        body = new_graph(name, node)
        found[name] = read_scope(part, body)
        node.attrs[name] = body
    for name, body_name in _BODY_OF_MAP.items():
        part = child(element, name) if name in BODY_TYPES[node.op] else None
        if part is not None:
            entries = [_entry(item, found[body_name], node.attrs[body_name], what) for item in part]
            _check_map(name, entries, node, what)
            node.attrs[name] = entries


def _entry(element: Any, layers: dict[str, Any], body: Graph, what: str) -> PortMapEntry:
    entry = PortMapEntry(tag(element), dict(element.attrib))
    for key in ("internal_layer_id", "to-layer", "from-layer"):
        layer_id = entry.attributes.pop(key, None)
        if layer_id is None:
            continue
        item = layers.get(layer_id)
        if isinstance(item, Parameter):
            entry.body_input = _place(item, body.inputs)
        elif isinstance(item, Result):
            entry.body_output = body.results.index(item)
        else:
            raise ModelError(f"{what} maps a port to layer {layer_id} of its body, which is no Parameter or Result")
    if entry.body_input is None and entry.body_output is None:
        raise ModelError(f"{what} maps a port to nothing in its body")
    return entry


def _place(parameter: Parameter, inputs: list[Tensor]) -> int:
    return next(index for index, tensor in enumerate(inputs) if tensor.__dict__["parameter"] is parameter)


def _check_map(name: str, entries: list[PortMapEntry], node: Node, what: str) -> None:
    if name == "back_edges":
        if any(entry.body_input is None or entry.body_output is None for entry in entries):
            raise ModelError(f"{what} has a back edge that does not lead from a Result to a Parameter")
        return
    if any("external_port_id" not in entry.attributes for entry in entries):
        raise ModelError(f"{what} maps a port of its body to none of its own")
    outputs = {entry.attributes["external_port_id"] for entry in entries if entry.tag == "output"} - {"-1"}
    if len(outputs) != len(node.outputs):
        raise ModelError(f"{what} has {len(node.outputs)} outputs, of which its body fills {len(outputs)}")
    purposes = {entry.attributes.get("purpose") for entry in entries}
    if node.op == "Loop" and "execution_condition" not in purposes:
        raise ModelError(f"{what} does not say which result of its body is the execution condition")
