"""What differs between two models, as data; no weight is read into memory as a whole."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

import onnx
from google.protobuf.message import Message
from google.protobuf.text_format import MessageToString

from maxfold.model import Model
from maxfold.model.attributes import AttributeRef, is_nested
from maxfold.model.data import SparseData, TensorData
from maxfold.model.equality import equal_groups
from maxfold.model.graph import Constant, Graph, Node, Tensor
from maxfold.model.model import ONNX_DOMAINS
from maxfold.model.openvino.document import tag
from maxfold.model.openvino.ir import ConstantLayer, Layer, Port, layer_of, port_of
from maxfold.optimizer.inspection import Inspection, inspect
from maxfold.optimizer.sources import ModelSource, model_of

DIFFERENCE_SCHEMA = "maxfold.diff/1"

_LONGEST_ATTRIBUTE = 200
Facts = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """An input, output, node, constant or piece of metadata (`kind`) that is "added", "removed" or "changed".

    `fields` names what differs; `before` and `after` hold what docs/json.md says of its kind, None on the side that
    lacks it. `name` of a node is its own, or its first result's where it has none. `scope` is "" for the main graph,
    "domain::name" for a function, and a path of nodes and their attributes for a subgraph.
    """

    change: str
    kind: str
    scope: str
    name: str
    fields: tuple[str, ...]
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two models. Nodes are counted in all scopes, Constant nodes not; sizes are stored bytes.
    `operators` has the "domain" ("" for ONNX's own), "operator", "before" and "after" of all, equally many or not."""

    formats: tuple[str, str]
    nodes_before: int
    nodes_after: int
    constants_before: int
    constants_after: int
    constant_bytes_before: int
    constant_bytes_after: int
    interface: tuple[Change, ...]
    metadata: tuple[Change, ...]
    operators: tuple[Facts, ...]
    nodes: tuple[Change, ...]
    constants: tuple[Change, ...]

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.interface or self.metadata or self.nodes or self.constants)

    def to_dict(self) -> dict[str, Any]:
        """The difference as JSON-ready data of schema "maxfold.diff/1" (see docs/json.md)."""
        return {"schema": DIFFERENCE_SCHEMA, "is_equal": self.is_equal, **asdict(self)}


def diff(first: ModelSource, second: ModelSource) -> Difference:
    """What differs between two models, of one format or of both; neither is changed. Each is whatever `load` takes.

    Nodes go together by the names of their results within their scope, else by their own names; constants by name. The
    order of nodes and constants, and how and in which file values are stored, do not count. Between two formats,
    attributes and what only one format can say of nodes and tensors are not compared. Raises `ModelError` for a
    constant that cannot be decoded.
    """
    return _diff(model_of("diff", first), model_of("diff", second))


def _diff(first: Model, second: Model) -> Difference:
    comparison = _Comparison(is_one_format=first.format == second.format)
    functions = [{"::".join(filter(None, item.key)): item for item in model.functions} for model in (first, second)]
    comparison.metadata_of("", _model_facts(first, functions[0]), _model_facts(second, functions[1]))
    before, after = inspect(first), inspect(second)
    for kind in ("input", "output"):
        comparison.interface_of(kind, _declarations(before, first, kind), _declarations(after, second, kind))
    pairs: _Pairs = [("", first.graph, second.graph)]
    pairs += [(key, functions[0].get(key), functions[1].get(key)) for key in {**functions[0], **functions[1]}]
    comparison.scopes(pairs)
    counts = [Counter(_operator(node) for node in model.nodes() if node.op != "Constant") for model in (first, second)]
    operators = tuple(
        {"domain": key[0], "operator": key[1], "before": counts[0][key], "after": counts[1][key]}
        for key in sorted(counts[0] | counts[1])
    )
    return Difference(
        (first.format, second.format), before.nodes, after.nodes, before.constants, after.constants,
        before.constant_bytes, after.constant_bytes, tuple(comparison.interface), tuple(comparison.metadata),
        operators, tuple(comparison.nodes), tuple(comparison.constants),
    )  # fmt: skip


# Scopes with their paths; None on the side that lacks one.
_Pairs = list[tuple[str, Graph | None, Graph | None]]
# Inputs or outputs by name, and by how many of that name stand before: an output may be one twice.
_Declarations = dict[tuple[str, int], Facts]


