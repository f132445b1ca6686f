"""Tensors in other shapes, scalars, and outputs that nothing reads: what several families of rows need."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from maxfold.model.data import ArrayData, StoredData, TensorData
from maxfold.model.dtypes import DType, from_onnx
from maxfold.model.graph import Constant, Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.sites.site import Site


def reshaped(site: OpenvinoSite | OnnxSite, tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """A tensor of the target in another shape of as many elements; one dimension may be -1, none 0 or unknown.

    A constant becomes another view of the same stored bytes, anything else goes through a Reshape.
    """
    if isinstance(tensor, Constant):
        return site.constant_of(_in_shape(tensor.data, shape), tensor.name)
    target = site.constant(list(shape), "int64")
    if isinstance(site, OnnxSite):
        result: Tensor = site.add("Reshape", [tensor, target])
    else:
        result = site.add("Reshape", [tensor, target], {"special_zero": False})
    return result


def _in_shape(data: TensorData, shape: Sequence[int]) -> TensorData:
    count = math.prod(data.shape)
    known = math.prod(dim for dim in shape if dim != -1)
    full = tuple(count // known if dim == -1 and known else dim for dim in shape)
    if math.prod(full) != count:
        raise UnsupportedError(f"a constant of shape {list(data.shape)} does not fit the shape {list(shape)}")
    if isinstance(data, StoredData):
        return StoredData(data.region, data.dtype, full, data.field)
    return ArrayData(data.array().reshape(full), data.dtype)


def per_channel(site: OpenvinoSite | OnnxSite, tensor: Tensor, rank: int) -> Tensor:
    """A vector of one value per channel, shaped to broadcast along axis 1 of a tensor of `rank` dimensions."""
    return reshaped(site, tensor, [1, -1, *[1] * (rank - 2)]) if rank > 1 else tensor


def scalar_like(site: Site, value: float, index: int = 0) -> Constant:
    """A constant scalar of the element type of an input. Raises `UnsupportedError` where the type cannot hold it."""
    dtype = site.dtype(index)
    if dtype is None:
        raise UnsupportedError(f"the element type of input {index} is not known")
    if dtype.kind != "float" and value != int(value):
        raise UnsupportedError(f"a factor of {value} for integers is not covered")
    return site.constant(np.asarray(value).astype(dtype.numpy), dtype.numpy)


def widened(site: OnnxSite, index: int = 0) -> tuple[Tensor, DType, int | None]:
    """A floating-point input in at least float32, the element type that it then has, and the type to cast results
    back to, if any: small constants would be 0 in a narrower type. Raises `UnsupportedError` for other types."""
    dtype = site.dtype(index)
    if dtype is None or dtype.kind != "float":
        raise UnsupportedError(f"the element type of input {index} is not known or not floating-point")
    single = from_onnx(1)
    if dtype.bits >= 32 or single is None:
        return site.input(index), dtype, None
    return site.add("Cast", [site.input(index)], {"to": single.onnx}), single, dtype.onnx


def narrowed(site: OnnxSite, tensor: Tensor, onnx_type: int | None) -> Tensor:
    """A result of `widened` data in the type it has to have."""
    result: Tensor = tensor if onnx_type is None else site.add("Cast", [tensor], {"to": onnx_type})
    return result


def is_used(site: Site, index: int) -> bool:
    """Whether something reads an output of the node."""
    if index >= len(site.node.outputs):
        return False
    tensor = site.node.outputs[index]
    return bool(tensor.outputs) or any(tensor is output for output in site.node.scope.outputs)
