"""A body of ONNX's If, Loop or Scan under construction: a graph that may read what is around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxfold.model.dtypes import DType
from maxfold.model.graph import Graph, Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.sites.site import Shape, Walk

if TYPE_CHECKING:
    from maxfold.passes.conversion.sites.onnx_site import OnnxSite, OnnxTarget


class OnnxBody:
    """A row first says what the inputs of the operation's body are, then lets its layers be converted, then lists the
    outputs. `site` adds nodes of the row's own to the body."""

    def __init__(self, source: Graph, target: OnnxTarget, site: OnnxSite, walk: Walk) -> None:
        self._source = source
        self._target = target
        self._walk = walk
        self.site = site

    @property
    def graph(self) -> Graph:
        """The body."""
        return self._target.graph

    def parameter(self, name: str, dtype: DType, shape: Shape | None) -> Tensor:
        """A new input, of a shape that holds in all iterations."""
        return self._target.parameter(name, dtype, shape)

    def enter(self, index: int, tensor: Tensor) -> None:
        """Says what an input of the source's body is, in the body or around it."""
        self._target.tensors[self._source.inputs[index]] = tensor

    def entered(self, index: int) -> Tensor:
        """What an input of the source's body is."""
        return self._target.tensors[self._source.inputs[index]]

    def convert(self) -> list[Tensor]:
        """Converts all layers of the source's body; returns what its results became."""
        for tensor in self._source.inputs:
            if tensor not in self._target.tensors:
                raise UnsupportedError(f"no port is mapped to the Parameter {tensor.name!r} of its body")
        self._walk.nodes(self._source, self._target)
        return [self._target.made_of(output) for output in self._source.outputs]

    def shape(self, tensor: Tensor) -> Shape | None:
        """The derived shape of a tensor of the body."""
        return self._target.view.shape(tensor)

    def leave(self, tensor: Tensor) -> None:
        """Makes a tensor the next output of the body."""
        self._target.add_output(tensor)
