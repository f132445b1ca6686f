"""The protobuf wire format by hand: what a well-behaved serializer would not write, but a parser accepts."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from tests.model.protobuf import is_repeated

VARINT, FIXED64, LENGTH_DELIMITED, GROUP_START, GROUP_END, FIXED32 = range(6)


def varint(value: int, minimum_bytes: int = 1) -> bytes:
    """A base-128 number, padded with redundant zero groups up to `minimum_bytes`."""
    value &= (1 << 64) - 1
    groups = []
    while True:
        groups.append(value & 127)
        value >>= 7
        if not value:
            break
    groups.extend([0] * (minimum_bytes - len(groups)))
    return bytes([group | 128 for group in groups[:-1]] + groups[-1:])


def tag(number: int, wire_type: int) -> bytes:
    """The key in front of a field."""
    return varint(number << 3 | wire_type)


def delimited(number: int, payload: bytes, length_bytes: int = 1) -> bytes:
    """A length-delimited field: a string, bytes, a message or packed numbers."""
    return tag(number, LENGTH_DELIMITED) + varint(len(payload), length_bytes) + payload


def unknown_fields(payload_bytes: int = 3) -> bytes:
    """Fields of every wire type but groups, under numbers that no onnx message uses."""
    return b"".join(
        [
            tag(1000, VARINT) + varint(1 << 63),
            tag(1001, FIXED64) + struct.pack("<q", -1),
            delimited(1002, bytes(range(256)) * (payload_bytes // 256 + 1)),
            tag(1004, FIXED32) + struct.pack("<f", 0.5),
            delimited((1 << 29) - 1, b""),
        ]
    )


def unknown_group() -> bytes:
    """A group, protobuf's old way to nest, around a number and another group."""
    inner = tag(1, VARINT) + varint(7) + tag(2, GROUP_START) + tag(2, GROUP_END)
    return tag(1003, GROUP_START) + inner + tag(1003, GROUP_END)


@dataclass(frozen=True, slots=True)
class Style:
    """Which liberties an encoder takes; any parser of protobuf reads the same message back."""

    reverse_fields: bool = False  # fields in descending order of their numbers
    interleave: bool = False  # entries of several lists in turn
    pack: str = "as declared"  # or "never", "always", "in two parts"
    length_bytes: int = 1  # lengths padded to this many bytes
    repeat_scalars: bool = False  # a wrong value first; the last one counts
    split_messages: bool = False  # single messages in many parts, which a parser merges


def encode(message: Message, style: Style) -> bytes:
    """Serialize `message` in the given style. Unknown fields are not written."""
    fields = sorted(message.ListFields(), key=lambda pair: pair[0].number, reverse=style.reverse_fields)
    chunks: list[list[bytes]] = [_encode_field(field, value, style) for field, value in fields]
    if not style.interleave:
        return b"".join(part for chunk in chunks for part in chunk)
    longest = max((len(chunk) for chunk in chunks), default=0)
    return b"".join(chunk[i] for i in range(longest) for chunk in chunks if i < len(chunk))


def _encode_field(field: FieldDescriptor, value: Any, style: Style) -> list[bytes]:
    if is_repeated(field):
        if field.message_type is None and _wire_type(field) != LENGTH_DELIMITED:
            return _encode_numbers(field, value, style)
        return [_encode_single(field, item, style) for item in value]
    if field.message_type is not None:
        if style.split_messages:
            return _split_message(field, value, style)
        return [_encode_single(field, value, style)]
    if style.repeat_scalars:
        return [_encode_single(field, _wrong_value(field, value), style), _encode_single(field, value, style)]
    return [_encode_single(field, value, style)]


def _encode_single(field: FieldDescriptor, value: Any, style: Style) -> bytes:
    if field.message_type is not None:
        return delimited(field.number, encode(value, style), style.length_bytes)
    if field.type == FieldDescriptor.TYPE_STRING:
        return delimited(field.number, value.encode(), style.length_bytes)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return delimited(field.number, value, style.length_bytes)
    return tag(field.number, _wire_type(field)) + _number(field, value)


def _encode_numbers(field: FieldDescriptor, values: Sequence[Any], style: Style) -> list[bytes]:
    is_packed = bool(field.GetOptions().packed) if style.pack == "as declared" else style.pack != "never"
    if not is_packed:
        return [_encode_single(field, value, style) for value in values]
    middle = len(values) // 2 if style.pack == "in two parts" else 0
    parts: Iterable[Sequence[Any]] = (values[:middle], values[middle:]) if middle else (values,)
    return [
        delimited(field.number, b"".join(_number(field, value) for value in part), style.length_bytes) for part in parts
    ]


def _split_message(field: FieldDescriptor, value: Message, style: Style) -> list[bytes]:
    # Each occurrence of an inner field in an occurrence of the outer field, and an empty one last.
    if any(inner.containing_oneof is not None for inner in value.DESCRIPTOR.fields):
        return [_encode_single(field, value, style)]
    payloads = [part for inner, item in value.ListFields() for part in _encode_field(inner, item, style)]
    return [delimited(field.number, payload, style.length_bytes) for payload in [*payloads, b""]]


def _wrong_value(field: FieldDescriptor, value: Any) -> Any:
    if field.containing_oneof is not None or field.enum_type is not None:
        return value
    if field.type == FieldDescriptor.TYPE_STRING:
        return f"{value} first"
    if field.type == FieldDescriptor.TYPE_BYTES:
        return bytes(5000)
    return value + 1 if field.type != FieldDescriptor.TYPE_INT64 else 5


def _wire_type(field: FieldDescriptor) -> int:
    if field.type == FieldDescriptor.TYPE_FLOAT:
        return FIXED32
    if field.type == FieldDescriptor.TYPE_DOUBLE:
        return FIXED64
    if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
        return LENGTH_DELIMITED
    return VARINT


def _number(field: FieldDescriptor, value: Any) -> bytes:
    if field.type == FieldDescriptor.TYPE_FLOAT:
        return struct.pack("<f", value)
    if field.type == FieldDescriptor.TYPE_DOUBLE:
        return struct.pack("<d", value)
    return varint(int(value))
