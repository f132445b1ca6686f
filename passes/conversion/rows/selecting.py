"""Elements chosen or ordered by their values: TopK, Unique, OneHot, Trilu."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxfold.model.graph import Constant, Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import (
    INT64_MIN,
    cast,
    index_type,
    int64_tensor,
    int64_vector,
    one_integer,
    onnx_scalar,
    openvino_scalar,
    openvino_slice,
    positive_axis,
    shape_vector,
)
from maxfold.passes.conversion.row import Row, both, from_onnx
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_ONE_HOT_MODES = 16
# What ONNX Runtime makes OneHot of, with int64 indices and depth.
_ONE_HOT_TYPES = ("FLOAT", "INT64")
_NUMPY = {"auto_broadcast": "numpy"}


def _top_k_to_openvino(site: OpenvinoSite) -> None:
    """Sorted by value even where ONNX leaves the order open."""
    count = openvino_scalar(site, 1)
    # It leaves the order open, which then may be this one.
    site.ignore("sorted")
    axis = site.attribute("axis", -1)
    data = {
        "axis": axis if site.shape(0) is None else positive_axis(axis, site.rank(0)),
        "mode": "max" if site.attribute("largest", 1) else "min", "sort": "value",
        "index_element_type": "i64", "stable": True,
    }  # fmt: skip
    site.result(*site.add("TopK", [site.input(0), count], data, opset=11, outputs=2))


def _top_k_to_onnx(site: OnnxSite) -> None:
    mode, sort = site.text("mode").lower(), site.text("sort").lower()
    if mode not in ("max", "min") or sort not in ("value", "index", "none"):
        raise UnsupportedError(f"its mode {mode!r} with sort {sort!r} is not covered")
    # ONNX says itself which of equal values come first.
    site.ignore("stable")
    axis = site.integer("axis")
    attributes = {"axis": axis, "largest": int(mode == "max"), "sorted": 1}
    count = int64_vector(site, 1)
    dtype, data = site.dtype(0), site.input(0)
    is_widest = dtype is not None and dtype.name == "UINT64"
    if is_widest:
        # ONNX Runtime orders none of them: as signed ones without their first half they are in the same order.
        data = site.add("Add", [cast(site, data, "UINT64", "INT64"), site.constant(INT64_MIN, "int64")])
    values, indices = site.add("TopK", [data, count], attributes, outputs=2)
    if is_widest:
        values = cast(site, site.add("Sub", [values, site.constant(INT64_MIN, "int64")]), "INT64", "UINT64")
    if sort == "index":
        by_index = {"axis": axis, "largest": 0, "sorted": 1}
        indices, places = site.add("TopK", [indices, count], by_index, outputs=2)
        values = site.add("GatherElements", [values, places], {"axis": axis})
    site.result(values, cast(site, indices, "INT64", index_type(site, "index_element_type")))


def _unique_to_openvino(site: OpenvinoSite) -> None:
    axis = site.attribute("axis")
    operands = [site.input(0), *([] if axis is None else [site.constant(axis, "int64")])]
    data = {"sorted": bool(site.attribute("sorted", 1)), "index_element_type": "i64", "count_element_type": "i64"}
    site.result(*site.add("Unique", operands, data, opset=10, outputs=4))


def _unique_to_onnx(site: OnnxSite) -> None:
    attributes: dict[str, Any] = {"sorted": int(site.flag("sorted"))}
    if site.has_input(1):
        attributes["axis"] = one_integer(site, 1, "its axis")
    values, *others = site.add("Unique", [site.input(0)], attributes, outputs=4)
    kinds = ["index_element_type", "index_element_type", "count_element_type"]
    cast_ones = [
        cast(site, tensor, "INT64", index_type(site, kind)) for tensor, kind in zip(others, kinds, strict=True)
    ]
    site.result(values, *cast_ones)


def _compress_to_openvino(site: OpenvinoSite) -> None:
    """What is at the places where the condition, which may be shorter, is true."""
    axis, data = site.attribute("axis"), site.input(0)
    if axis is None:
        data, axis = site.add("Reshape", [data, site.constant([-1], "int64")], {"special_zero": False}), 0
    else:
        axis = axis if site.shape(0) is None else positive_axis(axis, site.rank(0))
    values = site.value(1)
    if site.shape(1) == (0,) or 0 in (site.shape(0) or ()) or (values is not None and not values.any()):
        # Nothing is chosen, and OpenVINO's CPU divides by zero where it tries.
        site.result(openvino_slice(site, data, 0, 0, axis))
        return
    if values is None:
        found = site.add("NonZero", [site.input(1)], {"output_type": "i64"}, opset=3)
        places: Tensor = site.add("Squeeze", [found, site.constant([0], "int64")])
    else:
        places = site.constant(np.flatnonzero(values), "int64")
    site.result(site.add("Gather", [data, places, site.constant(axis, "int64")], {"batch_dims": 0}, opset=8))


def _one_hot_to_openvino(site: OpenvinoSite) -> None:
    depth = _int64(site, openvino_scalar(site, 1), 1)
    indices = _counted_indices(site, depth)
    values = [_picked(site, 2, place) for place in (1, 0)]
    axis = site.attribute("axis", -1)
    shape = site.shape(0)
    axis = axis if shape is None else positive_axis(axis, len(shape) + 1)
    site.result(site.add("OneHot", [indices, depth, *values], {"axis": axis}))


def _counted_indices(site: OpenvinoSite, depth: Tensor) -> Tensor:
    """Indices as i64, negative ones counted from the end, which OpenVINO does not do."""
    values = site.value(0)
    is_integer = site.kind(0) in ("int", "uint")
    if is_integer and (site.kind(0) == "uint" or (values is not None and (values >= 0).all())):
        return site.input(0)
    indices = _int64(site, site.input(0), 0)
    found = _chosen_below_0(indices)
    if found is not None and site.shape(1) == () and _is_equal(found[0], depth):
        # So the other direction has them.
        return found[1]
    is_negative = site.add("Less", [indices, site.constant(0, "int64")], _NUMPY)
    counted = site.add("Add", [indices, depth], _NUMPY)
    result: Tensor = site.add("Select", [is_negative, counted, indices], _NUMPY)
    return result


def _chosen_below_0(tensor: Tensor) -> tuple[Tensor, Tensor] | None:
    """What a tensor has in the place of negative elements of another, and that; None where it does nothing like it."""
    choice = tensor.inputs[0] if tensor.inputs else None
    if choice is None or choice.op not in ("Where", "Select"):
        return None
    test, negative, other = choice.inputs
    less = test.inputs[0] if test.inputs else None
    if less is None or less.op != "Less" or less.inputs[0] is not other:
        return None
    bound = less.inputs[1]
    return (negative, other) if isinstance(bound, Constant) and not bound.values.any() else None


def _is_sum(tensor: Tensor, terms: Sequence[Tensor]) -> bool:
    maker = tensor.inputs[0] if tensor.inputs else None
    return maker is not None and maker.op == "Add" and all(map(_is_equal, maker.inputs, terms))


def _is_equal(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are one, or scalars of one value."""
    if one is not other and isinstance(one, Constant) and isinstance(other, Constant):
        return one.data.shape == other.data.shape == () and bool(one.values == other.values)
    return one is other


