"""What IR says of a model beside its graph: kept on the graph's objects, so that it can be written back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from maxfold.model.graph import Tensor

VERSIONS = (10, 11)

Element = Any
"""An lxml element, detached from its file's tree."""


@dataclass(slots=True)
class Port:
    """A port: precision and dimensions as text, tensor names as text or None, other attributes, and children other
    than dimensions (rt_info)."""

    precision: str
    dims: list[str]
    names: str | None = None
    port_id: str | None = None
    extra: list[Element] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Layer:
    """What the file says of a layer beside its data, inputs and outputs.

    `attributes` are those of the element, without id, name, type and version; `extra` its other children (rt_info).
    `inputs` are its input ports.
    """

    name: str
    type: str
    version: str
    attributes: dict[str, str] = field(default_factory=dict)
    extra: list[Element] = field(default_factory=list)
    inputs: list[Port] = field(default_factory=list)


@dataclass(slots=True)
class Parameter:
    """A Parameter layer: `data` holds its shape and element_type as text, and whatever else stands there."""

    layer: Layer
    data: dict[str, str]
    position: int


@dataclass(slots=True)
class Result:
    """A Result layer; which tensor it returns is the graph's output at the same place."""

    layer: Layer
    data: dict[str, str] | None
    position: int


@dataclass(slots=True)
class ConstantLayer:
    """A Const layer: `data` without element_type, shape, offset and size, which belong to the constant's data."""

    layer: Layer
    data: dict[str, str]


@dataclass(slots=True)
class PortMapEntry:
    """One line of a port_map or of back_edges. `body_input` and `body_output` are places in the body's inputs and
    outputs, for back edges both; `attributes` are all others."""

    tag: str
    attributes: dict[str, str]
    body_input: int | None = None
    body_output: int | None = None


@dataclass(slots=True)
class Net:
    """The root element: version, name, other attributes, and children other than layers and edges (rt_info)."""

    version: int
    name: str | None
    attributes: dict[str, str] = field(default_factory=dict)
    extra: list[Element] = field(default_factory=list)


def port_of(tensor: Tensor) -> Port | None:
    """The output port of a tensor read from IR, None for a new one."""
    port: Port | None = tensor.__dict__.get("port")
    return port


def layer_of(item: Any) -> Layer | None:
    """The layer of a node read from IR, None for a new one."""
    layer: Layer | None = item.__dict__.get("layer")
    return layer
