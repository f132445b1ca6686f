"""A model: its graph, its functions, and all that the file says beside them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
import onnx_graphsurgeon as gs

from maxfold.model.data import RegionData
from maxfold.model.errors import ModelError
from maxfold.model.graph import Constant, Function, Graph, Node, scopes_of
from maxfold.model.records import frozen_value

# Names by which ONNX's own operator set is known.
ONNX_DOMAINS = ("", "ai.onnx")


@frozen_value
class Lost:
    """Something that a conversion could not carry over: how often, and the name of one thing that it was said of."""

    what: str
    count: int
    example: str


@dataclass(eq=False, repr=False)
class Model:
    """A model in memory. Weights are views of the files it was read from.

    `proto` holds the fields of the file beside graph and functions. `functions` is the list that graphsurgeon's
    `graph.functions` shows. `file_bytes` counts the bytes of all files read. `has_external_data` tells whether the file
    kept tensors in other files. `net` is what an IR says of itself. `lost` is what the conversion that made the model
    left behind, `opset_reason` why it took a newer operator set than it does without need; `has_new_names` tells
    whether names of the conversion's own making are handed out once more when passes have run.
    """

    graph: Graph
    functions: list[Function] = field(default_factory=list)
    proto: onnx.ModelProto = field(default_factory=onnx.ModelProto)
    path: Path | None = None
    file_bytes: int = 0
    has_external_data: bool = False
    format: str = "onnx"
    net: Any = None
    lost: tuple[Lost, ...] = ()
    opset_reason: str = ""
    has_new_names: bool = False

    def __repr__(self) -> str:
        """One line: the format, the graph's name, and how much is in it."""
        kind = "OpenVINO IR" if self.format == "openvino" else "ONNX"
        place = f" from {str(self.path)!r}" if self.path is not None else ""
        constants = sum(1 for _ in self.constants())
        return f"<Model: {kind} {self.graph.name!r}, {self.node_count():,} nodes, {constants:,} constants{place}>"

    def to_proto(self) -> onnx.ModelProto:
        """The model as a ModelProto; the weights are copied once. Raises `ModelError` for an OpenVINO IR."""
        from maxfold.model.in_memory import to_proto

        self._require_onnx()
        return to_proto(self)

    def to_bytes(self) -> bytes:
        """The model as the bytes of an ONNX file, without external data.

        Raises `ModelError` for an OpenVINO IR, and where that would be 2 GiB or more.
        """
        from maxfold.model.onnx_writer import to_bytes

        self._require_onnx()
        return to_bytes(self)

    def to_graphsurgeon(self) -> gs.Graph:
        """A new `onnx_graphsurgeon.Graph`, which shares nothing with the model; what graphsurgeon does not keep, such
        as metadata, is missing. Raises `ModelError` for an OpenVINO IR."""
        return gs.import_onnx(self.to_proto())

    def _require_onnx(self) -> None:
        if self.format != "onnx":
            raise ModelError("the model is an OpenVINO IR; convert it to ONNX first")

    @property
    def ir_version(self) -> int:
        """The version of the ONNX file format."""
        return self.proto.ir_version

    def roots(self) -> Iterator[Graph]:
        """The scopes that stand in no other: the main graph and the functions."""
        yield self.graph
        yield from self.functions

    def scopes(self) -> Iterator[Graph]:
        """All scopes, outer ones before inner ones."""
        for root in self.roots():
            yield from scopes_of(root)

    def nodes(self) -> Iterator[Node]:
        """All nodes of all scopes; Constant nodes that are constants here are not among them."""
        for scope in self.scopes():
            yield from scope.nodes

    def constants(self) -> Iterator[Constant]:
        """All constants of all scopes."""
        for scope in self.scopes():
            yield from scope.constants

    def node_count(self) -> int:
        """How many nodes there are in all scopes, Constant nodes not counted."""
        return sum(node.op != "Constant" for node in self.nodes())

    def constant_bytes(self) -> int:
        """Stored bytes of all constants."""
        return sum(constant.data.nbytes for constant in self.constants())

    def opsets(self, root: Graph) -> dict[str, int]:
        """Operator set versions that hold in a root scope, by domain; ONNX's own is under ""."""
        imports = root.import_domains if isinstance(root, Function) else self.proto.opset_import
        versions = {("" if entry.domain in ONNX_DOMAINS else entry.domain): entry.version for entry in imports or ()}
        if isinstance(root, Function):
            return versions
        # Files of IR versions 1 and 2 import nothing: they mean the first operator set.
        return versions or {"": 1}

    def set_opset(self, version: int) -> None:
        """Imports a version of ONNX's own operator set, in all functions that import the set too; nodes stay.

        IR versions without imports (1 and 2) become 3.
        """
        if self.ir_version < 3:
            self.proto.ir_version = self.graph.ir_version = 3
        if not self.proto.opset_import:
            self.proto.opset_import.add(domain="")
        imports = list(self.proto.opset_import)
        for function in self.functions:
            assert isinstance(function.proto, onnx.FunctionProto)
            imports += [*function.proto.opset_import, *(function.import_domains or ())]
            function.opset = version
        for entry in imports:
            if entry.domain in ONNX_DOMAINS:
                entry.version = version
        self.graph.opset = version
        self.graph.import_domains = list(self.proto.opset_import)


def guard_weights(model: Model, *targets: Path) -> None:
    """Refuses to overwrite files that hold the weights of a model: only a model written over itself may do that.

    Raises `ModelError`.
    """
    if model.path is not None and targets[0] == Path(os.path.realpath(model.path)):
        return
    sources = {
        constant.data.region.source.name
        for constant in model.constants()
        if isinstance(constant.data, RegionData) and constant.data.field is None
    }
    real_sources = {os.path.realpath(source) for source in sources}
    for target in targets:
        if os.path.realpath(target) in real_sources:
            raise ModelError(f"{target}: holds the weights of {model.path}, which it would destroy; write elsewhere")


def graph_protos(roots: Iterable[onnx.GraphProto]) -> Iterator[onnx.GraphProto]:
    """Graphs that are still protos, and all graphs in the attributes of their nodes."""
    pending = list(roots)
    while pending:
        graph = pending.pop()
        yield graph
        for node in graph.node:
            pending += inner_graph_protos(node)


def inner_graph_protos(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """The graphs in a node's attributes, those in lists too, in the order of the attributes."""
    found: list[onnx.GraphProto] = []
    for attribute in node.attribute:
        if attribute.HasField("g"):
            found.append(attribute.g)
        found.extend(attribute.graphs)
    return found
