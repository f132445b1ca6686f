"""The arithmetic kernels: ONNX's node tests, fractions and Python integers, legacy versions, and what they decline."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxfold.passes.kernels import KERNELS, KernelError, check, find
from maxfold.passes.kernels.arithmetic import ARITHMETIC
from tests.passes.kernels.node_cases import assert_case, cases
from tests.passes.kernels.reference import FORMATS, Array, array_of, bits_of, dtype_of, signed
from tests.passes.kernels.strategies import BY_NAME, IEEE, NARROW_INTEGERS, WIDE_INTEGERS, elements

KERNEL = {kernel.operator: kernel for kernel in ARITHMETIC}
FLOATS = (*IEEE, "BFLOAT16")
INTEGERS = (*WIDE_INTEGERS, *NARROW_INTEGERS)
NAN, INF = math.nan, math.inf


def run(operator: str, *operands: Array, opset: int = 22, **attributes: Any) -> Array:
    """The result of a call that the schema allows."""
    kernel = KERNEL[operator]
    assert check(kernel, [dtype_of(operand) for operand in operands], opset, attributes) is None
    return kernel.apply(operands, attributes, opset)


def test_in_the_table() -> None:
    assert set(ARITHMETIC) <= set(KERNELS)
    assert find("", "Mod", 9) is None


@pytest.mark.parametrize("operator", KERNEL)
def test_node_tests(operator: str) -> None:
    for case in cases(operator):
        assert_case(case)


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY: dict[str, Any] = {
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": lambda a, b: a / b if isinstance(a, Fraction) else quotient(a, b),
}


@pytest.mark.parametrize("operator", BINARY)
@given(data=st.data())
def test_floats_are_rounded_once(operator: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(FLOATS))
    form, dtype = FORMATS[name], BY_NAME[name]
    pair = [data.draw(elements(dtype)), data.draw(elements(dtype))]
    result = bits_of(run(operator, *(array_of([bits], dtype, (1,)) for bits in pair)))[0]
    (a_negative, a, _), (b_negative, b, _) = map(form.decode, pair)
    if a is None or b is None or (operator == "Div" and b == 0):
        return
    exact = BINARY[operator](-a if a_negative else a, -b if b_negative else b)
    if exact:
        assert result == form.encode(exact < 0, abs(exact))
    else:
        negative = a_negative and not b_negative if operator == "Sub" else a_negative != b_negative
        assert result == form.encode(negative, Fraction(0))


@pytest.mark.parametrize("operator", [*BINARY, "Mod"])
@given(data=st.data())
def test_integers_wrap_around(operator: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(INTEGERS))
    dtype = BY_NAME[name]
    a_bits, b_bits = data.draw(elements(dtype)), data.draw(elements(dtype))
    a, b = signed(a_bits, dtype), signed(b_bits, dtype)
    operands = [array_of([bits], dtype, (1,)) for bits in (a_bits, b_bits)]
    least = dtype.kind == "int" and a == -(1 << dtype.bits - 1) and b == -1
    if (operator in ("Div", "Mod") and b == 0) or (operator == "Div" and least):
        with pytest.raises(KernelError, match=r"^it divides"):
            run(operator, *operands)
        return
    exact = a % b if operator == "Mod" else BINARY[operator](a, b)
    assert bits_of(run(operator, *operands)) == [exact % (1 << dtype.bits)]
    if operator == "Mod":
        assert run("Mod", *operands, fmod=1).tolist() == [a - quotient(a, b) * b]


@given(data=st.data())
def test_remainders_of_floats(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(FLOATS))
    form, dtype = FORMATS[name], BY_NAME[name]
    pair = [data.draw(elements(dtype)), data.draw(elements(dtype))]
    (a_negative, a, _), (b_negative, b, _) = map(form.decode, pair)
    operands = [array_of([bits], dtype, (1,)) for bits in pair]
    cut, floored = (bits_of(run("Mod", *operands, opset=28, fmod=fmod))[0] for fmod in (1, 0))
    if a is None or not b:
        return
    x, y = -a if a_negative else a, -b if b_negative else b
    rest = x - math.trunc(x / y) * y
    assert cut == form.encode(a_negative, abs(rest))
    rest = x - math.floor(x / y) * y
    assert floored == form.encode(b_negative, abs(rest))


@pytest.mark.parametrize(
    ("a", "b", "fmod", "expected"),
    [
        (1.5, INF, 0, 1.5),
        (-1.5, INF, 0, INF),
        (1.5, -INF, 0, -INF),
        (-1.5, INF, 1, -1.5),
        (-0.0, 2.0, 0, 0.0),
        (0.0, -2.0, 0, -0.0),
        (INF, 2.0, 0, NAN),
        (1.0, 0.0, 1, NAN),
        (1.0, 0.0, 0, NAN),
    ],
)
def test_special_remainders(a: float, b: float, fmod: int, expected: float) -> None:
    result = run("Mod", np.array(a, np.float32), np.array(b, np.float32), opset=28, fmod=fmod)
    assert bits_of(result) == bits_of(np.array(expected, np.float32))


@given(data=st.data())
def test_integer_powers(data: st.DataObject) -> None:
    dtype = BY_NAME[data.draw(st.sampled_from(["INT32", "INT64"]))]
    exponent_dtype = BY_NAME[data.draw(st.sampled_from(INTEGERS))]
    base, bits = data.draw(elements(dtype)), data.draw(elements(exponent_dtype))
    exponent = signed(bits, exponent_dtype)
    operands = array_of([base], dtype, (1,)), array_of([bits], exponent_dtype, (1, 1))
    if exponent < 0:
        with pytest.raises(KernelError, match=r"negative power"):
            run("Pow", *operands)
        return
    result = run("Pow", *operands)
    assert (bits_of(result), result.shape) == ([pow(base, exponent, 1 << dtype.bits)], (1, 1))


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [
        (np.float32(3), np.int64(2), 9),
        (np.float32(2), np.float64(0.5), np.float32(math.sqrt(2))),
        (np.float32(-1), np.int64(2**53 + 1), -1),
        (np.float16(300), np.int8(2), INF),
        (np.float64(1.1), np.int32(2), 1.1**2),
        (np.float32(NAN), np.float32(0), 1),
        (np.int32(-3), np.float32(3), -27),
        (np.int64(10), np.float64(18), 10**18),
        (np.float32(-8), np.float32(0.5), NAN),
    ],
)
def test_powers_of_mixed_types(base: Any, exponent: Any, expected: Any) -> None:
    result = run("Pow", np.array(base), np.array(exponent), opset=13)
    np.testing.assert_array_equal(result, np.array(expected, base.dtype), strict=True)


UNARY: dict[str, Any] = {
    "Neg": lambda x: -x,
    "Abs": abs,
    "Floor": math.floor,
    "Ceil": math.ceil,
    "Round": round,
    "Reciprocal": lambda x: 1 / x,
}


@pytest.mark.parametrize("operator", UNARY)
@given(data=st.data())
def test_unary_floats(operator: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(FLOATS))
    form, dtype = FORMATS[name], BY_NAME[name]
    bits = data.draw(elements(dtype))
    result = bits_of(run(operator, array_of([bits], dtype, (1,))))[0]
    negative, size, nan = form.decode(bits)
    if nan:
        assert result == form.encode(False, None) | 1 << form.precision - 2
        return
    if not size:
        return
    exact = Fraction(UNARY[operator](-size if negative else size))
    is_negative = exact < 0 or (exact == 0 and negative)
    assert result == form.encode(is_negative, abs(exact))


@given(data=st.data())
def test_square_root_is_the_nearest(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(FLOATS))
    form, dtype = FORMATS[name], BY_NAME[name]
    bits = data.draw(elements(dtype)) >> 1
    _, size, _ = form.decode(bits)
    if not size:
        return
    result = bits_of(run("Sqrt", array_of([bits], dtype, (1,))))[0]
    below, root, above = (form.decode(result + step)[1] for step in (-1, 0, 1))
    assert below is not None
    assert root is not None
    assert above is not None
    assert ((below + root) / 2) ** 2 <= size <= ((root + above) / 2) ** 2


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("Neg", np.array([-128, 5], np.int8), [-128, -5]),
        ("Abs", np.array([-128, -5], np.int8), [-128, 5]),
        ("Abs", np.array([200], np.uint8), [200]),
        ("Sign", np.array([-7, 0, 3], np.int64), [-1, 0, 1]),
        ("Sign", np.array([7, 0], np.uint64), [1, 0]),
        ("Sign", np.array([-INF, -0.0, 1e-45], np.float32), [-1, 0, 1]),
        ("Round", np.array([0.5, 1.5, -2.5, 0.49999997], np.float32), [0, 2, -2, 0]),
    ],
)
def test_unary_values(operator: str, values: Array, expected: list[float]) -> None:
    result = run(operator, values)
    assert bits_of(result) == bits_of(np.array(expected, values.dtype))


@pytest.mark.parametrize("operator", ["Floor", "Ceil", "Round", "Sqrt"])
def test_special_values_stay(operator: str) -> None:
    values = np.array([0.0, -0.0, INF], np.float32)
    assert bits_of(run(operator, values)) == bits_of(values)


@pytest.mark.parametrize(
    ("name", "direction", "value", "amount", "expected"),
    [
        ("UINT8", "LEFT", 255, 1, 254),
        ("UINT64", "RIGHT", 2**64 - 1, 63, 1),
        ("INT8", "RIGHT", -128, 7, -1),
        ("INT8", "LEFT", 1, 7, -128),
        ("INT8", "RIGHT", -128, 8, -1),
        ("INT8", "RIGHT", -128, -1, -1),
        ("INT8", "RIGHT", 127, -1, 0),
        ("INT8", "LEFT", -1, 8, 0),
        ("UINT32", "LEFT", 1, 32, 0),
        ("UINT32", "RIGHT", 2**32 - 1, 32, 0),
    ],
)
def test_shifts(name: str, direction: str, value: int, amount: int, expected: int) -> None:
    dtype = BY_NAME[name].numpy
    result = run("BitShift", np.array(value, dtype), np.array([amount], dtype), opset=28, direction=direction)
    assert (result.tolist(), result.dtype) == ([expected], dtype)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (None, None, [-3.0, -0.0, 2.0]),
        (-1.0, None, [-1.0, -0.0, 2.0]),
        (None, 1.0, [-3.0, -0.0, 1.0]),
        (0.0, 1.0, [0.0, -0.0, 1.0]),
        (3.0, 1.0, [1.0, 1.0, 1.0]),
    ],
)
def test_clip_by_attributes_and_by_inputs(low: float | None, high: float | None, expected: list[float]) -> None:
    values = np.array([-3.0, -0.0, 2.0], np.float32)
    attributes = {name: bound for name, bound in (("min", low), ("max", high)) if bound is not None}
    for opset in (1, 6, 10):
        assert bits_of(run("Clip", values, opset=opset, **attributes)) == bits_of(np.array(expected, np.float32))
    if low is not None and high is not None:
        bounds = [np.array(bound, np.float32) for bound in (low, high)]
        for opset in (11, 13):
            result = run("Clip", values, *bounds, opset=opset)
            assert bits_of(result) == bits_of(np.array(expected, np.float32))


def test_clip_bound_of_half_is_rounded() -> None:
    assert run("Clip", np.zeros(1, np.float16), opset=6, min=0.1).tolist() == [float(np.float16(0.1))]
    assert np.isnan(run("Clip", np.array([NAN], np.float32), opset=6, min=0.0, max=1.0)).all()
    assert run("Clip", np.array([-INF, INF], np.float32), opset=6, min=0.0, max=1.0).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("name", FLOATS)
def test_least_zero_and_nan(name: str) -> None:
    plus, minus, nan = (np.array([value], BY_NAME[name].numpy) for value in (0.0, -0.0, NAN))
    for operands in ([plus, minus], [minus, plus]):
        assert bits_of(run("Min", *operands)) == bits_of(minus)
    assert bits_of(run("Min", plus, nan)) == bits_of(run("Min", nan, plus)) == bits_of(nan)
    assert run("Min", np.array([3, -4], np.int64), np.array(-1)).tolist() == [-1, -4]


@pytest.mark.parametrize(
    ("operator", "operands", "expected"),
    [
        ("Sum", [1.0, 2.0**-24, 2.0**-24], 1 + 2.0**-23),
        ("Sum", [3e38, 3e38, -3e38], 3e38),
        ("Mean", [1.0, 2.0, 6.0], 3.0),
        ("Mean", [3e38, 3e38], 3e38),
        ("Sum", [INF, -INF], NAN),
    ],
)
def test_sums_are_rounded_once(operator: str, operands: list[float], expected: float) -> None:
    result = run(operator, *(np.array([[value]], np.float32) for value in operands))
    np.testing.assert_array_equal(result, np.array([[expected]], np.float32), strict=True)


def test_sum_of_one_and_of_shapes() -> None:
    odd_nan = np.array([0xFFC12345], np.uint32).view(np.float32)
    for operator in ("Sum", "Mean", "Min"):
        assert bits_of(run(operator, odd_nan)) == bits_of(odd_nan)
        assert run(operator, np.ones((2, 1), np.float16), np.ones(3, np.float16), opset=8).shape == (2, 3)


@pytest.mark.parametrize("operator", ["Sub", "Mul", "Div", "Pow"])
def test_legacy_broadcast(operator: str) -> None:
    a, b = np.full((2, 3, 4), 2, np.float32), np.array([1, 2, 4], np.float32)
    expected = run(operator, a, b.reshape(3, 1), opset=13)
    assert run(operator, a, b, opset=6, broadcast=1, axis=1).tolist() == expected.tolist()
    with pytest.raises(KernelError, match=r"differ and nothing broadcasts them"):
        run(operator, a, b, opset=6)


@pytest.mark.parametrize(
    ("operator", "operands", "opset", "attributes", "reason"),
    [
        ("Mod", [[1.0], [2.0]], 13, {}, "fmod=0 is for integers in this operator set"),
        ("Mod", [[1.0], [2.0]], 13, {"fmod": 2}, "attribute fmod is 2, neither 0 nor 1"),
        ("Sign", [[NAN]], 13, {}, "the specification does not say what the sign of NaN is"),
        ("Pow", [[2], [0.5]], 13, {}, "an integer to a power that is no small natural number"),
        ("Pow", [[10], [19.0]], 13, {}, "a power is outside of the integer type or near its limits"),
        ("Clip", [[1.0], [[0.0]], 1.0], 13, {}, r"min is no scalar, but of shape \(1, 1\)"),
        ("Clip", [[1.0], NAN], 13, {}, "min is NaN"),
        ("Clip", [[-INF]], 13, {}, "an infinity meets a bound that is left out"),
        ("Clip", [[INF]], 6, {"min": 0.0}, "an infinity meets a bound that is left out"),
    ],
)
def test_declines(operator: str, operands: list[Any], opset: int, attributes: dict[str, Any], reason: str) -> None:
    with pytest.raises(KernelError, match=f"^{reason}"):
        run(operator, *map(np.array, operands), opset=opset, **attributes)


@pytest.mark.parametrize(
    ("direction", "amount", "reason"),
    [("UP", 1, "attribute direction is 'UP'"), ("LEFT", 8, "this operator set does not say"), ("RIGHT", 8, "this op")],
)
def test_shift_declines(direction: str, amount: int, reason: str) -> None:
    with pytest.raises(KernelError, match=f"^{reason}"):
        run("BitShift", np.array([1], np.uint8), np.array(amount, np.uint8), opset=11, direction=direction)


@pytest.mark.parametrize("operator", ["Div", "Mod"])
def test_nothing_is_divided_by_zero(operator: str) -> None:
    assert run(operator, np.empty((0, 1), np.int32), np.zeros(3, np.int32)).shape == (0, 3)
