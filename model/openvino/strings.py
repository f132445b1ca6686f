"""String constants of IR: a count, offsets and UTF-8 text in one blob."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from maxfold.model.data import Array, RegionData, string_contents
from maxfold.model.dtypes import DType
from maxfold.model.equality import Contents
from maxfold.model.errors import ModelError
from maxfold.model.storage import Region

_WORD_BYTES = 4


class StringData(RegionData):
    """Strings in a region: int32 count, count + 1 int32 offsets of which the first is 0, then the text."""

    def __init__(self, region: Region, dtype: DType, shape: tuple[int, ...], what: str) -> None:
        super().__init__(region, dtype, shape, None)
        count = math.prod(shape)
        header = np.frombuffer(region.source.read(region.offset, min(region.nbytes, _WORD_BYTES)), np.uint8)
        if header.size < _WORD_BYTES or int(header.view("<i4")[0]) != count:
            raise ModelError(f"{what} has {count} strings by its shape, but other data; the file is damaged")
        if region.nbytes < _WORD_BYTES * (count + 2):
            raise ModelError(f"{what} has {count} strings but only {region.nbytes} bytes; the file is damaged")
        offsets = self._offsets(count)
        text_nbytes = region.nbytes - _WORD_BYTES * (count + 2)
        if (np.diff(offsets) < 0).any() or offsets[0] != 0 or offsets[-1] > text_nbytes:
            raise ModelError(f"{what} has strings that lie outside its text; the file is damaged")

    def _offsets(self, count: int) -> Array:
        data = self.region.source.read(self.region.offset + _WORD_BYTES, _WORD_BYTES * (count + 1))
        return np.frombuffer(data, "<i4")

    def elements(self) -> Array:
        """The strings as an array of objects."""
        items = [item.decode("utf-8", "replace") for item in self._items()]
        array = np.empty(len(items), np.object_)
        array[:] = items
        array.flags.writeable = False
        return array

    def contents(self) -> Contents:
        return string_contents(self._items())

    def _items(self) -> list[bytes]:
        view = self.region.view()
        count = math.prod(self.shape)
        text = bytes(view[_WORD_BYTES * (count + 2) :])
        return [text[start:end] for start, end in pairwise(self._offsets(count))]


def encode_strings(array: Array) -> bytes:
    """The blob of an array of strings."""
    items = [item if isinstance(item, bytes) else str(item).encode() for item in array.reshape(-1)]
    offsets = np.cumsum([0, *map(len, items)]).astype("<i4")
    return np.array([len(items)], "<i4").tobytes() + offsets.tobytes() + b"".join(items)