def _int64(site: OpenvinoSite, tensor: Tensor, index: int) -> Tensor:
    """A tensor made of an input as i64."""
    dtype = site.dtype(index)
    if dtype is not None and dtype.name == "INT64":
        return tensor
    converted: Tensor = site.add("Convert", [tensor], {"destination_type": "i64"})
    return converted


def _picked(site: OpenvinoSite, index: int, place: int) -> Tensor:
    """One element of a vector, as a scalar."""
    values = site.value(index)
    if values is not None:
        return site.constant(values.reshape(-1)[place], values.dtype)
    operands = [site.input(index), site.constant(place, "int64"), site.constant(0, "int64")]
    picked: Tensor = site.add("Gather", operands, {"batch_dims": 0}, opset=8)
    return picked


def _one_hot_to_onnx(site: OnnxSite) -> None:
    mode = site.text("negative_indices_mode").lower() if site.version >= _ONE_HOT_MODES else "ignore_negative"
    if mode not in ("ignore_negative", "normalize"):
        raise UnsupportedError(f"its negative_indices_mode {mode!r} is not covered")
    indices, depth = int64_tensor(site, 0), int64_tensor(site, 1)
    values = site.value(0)
    if mode == "ignore_negative" and (values is None or (values < 0).any()):
        indices = _indices_to_onnx(site, indices, depth)
    axis = site.integer("axis")
    dtype = site.dtype(2)
    if dtype is not None and dtype.name in _ONE_HOT_TYPES:
        site.result(site.add("OneHot", [indices, depth, _off_and_on(site)], {"axis": axis}))
        return
    is_hot = site.add("OneHot", [indices, depth, site.constant([0, 1], "int64")], {"axis": axis})
    site.result(site.add("Where", [cast(site, is_hot, "INT64", "BOOL"), onnx_scalar(site, 2), onnx_scalar(site, 3)]))


