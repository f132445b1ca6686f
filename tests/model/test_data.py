"""What constants say of their values: the bytes to write, and what they are compared by, of every class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from maxfold.model import ModelError, dtypes
from maxfold.model.computed import SupposedData, UnreadError, computed
from maxfold.model.data import (
    ArrayData,
    AttributeData,
    ProtoData,
    RegionData,
    SparseData,
    StoredData,
    TensorData,
    raw_bytes,
)
from maxfold.model.equality import equal_groups
from maxfold.model.openvino.strings import StringData, encode_strings
from maxfold.model.storage import Region, Source

VALUES = np.array([[1, 0, 2], [0, 0, -3]], np.float32)
STRINGS = np.array(["a", "", "bc"], np.object_)
FLOAT = dtypes.DTYPES[0]


def sparse(values: Any = (1, 2, -3), indices: Any = (0, 2, 5), dims: Any = (2, 3)) -> SparseData:
    parts = (numpy_helper.from_array(np.array(values, np.float32), "s"), numpy_helper.from_array(np.array(indices)))
    return SparseData(helper.make_sparse_tensor(*parts, dims))


def region(data: bytes) -> Region:
    return Region(Source(data), 0, len(data))


def data_of_every_class() -> list[TensorData]:
    by_field = helper.make_tensor("w", TensorProto.FLOAT, VALUES.shape, VALUES.reshape(-1).tolist())
    return [
        StoredData(region(VALUES.tobytes()), FLOAT, VALUES.shape, None),
        computed(FLOAT, VALUES.shape, VALUES.copy),
        ProtoData(numpy_helper.from_array(VALUES)),
        ProtoData(by_field),
        ArrayData(VALUES),
        AttributeData(VALUES),
        sparse(),
        sparse(indices=[[0, 0], [0, 2], [1, 2]]),
    ]


def strings_of_every_class() -> list[TensorData]:
    blob = encode_strings(STRINGS)
    string = dtypes.from_numpy(STRINGS.dtype)
    assert string is not None
    return [
        ProtoData(numpy_helper.from_array(STRINGS)),
        ArrayData(STRINGS),
        StringData(region(blob), string, STRINGS.shape, "a constant"),
    ]


def subclasses(kind: type[TensorData]) -> set[type[TensorData]]:
    return {kind}.union(*map(subclasses, kind.__subclasses__()))


def test_every_class_is_tried() -> None:
    tried = {type(data) for data in (*data_of_every_class(), *strings_of_every_class())}
    assert subclasses(TensorData) - tried == {TensorData, RegionData, SupposedData}


def test_supposed_values_are_never_read_and_equal_no_others() -> None:
    one, other = SupposedData(FLOAT, (2, 3)), SupposedData(FLOAT, (2, 3))
    for read in (one.elements, one.array, one.value_bytes, one.load):
        with pytest.raises(UnreadError):
            read()
    assert one.nbytes == 24
    assert equal_groups([one.contents(), other.contents(), one.contents()]) == [[0, 2]]


@pytest.mark.parametrize("index", range(len(data_of_every_class())))
def test_value_bytes_are_those_of_all_elements(index: int) -> None:
    data = data_of_every_class()[index]
    written = data.value_bytes()
    assert (bytes(written.view()) if isinstance(written, Region) else written) == raw_bytes(VALUES, FLOAT)
    np.testing.assert_array_equal(data.array(), VALUES)


@pytest.mark.parametrize("index", range(len(strings_of_every_class())))
def test_strings_have_no_value_bytes(index: int) -> None:
    with pytest.raises(ModelError, match="type string has no values that could be written as bytes"):
        strings_of_every_class()[index].value_bytes()


def test_contents_are_equal_however_values_are_stored() -> None:
    dense = [data.contents() for data in data_of_every_class() if not isinstance(data, SparseData)]
    strings = [data.contents() for data in strings_of_every_class()]
    groups = equal_groups([*dense, *strings])
    assert groups == [list(range(len(dense))), list(range(len(dense), len(dense) + len(strings)))]


def test_contents_of_sparse_values_are_no_values() -> None:
    key = sparse().contents().key()
    assert equal_groups([sparse().contents(), ArrayData(np.frombuffer(key, np.uint8)).contents()]) == []
    assert equal_groups([sparse().contents(), sparse().contents()]) == [[0, 1]]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (sparse(dims=[1 << 40]), r"of shape \[1099511627776\] would have 4398046511104 bytes as a dense one"),
        (sparse(dims=[1 << 62, 1 << 62]), "or more bytes as a dense one"),
        (sparse(dims=[2, -3]), "negative dimension"),
        (sparse(indices=[0, 2, -1]), "indices outside its shape"),
        (sparse(indices=[0, 2, 6]), "indices outside its shape"),
        (sparse(indices=[[0, 0], [0, 3], [1, 2]]), "indices outside its shape"),
        (sparse(indices=[0, 2]), "has 3 values, but not as many indices"),
        (sparse(indices=[[0], [2], [5]]), "not as many indices into its shape"),
    ],
)
def test_sparse_values_that_have_no_place(data: SparseData, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        data.array()


def test_sparse_proto_is_checked_before_it_is_decoded() -> None:
    proto = sparse().proto
    proto.values.dims[0] = 1 << 50
    with pytest.raises(ModelError, match="the file is damaged or incomplete"):
        SparseData(proto).array()


def test_unknown_types_are_compared_and_not_written() -> None:
    proto = onnx.TensorProto(data_type=99, dims=[2], raw_data=b"ab")
    assert equal_groups([ProtoData(proto).contents(), ProtoData(proto).contents()]) == [[0, 1]]
    with pytest.raises(ModelError, match="no values that could be written"):
        ProtoData(proto).value_bytes()


def test_files_are_not_read_for_it(tmp_path: Path) -> None:
    class Unread(Source):
        def view(self, offset: int, nbytes: int) -> memoryview:
            raise AssertionError("was read")

    data = StoredData(Region(Unread(VALUES.tobytes()), 0, VALUES.nbytes), FLOAT, VALUES.shape, None)
    assert isinstance(data.value_bytes(), Region)
    data.contents()
