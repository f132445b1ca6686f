"""The kernel of ONNX Add against the reference, in every version, type and way of broadcasting."""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxfold.model.broadcast import align, pdpd_shape
from maxfold.passes.kernels import KernelError
from maxfold.passes.kernels.add import ADD
from tests.passes.kernels.reference import (
    Array,
    Shape,
    add_arrays,
    assert_elements,
    axis_index,
    broadcast_shape,
    dtype_of,
    tail_index,
)
from tests.passes.kernels.strategies import (
    ADD_TYPES,
    BY_NAME,
    LegacyOperands,
    arrays,
    broadcast_operands,
    dtypes,
    equal_operands,
    legacy_operands,
    pdpd_shapes,
    shape_of,
)

Integers: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

BROADCASTING_VERSIONS = [7, 13, 14]
LEGACY_VERSIONS = [1, 6]


def evaluate(a: Array, b: Array, opset: int, **attributes: object) -> Array:
    """The kernel's result, checked for what every result is: shape, type, layout, new memory."""
    before = a.tobytes(), b.tobytes()
    result = ADD.apply([a, b], attributes, opset)
    assert isinstance(result, np.ndarray)
    assert result.shape == shape_of(ADD, [a.shape, b.shape], attributes, opset)
    assert result.dtype == a.dtype
    assert result.flags.c_contiguous
    assert not np.shares_memory(result, a)
    assert not np.shares_memory(result, b)
    assert (a.tobytes(), b.tobytes()) == before
    return result


@pytest.mark.parametrize("opset", [*BROADCASTING_VERSIONS, 11, 22])
@given(data=st.data())
def test_broadcasts_in_all_directions(opset: int, data: st.DataObject) -> None:
    version = max(version for version in ADD_TYPES if version <= opset)
    a, b = data.draw(broadcast_operands(2, ADD_TYPES[version]))
    result = evaluate(a, b, opset)
    shape = broadcast_shape([a.shape, b.shape])
    assert result.shape == shape
    assert_elements(result, add_arrays(a, b, lambda index: tail_index(index, b.shape), shape))


@pytest.mark.parametrize("opset", [*LEGACY_VERSIONS, 5])
@given(data=st.data())
def test_legacy_broadcasts_second_input_only(opset: int, data: st.DataObject) -> None:
    names = ADD_TYPES[6 if opset >= 6 else 1]
    operands: LegacyOperands = data.draw(legacy_operands(names))
    a, b, axis = operands.a, operands.b, operands.axis
    attributes = {"broadcast": 1} if axis is None else {"broadcast": 1, "axis": axis}
    result = evaluate(a, b, opset, **attributes)
    assert result.shape == a.shape
    assert_elements(result, add_arrays(a, b, lambda index: axis_index(index, b.shape, axis), a.shape))


@pytest.mark.parametrize("opset", LEGACY_VERSIONS)
@given(data=st.data())
def test_legacy_equal_shapes_need_no_attribute(opset: int, data: st.DataObject) -> None:
    a, b = data.draw(equal_operands(2, ADD_TYPES[opset]))
    expected = add_arrays(a, b, lambda index: index, a.shape)
    assert_elements(evaluate(a, b, opset), expected)
    assert_elements(evaluate(a, b, opset, broadcast=0, consumed_inputs=[0, 0]), expected)
    assert_elements(evaluate(a, b, opset, broadcast=1), expected)


@given(data=st.data())
def test_pdpd_operands_once_aligned(data: st.DataObject) -> None:
    """OpenVINO's pdpd is numpy broadcasting after `align`."""
    a_shape, b_shape, axis = data.draw(pdpd_shapes())
    dtype = data.draw(dtypes())
    a, b = data.draw(arrays(dtype, a_shape)), data.draw(arrays(dtype, b_shape))
    result = evaluate(a, b.reshape(align(b_shape, len(a_shape), axis)), 14)
    assert result.shape == pdpd_shape(a_shape, b_shape, axis) == a_shape
    start = len(a_shape) - len(b_shape) if axis == -1 else axis

    def b_index(index: Shape) -> Shape:
        return tail_index(index[: start + len(b_shape)], b_shape)

    assert_elements(result, add_arrays(a, b, b_index, a_shape))


