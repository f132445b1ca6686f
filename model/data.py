"""The values of constants, decoded only when somebody asks for them.

`TensorData` is a graphsurgeon `LazyValues`, so that scripts written for graphsurgeon can use our constants.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx_graphsurgeon.ir.tensor import LazyValues

from maxfold.model import dtypes
from maxfold.model.dtypes import DType
from maxfold.model.equality import Contents
from maxfold.model.errors import ModelError
from maxfold.model.storage import Region

Array = np.ndarray[Any, np.dtype[Any]]

# A sparse tensor of few bytes may say that it has any number of elements.
_MAX_DENSE_BYTES = 1 << 30

# numpy's limit. Formats have none.
MOST_DIMENSIONS = 64


class TensorData(LazyValues):  # type: ignore[misc]  # graphsurgeon is not typed
    """The values of a constant.

    `dtype` is None where the file names an element type that is not known: the data is then carried
    through and never looked at. `nbytes` counts stored bytes (packed, sparse), not those of `array()`.
    """

    dtype: DType | None
    shape: tuple[int, ...]
    nbytes: int

    def array(self) -> Array:
        """The values as a read-only array of `shape`; a view of the file where the layout allows it.

        Raises `ModelError` where the stored bytes cannot be decoded, or no array has so many dimensions.
        """
        check_rank(self.shape)
        return self.elements().reshape(self.shape)

    def elements(self) -> Array:
        """The values in row-major order, as a read-only array of one dimension.

        Raises `ModelError` where the stored bytes cannot be decoded.
        """
        raise NotImplementedError

    def value_bytes(self) -> Region | bytes:
        """The values of all elements in the layout of `TensorProto.raw_data`, not read where a file has them so.

        Raises `ModelError` where the element type has no such layout, or the values cannot be decoded.
        """
        return _raw_layout(self)

    def contents(self) -> Contents:
        """What two constants of one dtype and shape are compared by; nothing is read for it from files."""
        return Contents("values", self.value_bytes())

    def load(self) -> Array:
        """The values, under the name that graphsurgeon calls."""
        return self.array()

    @property
    def tensor(self) -> onnx.TensorProto:
        """The values as a TensorProto of its own, as graphsurgeon's exporter asks for."""
        return tensor_proto(self.array(), self.dtype)


class RegionData(TensorData):
    """Values in a region of a file, in whatever layout.

    `field` is the field of the TensorProto that the region stood in, None for a file beside the model's.
    """

    def __init__(self, region: Region, dtype: DType | None, shape: tuple[int, ...], field: int | None) -> None:
        self.region = region
        self.dtype = dtype
        self.shape = shape
        self.nbytes = region.nbytes
        self.field = field


class StoredData(RegionData):
    """Values in a region of a file, in the little-endian layout of `TensorProto.raw_data`."""

    def elements(self) -> Array:
        if self.dtype is None or self.dtype.kind == "opaque":
            raise ModelError("a constant of this element type has no values to compute with")
        if self.dtype.is_packed:
            count = math.prod(self.shape)
            return _frozen(numpy_helper.to_array(_raw_proto(self.dtype, (count,), bytes(self.region.view()))))
        return np.frombuffer(self.region.view(), self.dtype.numpy)

    def value_bytes(self) -> Region | bytes:
        return self.region


def reshaped(data: TensorData, shape: tuple[int, ...]) -> TensorData:
    """The same elements in another shape, where they lie if that can be."""
    if isinstance(data, StoredData):
        return StoredData(data.region, data.dtype, shape, data.field)
    return ArrayData(data.array().reshape(shape), data.dtype)


class ProtoData(TensorData):
    """Values in a (small) TensorProto, in whichever field it has them."""

    def __init__(self, proto: onnx.TensorProto) -> None:
        self.proto = proto
        self.dtype = dtypes.from_onnx(proto.data_type)
        self.shape = tuple(proto.dims)
        self._elements: Array | None = None
        if self.dtype is None:
            self.nbytes = proto.ByteSize()
        elif self.dtype.kind == "string":
            self.nbytes = sum(map(len, proto.string_data))
        else:
            self.nbytes = self.dtype.nbytes(math.prod(self.shape))

    def elements(self) -> Array:
        if self._elements is None:
            self._elements = _frozen(_decode(self.proto))
        return self._elements

    def value_bytes(self) -> Region | bytes:
        is_raw = self.proto.HasField("raw_data") and not self.proto.HasField("segment") and self.dtype is not None
        return self.proto.raw_data if is_raw else _raw_layout(self)

    def contents(self) -> Contents:
        if self.dtype is None or self.proto.HasField("segment"):
            return Contents("tensor", bytes(self.proto.SerializeToString(deterministic=True)))
        if self.dtype.kind == "string":
            return string_contents(self.proto.string_data)
        return super().contents()


