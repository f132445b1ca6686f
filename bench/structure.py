"""What can be read off two model files without running them: nodes, size, interface, metadata."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

MetadataKey = tuple[str, ...]


def scopes(model: ModelProto) -> Iterator[GraphProto | FunctionProto]:
    """The main graph, every function body, and every subgraph in them."""
    pending: list[GraphProto | FunctionProto] = [model.graph, *model.functions]
    while pending:
        scope = pending.pop()
        yield scope
        for node in scope.node:
            for attribute in node.attribute:
                if attribute.type == AttributeProto.GRAPH:
                    pending.append(attribute.g)
                elif attribute.type == AttributeProto.GRAPHS:
                    pending.extend(attribute.graphs)


def _is_constant(node: NodeProto) -> bool:
    return node.op_type == "Constant" and node.domain in ("", "ai.onnx")


def count_nodes(model: ModelProto) -> int:
    """Nodes of all scopes; Constant nodes are not counted, a function body counts once."""
    return sum(not _is_constant(node) for scope in scopes(model) for node in scope.node)


def _tensors(model: ModelProto) -> Iterator[TensorProto]:
    for scope in scopes(model):
        if isinstance(scope, GraphProto):
            yield from scope.initializer
        for node in scope.node:
            for attribute in node.attribute:
                if attribute.type == AttributeProto.TENSOR:
                    yield attribute.t
                yield from attribute.tensors


def model_files(path: Path) -> list[Path]:
    """The model file itself, then the existing external data files that it names, in order."""
    model = onnx.load(str(path), load_external_data=False)
    locations = {
        entry.value
        for tensor in _tensors(model)
        if tensor.data_location == TensorProto.EXTERNAL
        for entry in tensor.external_data
        if entry.key == "location"
    }
    return [path, *(file for file in (path.parent / name for name in sorted(locations)) if file.is_file())]


def _shape(value: ValueInfoProto) -> bytes:
    shape = onnx.TypeProto()
    shape.CopyFrom(value.type)
    shape.denotation = ""
    encoded: bytes = shape.SerializeToString(deterministic=True)
    return encoded


def _element(value: ValueInfoProto) -> tuple[str | None, int]:
    kind = value.type.WhichOneof("value")
    if kind == "sequence_type":
        return kind, value.type.sequence_type.elem_type.tensor_type.elem_type
    return kind, value.type.tensor_type.elem_type


def _compare_values(side: str, before: list[ValueInfoProto], after: list[ValueInfoProto]) -> list[str]:
    if [value.name for value in before] != [value.name for value in after]:
        same_names = sorted(value.name for value in before) == sorted(value.name for value in after)
        return [f"{side} order" if same_names else f"{side} names"]
    pairs = list(zip(before, after, strict=True))
    if any(_element(old) != _element(new) for old, new in pairs):
        return [f"{side} dtypes"]
    return [f"{side} shapes"] if any(_shape(old) != _shape(new) for old, new in pairs) else []


def interface_changes(before: ModelProto, after: ModelProto) -> list[str]:
    """What differs between the graph inputs and outputs of two models, such as "output shapes"."""
    return [
        *_compare_values("input", list(before.graph.input), list(after.graph.input)),
        *_compare_values("output", list(before.graph.output), list(after.graph.output)),
    ]


def _metadata(model: ModelProto) -> dict[MetadataKey, dict[str, str]]:
    found: dict[MetadataKey, dict[str, str]] = {
        ("model",): {entry.key: entry.value for entry in model.metadata_props},
        ("graph",): {entry.key: entry.value for entry in model.graph.metadata_props},
    }
    graph = model.graph
    values: list[ValueInfoProto | TensorProto] = [*graph.input, *graph.output, *graph.initializer]
    for value in values:
        found["value", value.name] = {entry.key: entry.value for entry in value.metadata_props}
    for scope in scopes(model):
        for node in scope.node:
            key = ("node", node.op_type, *node.output)
            found[key] = {entry.key: entry.value for entry in node.metadata_props}
    return found


def metadata_lost(before: ModelProto, after: ModelProto) -> list[str]:
    """Levels ("model", "graph", "value", "node") at which a metadata entry went or changed.

    Values are judged when their name survives, nodes when their operator and outputs do.
    """
    kept = _metadata(after)
    lost = {
        key[0] for key, entries in _metadata(before).items() if key in kept and not entries.items() <= kept[key].items()
    }
    return sorted(lost)


def checker_error(path: Path) -> str:
    """First line of what the ONNX checker (with shape inference) says against a file; "" when it passes."""
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:
        return (str(error).strip().splitlines() or [type(error).__name__])[0]
    return ""