@pytest.mark.parametrize("axis", [0, 1, -2, -1, None])
def test_legacy_axis_on_square_shapes(axis: int | None) -> None:
    """Equal sizes everywhere hide a wrong alignment from shape checks."""
    a = np.zeros((3, 3), np.float32)
    b = np.array([1, 2, 3], np.float32)
    result = evaluate(a, b, 6, broadcast=1, **({} if axis is None else {"axis": axis}))
    along_rows = axis in (0, -2)
    assert result.tolist() == ([[1, 1, 1], [2, 2, 2], [3, 3, 3]] if along_rows else [[1, 2, 3]] * 3)


@pytest.mark.parametrize(
    ("type_name", "a", "b", "expected"),
    [
        ("INT8", 127, 1, -128),
        ("INT8", -128, -1, 127),
        ("UINT8", 250, 10, 4),
        ("INT16", 32767, 1, -32768),
        ("UINT16", 65535, 1, 0),
        ("INT32", 2**31 - 1, 1, -(2**31)),
        ("UINT32", 2**32 - 1, 2, 1),
        ("INT64", 2**63 - 1, 1, -(2**63)),
        ("UINT64", 2**64 - 1, 2**64 - 1, 2**64 - 2),
    ],
)
@pytest.mark.parametrize("shape", [(), (1,), (2, 2)])
def test_integers_wrap_around(type_name: str, a: int, b: int, expected: int, shape: Shape) -> None:
    dtype = BY_NAME[type_name].numpy
    result = evaluate(np.full(shape, a, dtype), np.full(shape, b, dtype), 14)
    assert result.reshape(-1).tolist() == [expected] * result.size


@pytest.mark.parametrize(
    ("dtype", "a", "b", "expected"),
    [
        (ml_dtypes.bfloat16, 256, 1, 256),  # half a unit: to even
        (ml_dtypes.bfloat16, 258, 1, 260),
        (np.float16, 2048, 1, 2048),
        (np.float16, 60000, 60000, np.inf),
        (np.float16, 2**-24, 2**-24, 2**-23),
        (np.float32, 2**24, 1, 2**24),
        (np.float32, 2**-149, 2**-149, 2**-148),
        (np.float64, 2**53, 1, 2**53),
        (np.float64, -(2**-1074), 2**-1073, 2**-1074),
        (np.float32, -np.inf, 1, -np.inf),
    ],
)
def test_rounds_once_to_the_type(dtype: Any, a: float, b: float, expected: float) -> None:
    result = evaluate(np.array(a, dtype), np.array(b, dtype), 14)
    assert float(result) == expected


@pytest.mark.parametrize(
    ("type_name", "bits"),
    [("FLOAT16", 0x7E00), ("BFLOAT16", 0x7FC0), ("FLOAT", 0x7FC00000), ("DOUBLE", 0x7FF8000000000000)],
)
@pytest.mark.parametrize(
    ("a", "b"), [(np.nan, 1), (-1, -np.nan), (np.nan, -np.nan), (np.inf, -np.inf), (-np.inf, np.inf)]
)
@pytest.mark.parametrize("shape", [(), (37,)])
def test_nan_results_have_the_same_bits_everywhere(type_name: str, bits: int, a: float, b: float, shape: Shape) -> None:
    dtype = BY_NAME[type_name]
    result = evaluate(np.full(shape, a, dtype.numpy), np.full(shape, b, dtype.numpy), 14)
    assert set(result.reshape(-1).view(f"u{result.itemsize}").tolist()) == {bits}


@pytest.mark.parametrize(
    ("a", "b", "negative"), [(-0.0, -0.0, True), (-0.0, 0.0, False), (0.0, -0.0, False), (1.5, -1.5, False)]
)
@pytest.mark.parametrize("type_name", ["FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE"])
def test_sign_of_zero(type_name: str, a: float, b: float, negative: bool) -> None:
    dtype = BY_NAME[type_name].numpy
    result = evaluate(np.array([a], dtype), np.array([b], dtype), 14)
    assert result == 0
    assert bool(np.signbit(result[0])) is negative


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_not_rounded_twice(dtype: Any) -> None:
    """All alignments of two significands in which rounding takes place, against integer arithmetic.

    The sum of larger * 2**shift and smaller is formed and rounded in integers; beyond the shifts tried,
    the smaller number is under a quarter of a unit in the last place and cannot change the result.
    """
    precision = 11 if dtype is np.float16 else 8
    significands = np.arange(1 << (precision - 1), 1 << precision, dtype=np.int64)
    step = 1 if precision == 8 else 29
    smaller = np.concatenate([significands[:16], significands[16:-16:step], significands[-16:]])
    for shift in range(precision + 4):
        for sign in (1, -1):
            larger = significands << shift
            sums = larger[:, None] + sign * smaller[None, :]
            scale = 2.0 ** -(precision + 6)
            a = (larger * scale).astype(dtype)
            b = (sign * smaller * scale).astype(dtype)
            result = evaluate(a[:, None], b[None, :], 14)
            assert np.array_equal(result.astype(np.float64), rounded(sums, precision) * scale)


