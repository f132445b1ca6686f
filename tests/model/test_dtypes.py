"""The table of element types against onnx's own, and its look-ups."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, defs, helper

from maxfold.model.dtypes import DTYPES, DType, from_numpy, from_onnx, from_openvino

# Its iinfo and finfo have no annotations.
LIMITS: Any = ml_dtypes

ONNX_ROWS = [dtype for dtype in DTYPES if dtype.onnx is not None]
OPENVINO_ROWS = [dtype for dtype in DTYPES if dtype.openvino is not None]
# Opaque types share numpy's uint8 with the real one: their values are never looked at.
COMPUTED_ROWS = [dtype for dtype in DTYPES if dtype.kind != "opaque"]
KNOWN_TO_ONNX = dict(TensorProto.DataType.items())


def test_every_onnx_type_is_in_the_table() -> None:
    in_table = {dtype.name: dtype.onnx for dtype in ONNX_ROWS}
    assert KNOWN_TO_ONNX.keys() - in_table.keys() == {"UNDEFINED"}
    assert {name: in_table[name] for name in KNOWN_TO_ONNX if name != "UNDEFINED"} == {
        name: value for name, value in KNOWN_TO_ONNX.items() if name != "UNDEFINED"
    }


@pytest.mark.parametrize("dtype", ONNX_ROWS, ids=str)
def test_numpy_type_is_the_one_of_onnx(dtype: DType) -> None:
    assert dtype.onnx is not None
    if dtype.onnx in KNOWN_TO_ONNX.values():
        assert helper.tensor_dtype_to_np_dtype(dtype.onnx) == dtype.numpy


def test_lower_case_name_is_the_name_in_operator_schemas() -> None:
    written = {
        text
        for schema in defs.get_all_schemas_with_history()
        for constraint in schema.type_constraints
        for text in constraint.allowed_type_strs
        if text.startswith("tensor(")
    }
    assert "tensor(bfloat16)" in written
    assert written <= {f"tensor({dtype})" for dtype in DTYPES}


@pytest.mark.parametrize("column", ["name", "onnx", "openvino", "numpy"])
def test_columns_have_no_duplicates(column: str) -> None:
    rows = COMPUTED_ROWS if column == "numpy" else DTYPES
    values = [getattr(dtype, column) for dtype in rows if getattr(dtype, column) is not None]
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("dtype", COMPUTED_ROWS, ids=str)
def test_kind_and_width(dtype: DType) -> None:
    if dtype.kind == "string":
        assert dtype.bits == 0
        assert not dtype.is_packed
        return
    assert dtype.bits <= 8 * dtype.numpy.itemsize
    assert dtype.is_packed == (dtype.bits < 8)
    if dtype.is_packed:
        assert dtype.numpy.itemsize == 1
    else:
        assert dtype.bits == 8 * dtype.numpy.itemsize
    if dtype.kind in ("int", "uint"):
        assert LIMITS.iinfo(dtype.numpy).bits == dtype.bits
        assert (LIMITS.iinfo(dtype.numpy).min < 0) == (dtype.kind == "int")
    if dtype.kind == "float":
        assert LIMITS.finfo(dtype.numpy).bits == dtype.bits


@pytest.mark.parametrize("dtype", ONNX_ROWS, ids=str)
def test_found_by_onnx_value(dtype: DType) -> None:
    assert dtype.onnx is not None
    assert from_onnx(dtype.onnx) is dtype


@pytest.mark.parametrize("dtype", OPENVINO_ROWS, ids=str)
def test_found_by_openvino_name(dtype: DType) -> None:
    assert dtype.openvino is not None
    assert from_openvino(dtype.openvino) is dtype


@pytest.mark.parametrize("dtype", COMPUTED_ROWS, ids=str)
def test_found_by_numpy_type(dtype: DType) -> None:
    assert from_numpy(dtype.numpy) is dtype
    assert from_numpy(np.empty(0, dtype.numpy).dtype) is dtype


@pytest.mark.parametrize(
    ("numpy_type", "name"),
    [
        (">f4", "FLOAT"),
        (">i8", "INT64"),
        ("<u2", "UINT16"),
        (np.longlong, "INT64"),
        (np.ulonglong, "UINT64"),
        ("U3", "STRING"),
        ("S3", "STRING"),
        ("O", "STRING"),
    ],
)
def test_other_spellings_of_numpy_types(numpy_type: str | type, name: str) -> None:
    dtype = from_numpy(np.dtype(numpy_type))
    assert dtype is not None
    assert dtype.name == name


def test_openvino_names_are_not_numpys() -> None:
    """numpy reads "i8" as eight bytes, OpenVINO as eight bits."""
    dtype = from_openvino("i8")
    assert dtype is not None
    assert dtype.bits == 8


def test_unknown_types_are_none() -> None:
    assert from_onnx(TensorProto.UNDEFINED) is None
    assert from_onnx(-1) is None
    assert from_onnx(1000) is None
    assert from_openvino("") is None
    assert from_openvino("float32") is None
    assert from_openvino("F32") is None
    assert from_numpy(np.dtype("datetime64[s]")) is None
    assert from_numpy(np.dtype([("a", np.int8)])) is None


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [
        ("FLOAT", 3, 12),
        ("BFLOAT16", 3, 6),
        ("INT4", 0, 0),
        ("INT4", 1, 1),
        ("UINT4", 2, 1),
        ("UINT4", 3, 2),
        ("INT2", 5, 2),
        ("FLOAT6E2M3", 3, 3),
        ("FLOAT6E3M2", 4, 3),
        ("BOOL", 5, 5),
        ("COMPLEX128", 2, 32),
        ("DOUBLE", 1 << 70, 1 << 73),
        ("STRING", 5, 0),
    ],
)
def test_stored_bytes(name: str, count: int, expected: int) -> None:
    (dtype,) = [dtype for dtype in DTYPES if dtype.name == name]
    assert dtype.nbytes(count) == expected
