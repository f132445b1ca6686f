"""The values of constants, decoded only when somebody asks for them.

`TensorData` is a graphsurgeon `LazyValues`, so that scripts written for graphsurgeon can use our constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx_graphsurgeon.ir.tensor import LazyValues

from maxfold.model import dtypes
from maxfold.model.dtypes import DType
from maxfold.model.errors import ModelError
from maxfold.model.storage import ComputedSource, Region
from maxfold.model.wire import RAW_DATA

Array = np.ndarray[Any, np.dtype[Any]]


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

        Raises `ModelError` where the stored bytes cannot be decoded.
        """
        raise NotImplementedError

    def stored(self) -> Region | bytes:
        """The stored bytes, not read where they are in a file: equal for equal values of one dtype."""
        raise NotImplementedError

    def load(self) -> Array:
        """The values, under the name that graphsurgeon calls."""
        return self.array()

    @property
    def tensor(self) -> onnx.TensorProto:
        """The values as a TensorProto of its own, as graphsurgeon's exporter asks for."""
        return tensor_proto(self.array(), self.dtype)


class StoredData(TensorData):
    """Values in a region of a file, in the little-endian layout of `TensorProto.raw_data`.

    `field` is the field of the TensorProto that the region stood in, None for external data.
    """

    def __init__(self, region: Region, dtype: DType | None, shape: tuple[int, ...], field: int | None) -> None:
        self.region = region
        self.dtype = dtype
        self.shape = shape
        self.nbytes = region.nbytes
        self.field = field

    def array(self) -> Array:
        if self.dtype is None or self.dtype.kind == "opaque":
            raise ModelError("a constant of this element type has no values to compute with")
        if self.dtype.is_packed:
            return _frozen(numpy_helper.to_array(_raw_proto(self.dtype, self.shape, bytes(self.region.view()))))
        return np.frombuffer(self.region.view(), self.dtype.numpy).reshape(self.shape)

    def stored(self) -> Region | bytes:
        return self.region


def computed(dtype: DType, shape: tuple[int, ...], compute: Callable[[], Array]) -> StoredData:
    """Values of whole bytes or packed ones that are computed when they are written, or asked for; each time anew."""
    nbytes = dtype.nbytes(math.prod(shape))
    source = ComputedSource(nbytes, lambda: raw_bytes(compute(), dtype))
    return StoredData(Region(source, 0, nbytes), dtype, shape, RAW_DATA)


def read_array(data: TensorData) -> Array:
    """The values, not through the map of the file: pages that are mapped stay in memory."""
    if not isinstance(data, StoredData) or data.dtype is None or data.dtype.is_packed or data.dtype.kind == "opaque":
        return data.array()
    region = data.region
    return np.frombuffer(region.source.read(region.offset, region.nbytes), data.dtype.numpy).reshape(data.shape)


class ProtoData(TensorData):
    """Values in a (small) TensorProto, in whichever field it has them."""

    def __init__(self, proto: onnx.TensorProto) -> None:
        self.proto = proto
        self.dtype = dtypes.from_onnx(proto.data_type)
        self.shape = tuple(proto.dims)
        self._array: Array | None = None
        if self.dtype is None:
            self.nbytes = proto.ByteSize()
        elif self.dtype.kind == "string":
            self.nbytes = sum(map(len, proto.string_data))
        else:
            self.nbytes = self.dtype.nbytes(math.prod(self.shape))

    def array(self) -> Array:
        if self._array is None:
            self._array = _frozen(_decode(self.proto))
        return self._array

    def stored(self) -> Region | bytes:
        if self.dtype is None or self.proto.HasField("segment"):
            return bytes(self.proto.SerializeToString(deterministic=True))
        if self.dtype.kind == "string":
            return b"\0".join(b"%d:%b" % (len(text), text) for text in self.proto.string_data)
        if self.proto.HasField("raw_data"):
            return self.proto.raw_data
        return raw_bytes(self.array(), self.dtype)


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

    def stored(self) -> Region | bytes:
        if self.dtype.kind == "string":
            return b"\0".join(b"%d:%b" % (len(text), text) for text in _strings(self._array))
        return raw_bytes(self._array, self.dtype)


class AttributeData(ArrayData):
    """Values that a Constant node has in an attribute of its own kind, such as `value_ints`."""


class SparseData(TensorData):
    """Values of a SparseTensorProto; `array()` is dense, `nbytes` counts what is stored."""

    def __init__(self, proto: onnx.SparseTensorProto) -> None:
        self.proto = proto
        self.dtype = dtypes.from_onnx(proto.values.data_type)
        self.shape = tuple(proto.dims)
        self.nbytes = proto.ByteSize()

    def array(self) -> Array:
        if self.dtype is None or self.dtype.kind == "string":
            raise ModelError(f"sparse tensor {self.proto.values.name!r} has no numeric values")
        values = _decode(self.proto.values).reshape(-1)
        indices = _decode(self.proto.indices)
        dense = np.zeros(self.shape, self.dtype.numpy)
        try:
            if indices.ndim == 2:
                dense[tuple(indices.T)] = values
            else:
                dense.reshape(-1)[indices] = values
        except (IndexError, ValueError):
            raise ModelError(
                f"sparse tensor {self.proto.values.name!r} has indices outside its shape {list(self.shape)}"
            ) from None
        return _frozen(dense)

    def stored(self) -> Region | bytes:
        return bytes(self.proto.SerializeToString(deterministic=True))


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


def raw_bytes(array: Array, dtype: DType) -> bytes:
    """The values in the layout of `TensorProto.raw_data`: little-endian, 2- to 6-bit types packed."""
    if not dtype.is_packed:
        return np.ascontiguousarray(array, dtype.numpy.newbyteorder("<")).tobytes()
    codes = np.ascontiguousarray(array, dtype.numpy).view(np.uint8).reshape(-1)
    bits = np.unpackbits(codes, bitorder="little").reshape(-1, 8)[:, : dtype.bits]
    return np.packbits(bits, bitorder="little").tobytes()


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
    try:
        array: Array = numpy_helper.to_array(proto)
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