def _indices_to_onnx(site: OnnxSite, indices: Tensor, depth: Tensor) -> Tensor:
    """Indices of which negative ones are to choose nothing."""
    found = _chosen_below_0(indices)
    is_sum = found is not None and _is_sum(found[0], (found[1], depth))
    if found is not None and is_sum and site.shape_of(found[1]) == site.shape_of(indices):
        # They are counted from the end, as ONNX does it.
        return found[1]
    # An index as large as the depth is out of range, and so gives what a negative one is to give.
    is_negative = site.add("Less", [indices, site.constant(0, "int64")])
    result: Tensor = site.add("Where", [is_negative, depth, indices])
    return result


def _off_and_on(site: OnnxSite) -> Tensor:
    """Both values in one vector."""
    on, off = site.value(2), site.value(3)
    if on is not None and off is not None:
        return site.constant(np.concatenate([off.reshape(-1), on.reshape(-1)]), on.dtype)
    first = site.constant([0], "int64")
    parts = [site.add("Unsqueeze", [onnx_scalar(site, index), first]) for index in (3, 2)]
    both: Tensor = site.add("Concat", parts, {"axis": 0})
    return both


def _trilu_to_openvino(site: OpenvinoSite) -> None:
    """A mask of the diagonals that stay, by the distance of column and row."""
    dtype = site.dtype(0)
    if dtype is None:
        raise UnsupportedError("its element type is not known")
    compare = "GreaterEqual" if site.attribute("upper", 1) else "LessEqual"
    shape = site.shape(0)
    if shape is not None and 0 in shape and None not in shape:
        # Nothing to choose, and OpenVINO's CPU writes beyond its memory where it tries.
        site.result(site.add("Reshape", [site.input(0), site.constant(shape, "int64")], {"special_zero": False}))
        return
    zero, one = site.constant(0, "int64"), site.constant(1, "int64")
    dims = shape_vector(site, site.input(0))
    rows, columns = (_counted(site, dims, place, zero, one) for place in (-2, -1))
    rows = site.add("Unsqueeze", [rows, one])
    distance = site.add("Subtract", [columns, rows], _NUMPY)
    diagonal = openvino_scalar(site, 1) if site.has_input(1) else zero
    mask = site.add(compare, [distance, diagonal], _NUMPY)
    site.result(site.add("Select", [mask, site.input(0), site.constant(0, dtype.numpy)], _NUMPY))


def _counted(site: OpenvinoSite, dims: Tensor, place: int, zero: Tensor, one: Tensor) -> Tensor:
    """The indices along a dimension."""
    length = site.add("Gather", [dims, site.constant(place, "int64"), zero], {"batch_dims": 0}, opset=8)
    indices: Tensor = site.add("Range", [zero, length, one], {"output_type": "i64"}, opset=4)
    return indices


_TIES = "Of equal values OpenVINO may take any unless it is told to be stable; where NaN stands differs."

ROWS: tuple[Row, ...] = (
    *both("TopK", "TopK-1", _top_k_to_openvino, _top_k_to_onnx, limits=_TIES),
    *both("Unique", "Unique-10", _unique_to_openvino, _unique_to_onnx),
    *from_onnx("Compress", "Gather-8", _compress_to_openvino),
    *both("OneHot", "OneHot-1", _one_hot_to_openvino, _one_hot_to_onnx),
    *from_onnx(
        "Trilu",
        "Select-1",
        _trilu_to_openvino,
        limits="OpenVINO's CPU crashes on tensors without elements of unknown shape.",
    ),
)