class _Comparison:
    def __init__(self, *, is_one_format: bool) -> None:
        self._is_one_format = is_one_format
        self.interface: list[Change] = []
        self.metadata: list[Change] = []
        self.nodes: list[Change] = []
        self.constants: list[Change] = []

    def metadata_of(self, scope: str, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        for key in {**before, **after}:
            fields = ["value"] if before.get(key, after.get(key)) != after.get(key, before.get(key)) else []
            _add(self.metadata, "metadata", scope, key, fields, before.get(key), after.get(key))

    def scopes(self, pairs: _Pairs) -> None:
        """Compares scopes and all scopes inside them, outer ones first."""
        pending = deque(pairs)
        while pending:
            path, before, after = pending.popleft()
            if before is not None and after is not None:
                self.metadata_of(path, _scope_facts(path, before), _scope_facts(path, after))
            self._constants(path, before, after)
            for left, right in _matched(*([] if scope is None else scope.nodes for scope in (before, after))):
                label = next(_label(node) for node in (left, right) if node is not None)
                self._node(path, label, left, right)
                pending.extend(_inner(f"{path}/{label}" if path else label, left, right))

    def _differing(self, before: Any, after: Any) -> list[str]:
        keys = before if before is not None and after is not None else ()
        return [key for key in keys if before[key] != after[key] and (self._is_one_format or key != "metadata")]

    def interface_of(self, kind: str, before: _Declarations, after: _Declarations) -> None:
        orders = [[key[0] for key in one if key in before and key in after] for one in (before, after)]
        if orders[0] != orders[1]:
            _add(self.interface, f"{kind}s", "", "", ["order"], {"order": orders[0]}, {"order": orders[1]})
        for key in {**before, **after}:
            left, right = before.get(key), after.get(key)
            _add(self.interface, kind, "", key[0], self._differing(left, right), left, right)

    def _constants(self, path: str, before: Graph | None, after: Graph | None) -> None:
        sides = [
            {item.name: item for item in scope.constants} if scope is not None else {} for scope in (before, after)
        ]
        for name in {**sides[0], **sides[1]}:
            left, right = sides[0].get(name), sides[1].get(name)
            facts = _constant_facts(left), _constant_facts(right)
            fields = self._differing(*facts)
            if left is not None and right is not None and not {"dtype", "shape"} & set(fields):
                fields += [] if _has_same_values(left.data, right.data) else ["contents"]
            _add(self.constants, "constant", path, name, fields, *facts)

    def _node(self, path: str, label: str, before: Node | None, after: Node | None) -> None:
        fields = [] if before is None or after is None else self._node_fields(before, after)
        if before is None or after is None or fields:
            _add(self.nodes, "node", path, label, fields, _node_facts(before), _node_facts(after))

    def _node_fields(self, before: Node, after: Node) -> list[str]:
        ends = _identity(before), _identity(after)
        found = [key for key in ends[0] if ends[0][key] != ends[1][key]]
        if not self._is_one_format:
            return found
        pairs = ((key, before.attrs.get(key), after.attrs.get(key)) for key in {**before.attrs, **after.attrs})
        found += [f"attributes.{key}" for key, left, right in pairs if not _is_same_attribute(left, right)]
        return [*found, "metadata"] if _node_metadata(before) != _node_metadata(after) else found


def _add(to: list[Change], kind: str, path: str, name: str, fields: list[str], before: Any, after: Any) -> None:
    if fields or before is None or after is None:
        change = "added" if before is None else "removed" if after is None else "changed"
        to.append(Change(change, kind, path, name, tuple(fields), before, after))


def _identity(node: Node) -> Facts:
    domain, operator = _operator(node)
    inputs, outputs = _names(node.inputs), _names(node.outputs)
    return {"name": node.name, "domain": domain, "operator": operator, "inputs": inputs, "outputs": outputs}


def _operator(node: Node) -> tuple[str, str]:
    return "" if node.domain in ONNX_DOMAINS else node.domain, node.op


def _names(tensors: Iterable[Tensor]) -> tuple[str, ...]:
    return tuple(tensor.name for tensor in tensors)


def _label(node: Node) -> str:
    return node.name or next(filter(None, _names(node.outputs)), "")


# What tells that two nodes are the same one, in turn: all their results, any result, their name, and where they have
# neither what they read.
_KEYS: tuple[Callable[[Node], Iterable[object]], ...] = (
    lambda node: filter(None, [tuple(filter(None, _names(node.outputs)))]),
    lambda node: filter(None, _names(node.outputs)),
    lambda node: filter(None, [node.name]),
    lambda node: [] if _label(node) else [(_operator(node), _names(node.inputs))],
)


def _matched(before: list[Node], after: list[Node]) -> Iterator[tuple[Node | None, Node | None]]:
    """Pairs of nodes that are the same one: those of `before` in its order, then those that only `after` has."""
    partner: dict[Node, Node] = {}
    left = dict.fromkeys(after)
    for keys in _KEYS:
        known: dict[object, deque[Node]] = {}
        for node, key in ((item, key) for item in left for key in keys(item)):
            known.setdefault(key, deque()).append(node)
        for node, key in ((item, key) for item in before for key in keys(item) if item not in partner):
            queue = known.get(key, deque())
            while queue and queue[0] not in left:
                queue.popleft()
            if queue:
                partner[node] = queue.popleft()
                del left[partner[node]]
    yield from ((node, partner.get(node)) for node in before)
    yield from ((None, node) for node in left)


def _inner(path: str, before: Node | None, after: Node | None) -> _Pairs:
    sides = _graphs(before), _graphs(after)
    return [(f"{path}.{name}", sides[0].get(name), sides[1].get(name)) for name in {**sides[0], **sides[1]}]


def _graphs(node: Node | None) -> dict[str, Graph]:
    found: dict[str, Graph] = {}
    for name, value in node.attrs.items() if node is not None else ():
        items = enumerate(value) if isinstance(value, list) and is_nested(value) else [("", value)]
        found.update((f"{name}{place}", item) for place, item in items if isinstance(item, Graph))
    return found


def _is_same_attribute(left: Any, right: Any) -> bool:
    """Whether two values are the same to the bit; graphs are compared as scopes of their own."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_is_same_attribute, left, right))
    if isinstance(left, Constant) and isinstance(right, Constant) and not _has_same_values(left.data, right.data):
        return False
    return _spelled(left) == _spelled(right)


def _spelled(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_spelled, value))}]"
    if isinstance(value, Graph):
        return "graph"
    if isinstance(value, Constant):
        return f"{_dtype(value.data)}{list(value.data.shape)}"
    if isinstance(value, Message):
        return str(MessageToString(value, as_one_line=True))
    if isinstance(value, AttributeRef):
        return f"@{value.name}"
    # Unlike `==`, it tells -0.0 from 0.0 and 1 from 1.0, and a NaN is itself.
    return repr(value)


def _dtype(data: TensorData) -> str | None:
    kind = "sparse " if isinstance(data, SparseData) else ""
    return None if data.dtype is None else f"{kind}{data.dtype}"


def _has_same_values(left: TensorData, right: TensorData) -> bool:
    """Whether stored values are the same; files are read in pieces, and no further than they agree."""
    return bool(equal_groups([left.contents(), right.contents()]))


def _node_facts(node: Node | None) -> Facts | None:
    if node is None:
        return None
    attributes = {name: _spelled(value)[:_LONGEST_ATTRIBUTE] for name, value in node.attrs.items()}
    return {**_identity(node), "attributes": attributes, "metadata": _node_metadata(node)}


def _node_metadata(node: Node) -> dict[str, str]:
    layer = layer_of(node)
    if layer is not None:
        return _layer_facts(layer, *map(port_of, node.outputs))
    return {} if node.proto is None else _said(node.proto, _NODE_FIELDS)


def _constant_facts(constant: Constant | None) -> Facts | None:
    if constant is None:
        return None
    data, origin, said = constant.data, constant.origin, {}
    if isinstance(origin, ConstantLayer):
        said = _layer_facts(origin.layer, port_of(constant)) | origin.data
    elif isinstance(origin, Message):
        said = _said(origin.values if isinstance(origin, onnx.SparseTensorProto) else origin, _CONSTANT_FIELDS)
    return {"dtype": _dtype(data), "shape": data.shape, "nbytes": data.nbytes, "metadata": said}


def _model_facts(model: Model, functions: Iterable[str]) -> dict[str, str]:
    found = {"format": model.format, **{f"functions.{key}": "present" for key in functions}}
    if model.net is None:
        return found | _said(model.proto)
    return {**found, "ir_version": str(model.net.version), **model.net.attributes, **_elements(model.net.extra)}


def _scope_facts(path: str, scope: Graph) -> dict[str, str]:
    """What is said of a scope; of one that is not the main graph, whose interface is shown, inputs and outputs too."""
    said = {"name": scope.name or ""} if scope.proto is None else _said(scope.proto)
    said |= _elements(scope.__dict__.get("extra", ()))
    infos = [info for info in scope.value_info if info.name not in scope.forgotten]
    if path:
        said |= {"inputs": ", ".join(_names(scope.inputs)), "outputs": ", ".join(_names(scope.outputs))}
        infos += [*scope.input_info.values(), *scope.output_info]
    said |= {"value_info": _digest(sorted(infos, key=lambda info: info.name))} if infos else {}
    return {f"graph.{key}": value for key, value in said.items()}


def _declarations(inspection: Inspection, model: Model, kind: str) -> _Declarations:
    graph, found, seen = model.graph, _Declarations(), Counter[str]()
    listed, tensors = (inspection.inputs, graph.inputs) if kind == "input" else (inspection.outputs, graph.outputs)
    infos = graph.input_info if kind == "input" else {info.name: info for info in graph.output_info}
    for place, (item, tensor) in enumerate(zip(listed, tensors, strict=True)):
        parameter, info = tensor.__dict__.get("parameter"), infos.get(item.name)
        said = {} if info is None else _said(info, _VALUE_FIELDS)
        if kind == "output" and place < len(graph.results):
            said = _layer_facts(graph.results[place].layer, port_of(tensor))
        elif parameter is not None:
            said = _layer_facts(parameter.layer, port_of(tensor)) | parameter.data
        spelled = "" if info is None else MessageToString(info.type, as_one_line=True)
        said |= {"type": spelled} if item.dtype is None or "denotation" in spelled else {}
        facts = asdict(item) | {"doc_string": "" if info is None else info.doc_string, "metadata": said}
        found[facts.pop("name"), seen[item.name]] = facts
        seen[item.name] += 1
    return found


# Fields that are read off by themselves, or do not count.
_NODE_FIELDS = frozenset({"name", "op_type", "domain", "input", "output", "attribute"})
_VALUE_FIELDS = frozenset({"name", "type", "doc_string"})
_TENSOR_FIELDS = frozenset(field.name for field in onnx.TensorProto.DESCRIPTOR.fields)
_CONSTANT_FIELDS = (_NODE_FIELDS | _TENSOR_FIELDS) - {"doc_string", "metadata_props"}


def _said(message: Message, without: frozenset[str] = frozenset()) -> dict[str, str]:
    """The fields of a message as text; of lists of messages their length and a digest."""
    found: dict[str, str] = {}
    for field, value in message.ListFields():
        if field.name in without:
            continue
        if field.name == "metadata_props":
            found.update((f"metadata_props.{entry.key}", entry.value) for entry in value)
        elif field.name == "opset_import":
            found.update((f"opset_import.{entry.domain or 'ai.onnx'}", str(entry.version)) for entry in value)
        elif isinstance(value, (str, bytes, int, float)) or field.name == "attribute":
            found[field.name] = str(value)
        else:
            found[field.name] = _digest([value] if isinstance(value, Message) else value)
    return found


def _digest(items: Iterable[Any]) -> str:
    listed = [item.SerializeToString(deterministic=True) for item in items]
    return f"entries: {len(listed)}, SHA-256 {sha256(b''.join(listed)).hexdigest()[:16]}"


def _layer_facts(layer: Layer, *ports: Port | None) -> dict[str, str]:
    """What an IR says of a layer and its output ports beside operator, attributes, inputs and data."""
    found = {"layer": layer.name, **layer.attributes, **_elements(layer.extra)}
    for place, port in enumerate(port for port in ports if port is not None):
        said = {"precision": port.precision.upper(), "dims": ",".join(port.dims), "names": port.names or ""}
        said |= port.attributes | _elements(port.extra)
        found |= {f"output {place}.{key}": value for key, value in said.items()}
    return found


def _elements(elements: Iterable[Any]) -> dict[str, str]:
    """What elements and those inside them say, by their names and those of the elements around them."""
    found: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for item in (inner for element in elements for inner in element.iter()):
        path = ".".join(map(tag, [*reversed(list(item.iterancestors())), item]))
        seen[path] += 1
        words = [*(f"{name}={value!r}" for name, value in sorted(item.attrib.items())), (item.text or "").strip()]
        found[path if seen[path] == 1 else f"{path}#{seen[path]}"] = " ".join(words).strip()
    return found