@pytest.mark.parametrize(("dtype", "precision", "unit"), [(np.float16, 11, -24), (ml_dtypes.bfloat16, 8, -133)])
def test_subnormal_sums_of_narrow_floats(dtype: Any, precision: int, unit: int) -> None:
    """All sums of subnormal numbers and the first normal ones, against integer arithmetic."""
    units = np.arange(-(1 << precision), 1 << precision, 1 if precision == 8 else 5, dtype=np.int64)
    values = np.ldexp(units.astype(np.float64), unit).astype(dtype)
    result = evaluate(values[:, None], values[None, :], 14).astype(np.float64)
    sums = units[:, None] + units[None, :]
    assert np.array_equal(result, np.ldexp(rounded(sums, precision).astype(np.float64), unit))


def rounded(numbers: Integers, precision: int) -> Integers:
    """Integers rounded to `precision` binary digits, to nearest with ties to even."""
    sizes = np.abs(numbers)
    result = sizes.copy()
    for excess in range(1, int(sizes.max()).bit_length() - precision + 1):
        long = sizes >> (precision + excess - 1) == 1
        kept, rest = sizes[long] >> excess, sizes[long] & ((1 << excess) - 1)
        half = 1 << (excess - 1)
        result[long] = (kept + ((rest > half) | ((rest == half) & (kept & 1 == 1)))) << excess
    return np.sign(numbers) * result


@pytest.mark.parametrize(
    ("a", "b", "opset", "attributes", "reason"),
    [
        ((2, 3), (2,), 7, {}, "shapes (2, 3) and (2,) do not broadcast: 3 meets 2 in dimension -1"),
        ((2, 3), (3,), 6, {}, "shapes (2, 3) and (3,) differ and nothing broadcasts them"),
        ((2, 3), (3,), 1, {"axis": 1}, "shapes (2, 3) and (3,) differ and nothing broadcasts them"),
        ((3,), (2, 3), 6, {"broadcast": 1}, "shape (2, 3) has more dimensions than shape (3,)"),
        ((2, 3), (2,), 6, {"broadcast": 1}, "shape (2,) is not found in shape (2, 3) at the end"),
        ((2, 3), (1, 3), 6, {"broadcast": 1}, "shape (1, 3) is not found in shape (2, 3) at the end"),
        ((2, 3), (3,), 1, {"broadcast": 1, "axis": 0}, "shape (3,) is not found in shape (2, 3) at axis 0"),
        ((2, 3), (3,), 6, {"broadcast": 1, "axis": 2}, "shape (3,) does not fit into 2 dimensions at axis 2"),
        ((2, 3), (3,), 6, {"broadcast": 2}, "attribute broadcast is 2, neither 0 nor 1"),
        ((2, 3), (3,), 6, {"broadcast": 1.0}, "attribute broadcast is not a known integer"),
        ((2, 3), (3,), 6, {"broadcast": 1, "axis": object()}, "attribute axis is not a known integer"),
    ],
)
def test_declines(a: Shape, b: Shape, opset: int, attributes: dict[str, object], reason: str) -> None:
    with pytest.raises(KernelError) as shape_error:
        shape_of(ADD, [a, b], attributes, opset)
    assert str(shape_error.value).startswith(reason)
    with pytest.raises(KernelError) as error:
        ADD.apply([np.zeros(a, np.float32), np.zeros(b, np.float32)], attributes, opset)
    assert str(error.value) == str(shape_error.value)
    assert "\n" not in str(error.value)


def test_shape_of_huge_operands_is_found_without_allocating() -> None:
    huge = 1 << 40
    assert shape_of(ADD, [(huge, 1), (1, huge)], {}, 14) == (huge, huge)


def test_mixed_types_are_never_promoted() -> None:
    with pytest.raises(TypeError):
        ADD.apply([np.zeros(2, np.float32), np.zeros(2, np.float64)], {}, 14)


def test_result_has_the_type_of_the_operands() -> None:
    for name in ADD_TYPES[14]:
        zero = np.zeros((), BY_NAME[name].numpy)
        assert dtype_of(evaluate(zero, zero, 14)).name == name
