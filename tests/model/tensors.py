"""Tensors of every element type, in both places a TensorProto may keep its values."""

from __future__ import annotations

from onnx import TensorProto

# Element type -> (stored bits, the field of typed values, values of that field per element).
# Types narrower than a byte share one 32-bit value, except the 6-bit ones.
_LAYOUT = {
    "FLOAT": (32, "float_data", 1),
    "UINT8": (8, "int32_data", 1),
    "INT8": (8, "int32_data", 1),
    "UINT16": (16, "int32_data", 1),
    "INT16": (16, "int32_data", 1),
    "INT32": (32, "int32_data", 1),
    "INT64": (64, "int64_data", 1),
    "STRING": (0, "string_data", 1),
    "BOOL": (8, "int32_data", 1),
    "FLOAT16": (16, "int32_data", 1),
    "DOUBLE": (64, "double_data", 1),
    "UINT32": (32, "uint64_data", 1),
    "UINT64": (64, "uint64_data", 1),
    "COMPLEX64": (64, "float_data", 2),
    "COMPLEX128": (128, "double_data", 2),
    "BFLOAT16": (16, "int32_data", 1),
    "FLOAT8E4M3FN": (8, "int32_data", 1),
    "FLOAT8E4M3FNUZ": (8, "int32_data", 1),
    "FLOAT8E5M2": (8, "int32_data", 1),
    "FLOAT8E5M2FNUZ": (8, "int32_data", 1),
    "UINT4": (4, "int32_data", 1 / 2),
    "INT4": (4, "int32_data", 1 / 2),
    "FLOAT4E2M1": (4, "int32_data", 1 / 2),
    "FLOAT8E8M0": (8, "int32_data", 1),
    "UINT2": (2, "int32_data", 1 / 4),
    "INT2": (2, "int32_data", 1 / 4),
    "FLOAT6E2M3": (6, "int32_data", 1),
    "FLOAT6E3M2": (6, "int32_data", 1),
}

_KNOWN: tuple[str, ...] = tuple(descriptor.name for descriptor in TensorProto.DataType.DESCRIPTOR.values)
TYPES = tuple(name for name in _KNOWN if name in _LAYOUT)


def unlisted_types() -> list[str]:
    """Element types of the installed onnx that the table above lacks."""
    return [name for name in _KNOWN if name not in _LAYOUT and name != "UNDEFINED"]


def stored_bytes(data_type: str, elements: int) -> int:
    """Bytes of `elements` values in `raw_data`."""
    return (_LAYOUT[data_type][0] * elements + 7) // 8


def raw_tensor(name: str, data_type: str, elements: int) -> TensorProto:
    """A vector in `raw_data`. Bytes repeat every 251 elements; the unused bits of the last byte are 0."""
    bits = _LAYOUT[data_type][0]
    size = stored_bytes(data_type, elements)
    highest = 1 if data_type == "BOOL" else 255
    data = bytearray((position * 7 + position // 251 + 1) % 251 & highest for position in range(size))
    if bits * elements % 8:
        data[-1] &= (1 << bits * elements % 8) - 1
    number = TensorProto.DataType.Value(data_type)
    tensor = TensorProto(data_type=number, dims=[elements], raw_data=bytes(data))
    if name:
        tensor.name = name
    return tensor


def typed_tensor(name: str, data_type: str, elements: int) -> TensorProto:
    """A vector in the typed field of its element type, with negative values where the type has them."""
    bits, field, values_per_element = _LAYOUT[data_type]
    count = -int(-elements * values_per_element // 1)
    tensor = TensorProto(data_type=TensorProto.DataType.Value(data_type), dims=[elements])
    getattr(tensor, field).extend(_typed_values(data_type, bits, field, count))
    if name:
        tensor.name = name
    return tensor


def _typed_values(data_type: str, bits: int, field: str, count: int) -> list[float] | list[int] | list[bytes]:
    if field == "string_data":
        return [b"\xff" if i % 5 == 1 else f"text {i}".encode() * (i % 4) for i in range(count)]
    if field in ("float_data", "double_data"):
        return [float("nan"), -0.0, *(i / 8 - 9 for i in range(count))][:count]
    if data_type == "BOOL":
        return [i % 2 for i in range(count)]
    if bits == 6:
        return [i % 64 for i in range(count)]
    if bits < 8:
        return [(i * 37 + 1) % (1 << bits) for i in range(count)]
    lowest = -(1 << bits - 1) if data_type.startswith("INT") else 0
    return [lowest + (i * 2654435761) % (1 << bits) for i in range(count)]
