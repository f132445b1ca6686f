"""Scales and zero points that stand for a block of elements along an axis each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import openvino_slice, positive_axis, shape_vector
from maxfold.passes.conversion.parts.quantized import NUMPY
from maxfold.passes.conversion.parts.tensors import reshaped
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.sites.site import Shape


@dataclass(frozen=True, slots=True)
class Blocks:
    """How a tensor is divided: `size` elements along an axis for each element of the scale, the last block cut."""

    shape: Shape
    axis: int
    size: int

    @property
    def is_even(self) -> bool:
        """Whether the axis can become two, of blocks and elements."""
        length = self.shape[self.axis]
        others = [dim for place, dim in enumerate(self.shape) if place != self.axis]
        return length is not None and length % self.size == 0 and others.count(None) <= 1 and 0 not in self.shape


def blocks_of(site: OpenvinoSite, axis: int, size: int) -> Blocks:
    """The blocks of a node's first input, whose scale is its second. Raises `UnsupportedError`."""
    shape, scale = site.shape(0), site.shape(1)
    if shape is None or scale is None:
        raise UnsupportedError("the ranks of tensor and scale must be known for blocks")
    if size < 1 or len(scale) != len(shape):
        raise UnsupportedError(f"a scale of {len(scale)} dimensions does not fit blocks of {size} of {len(shape)}")
    found = Blocks(shape, positive_axis(axis, len(shape)), size)
    length, count = shape[found.axis], scale[found.axis]
    if length is not None and count is not None and -(-length // size) != count:
        raise UnsupportedError(f"{count} blocks of {size} are not {length} elements")
    return found


def split(site: OpenvinoSite, blocks: Blocks, x: Tensor) -> Tensor:
    """The tensor with an axis of blocks and one of their elements."""
    length = blocks.shape[blocks.axis] or 0
    dims = [-1 if dim is None else dim for dim in blocks.shape]
    dims[blocks.axis : blocks.axis + 1] = [length // blocks.size, blocks.size]
    return reshaped(site, x, dims)


def joined(site: OpenvinoSite, blocks: Blocks, x: Tensor) -> Tensor:
    """What `split` divided, whole again."""
    return reshaped(site, x, [-1 if dim is None else dim for dim in blocks.shape])


def beside(site: OpenvinoSite, blocks: Blocks, parameter: Tensor, shape: Shape | None) -> Tensor:
    """A scale or zero point beside the tensor that was split."""
    if shape is not None and shape.count(None) <= 1:
        dims = [-1 if dim is None else dim for dim in shape]
        return reshaped(site, parameter, [*dims[: blocks.axis + 1], 1, *dims[blocks.axis + 1 :]])
    made: Tensor = site.add("Unsqueeze", [parameter, site.constant([blocks.axis + 1], "int64")])
    return made


def repeater(site: OpenvinoSite, blocks: Blocks, x: Tensor) -> Callable[[Tensor], Tensor]:
    """What gives a scale or zero point, of a type that Gather takes, an element for each of the tensor."""
    length = blocks.shape[blocks.axis]
    if length is not None:
        indices: Tensor = site.constant(np.arange(length) // blocks.size, "int64")
    else:
        size = openvino_slice(site, shape_vector(site, x), blocks.axis, blocks.axis + 1)
        bounds = [site.constant(0, "int64"), site.add("Squeeze", [size, site.constant([0], "int64")])]
        places = site.add("Range", [*bounds, site.constant(1, "int64")], {"output_type": "i64"}, opset=4)
        width = site.constant(blocks.size, "int64")
        indices = site.add("Divide", [places, width], {**NUMPY, "m_pythondiv": False})
    axis = site.constant(blocks.axis, "int64")

    def repeated(parameter: Tensor) -> Tensor:
        made: Tensor = site.add("Gather", [parameter, indices, axis], {"batch_dims": 0}, opset=8)
        return made

    return repeated
