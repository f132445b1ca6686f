"""The protobuf wire format, as deep as maxfold needs it.

`cut` walks a serialized ModelProto only where large tensor data can be, and returns the model without that
data (the skeleton) and the regions that were cut out. `Pieces` is the way back: a message under
construction whose large parts are still regions of a file.

Source: the protobuf encoding specification; field numbers of onnx.proto.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import BinaryIO

from maxfold.model.storage import Region, Source, write_all

# Data shorter than this stays in the skeleton: cutting it would cost more than parsing it.
CUT_BYTES = 4096
# protobuf's own parsers refuse deeper nesting.
MAX_DEPTH = 100

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_VARINT_BYTES = 10
_BLOCK_BYTES = 1 << 14

# Field numbers of TensorProto.
TENSOR_SEGMENT, FLOAT_DATA, RAW_DATA, DOUBLE_DATA = 3, 4, 9, 10
_CUTTABLE = {FLOAT_DATA, RAW_DATA, DOUBLE_DATA}

# Where tensors can be: message -> field number -> message of that field.
_CHILDREN: dict[str, dict[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: "tensor"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph"},
}
# Fields that hold one message. Where one occurs more than once, protobuf merges the occurrences: none is then cut.
_SINGULAR: dict[str, frozenset[int]] = {"model": frozenset({7}), "attribute": frozenset({5, 6})}


class WireError(ValueError):
    """The bytes are not a protobuf message; the text says where."""


_SHORT_VARINTS = tuple(bytes((value,)) for value in range(0x80))


def encode_varint(value: int) -> bytes:
    """A base-128 varint; `value` is not negative."""
    if value < 0x80:
        return _SHORT_VARINTS[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field_header(number: int, nbytes: int) -> bytes:
    """Tag and length of a length-delimited field."""
    return encode_varint(number << 3 | BYTES) + encode_varint(nbytes)


def split_fields(data: bytes, number: int) -> tuple[bytes, bytes]:
    """A message's fields up to a field number, and the rest; protobuf writes known fields in ascending order."""
    window = _Window(Source(data))
    position = 0
    while position < len(data):
        start = position
        tag, position = window.varint(position, len(data))
        if tag >> 3 > number:
            return data[:start], data[start:]
        if tag & 7 == BYTES:
            nbytes, position = window.varint(position, len(data))
            position += nbytes
        else:
            position = window.skip(position, len(data), tag)
    return data, b""


class Pieces:
    """A message under construction: bytes, and regions that are copied only when it is written."""

    __slots__ = ("nbytes", "parts")

    def __init__(self, parts: Iterable[bytes | Region] = ()) -> None:
        self.parts: list[bytes | Region] = []
        self.nbytes = 0
        for part in parts:
            self.add(part)

    def add(self, part: bytes | Region) -> None:
        """Appends bytes or a region."""
        self.parts.append(part)
        self.nbytes += part.nbytes if isinstance(part, Region) else len(part)

    def add_field(self, number: int, value: Pieces | Region | bytes) -> None:
        """Appends a length-delimited field."""
        if isinstance(value, bytes):
            field = field_header(number, len(value)) + value
            self.parts.append(field)
            self.nbytes += len(field)
            return
        self.add(field_header(number, value.nbytes))
        if isinstance(value, Region):
            self.add(value)
            return
        self.parts.extend(value.parts)
        self.nbytes += value.nbytes

    def write_to(self, target: BinaryIO) -> None:
        """Writes all parts in order, small ones joined."""
        small: list[bytes] = []
        for part in self.parts:
            if not isinstance(part, Region):
                small.append(part)
                continue
            write_all(target, b"".join(small))
            small.clear()
            part.copy_to(target)
        write_all(target, b"".join(small))

    def to_bytes(self) -> bytes:
        """The whole message in memory."""
        return b"".join(bytes(part.view()) if isinstance(part, Region) else part for part in self.parts)


def _new_token() -> int:
    return int.from_bytes(os.urandom(8), "little") >> 2


@dataclass(slots=True)
class Skeleton:
    """A serialized model without its large tensor data.

    A tensor whose data was cut out carries a `segment` whose `end` is `token` (a random number, so that no
    file can forge it) and whose `begin` is the index of the cut.
    """

    token: int = field(default_factory=_new_token)
    data: bytes = b""
    cuts: list[tuple[int, Region]] = field(default_factory=list)
    """(field number of the TensorProto the region stood in, region)"""


def cut(source: Source, left: frozenset[int] = frozenset()) -> Skeleton:
    """Walks a serialized ModelProto and cuts out tensor data of at least CUT_BYTES bytes.

    Data at the offsets `left` stays in. Raises `WireError` where the bytes are not a protobuf message.
    """
    skeleton = Skeleton()
    pieces: list[bytes] = []
    _Cutter(source, skeleton, left).message("model", 0, source.size, pieces, 0)
    skeleton.data = b"".join(pieces)
    return skeleton


def cut_tensor(source: Source, skeleton: Skeleton) -> bytes:
    """A serialized TensorProto without its data, where that is large; what is cut goes to the skeleton's cuts."""
    pieces: list[bytes] = []
    _Cutter(source, skeleton, frozenset()).message("tensor", 0, source.size, pieces, 0)
    return b"".join(pieces)


