"""Nodes of ONNX whose other operands are constants: what rows that compose many of them are made of."""

from __future__ import annotations

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.parts.operands import INT64_MAX, cast
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.sites.onnx_site import OnnxSite


def wide(site: OnnxSite, index: int) -> Tensor:
    """An input in 32 bits, in which OpenVINO computes."""
    return cast(site, site.input(index), dtype_of(site, index).name, "FLOAT")


def vector(site: OnnxSite, *values: int) -> Tensor:
    """Integers as shapes, axes and counts are given."""
    return site.constant(list(values), "int64")


def shaped(site: OnnxSite, tensor: Tensor, *shape: int) -> Tensor:
    """A tensor in another shape, as Reshape reads it: 0 is what the tensor has there, -1 what is left."""
    made: Tensor = site.add("Reshape", [tensor, vector(site, *shape)])
    return made


def unsqueezed(site: OnnxSite, tensor: Tensor, axis: int) -> Tensor:
    made: Tensor = site.add("Unsqueeze", [tensor, vector(site, axis)])
    return made


def sliced(site: OnnxSite, tensor: Tensor, start: int, stop: int, axis: int) -> Tensor:
    ends = [vector(site, item) for item in (start, min(stop, INT64_MAX), axis)]
    made: Tensor = site.add("Slice", [tensor, *ends])
    return made


def column(site: OnnxSite, tensor: Tensor, index: int, axis: int = 1) -> Tensor:
    """One place along an axis, which goes."""
    found: Tensor = site.add("Gather", [tensor, site.constant(index, "int64")], {"axis": axis})
    return found


def size_of(site: OnnxSite, tensor: Tensor, axis: int) -> Tensor:
    """A size of a tensor, as a vector of one."""
    start, stop = vector(site, axis), vector(site, axis + 1)
    found: Tensor = site.add("Slice", [site.add("Shape", [tensor]), start, stop, vector(site, 0)])
    return found


def numbered(site: OnnxSite, count: Tensor) -> Tensor:
    """The numbers from 0 on, as many as a vector of one says."""
    zero, one = site.constant(0, "int64"), site.constant(1, "int64")
    scalar = site.add("Reshape", [count, site.constant([], "int64")])
    found: Tensor = site.add("Range", [zero, scalar, one])
    return found
