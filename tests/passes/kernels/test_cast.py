"""Cast and CastLike: ONNX's node tests, every pair of types, ties and limits, and what stays undefined."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import defs

from maxfold.model.dtypes import DTYPES, DType
from maxfold.passes.kernels import KERNELS, Call, KernelError, Operand, check
from maxfold.passes.kernels.cast import CAST
from tests.passes.kernels.node_cases import Case, assert_case, cases
from tests.passes.kernels.reference import FORMATS, Array, array_of, bits_of, dtype_of, signed
from tests.passes.kernels.strategies import BY_NAME, NUMERIC, elements, unread

KERNEL = {kernel.operator: kernel for kernel in CAST}
NAN, INF = math.nan, math.inf
NEWEST = defs.onnx_opset_version()
TYPES = [dtype for dtype in DTYPES if dtype.kind not in ("string", "complex", "opaque")]
FLOAT8 = ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ")
LARGEST = {"FLOAT8E4M3FN": 448, "FLOAT8E4M3FNUZ": 240, "FLOAT8E5M2": 57344, "FLOAT8E5M2FNUZ": 57344}


def cast(values: Array, to: DType, opset: int = NEWEST, **attributes: Any) -> Array:
    """The result of a call that the schema allows."""
    kernel = KERNEL["Cast"]
    attributes = {"to": to.onnx, **attributes}
    assert check(kernel, [dtype_of(values)], opset, attributes) is None
    result = kernel.apply([values], attributes, opset)
    assert (result.dtype, result.shape) == (to.numpy, values.shape)
    assert not np.shares_memory(result, values)
    return result


def is_undefined(case: Case) -> bool:
    """A test that expects something of what the document calls undefined, or does not say."""
    source, target = case.call.array(0).astype(np.float64), case.kernel.results(case.call)[0].dtype
    if target.kind in ("int", "uint"):
        low, high = (-(1 << target.bits - 1), 1 << target.bits - 1) if target.kind == "int" else (0, 1 << target.bits)
        return bool(((source < low) | (source >= high)).any())
    return target.name == "FLOAT4E2M1" and bool(np.isnan(source).any())


@pytest.mark.parametrize("operator", KERNEL)
def test_node_tests(operator: str) -> None:
    assert set(CAST) <= set(KERNELS)
    for case in cases(operator):
        if not is_undefined(case):
            assert_case(case)
            continue
        with pytest.raises(KernelError, match=r"the specification does not say what (it|NaN) becomes"):
            case.kernel.evaluate(case.call)


@pytest.mark.parametrize("source", TYPES, ids=str)
@pytest.mark.parametrize("target", TYPES, ids=str)
def test_small_numbers_survive_every_pair(source: DType, target: DType) -> None:
    values = np.array([[1], [1]]).astype(source.numpy)
    assert cast(values, target).astype(np.float64).tolist() == [[1.0], [1.0]]
    assert cast(values[:0], target).shape == (0, 1)
    operands = [Operand(source, (2, 1), lambda: values), Operand(target, (0,), unread)]
    if check(KERNEL["CastLike"], [source, target], NEWEST) is None:
        (result,) = KERNEL["CastLike"].evaluate(Call(tuple(operands), {}, NEWEST))
        assert (result.dtype, result.shape) == (target.numpy, (2, 1))


def fraction(bits: int, name: str) -> Fraction | None:
    """The number of an element, None for NaN and infinity."""
    if name not in FORMATS:
        return Fraction(signed(bits, BY_NAME[name]))
    negative, size, _ = FORMATS[name].decode(bits)
    return None if size is None else -size if negative else size


@given(data=st.data())
def test_numbers_between_wide_types(data: st.DataObject) -> None:
    source = BY_NAME[data.draw(st.sampled_from(NUMERIC))]
    target = BY_NAME[data.draw(st.sampled_from(NUMERIC))]
    bits = data.draw(elements(source))
    values, exact = array_of([bits], source, (1,)), fraction(bits, source.name)
    if exact is None:
        return
    if target.kind == "float":
        negative = bits >> (source.bits - 1) == 1 if source.kind == "float" else exact < 0
        assert bits_of(cast(values, target)) == [FORMATS[target.name].encode(negative, abs(exact))]
        return
    whole = math.trunc(exact)
    low = -(1 << target.bits - 1) if target.kind == "int" else 0
    if source.kind == "float" and not low <= whole < low + (1 << target.bits):
        with pytest.raises(KernelError, match=r"outside of"):
            cast(values, target)
        return
    assert bits_of(cast(values, target)) == [whole % (1 << target.bits)]


@pytest.mark.parametrize(
    ("source", "value", "target", "expected"),
    [
        ("INT16", 200, "INT8", -56),
        ("INT64", -(2**63), "UINT8", 0),
        ("INT64", -1, "UINT64", 2**64 - 1),
        ("UINT64", 2**64 - 1, "INT64", -1),
        ("INT32", 9, "INT4", -7),
        ("INT32", 31, "UINT4", 15),
        ("INT8", -3, "UINT2", 1),
        ("INT8", 2, "INT2", -2),
        ("FLOAT", -3.9, "INT32", -3),
        ("FLOAT", -0.9, "UINT8", 0),
        ("FLOAT", 255.9, "UINT8", 255),
        ("FLOAT", 3.5, "BOOL", True),
        ("FLOAT", -0.0, "BOOL", False),
        ("FLOAT", NAN, "BOOL", True),
        ("FLOAT", 1e-45, "BOOL", True),
        ("BOOL", True, "BFLOAT16", 1.0),
        ("UINT64", 2**64 - 1, "FLOAT16", INF),
        ("INT32", -70000, "FLOAT16", -INF),
        ("DOUBLE", 1e300, "FLOAT", INF),
        ("FLOAT", 3.4e38, "BFLOAT16", INF),
        ("DOUBLE", 1 + 2**-8 + 2**-40, "BFLOAT16", 1 + 2**-7),
        ("INT64", 2**40 + 2**32 + 1, "BFLOAT16", 2.0**40 + 2**33),
        ("DOUBLE", 1 + 2**-4 + 2**-40, "FLOAT8E4M3FN", 1.125),
        ("DOUBLE", 1.25 + 2**-40, "FLOAT4E2M1", 1.5),
        ("FLOAT", 100.0, "FLOAT4E2M1", 6.0),
        ("FLOAT", -INF, "FLOAT4E2M1", -6.0),
        ("FLOAT", 100.0, "FLOAT6E2M3", 7.5),
        ("FLOAT", 100.0, "FLOAT6E3M2", 28.0),
        ("INT64", -1000, "FLOAT8E4M3FN", -448.0),
        ("FLOAT8E8M0", 2.0**-127, "FLOAT", 2.0**-127),
        ("FLOAT8E4M3FN", -448.0, "INT16", -448),
    ],
)
def test_values(source: str, value: Any, target: str, expected: Any) -> None:
    wide: Any = np.float64 if isinstance(value, float) else np.object_
    with np.errstate(all="ignore"):
        values = np.array(value, wide).astype(BY_NAME[source].numpy)
    assert cast(values, BY_NAME[target]).astype(object).tolist() == expected


@pytest.mark.parametrize("name", FLOAT8)
@pytest.mark.parametrize("source", ["FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE"])
def test_saturation(name: str, source: str) -> None:
    """The two tables of the document."""
    target, largest = BY_NAME[name], LARGEST[name]
    with np.errstate(all="ignore"):
        values = np.array([0.0, -0.0, NAN, -NAN, INF, -INF, largest, -largest, 60e3, -60e3]).astype(
            BY_NAME[source].numpy
        )
    saturated = cast(values, target)
    plain = cast(values, target, saturate=0)
    decoded = saturated.astype(np.float32)
    assert np.isnan(decoded).tolist() == [False, False, True, True] + [False] * 6
    assert decoded[4:].tolist() == [largest, -largest] * 3
    assert np.signbit(decoded[:2]).tolist() == [False, not name.endswith("UZ")]
    if name == "FLOAT8E5M2":
        assert plain.astype(np.float32)[4:].tolist() == [INF, -INF, largest, -largest, 57344, -57344]
        return
    numbers = [True, True, True, True] if name.endswith("E5M2FNUZ") else [True, True, False, False]
    assert (~np.isnan(plain.astype(np.float32)))[4:].tolist() == [False, False, *numbers]
    if not name.endswith("UZ"):
        assert bits_of(plain)[2:6] == [0x7F, 0xFF, 0x7F, 0xFF]


@pytest.mark.parametrize("name", FLOAT8)
def test_every_8_bit_float_there_and_back(name: str) -> None:
    every = np.arange(256, dtype=np.uint8).view(BY_NAME[name].numpy)
    for wide in ("FLOAT16", "FLOAT", "DOUBLE"):
        there = cast(every, BY_NAME[wide])
        back = cast(there, BY_NAME[name], saturate=0)
        number = ~np.isnan(there)
        assert bits_of(back[number]) == bits_of(every[number])
        assert set(bits_of(there[~number])) <= set(bits_of(np.array(NAN, BY_NAME[wide].numpy)))


@pytest.mark.parametrize(
    ("value", "up", "down", "nearest"),
    [
        (1.0, 127, 127, 127),
        (1.25, 128, 127, 127),
        (1.5, 128, 127, 128),
        (2.0**-127, 0, 0, 0),
        (2.0**127, 254, 254, 254),
        (2.0**-127 * 1.1, 1, 0, 0),
        (NAN, 255, 255, 255),
    ],
)
def test_scales(value: float, up: int, down: int, nearest: int) -> None:
    target = BY_NAME["FLOAT8E8M0"]
    for saturate in (0, 1):
        modes = {"up": up, "down": down, "nearest": nearest}
        for mode, bits in modes.items():
            assert bits_of(cast(np.array([value]), target, saturate=saturate, round_mode=mode)) == [bits]


@pytest.mark.parametrize(("value", "saturated"), [(0.0, 0), (2.0**-130, 0), (2.0**127 * 1.5, 254), (INF, 254)])
def test_scales_beyond_the_range(value: float, saturated: int) -> None:
    target = BY_NAME["FLOAT8E8M0"]
    assert bits_of(cast(np.array([value]), target)) == [saturated]
    assert bits_of(cast(np.array([value]), target, saturate=0, round_mode="nearest")) == [0xFF]


@pytest.mark.parametrize("name", ["FLOAT", "BFLOAT16", "FLOAT16", "DOUBLE"])
def test_nan_is_settled_unless_nothing_is_converted(name: str) -> None:
    nan = np.array([0xFFC12345], np.uint32).view(np.float32)
    expected = nan if name == "FLOAT" else np.array([NAN], BY_NAME[name].numpy)
    assert bits_of(cast(nan, BY_NAME[name])) == bits_of(expected)


@pytest.mark.parametrize("name", ["FLOAT", "INT64", "BOOL"])
def test_names_in_version_1(name: str) -> None:
    result = KERNEL["Cast"].apply([np.array([1.5])], {"to": name}, 5)
    assert result.tolist() == [{"FLOAT": 1.5}.get(name, 1)]


@pytest.mark.parametrize(
    ("value", "to", "opset", "reason"),
    [
        (1.0, 16, 9, "attribute to is 16, no type that this operator set casts to"),
        (1.0, 14, 13, "attribute to is 14, no type"),
        (1.0, 99, 13, "attribute to is 99, no type"),
        (1.0, 1, 5, "attribute to is not a known string"),
        (1.0, "BFLOAT16", 5, "attribute to is 'BFLOAT16', no type"),
        (1.0, 8, 13, "conversions of strings are left to the runtime"),
        (NAN, 7, 13, "a float is outside of int64"),
        (INF, 7, 13, "a float is outside of int64"),
        (2.0**63, 7, 13, "a float is outside of int64"),
        (-1.0, 2, 13, "a float is outside of uint8"),
        (8.0, 22, 21, "a float is outside of int4"),
        (NAN, 23, 23, "the specification does not say what NaN becomes in float4e2m1"),
        (-1.0, 24, 24, "the specification does not say what a negative number becomes in float8e8m0"),
        (-0.0, 24, 24, "the specification does not say what a negative number becomes in float8e8m0"),
    ],
)
def test_declines(value: float, to: Any, opset: int, reason: str) -> None:
    with pytest.raises(KernelError, match=f"^{reason}"):
        KERNEL["Cast"].apply([np.array([value])], {"to": to}, opset)


def test_round_mode_is_known() -> None:
    with pytest.raises(KernelError, match=r"^attribute round_mode is 'other', none of up, down and nearest$"):
        cast(np.ones(1), BY_NAME["FLOAT8E8M0"], round_mode="other")
