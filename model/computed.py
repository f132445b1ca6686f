"""Constants that are computed when they are written: new weights take memory one at a time, or a piece of one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from maxfold.model.data import Array, ArrayData, RegionData, StoredData, TensorData, raw_view, reshaped
from maxfold.model.dtypes import DType
from maxfold.model.equality import Contents
from maxfold.model.reading import is_derived, places_read_together, read_along, read_array
from maxfold.model.storage import ComputedSource, Region
from maxfold.model.wire import RAW_DATA

# Values of fewer bytes are kept once they are computed.
_SMALL_BYTES = 1 << 14
# New weights are computed in pieces of about this many elements, which stay in the processor's cache.
_PIECE_ELEMENTS = 1 << 15
# Constants that are computed one from another when they are written; each is computed again for the next.
_MOST_STEPS = 3

_numbers = itertools.count()


class UnreadError(Exception):
    """Somebody asks for values that were only supposed."""


class SupposedData(TensorData):
    """Values that nobody computed: what a rewrite that is only tried out would make of large weights."""

    def __init__(self, dtype: DType, shape: tuple[int, ...]) -> None:
        self.dtype: DType = dtype
        self.shape = shape
        self.nbytes = dtype.nbytes(math.prod(shape))
        self._number = next(_numbers)

    def elements(self) -> Array:
        raise UnreadError

    def value_bytes(self) -> Region | bytes:
        raise UnreadError

    def contents(self) -> Contents:
        return Contents("supposed values", b"%d" % self._number)


def computed(
    dtype: DType, shape: tuple[int, ...], compute: Callable[[], Array], sources: Iterable[TensorData] = ()
) -> TensorData:
    """Values of whole bytes or packed ones that are computed when they are written, or asked for; each time anew.

    `sources` are the constants that they are computed from: what would be computed over and over again, along a chain
    of such constants, is computed now.
    """
    depth = _depth(sources)
    if depth > _MOST_STEPS:
        return ArrayData(compute(), dtype)
    nbytes = dtype.nbytes(math.prod(shape))
    source = ComputedSource(nbytes, nbytes, lambda _: raw_view(compute(), dtype), depth)
    return StoredData(Region(source, 0, nbytes), dtype, shape, RAW_DATA)


def computed_rows(
    dtype: DType, shape: tuple[int, ...], compute: Callable[[slice], Array], sources: Iterable[TensorData] = (),
    *, least_rows: int = 1,
) -> TensorData:  # fmt: skip
    """As `computed`, a few rows of the first axis at a time, `least_rows` or more; each element takes whole bytes."""
    depth = _depth(sources)
    parts = list(row_pieces(shape, least_rows=least_rows))
    if depth > _MOST_STEPS:
        result = np.empty(shape, dtype.numpy)
        for part in parts:
            result[part] = compute(part)
        return ArrayData(result, dtype)
    nbytes = dtype.nbytes(math.prod(shape))
    piece_nbytes = dtype.nbytes(math.prod((parts[0].stop, *shape[1:]))) if parts else 0
    source = ComputedSource(nbytes, piece_nbytes, lambda index: raw_view(compute(parts[index]), dtype), depth)
    return StoredData(Region(source, 0, nbytes), dtype, shape, RAW_DATA)


def row_pieces(shape: tuple[int, ...], elements: int = _PIECE_ELEMENTS, *, least_rows: int = 1) -> Iterator[slice]:
    """The rows of the first axis, of about so many elements at a time."""
    rows = max(least_rows, elements // max(1, math.prod(shape[1:])))
    for start in range(0, shape[0], rows):
        yield slice(start, min(start + rows, shape[0]))


def transposed(data: TensorData, shape: tuple[int, ...], permutation: Sequence[int]) -> TensorData:
    """The values in a shape, and then with its axes in another order, computed when they are written."""
    assert data.dtype is not None
    result = tuple(shape[axis] for axis in permutation)
    if isinstance(data, SupposedData):
        return SupposedData(data.dtype, result)
    first, padded = permutation[0], reshaped(data, shape)
    if data.dtype.is_packed or is_derived(padded):
        return computed(data.dtype, result, lambda: read_array(padded).transpose(permutation).copy(), [data])

    def rows(part: slice) -> Array:
        return read_along(padded, first, part).transpose(permutation).copy()

    return computed_rows(data.dtype, result, rows, [data], least_rows=places_read_together(data.dtype, shape, first))


def _depth(sources: Iterable[TensorData]) -> int:
    regions = (data.region.source for data in sources if isinstance(data, RegionData))
    return 1 + max((source.depth for source in regions if isinstance(source, ComputedSource)), default=0)


def is_small(dtype: DType, shape: tuple[int, ...]) -> bool:
    """Whether values are kept once they are computed, since keeping how to compute them costs as much."""
    return dtype.nbytes(math.prod(shape)) < _SMALL_BYTES
