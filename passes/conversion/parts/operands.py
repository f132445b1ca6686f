"""Operands that several rows read alike: lists of integers, scalars, and operands that were attributes once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxfold.model.dtypes import DTYPES
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.sites.site import Site

INT64_MAX = int(np.iinfo(np.int64).max)
INT64_MIN = int(np.iinfo(np.int64).min)


def positive_axis(axis: int, rank: int) -> int:
    """An axis counted from the front. Raises `UnsupportedError` where the rank does not have it."""
    if not -rank <= axis < rank:
        raise UnsupportedError(f"its axis {axis} does not exist in {rank} dimensions")
    return axis % rank


def one_integer(site: Site, index: int, what: str) -> int:
    """A constant operand of one element."""
    values = site.integers_of(index, what)
    if len(values) != 1:
        raise UnsupportedError(f"{what} has {len(values)} elements")
    return values[0]


def length_of(site: Site, index: int, what: str) -> int:
    """How many elements a vector operand has. Raises `UnsupportedError` where that is not known."""
    shape = site.shape(index)
    if shape is None or None in shape:
        raise UnsupportedError(f"the length of {what} is not known")
    return int(np.prod([dim for dim in shape if dim is not None], dtype=np.int64))


def optional_input(site: OpenvinoSite, index: int) -> Tensor | None:
    """An operand that may be left out, None where it is."""
    return site.input(index) if site.has_input(index) else None


def openvino_scalar(site: OpenvinoSite, index: int) -> Tensor:
    """An operand of one element as OpenVINO wants it, without dimensions."""
    value = site.value(index)
    if value is not None:
        if value.size != 1:
            raise UnsupportedError(f"input {index} has {value.size} elements instead of one")
        return site.input(index) if value.ndim == 0 else site.constant(value.reshape(()), value.dtype)
    shape = site.shape(index)
    if shape == ():
        return site.input(index)
    if any(dim not in (None, 1) for dim in shape or ()):
        raise UnsupportedError(f"input {index} has the shape {list(shape or ())} instead of one element")
    axes = [] if shape is None else [site.constant(list(range(len(shape))), "int64")]
    scalar: Tensor = site.add("Squeeze", [site.input(index), *axes])
    return scalar


def shape_vector(site: OpenvinoSite, tensor: Tensor) -> Tensor:
    """The shape of a target tensor as a vector of i64."""
    vector: Tensor = site.add("ShapeOf", [tensor], {"output_type": "i64"}, opset=3)
    return vector


def openvino_slice(site: OpenvinoSite, tensor: Tensor, start: int, stop: int, axis: int = 0) -> Tensor:
    """Some elements of a vector, or along an axis."""
    bounds: list[Tensor] = [site.constant([item], "int64") for item in (start, stop, 1, axis)]
    part: Tensor = site.add("Slice", [tensor, *bounds], opset=8)
    return part


def int64_vector(site: OnnxSite, index: int) -> Tensor:
    """A list of integers as ONNX wants it: int64, one dimension."""
    value = site.value(index)
    if value is not None:
        is_wanted = value.dtype == np.int64 and value.ndim == 1
        return site.input(index) if is_wanted else site.constant(value.astype(np.int64).reshape(-1), "int64")
    tensor = int64_tensor(site, index)
    shape = site.shape(index)
    if shape is not None and len(shape) == 1:
        return tensor
    if shape == ():
        one: Tensor = site.add("Unsqueeze", [tensor, site.constant([0], "int64")])
        return one
    vector: Tensor = site.add("Reshape", [tensor, site.constant([-1], "int64")])
    return vector


def int64_tensor(site: OnnxSite, index: int) -> Tensor:
    """Integers as int64, whatever type OpenVINO has them in."""
    value = site.value(index)
    if value is not None:
        return site.input(index) if value.dtype == np.int64 else site.constant(value.astype(np.int64), "int64")
    return cast(site, site.input(index), None if (dtype := site.dtype(index)) is None else dtype.name, "INT64")


def cast(site: OnnxSite, tensor: Tensor, have: str | None, want: str) -> Tensor:
    """A tensor cast to an element type (ONNX's names), itself where it has that already."""
    if have == want:
        return tensor
    result: Tensor = site.add("Cast", [tensor], {"to": _ONNX_TYPES[want]})
    return result


_ONNX_TYPES = {row.name: row.onnx for row in DTYPES if row.onnx is not None}


def onnx_scalar(site: OnnxSite, index: int) -> Tensor:
    """An operand of one element without dimensions."""
    value = site.value(index)
    if value is not None:
        if value.size != 1:
            raise UnsupportedError(f"input {index} has {value.size} elements instead of one")
        return site.input(index) if value.ndim == 0 else site.constant(value.reshape(()), value.dtype)
    shape = site.shape(index)
    if shape == ():
        return site.input(index)
    if shape is not None:
        squeezed: Tensor = site.add("Squeeze", [site.input(index), site.constant(list(range(len(shape))), "int64")])
        return squeezed
    scalar: Tensor = site.add("Reshape", [site.input(index), site.constant([], "int64")])
    return scalar


def index_type(site: OnnxSite, name: str) -> str:
    """An attribute that says i32 or i64, by ONNX's name."""
    text = site.text(name).lower()
    if text not in ("i32", "i64"):
        raise UnsupportedError(f"its {name} {text!r} is not covered")
    return "INT32" if text == "i32" else "INT64"


def transposed(site: OnnxSite, tensor: Tensor, order: Sequence[int]) -> Tensor:
    """A tensor with its dimensions in another order, itself where they are in that order already."""
    if list(order) == list(range(len(order))):
        return tensor
    result: Tensor = site.add("Transpose", [tensor], {"perm": list(order)})
    return result
