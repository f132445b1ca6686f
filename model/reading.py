"""Values of constants, read in part and not through the map of a file: pages that are mapped stay in memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxfold.model.data import Array, StoredData, TensorData, check_rank
from maxfold.model.dtypes import DType
from maxfold.model.storage import CHUNK_BYTES, ComputedSource, Region

# Of rows with fewer bytes, all is read, in large pieces, and what is not wanted dropped: a call for each costs more.
_SHORT_ROW_BYTES = 1 << 13
# In how many steps at the most one goes along an axis, in short rows and in long ones.
_MOST_STEPS = (8, 16)


def read_array(data: TensorData) -> Array:
    """All of the values."""
    found = _plain_layout(data)
    if found is None:
        return data.array()
    check_rank(data.shape)
    region, dtype = found
    return np.frombuffer(region.source.fetch(region.offset, region.nbytes), dtype).reshape(data.shape)


def read_rows(data: TensorData, part: slice) -> Array:
    """Rows of the first axis, from start to stop; only they are read where that can be."""
    return read_along(data, 0, part)


def read_along(data: TensorData, axis: int, part: slice) -> Array:
    """What lies along an axis from start to stop; only that is kept where that can be."""
    found = _plain_layout(data)
    if found is None or not math.prod(data.shape):
        return data.array()[(*[slice(None)] * axis, part)]
    check_rank(data.shape)
    region, dtype = found
    outer, inner = math.prod(data.shape[:axis]), dtype.itemsize * math.prod(data.shape[axis + 1 :])
    shape = (*data.shape[:axis], part.stop - part.start, *data.shape[axis + 1 :])
    start, stop = part.start * inner, part.stop * inner
    if outer == 1:
        return np.frombuffer(region.source.fetch(region.offset + start, stop - start), dtype).reshape(shape)
    if isinstance(region.source, ComputedSource):
        # Fetched in many pieces, it might be computed anew for each.
        return read_array(data)[(*[slice(None)] * axis, part)]
    return np.frombuffer(_columns(region, outer, slice(start, stop)), dtype).reshape(shape)


def places_read_together(dtype: DType, shape: tuple[int, ...], axis: int) -> int:
    """How many places along an axis are worth being read at a time, since each time costs something for every row."""
    if math.prod(shape[:axis]) == 1:
        return 1
    is_long = dtype.nbytes(math.prod(shape[axis:])) >= _SHORT_ROW_BYTES
    return max(1, -(-shape[axis] // _MOST_STEPS[is_long]))


def is_derived(data: TensorData) -> bool:
    """Whether the values are computed when they are asked for."""
    found = _plain_layout(data)
    return found is not None and isinstance(found[0].source, ComputedSource)


def _columns(region: Region, rows: int, part: slice) -> bytearray:
    """The same bytes of each of so many rows that make up a region."""
    row_nbytes, taken = region.nbytes // rows, part.stop - part.start
    found = bytearray(rows * taken)
    table = np.frombuffer(found, np.uint8).reshape(rows, taken)
    together = 1 if row_nbytes >= _SHORT_ROW_BYTES else CHUNK_BYTES // row_nbytes
    for first in range(0, rows, together):
        last = min(first + together, rows)
        if together == 1:
            offset = region.offset + first * row_nbytes + part.start
            table[first] = np.frombuffer(region.source.fetch(offset, taken), np.uint8)
            continue
        read = region.source.fetch(region.offset + first * row_nbytes, (last - first) * row_nbytes)
        table[first:last] = np.frombuffer(read, np.uint8).reshape(last - first, row_nbytes)[:, part]
    return found


def _plain_layout(data: TensorData) -> tuple[Region, np.dtype[Any]] | None:
    """Where the stored bytes are those of an array: the bytes, and the type of its elements."""
    if not isinstance(data, StoredData) or data.dtype is None or data.dtype.is_packed or data.dtype.kind == "opaque":
        return None
    return data.region, data.dtype.numpy
