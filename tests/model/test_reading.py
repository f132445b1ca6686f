"""Values that are read in part."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from maxfold.model import dtypes
from maxfold.model.computed import computed, computed_rows, transposed
from maxfold.model.data import ArrayData, StoredData, TensorData
from maxfold.model.reading import is_derived, read_along, read_array, read_rows
from maxfold.model.storage import FileSource, Region, Source
from maxfold.model.wire import RAW_DATA

_FLOAT = next(dtype for dtype in dtypes.DTYPES if dtype.name == "FLOAT")
_INT4 = next(dtype for dtype in dtypes.DTYPES if dtype.name == "INT4")


def _stored(array: np.ndarray, path: Path | None) -> StoredData:
    raw = b"head" + array.tobytes() + b"tail"
    if path is not None:
        path.write_bytes(raw)
    source = Source(raw) if path is None else FileSource(path)
    return StoredData(Region(source, 4, array.nbytes), _FLOAT, array.shape, RAW_DATA)


@pytest.mark.parametrize("shape", [(6, 400, 3), (3, 5, 500), (1, 4, 4), (700,), (2, 0, 3), (4, 300, 300), (5, 4000)])
@pytest.mark.parametrize("in_file", [False, True])
def test_along_each_axis(shape: tuple[int, ...], in_file: bool, tmp_path: Path) -> None:
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    stored = _stored(array, tmp_path / "data" if in_file else None)
    kinds: list[TensorData] = [
        stored,
        ArrayData(array),
        computed(_FLOAT, shape, lambda: array),
        computed_rows(_FLOAT, shape, lambda part: array[part]),
    ]
    for data in kinds:
        np.testing.assert_array_equal(read_array(data), array, strict=True)
        for axis, size in enumerate(shape):
            for start, stop in itertools.pairwise(sorted({0, size // 3, size})):
                taken = array[(*[slice(None)] * axis, slice(start, stop))]
                np.testing.assert_array_equal(read_along(data, axis, slice(start, stop)), taken, strict=True)
    assert [is_derived(data) for data in kinds] == [False, False, True, True]


def test_packed_values() -> None:
    array = np.arange(-8, 8).reshape(4, 4).astype(_INT4.numpy)
    data = StoredData(Region(Source(bytes(8)), 0, 8), _INT4, (4, 4), RAW_DATA)
    assert not read_rows(data, slice(1, 3)).astype(np.int8).any()
    packed = ArrayData(array, _INT4)
    assert read_along(packed, 1, slice(1, 3)).astype(np.int8).tolist() == array.astype(np.int8)[:, 1:3].tolist()
    turned = transposed(packed, (4, 4), (1, 0))
    assert turned.array().astype(np.int8).tolist() == array.astype(np.int8).T.tolist()


@pytest.mark.parametrize("permutation", list(itertools.permutations(range(3))))
def test_transposed(permutation: tuple[int, ...], tmp_path: Path) -> None:
    array = np.arange(70 * 90 * 50, dtype=np.float32).reshape(70, 90, 50)
    for data in (_stored(array, tmp_path / "data"), computed(_FLOAT, array.shape, lambda: array)):
        turned = transposed(data, (70, 90, 50), permutation)
        assert isinstance(turned, StoredData)
        np.testing.assert_array_equal(turned.array(), array.transpose(permutation), strict=True)
        assert b"".join(turned.region.chunks()) == array.transpose(permutation).tobytes()