class _Window:
    """Numbers of a source, decoded from blocks that are read, not mapped.

    A mapped page may bring its whole neighbourhood of weights into the process.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._block = b""
        self._base = 0

    def varint(self, position: int, end: int) -> tuple[int, int]:
        """The number at a position, and the position behind it."""
        index, block = position - self._base, self._block
        if index < 0 or index + _VARINT_BYTES > len(block):
            self._load(position)
            index, block = position - self._base, self._block
        # Most numbers have one byte.
        if position < end and index < len(block) and block[index] < 0x80:
            return block[index], position + 1
        limit = min(len(block), end - self._base)
        value = 0
        for offset in range(_VARINT_BYTES):
            if index + offset >= limit:
                raise WireError(f"the data ends at byte {end} in the middle of a field")
            byte = block[index + offset]
            value |= (byte & 0x7F) << (7 * offset)
            if byte < 0x80:
                return value, position + offset + 1
        raise WireError(f"a number at byte {position} has more than ten bytes")

    def skip(self, position: int, end: int, tag: int) -> int:
        """The position behind the value of a field that is not length-delimited."""
        wire_type = tag & 7
        if tag >> 3 == 0:
            raise WireError(f"a field before byte {position} has the number 0")
        if wire_type == VARINT:
            return self.varint(position, end)[1]
        if wire_type not in (FIXED64, FIXED32):
            raise WireError(f"a field before byte {position} has an unknown kind {wire_type}")
        position += 8 if wire_type == FIXED64 else 4
        if position > end:
            raise WireError(f"the data ends at byte {end} in the middle of a number")
        return position

    def _load(self, position: int) -> None:
        if self._base + len(self._block) >= self._source.size and self._base <= position:
            return
        self._block = self._source.read(position, min(_BLOCK_BYTES, self._source.size - position))
        self._base = position


class _Cutter:
    def __init__(self, source: Source, skeleton: Skeleton, left: frozenset[int]) -> None:
        self._left = left
        self._source = source
        self._window = _Window(source)
        self._skeleton = skeleton

    def message(self, kind: str, start: int, end: int, out: list[bytes], depth: int) -> int:
        """Appends the message's skeleton to `out`; returns its length."""
        if depth > MAX_DEPTH:
            raise WireError(f"messages are nested more than {MAX_DEPTH} deep at byte {start}")
        if kind == "tensor":
            return self._tensor(start, end, out)
        run_start = start
        length = 0
        for field_start, child, number, value_start, value_end in self._large_children(kind, start, end):
            inner: list[bytes] = []
            inner_nbytes = self.message(child, value_start, value_end, inner, depth + 1)
            if inner_nbytes == value_end - value_start:
                continue
            header = field_header(number, inner_nbytes)
            out += (self._bytes(run_start, field_start), header, *inner)
            length += field_start - run_start + len(header) + inner_nbytes
            run_start = value_end
        out.append(self._bytes(run_start, end))
        return length + end - run_start

    def _bytes(self, start: int, end: int) -> bytes:
        return self._source.read(start, end - start)

    def _large_children(self, kind: str, start: int, end: int) -> list[tuple[int, str, int, int, int]]:
        """The fields that are worth walking into: (start, message, number, start and end of the value)."""
        window, children, singular = self._window, _CHILDREN[kind], _SINGULAR.get(kind, frozenset())
        found: list[tuple[int, str, int, int, int]] = []
        occurrences = dict.fromkeys(singular, 0)
        position = start
        while position < end:
            field_start = position
            tag, position = window.varint(position, end)
            if tag & 7 != BYTES:
                position = window.skip(position, end, tag)
                continue
            number = tag >> 3
            nbytes, position = window.varint(position, end)
            value_start, position = position, position + nbytes
            if position > end:
                raise WireError(f"a field of {nbytes} bytes at byte {field_start} goes past the end")
            if number in singular:
                occurrences[number] += 1
            child = children.get(number)
            if child is not None and nbytes >= CUT_BYTES:
                found.append((field_start, child, number, value_start, position))
        if any(count > 1 for count in occurrences.values()):
            return [entry for entry in found if occurrences.get(entry[2], 0) < 2]
        return found

    def _tensor(self, start: int, end: int, out: list[bytes]) -> int:
        """Cuts the data of a tensor that has exactly one cuttable data field and no segment of its own."""
        window = self._window
        found: list[tuple[int, int, int, int]] = []
        is_plain = True
        position = start
        while position < end:
            field_start = position
            tag, position = window.varint(position, end)
            number = tag >> 3
            is_plain = is_plain and number != TENSOR_SEGMENT
            if tag & 7 != BYTES:
                is_plain = is_plain and number not in _CUTTABLE
                position = window.skip(position, end, tag)
                continue
            nbytes, position = window.varint(position, end)
            if position + nbytes > end:
                raise WireError(f"a field of {nbytes} bytes at byte {field_start} goes past the end")
            if number in _CUTTABLE:
                found.append((number, field_start, position, nbytes))
            position += nbytes
        if not is_plain or len(found) != 1 or found[0][3] < CUT_BYTES or found[0][2] in self._left:
            out.append(self._bytes(start, end))
            return end - start
        number, field_start, value_start, nbytes = found[0]
        index = len(self._skeleton.cuts)
        self._skeleton.cuts.append((number, Region(self._source, value_start, nbytes)))
        begin, token = encode_varint(index), encode_varint(self._skeleton.token)
        marker = encode_varint(1 << 3) + begin + encode_varint(2 << 3) + token
        parts = (
            self._bytes(start, field_start),
            self._bytes(value_start + nbytes, end),
            field_header(TENSOR_SEGMENT, len(marker)) + marker,
        )
        out += parts
        return sum(map(len, parts))
