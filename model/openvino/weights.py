"""The `.bin` file of an IR: where each constant stands in it, and what writes it."""

from __future__ import annotations

from maxfold.model.data import TensorData
from maxfold.model.equality import Contents, equal_groups
from maxfold.model.errors import ModelError
from maxfold.model.graph import Constant
from maxfold.model.model import Model
from maxfold.model.openvino.strings import StringData, encode_strings
from maxfold.model.output import Writer, parts_writer
from maxfold.model.storage import Region


class Weights:
    """The layout of the `.bin` file: constants in the order of the model, equal ones once."""

    def __init__(self, model: Model) -> None:
        self._offsets: dict[Constant, tuple[int, int]] = {}
        self._parts: list[tuple[int, Region | bytes]] = []
        self._end = 0
        constants = [constant for constant in model.constants() if constant.name or constant.outputs]
        stored = [_blob(constant) for constant in constants]
        group_of: dict[int, list[int]] = {}
        for group in equal_groups([Contents("blob", data) for data in stored]):
            group_of.update(dict.fromkeys(group, group))
        for index, data in enumerate(stored):
            group = group_of.get(index, [index])
            if index == group[0]:
                # Constants of several types may share bytes that stand where each of them may.
                place = self._place(data, max(_alignment(constants[member].data) for member in group))
                self._offsets.update((constants[member], place) for member in group)

    def _place(self, data: Region | bytes, alignment: int) -> tuple[int, int]:
        nbytes = data.nbytes if isinstance(data, Region) else len(data)
        if not nbytes:
            # Aligned, it could stand behind the end of the file, where no reader looks for anything.
            return self._end, 0
        offset = -(-self._end // alignment) * alignment
        self._parts.append((offset, data))
        self._end = offset + nbytes
        return offset, nbytes

    @property
    def nbytes(self) -> int:
        """The size of the file, but for the byte of one without data."""
        return self._end

    def place_of(self, constant: Constant) -> tuple[int, int]:
        """Offset and size of a constant's bytes."""
        return self._offsets[constant]

    def writer(self) -> Writer:
        """What writes the file. OpenVINO maps no empty file, not even for empty constants."""
        parts = self._parts or ([(0, b"\0")] if self._offsets else [])
        return parts_writer(parts)


def _alignment(data: TensorData) -> int:
    return max(1, data.dtype.bits // 8) if data.dtype is not None else 1


def _blob(constant: Constant) -> Region | bytes:
    """A constant's values as IR stores them."""
    data = constant.data
    if isinstance(data, StringData):
        return data.region
    if data.dtype is not None and data.dtype.kind == "string":
        return encode_strings(data.elements())
    if data.dtype is None or data.dtype.openvino is None:
        raise ModelError(f"constant {constant.name!r} is of type {data.dtype}, which OpenVINO does not have")
    return data.value_bytes()