class ArrayData(TensorData):
    """Values computed by a rewrite, or set by a script."""

    def __init__(self, array: Array, dtype: DType | None = None) -> None:
        found = dtype if dtype is not None else dtypes.from_numpy(array.dtype)
        if found is None:
            raise ModelError(f"an array of dtype {array.dtype} has no element type in ONNX; convert it first")
        self.dtype: DType = found
        self.shape = tuple(array.shape)
        self._array = _frozen(array.astype(found.numpy, copy=False))
        self.nbytes = found.nbytes(array.size) if found.kind != "string" else sum(map(len, _strings(array)))

    def array(self) -> Array:
        return self._array

    def elements(self) -> Array:
        return self._array.reshape(-1)

    def contents(self) -> Contents:
        return string_contents(_strings(self._array)) if self.dtype.kind == "string" else super().contents()


class AttributeData(ArrayData):
    """Values that a Constant node has in an attribute of its own kind, such as `value_ints`."""


class SparseData(TensorData):
    """Values of a SparseTensorProto; `array()` is dense, `nbytes` counts what is stored."""

    def __init__(self, proto: onnx.SparseTensorProto) -> None:
        self.proto = proto
        self.dtype = dtypes.from_onnx(proto.values.data_type)
        self.shape = tuple(proto.dims)
        self.nbytes = proto.ByteSize()

    def elements(self) -> Array:
        name = self.proto.values.name
        if self.dtype is None or self.dtype.kind == "string":
            raise ModelError(f"sparse tensor {name!r} has no numeric values")
        if any(dim < 0 for dim in self.shape):
            raise ModelError(f"sparse tensor {name!r} has a negative dimension in its shape {_shown([*self.shape])}")
        nbytes = self.dtype.nbytes(math.prod(self.shape))
        if nbytes > _MAX_DENSE_BYTES:
            raise ModelError(
                f"sparse tensor {name!r} of shape {_shown([*self.shape])} would have {_shown(nbytes)} bytes as a dense "
                f"one, more than {_MAX_DENSE_BYTES}"
            )
        for part in (self.proto.values, self.proto.indices):
            check_size(part)
        values = _decode(self.proto.values)
        dense = np.zeros(math.prod(self.shape), self.dtype.numpy)
        dense[self._places(values.size)] = values
        return _frozen(dense)

    def _places(self, count: int) -> Array:
        """Where each of `count` values stands among all elements. Raises `ModelError` where that is nowhere."""
        check_rank(self.proto.indices.dims)
        indices = _decode(self.proto.indices).reshape(tuple(self.proto.indices.dims))
        name = self.proto.values.name
        by_axis = indices.reshape(-1, 1) if indices.ndim == 1 else indices
        sizes = (math.prod(self.shape),) if indices.ndim == 1 else self.shape
        if indices.dtype != np.int64 or by_axis.shape != (count, len(sizes)):
            raise ModelError(f"sparse tensor {name!r} has {count} values, but not as many indices into its shape")
        if (by_axis < 0).any() or (by_axis >= np.array(sizes, np.int64)).any():
            raise ModelError(f"sparse tensor {name!r} has indices outside its shape {list(self.shape)}")
        strides = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
        places: Array = by_axis @ np.array(strides, np.int64)
        return places

    def contents(self) -> Contents:
        parts = [ProtoData(part).contents().key() for part in (self.proto.values, self.proto.indices)]
        return Contents("sparse values", b"".join(b"%d:%b" % (len(part), part) for part in parts))


def why_no_array(shape: Sequence[object]) -> str | None:
    """Why there is no array of a shape, None where there may be one."""
    if len(shape) <= MOST_DIMENSIONS:
        return None
    return f"has {len(shape)} dimensions, more than the {MOST_DIMENSIONS} that arrays may have"


def check_rank(shape: Sequence[int]) -> None:
    """Raises `ModelError` for a shape that no array has."""
    reason = why_no_array(shape)
    if reason is not None:
        raise ModelError(f"a constant {reason}")


def tensor_proto(array: Array, dtype: DType | None, name: str = "") -> onnx.TensorProto:
    """A TensorProto of an array, in `raw_data` (`string_data` for strings)."""
    found = dtype if dtype is not None else dtypes.from_numpy(array.dtype)
    if found is None or found.onnx is None:
        raise ModelError(f"tensor {name!r} of dtype {array.dtype} has no element type in ONNX; convert it first")
    proto = onnx.TensorProto(data_type=found.onnx, dims=array.shape, name=name)
    if found.kind == "string":
        proto.string_data.extend(_strings(array))
    else:
        proto.raw_data = raw_bytes(array, found)
    return proto


