"""The one table of element types: ONNX, OpenVINO and numpy names for the same thing.

Sources: `TensorProto.DataType` of onnx.proto; OpenVINO's element types. A dtype string from a file is
only ever looked up here: numpy reads "i8" as a 64-bit integer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """One element type: there is one object of each.

    `numpy` is the dtype of unpacked elements; `bits` is the width of a stored element, which is smaller
    than the numpy item for 1- to 6-bit types and 0 for strings, which have no fixed width. `kind` is "float", "int",
    "uint", "bool", "complex", "string" or "opaque" (not decoded); `group` elements are stored together.
    """

    name: str
    onnx: int | None
    openvino: str | None
    numpy: np.dtype[Any]
    bits: int
    kind: str
    group: int = 1

    def nbytes(self, count: int) -> int:
        """Stored bytes of `count` elements, the last byte filled up."""
        return (-(-count // self.group) * self.group * self.bits + 7) // 8

    @property
    def is_arithmetic(self) -> bool:
        """Whether operators that compute take it: integers of whole bytes, and floating point of 16 bits or more."""
        return not self.is_packed and (self.kind in ("int", "uint") or (self.kind == "float" and self.bits >= 16))

    @property
    def is_packed(self) -> bool:
        """Whether a stored element is narrower than a byte."""
        return 0 < self.bits < 8

    def __str__(self) -> str:
        return self.name.lower()


def _row(
    name: str, onnx: int | None, openvino: str | None, numpy: Any, bits: int, kind: str, *, group: int = 1
) -> DType:
    return DType(name, onnx, openvino, np.dtype(numpy), bits, kind, group)


DTYPES: tuple[DType, ...] = (
    _row("FLOAT", 1, "f32", np.float32, 32, "float"),
    _row("UINT8", 2, "u8", np.uint8, 8, "uint"),
    _row("INT8", 3, "i8", np.int8, 8, "int"),
    _row("UINT16", 4, "u16", np.uint16, 16, "uint"),
    _row("INT16", 5, "i16", np.int16, 16, "int"),
    _row("INT32", 6, "i32", np.int32, 32, "int"),
    _row("INT64", 7, "i64", np.int64, 64, "int"),
    _row("STRING", 8, "string", np.object_, 0, "string"),
    _row("BOOL", 9, "boolean", np.bool_, 8, "bool"),
    _row("FLOAT16", 10, "f16", np.float16, 16, "float"),
    _row("DOUBLE", 11, "f64", np.float64, 64, "float"),
    _row("UINT32", 12, "u32", np.uint32, 32, "uint"),
    _row("UINT64", 13, "u64", np.uint64, 64, "uint"),
    _row("COMPLEX64", 14, None, np.complex64, 64, "complex"),
    _row("COMPLEX128", 15, None, np.complex128, 128, "complex"),
    _row("BFLOAT16", 16, "bf16", ml_dtypes.bfloat16, 16, "float"),
    _row("FLOAT8E4M3FN", 17, "f8e4m3", ml_dtypes.float8_e4m3fn, 8, "float"),
    _row("FLOAT8E4M3FNUZ", 18, None, ml_dtypes.float8_e4m3fnuz, 8, "float"),
    _row("FLOAT8E5M2", 19, "f8e5m2", ml_dtypes.float8_e5m2, 8, "float"),
    _row("FLOAT8E5M2FNUZ", 20, None, ml_dtypes.float8_e5m2fnuz, 8, "float"),
    _row("UINT4", 21, "u4", ml_dtypes.uint4, 4, "uint"),
    _row("INT4", 22, "i4", ml_dtypes.int4, 4, "int"),
    _row("FLOAT4E2M1", 23, "f4e2m1", ml_dtypes.float4_e2m1fn, 4, "float"),
    _row("FLOAT8E8M0", 24, "f8e8m0", ml_dtypes.float8_e8m0fnu, 8, "float"),
    _row("UINT2", 25, "u2", ml_dtypes.uint2, 2, "uint"),
    _row("INT2", 26, None, ml_dtypes.int2, 2, "int"),
    _row("FLOAT6E2M3", 27, None, ml_dtypes.float6_e2m3fn, 6, "float"),
    _row("FLOAT6E3M2", 28, None, ml_dtypes.float6_e3m2fn, 6, "float"),
    # Of OpenVINO alone: carried through, and never computed with.
    _row("U1", None, "u1", np.uint8, 1, "opaque"),
    _row("U3", None, "u3", np.uint8, 3, "opaque", group=8),
    _row("U6", None, "u6", np.uint8, 6, "opaque", group=4),
    _row("NF4", None, "nf4", np.uint8, 4, "opaque"),
)

_BY_ONNX = {row.onnx: row for row in DTYPES if row.onnx is not None}
_BY_OPENVINO = {row.openvino: row for row in DTYPES if row.openvino is not None}
_BY_NUMPY = {row.numpy: row for row in DTYPES if row.kind != "opaque"}


def from_onnx(value: int) -> DType | None:
    """The type of a `TensorProto.DataType` value, None where it is undefined or unknown."""
    return _BY_ONNX.get(value)


def from_openvino(name: str) -> DType | None:
    """The type of an OpenVINO element type name such as "f32", None where it is unknown."""
    return _BY_OPENVINO.get(name)


def from_numpy(dtype: np.dtype[Any]) -> DType | None:
    """The type of a numpy or ml_dtypes dtype, None where neither format has it.

    Strings of any numpy kind are STRING.
    """
    if dtype.kind in "OUS":
        return _BY_NUMPY[np.dtype(np.object_)]
    return _BY_NUMPY.get(dtype.newbyteorder("=") if dtype.byteorder == ">" else dtype)
