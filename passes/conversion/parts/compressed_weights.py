"""Weights that an IR stores in 8 or 4 bits with a scale, as a DequantizeLinear.

Source: the chains that NNCF and OpenVINO write: Convert, a Subtract of a zero point, a Multiply by a scale, a Convert
of half precision. The difference of such integers is exact in all floats that they are converted to. OpenVINO's CPU
makes the product in single precision and never rounds it to half.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxfold.model.data import Array, ArrayData, TensorData, reshaped
from maxfold.model.dtypes import DType
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

# The first operator set whose DequantizeLinear has them.
_FIRST = {"UINT8": 13, "INT8": 13, "FLOAT8E4M3FN": 19, "FLOAT8E5M2": 19, "UINT4": 21, "INT4": 21}
_BLOCKED_OPSET = 21
_FLOAT = 1
_SCALES = ("FLOAT", "FLOAT16")
# How many elements of scales and zero points are looked at, or written anew.
_MOST_WRITTEN = 1 << 16


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which elements share a scale: the shape of scale and zero point with dimensions of 1, their shape in ONNX, and
    the attributes that say so."""

    broadcast: tuple[int, ...]
    shape: tuple[int, ...]
    attributes: dict[str, int]


def dequantized(site: OnnxSite, a: Tensor, b: Tensor) -> Tensor | None:
    """The product of stored integers and their scale in single precision; None where the operands are others."""
    return _dequantized(site, a, b) or _dequantized(site, b, a)


def widened_weights(site: OnnxSite, x: Tensor) -> Tensor | None:
    """Such a product in half precision, perhaps in another shape, as one in single; None where the tensor is none."""
    reshape = _maker(x, "Reshape")
    product = _maker(x if reshape is None else reshape.inputs[0], "Mul")
    made = None if product is None else dequantized(site, *product.inputs)
    if made is None or reshape is None:
        return made
    result: Tensor = site.add("Reshape", [made, *reshape.inputs[1:]], dict(reshape.attrs))
    return result


def _dequantized(site: OnnxSite, product: Tensor, scale: Tensor) -> Tensor | None:
    factor = _stored(scale)
    numbers, point = _without_zero_point(product)
    source = _cast_constant(numbers)
    dtype = None if source is None else source.data.dtype
    if source is None or dtype is None or factor is None or site.opset < _FIRST.get(dtype.name, site.opset + 1):
        return None
    parameters = [factor]
    if point is not None:
        zero_point = _zero_point(point, dtype)
        if zero_point is None:
            return None
        parameters.append(zero_point)
    layout = _layout(source.data.shape, [data.shape for data in parameters], site.opset)
    if layout is None or not all(_fits(data.shape, layout) for data in parameters):
        return None
    operands: list[Tensor] = [
        site.constant_of(_placed(data, layout), f"{source.name}_{name}")
        for name, data in zip(("scale", "zero_point"), parameters, strict=False)
    ]
    if factor.dtype is not None and factor.dtype.onnx != _FLOAT:
        operands[0] = site.add("Cast", [operands[0]], {"to": _FLOAT})
    made: Tensor = site.add("DequantizeLinear", [source, *operands], layout.attributes)
    return made


def _maker(tensor: Tensor, op: str) -> Node | None:
    maker = tensor.inputs[0] if tensor.inputs else None
    return maker if maker is not None and maker.op == op and not maker.domain else None


def _cast_constant(tensor: Tensor) -> Constant | None:
    """The constant that a Cast reads."""
    maker = _maker(tensor, "Cast")
    source = None if maker is None else maker.inputs[0]
    return source if isinstance(source, Constant) else None


def _stored(tensor: Tensor) -> TensorData | None:
    """What the file has of a scale, which may be in half precision; None where it is no scale."""
    source = tensor if isinstance(tensor, Constant) else _cast_constant(tensor)
    dtype = None if source is None else source.data.dtype
    return source.data if source is not None and dtype is not None and dtype.name in _SCALES else None


def _without_zero_point(product: Tensor) -> tuple[Tensor, Tensor | None]:
    """What a zero point is subtracted from, and the zero point."""
    maker = _maker(product, "Sub")
    return (product, None) if maker is None else (maker.inputs[0], maker.inputs[1])


def _zero_point(point: Tensor, dtype: DType) -> TensorData | None:
    """A zero point in the type of the integers, None where it is none of them."""
    if dtype.kind == "float":
        return None
    source = _cast_constant(point)
    if source is not None and source.data.dtype is dtype:
        return source.data
    data = _stored(point)
    return None if data is None or math.prod(data.shape) > _MOST_WRITTEN else _as_integers(data.array(), dtype)


def _as_integers(values: Array, dtype: DType) -> TensorData | None:
    lowest = -(1 << dtype.bits - 1) if dtype.kind == "int" else 0
    is_one = (values == np.rint(values)) & (values >= lowest) & (values < lowest + (1 << dtype.bits))
    return ArrayData(values.astype(np.int32).astype(dtype.numpy), dtype) if np.all(is_one) else None


def _layout(shape: tuple[int, ...], others: Sequence[tuple[int, ...]], opset: int) -> _Layout | None:
    """How scale and zero point lie along the integers, None where the operator has no such way."""
    rank = len(shape)
    if 0 in shape or any(len(other) > rank for other in others):
        return None
    padded = [_padded(other, rank) for other in others]
    if any(size not in (1, whole) for other in padded for size, whole in zip(other, shape, strict=True)):
        return None
    sizes = tuple(map(max, zip(*padded, strict=True))) if rank else ()
    varied = [axis for axis, size in enumerate(sizes) if size != 1]
    if not varied:
        return _Layout(sizes, (), {})
    if len(varied) == 1:
        return _Layout(sizes, (sizes[varied[0]],), {"axis": varied[0]})
    shared = [axis for axis, size in enumerate(sizes) if size != shape[axis]]
    if len(shared) != 1 or opset < _BLOCKED_OPSET:
        return None
    return _Layout(sizes, sizes, {"axis": shared[0], "block_size": shape[shared[0]]})


def _padded(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return (1,) * (rank - len(shape)) + shape


def _fits(shape: tuple[int, ...], layout: _Layout) -> bool:
    count = math.prod(layout.shape)
    return math.prod(shape) == count or count <= _MOST_WRITTEN


def _placed(data: TensorData, layout: _Layout) -> TensorData:
    """A scale or zero point as the operator reads it: where it lies, unless it is one for several."""
    if math.prod(data.shape) == math.prod(layout.shape):
        return reshaped(data, layout.shape)
    whole = data.array().reshape(_padded(data.shape, len(layout.broadcast)))
    return ArrayData(np.broadcast_to(whole, layout.broadcast).reshape(layout.shape), data.dtype)