def string_contents(strings: Iterable[bytes]) -> Contents:
    """The contents of a constant of strings, however its format stores them."""
    return Contents("strings", b"".join(b"%d:%b" % (len(text), text) for text in strings))


def _raw_layout(data: TensorData) -> bytes:
    if data.dtype is None or data.dtype.kind in ("string", "opaque"):
        raise ModelError(f"a constant of type {data.dtype} has no values that could be written as bytes")
    return raw_bytes(data.elements(), data.dtype)


def raw_bytes(array: Array, dtype: DType) -> bytes:
    """The values in the layout of `TensorProto.raw_data`: little-endian, 2- to 6-bit types packed."""
    if not dtype.is_packed:
        return np.ascontiguousarray(array, dtype.numpy.newbyteorder("<")).tobytes()
    codes = np.ascontiguousarray(array, dtype.numpy).view(np.uint8).reshape(-1)
    bits = np.unpackbits(codes, bitorder="little").reshape(-1, 8)[:, : dtype.bits]
    return np.packbits(bits, bitorder="little").tobytes()


def raw_view(array: Array, dtype: DType) -> memoryview:
    """As `raw_bytes`, of the array itself where it has that layout."""
    if dtype.is_packed or array.dtype != dtype.numpy.newbyteorder("<") or not array.flags.c_contiguous:
        return memoryview(raw_bytes(array, dtype))
    return memoryview(array.reshape(-1).view(np.uint8)) if array.size else memoryview(b"")  # type: ignore[arg-type]


def check_size(proto: onnx.TensorProto, stored_nbytes: int | None = None) -> None:
    """Compares a tensor's shape with the data it has, before anything is allocated.

    `stored_nbytes` is given where the data is not in the proto itself. Raises `ModelError`.
    """
    dims = list(proto.dims)
    if any(dim < 0 for dim in dims):
        raise ModelError(f"tensor {proto.name!r} has a negative dimension in its shape {_shown(dims)}; export it again")
    dtype = dtypes.from_onnx(proto.data_type)
    if dtype is None or proto.HasField("segment"):
        return
    count = math.prod(dims)
    if dtype.kind == "string":
        has, needs, what = len(proto.string_data), count, "strings"
    elif stored_nbytes is not None or proto.HasField("raw_data"):
        has = stored_nbytes if stored_nbytes is not None else len(proto.raw_data)
        needs, what = dtype.nbytes(count), "bytes"
    else:
        has, needs, what = _typed_count(proto, dtype), _typed_need(dtype, count), "values"
    if has != needs:
        raise ModelError(
            f"tensor {proto.name!r} of type {dtype} and shape {_shown(dims)} needs {_shown(needs)} {what} "
            f"but has {has}; the file is damaged or incomplete"
        )


def _shown(value: int | list[int]) -> str:
    """A number or shape for a message; Python refuses to print integers of thousands of digits."""
    if isinstance(value, list):
        return str(value) if len(value) <= 8 else f"[{', '.join(map(str, value[:8]))}, ...]"
    return str(value) if value < 1 << 70 else f"2**{value.bit_length() - 1} or more"


_TYPED_FIELDS = {"FLOAT": "float_data", "COMPLEX64": "float_data", "DOUBLE": "double_data", "COMPLEX128": "double_data",
                 "INT64": "int64_data", "UINT64": "uint64_data", "UINT32": "uint64_data"}  # fmt: skip


def _typed_count(proto: onnx.TensorProto, dtype: DType) -> int:
    return len(getattr(proto, _TYPED_FIELDS.get(dtype.name, "int32_data")))


def _typed_need(dtype: DType, count: int) -> int:
    if dtype.kind == "complex":
        return 2 * count
    per_value = {4: 2, 2: 4}.get(dtype.bits, 1)
    return -(-count // per_value)


def _decode(proto: onnx.TensorProto) -> Array:
    """The elements in row-major order."""
    decoded = proto
    if why_no_array(proto.dims) is not None:
        decoded = onnx.TensorProto()
        decoded.CopyFrom(proto)
        decoded.dims[:] = [math.prod(proto.dims)]
    try:
        array: Array = numpy_helper.to_array(decoded).reshape(-1)
    except (ValueError, TypeError, KeyError, UnicodeDecodeError) as error:
        raise ModelError(f"tensor {proto.name!r} cannot be decoded: {error}") from None
    return array


def _raw_proto(dtype: DType, shape: tuple[int, ...], raw: bytes) -> onnx.TensorProto:
    return onnx.TensorProto(data_type=dtype.onnx, dims=shape, raw_data=raw)


def _frozen(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _strings(array: Array) -> list[bytes]:
    return [item if isinstance(item, bytes) else str(item).encode() for item in array.reshape(-1)]
