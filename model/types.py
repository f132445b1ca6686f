"""Declared types: what a ValueInfoProto says of a tensor, as graphsurgeon's dtype and shape."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import onnx

from maxfold.model import dtypes
from maxfold.model.graph import Tensor, Variable

T = TypeVar("T", bound=Tensor)

Dim = int | str | None
"""A known dimension, the name of a symbolic one, or None for one of which nothing is known."""


def declared(info: onnx.ValueInfoProto) -> tuple[str, Any, list[Dim] | None]:
    """(kind of type as in TypeProto, numpy dtype or None, shape or None where the rank is unknown)."""
    kind = info.type.WhichOneof("value") or "tensor_type"
    if kind not in ("tensor_type", "sparse_tensor_type"):
        return kind, None, None
    tensor_type = getattr(info.type, kind)
    dtype = dtypes.from_onnx(tensor_type.elem_type)
    shape = [_dim(dim) for dim in tensor_type.shape.dim] if tensor_type.HasField("shape") else None
    return kind, None if dtype is None else dtype.numpy, shape


def declared_shape(info: onnx.ValueInfoProto) -> tuple[int | None, ...] | None:
    """The declared shape of a tensor: None for an unknown rank, and for a dimension without a size."""
    shape = declared(info)[2]
    return None if shape is None else tuple(dim if isinstance(dim, int) else None for dim in shape)


def _dim(dim: onnx.TensorShapeProto.Dimension) -> Dim:
    if dim.HasField("dim_value"):
        return dim.dim_value
    return dim.dim_param or None


def declare(tensor: T, info: onnx.ValueInfoProto) -> T:
    """Gives a variable the declared type; a constant has its own."""
    if isinstance(tensor, Variable):
        kind, dtype, shape = declared(info)
        tensor.__dict__.update(type=kind, dtype=dtype, shape=shape, declared=(kind, dtype, _key(shape)))
    return tensor


def is_as_declared(tensor: Variable) -> bool:
    """Whether a variable still has the type that the file declared; a script may have given it another."""
    original = tensor.__dict__.get("declared")
    return original is None or original == (tensor.type, tensor.dtype, _key(tensor.shape))


def _key(shape: Any) -> tuple[Dim, ...] | None:
    return None if shape is None else tuple(shape)


def value_info(name: str, dtype: Any, shape: Any) -> onnx.ValueInfoProto:
    """A ValueInfoProto of a tensor; `dtype` is a numpy dtype, an ONNX enum value or None."""
    info = onnx.ValueInfoProto(name=name)
    element_type = dtype if isinstance(dtype, int) else _enum(dtype)
    if element_type is None:
        return info
    info.type.tensor_type.elem_type = element_type
    if shape is None:
        return info
    info.type.tensor_type.shape.SetInParent()
    for dim in shape:
        entry = info.type.tensor_type.shape.dim.add()
        if isinstance(dim, str):
            entry.dim_param = dim
        elif dim is not None and dim >= 0:
            entry.dim_value = dim
    return info


def _enum(dtype: Any) -> int | None:
    if dtype is None:
        return None
    found = dtypes.from_numpy(np.dtype(dtype))
    return None if found is None else found.onnx
