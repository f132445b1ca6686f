"""A body of If, Loop, Scan or their kin under construction: an IR graph that reads nothing but its own inputs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from maxfold.model.dtypes import DType
from maxfold.model.graph import Graph, Tensor
from maxfold.passes.conversion.errors import InsideError, UnsupportedError
from maxfold.passes.conversion.said_of_layers import body_to_layers
from maxfold.passes.conversion.sites.port_maps import port_input, port_output
from maxfold.passes.conversion.sites.site import Shape, Walk

if TYPE_CHECKING:
    from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite, OpenvinoTarget


class Body:
    """A row first says what the body's own inputs are, then lets its nodes be converted, then lists its results.

    `site` adds operations of the row's own to the body.
    """

    def __init__(self, source: Graph, target: OpenvinoTarget, site: OpenvinoSite, walk: Walk) -> None:
        self._source = source
        self._target = target
        self._walk = walk
        self.site = site

    @property
    def graph(self) -> Graph:
        """The body. Its own inputs come first, then those that stand for what it captures."""
        return self._target.graph

    @property
    def captured(self) -> list[Tensor]:
        """The tensors of the graph around that its last inputs stand for, once its nodes are converted."""
        return self._target.captured

    def parameter(self, name: str, dtype: DType | None, shape: Shape | None) -> Tensor:
        """A new input. Its shape must hold in all iterations."""
        return self._target.parameter(name, known_type(dtype, name), shape)

    def enter(self, source: Tensor, made: Tensor) -> None:
        """Says what an input of the source's body is."""
        self._target.tensors[source] = made

    def enter_parameter(self, source: Tensor) -> None:
        """A new input of the type that is derived of an input of the source's body."""
        self.enter(source, self._target.parameter_of(source))

    def source_shape(self, index: int) -> Shape | None:
        """The derived shape of an output of the source's body."""
        return self._target.view.shape(self._source.outputs[index])

    def source_dtype(self, index: int) -> DType | None:
        """The derived element type of an output of the source's body."""
        return self._target.view.dtype(self._source.outputs[index])

    def convert(self) -> list[Tensor]:
        """Converts all nodes of the source's body; returns what its outputs became."""
        self._walk.nodes(self._source, self._target)
        if not all(map(self._target.has, self._source.outputs)):
            raise InsideError
        body_to_layers(self._source, self._target)
        outputs = [self._target.made_of(output) for output in self._source.outputs]
        self.graph.constants = [made for made in self.graph.constants if made.outputs or made in outputs]
        return outputs

    def add(self, op: str, inputs: list[Tensor], data: dict[str, Any] | None = None, *, opset: int = 1) -> Tensor:
        """Adds an operation of the row's own with one result to the body."""
        made: Tensor = self.site.add(op, inputs, data, opset=opset)
        return made

    def chosen(self, condition: Tensor, first: Tensor, second: Tensor, dtype: DType | None) -> Tensor:
        """One of two tensors of the body, whatever their shapes are."""
        data: dict[str, Any] = {}
        for place, name in enumerate(("then", "else"), 1):
            branch = self._target.inner(name)
            branch.result(branch.parameter("chosen", known_type(dtype, "chosen"), None), "chosen", {})
            entries = [port_input(place, 0), port_output(3, 0)]
            data |= {f"{name}_port_map": entries, f"{name}_body": branch.graph}
        return self.add("If", [condition, first, second], data, opset=8)

    def leave(self, tensor: Tensor) -> int:
        """Makes a tensor of the body a result of it; returns which."""
        self._target.result(tensor, tensor.name, {})
        return len(self.graph.outputs) - 1


def known_type(dtype: DType | None, name: str) -> DType:
    """The element type of an input of a body. Raises `UnsupportedError` where it is not known."""
    if dtype is None or dtype.openvino is None:
        raise UnsupportedError(f"the element type of {name!r}, which its body reads, is not known")
    return dtype


def convert_all(bodies: Sequence[Body]) -> list[list[Tensor]]:
    """The outputs of several bodies. All that is refused in any of them is found."""
    found: list[list[Tensor]] = []
    for body in bodies:
        with suppress(InsideError):
            found.append(body.convert())
    if len(found) < len(bodies):
        raise InsideError
    return found
