"""Tensors made of shapes and numbers rather than of data."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxfold.model import dtypes
from maxfold.model.dtypes import DTYPES, DType
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import (
    INT64_MAX,
    cast,
    index_type,
    int64_vector,
    one_integer,
    onnx_scalar,
    openvino_scalar,
    openvino_slice,
    shape_vector,
)
from maxfold.passes.conversion.row import Row, both, from_onnx
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

# Versions of OpenVINO's operations in which the type of the result is an attribute.
_TYPED_SHAPE_OF, _TYPED_RANGE = 3, 4
_RANGE_TYPES = ("INT16", "INT32", "INT64", "FLOAT", "DOUBLE")
_SMALL_FLOATS = ("FLOAT16", "BFLOAT16")
_EYE_TYPES = {"f32", "f64", "f16", "i32", "i64", "i8", "u8"}


def _shape_to_openvino(site: OpenvinoSite) -> None:
    start, end = site.attribute("start", 0), site.attribute("end", INT64_MAX)
    dims = shape_vector(site, site.input(0))
    site.result(dims if (start, end) == (0, INT64_MAX) else openvino_slice(site, dims, start, end))


def _shape_of_to_onnx(site: OnnxSite) -> None:
    wanted = index_type(site, "output_type") if site.version >= _TYPED_SHAPE_OF else "INT64"
    site.result(cast(site, site.add("Shape", [site.input(0)]), "INT64", wanted))


def _size_to_openvino(site: OpenvinoSite) -> None:
    operands = [shape_vector(site, site.input(0)), site.constant([0], "int64")]
    site.result(site.add("ReduceProd", operands, {"keep_dims": False}))


def _constant_of_shape_to_openvino(site: OpenvinoSite) -> None:
    value = site.attribute("value")
    array = np.zeros((), np.float32) if value is None else value.values
    if array.size != 1:
        raise UnsupportedError(f"its value has {array.size} elements instead of one")
    fill = site.constant(array.reshape(()), array.dtype)
    site.result(site.add("Broadcast", [fill, site.input(0)], {"mode": "numpy"}, opset=3))


def _range_to_openvino(site: OpenvinoSite) -> None:
    dtype = site.dtype(0)
    if dtype is None or dtype.name not in (*_RANGE_TYPES, *_SMALL_FLOATS):
        raise UnsupportedError(f"its element type {dtype or 'that is not known'} is not covered")
    operands = [openvino_scalar(site, index) for index in range(3)]
    site.result(site.add("Range", operands, {"output_type": dtype.openvino}, opset=_TYPED_RANGE))


def _range_to_onnx(site: OnnxSite) -> None:
    """Range in the type of the result; integers may be counted in int64 and cast, small floats in float32. Operands of
    other types are cast to a floating-point result's first, as OpenVINO does it."""
    given = [site.dtype(index) for index in range(3)]
    wanted = dtypes.from_openvino(site.text("output_type").lower()) if site.version >= _TYPED_RANGE else given[0]
    operands = [onnx_scalar(site, index) for index in range(3)]
    if wanted is None or any(dtype is None for dtype in given):
        raise UnsupportedError("its element types are not known")
    have = [dtype for dtype in given if dtype is not None]
    counted = wanted
    if wanted.kind == "float":
        counted = wanted if wanted.name in _RANGE_TYPES else _FLOAT
    elif any(dtype != wanted for dtype in have) or wanted.name not in _RANGE_TYPES:
        if any(dtype.kind not in ("int", "uint") for dtype in have):
            raise UnsupportedError(f"it makes {wanted} of {', '.join(map(str, have))}, which ONNX does not")
        counted = _INT64
    operands = [cast(site, operand, dtype.name, counted.name) for operand, dtype in zip(operands, have, strict=True)]
    site.result(cast(site, site.add("Range", operands), counted.name, wanted.name))


_FLOAT, _INT64 = (next(dtype for dtype in DTYPES if dtype.name == name) for name in ("FLOAT", "INT64"))


def _eye_like_to_openvino(site: OpenvinoSite) -> None:
    chosen = site.attribute("dtype")
    dtype: DType | None = site.dtype(0) if chosen is None else dtypes.from_onnx(chosen)
    if dtype is None or dtype.openvino not in _EYE_TYPES:
        raise UnsupportedError(f"its element type {dtype or 'that is not known'} is not covered")
    dims = shape_vector(site, site.input(0))
    zero = site.constant(0, "int64")
    sizes = [
        site.add("Gather", [dims, site.constant(index, "int64"), zero], {"batch_dims": 0}, opset=8) for index in (0, 1)
    ]
    diagonal = site.constant(site.attribute("k", 0), "int64")
    site.result(site.add("Eye", [*sizes, diagonal], {"output_type": dtype.openvino}, opset=9))


def _eye_to_onnx(site: OnnxSite) -> None:
    dtype = dtypes.from_openvino(site.text("output_type").lower())
    if dtype is None or dtype.openvino not in _EYE_TYPES:
        raise UnsupportedError(f"its output_type {site.text('output_type')!r} is not covered")
    diagonal = one_integer(site, 2, "its diagonal")
    size: Tensor = site.add("Concat", [int64_vector(site, 0), int64_vector(site, 1)], {"axis": 0})
    # ONNX Runtime has no EyeLike for small types.
    counted = dtype.name if dtype.name in ("FLOAT", "DOUBLE", "INT32", "INT64") else "FLOAT"
    attributes: dict[str, Any] = {"dtype": _ENUM[counted], "k": diagonal}
    result = site.add("EyeLike", [site.add("ConstantOfShape", [size])], attributes)
    if site.has_input(3):
        shape = site.add("Concat", [int64_vector(site, 3), size], {"axis": 0})
        result = site.add("Expand", [result, shape])
    site.result(cast(site, result, counted, dtype.name))


_ENUM = {"FLOAT": 1, "DOUBLE": 11, "INT32": 6, "INT64": 7}


def _non_zero_to_openvino(site: OpenvinoSite) -> None:
    site.result(site.add("NonZero", [site.input(0)], {"output_type": "i64"}, opset=3))


def _non_zero_to_onnx(site: OnnxSite) -> None:
    if site.shape(0) == ():
        raise UnsupportedError("of a scalar ONNX and its runtimes differ")
    site.result(cast(site, site.add("NonZero", [site.input(0)]), "INT64", index_type(site, "output_type")))


ROWS: tuple[Row, ...] = (
    *both("Shape", "ShapeOf-1", _shape_to_openvino, _shape_of_to_onnx),
    *from_onnx("Size", "ReduceProd-1", _size_to_openvino),
    *from_onnx("ConstantOfShape", "Broadcast-1", _constant_of_shape_to_openvino),
    *both(
        "Range",
        "Range-1",
        _range_to_openvino,
        _range_to_onnx,
        tolerance="1e-6 relative for floats",
        limits="Of an OpenVINO Range that makes integers of floats there is no form in ONNX.",
    ),
    *both(
        "EyeLike",
        "Eye-9",
        _eye_like_to_openvino,
        _eye_to_onnx,
        limits="A diagonal computed at run time has no form in ONNX.",
    ),
    *both("NonZero", "NonZero-3", _non_zero_to_openvino, _non_zero_to_onnx),
)
