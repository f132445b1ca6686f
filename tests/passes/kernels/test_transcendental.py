"""Kernels of functions of one number: ONNX's node tests, Python's math module, exact formulas, and declines."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxfold.passes.kernels import KERNELS, KernelError, check, transcendental
from maxfold.passes.kernels.rounding import WIDE
from maxfold.passes.kernels.transcendental import TRANSCENDENTAL
from tests.passes.kernels.node_cases import assert_case, cases
from tests.passes.kernels.reference import FORMATS, Array, array_of, bits_of, dtype_of
from tests.passes.kernels.strategies import BY_NAME, elements

KERNEL = {kernel.operator: kernel for kernel in TRANSCENDENTAL}
NAN, INF = math.nan, math.inf


def run(operator: str, *operands: Array, opset: int = 24, **attributes: Any) -> Array:
    """The result of a call that the schema allows."""
    kernel = KERNEL[operator]
    assert check(kernel, [dtype_of(operand) for operand in operands], opset, attributes) is None
    result = kernel.apply(operands, attributes, opset)
    assert (result.dtype, result.shape) == (operands[0].dtype, operands[0].shape)
    return result


def test_in_the_table() -> None:
    assert set(TRANSCENDENTAL) <= set(KERNELS)


@pytest.mark.parametrize("operator", KERNEL)
def test_node_tests(operator: str) -> None:
    for case in cases(operator):
        if case.call.dtype().name == "DOUBLE" and operator in ("HardSwish", "Gelu"):
            continue
        assert_case(case)


def mish(x: float) -> float:
    return x * math.tanh(math.log1p(math.exp(x)))


def gelu(x: float) -> float:
    return x / 2 * math.erfc(-x / math.sqrt(2))


REFERENCE: dict[str, tuple[Callable[[float], float], float, float]] = {
    "Exp": (math.exp, -80, 80),
    "Log": (math.log, 1e-30, 1e30),
    "Sin": (math.sin, -1e6, 1e6),
    "Cos": (math.cos, -1e6, 1e6),
    "Tan": (math.tan, -1.5, 1.5),
    "Asin": (math.asin, -1, 1),
    "Acos": (math.acos, -1, 1),
    "Atan": (math.atan, -1e9, 1e9),
    "Sinh": (math.sinh, -80, 80),
    "Cosh": (math.cosh, -80, 80),
    "Tanh": (math.tanh, -30, 30),
    "Asinh": (math.asinh, -1e9, 1e9),
    "Acosh": (math.acosh, 1, 1e9),
    "Atanh": (math.atanh, -0.999, 0.999),
    "Erf": (math.erf, -7, 7),
    "Sigmoid": (lambda x: 1 / (1 + math.exp(-x)), -80, 80),
    "Softplus": (lambda x: math.log1p(math.exp(x)), -80, 80),
    "Softsign": (lambda x: x / (1 + abs(x)), -1e30, 1e30),
    "Gelu": (gelu, -12, 1e9),
    "Mish": (mish, -80, 80),
    "Swish": (lambda x: x / (1 + math.exp(-x)), -80, 80),
    "Elu": (lambda x: x if x >= 0 else math.expm1(x), -80, 1e9),
    "Celu": (lambda x: x if x >= 0 else math.expm1(x), -80, 1e9),
}


@pytest.mark.parametrize("operator", REFERENCE)
@given(data=st.data())
def test_near_the_math_module(operator: str, data: st.DataObject) -> None:
    """In floats as near as their own spacing, and of doubles a few places for the formulas of several steps."""
    function, low, high = REFERENCE[operator]
    names = ("FLOAT",) if operator in ("Celu", "Gelu") else ("FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE")
    dtype = BY_NAME[data.draw(st.sampled_from(names))]
    numbers = data.draw(st.lists(st.floats(low, high), min_size=1, max_size=4))
    with np.errstate(all="ignore"):
        x = np.array(numbers, np.float64).astype(dtype.numpy)
    values = [value for value in x.astype(np.float64).tolist() if low <= value <= high]
    result = run(operator, np.array(values, dtype.numpy))
    form = FORMATS[dtype.name]
    for bits, value in zip(bits_of(result), values, strict=True):
        exact = function(value)
        expected = form.encode(math.copysign(1, exact) < 0, abs(Fraction(exact)))
        places = 8 if dtype.name == "DOUBLE" else 1
        assert abs(bits - expected) <= places, (value, exact)


@pytest.mark.skipif(WIDE is np.float64, reason="nothing is wider than double")
@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("Exp", 1.0, "2.718281828459045235360287471352662497757247093699959574966"),
        ("Log", 2.0, "0.693147180559945309417232121458176568075500134360255254121"),
        ("Erf", 0.5, "0.520499877813046537682746653891964528736451575757963700058"),
        ("Erf", 2.0, "0.995322265018952734162069256367252928610891797040060076738"),
        ("Erf", -1.0, "-0.84270079294971486934122063508260925929606699796630290845"),
        ("Sigmoid", 1.0, "0.731058578630004879251159944748371208460545823127456421366"),
        ("Tanh", 0.5, "0.462117157260009758502318483643672548730289280330113038552"),
    ],
)
def test_doubles_are_rounded_once(operator: str, value: float, expected: str) -> None:
    assert run(operator, np.array(value)).tolist() == float(expected)


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("Exp", [-INF, 0.0, INF, NAN, 89.0], [0.0, 1.0, INF, NAN, INF]),
        ("Log", [-1.0, 0.0, 1.0, INF], [NAN, -INF, 0.0, INF]),
        ("Sin", [INF, -0.0], [NAN, -0.0]),
        ("Acos", [1.0, 2.0], [0.0, NAN]),
        ("Atanh", [1.0, -1.0, 2.0], [INF, -INF, NAN]),
        ("Tanh", [INF, -INF, -0.0], [1.0, -1.0, -0.0]),
        ("Sigmoid", [INF, -INF, 0.0, -1e4], [1.0, 0.0, 0.5, 0.0]),
        ("Softplus", [INF, -INF, NAN, -200.0], [INF, 0.0, NAN, 0.0]),
        ("Softsign", [INF, 3e38], [NAN, 1.0]),
        ("Erf", [INF, -INF, NAN, -0.0], [1.0, -1.0, NAN, -0.0]),
        ("Gelu", [INF, -INF, 0.0], [INF, NAN, 0.0]),
        ("Mish", [INF, -INF, -0.0, 1e30], [INF, NAN, -0.0, 1e30]),
        ("HardSigmoid", [INF, -INF, NAN, 0.0], [1.0, 0.0, NAN, 0.5]),
        ("HardSwish", [3.0, -3.0, 1.5, NAN], [3.0, -0.0, 1.125, NAN]),
        ("Elu", [-INF, -0.0, NAN, 2.0], [-1.0, -0.0, NAN, 2.0]),
        ("Selu", [0.0, NAN], [0.0, NAN]),
        ("Celu", [-INF, 0.0, 3.0, NAN], [-1.0, 0.0, 3.0, NAN]),
        ("Relu", [-INF, 0.0, 2.0, NAN], [0.0, 0.0, 2.0, NAN]),
        ("ThresholdedRelu", [1.0, 1.5, NAN], [0.0, 1.5, 0.0]),
        ("Shrink", [-1.0, 0.5, 1.0, NAN], [-1.0, 0.0, 1.0, 0.0]),
        ("LeakyRelu", [-0.0, NAN, 5.0, -INF], [-0.0, NAN, 5.0, -INF]),
    ],
)
def test_special_values(operator: str, values: list[float], expected: list[float]) -> None:
    result = run(operator, np.array(values, np.float32))
    assert bits_of(result) == bits_of(np.array(expected, np.float32))


@pytest.mark.parametrize(
    ("operator", "value", "attributes", "expected"),
    [
        ("LeakyRelu", np.float32(-3), {}, np.float32(-3) * np.float32(0.01)),
        ("LeakyRelu", np.float16(-3), {"alpha": float(np.float32(0.1))}, np.float16(-3) * np.float16(0.1)),
        ("LeakyRelu", np.float64(-3), {}, -3 * float(np.float32(0.01))),
        ("ThresholdedRelu", np.float16(0.5), {"alpha": 0.25}, 0.5),
        ("ThresholdedRelu", np.float64(0.1), {"alpha": float(np.float32(0.1))}, 0.0),
        ("HardSigmoid", np.float64(1), {}, float(np.float32(0.2)) + 0.5),
        ("HardSigmoid", np.float64(1), {"alpha": 0.25, "beta": 0.25}, 0.5),
        ("Elu", np.float32(-INF), {"alpha": 2.0}, -2.0),
        ("Celu", np.float32(-INF), {"alpha": 2.0}, -2.0),
        ("Swish", np.float32(1), {"alpha": 0.0}, 0.5),
        ("Selu", np.float32(2), {"gamma": 3.0}, 6.0),
        ("Selu", np.float32(-INF), {"gamma": 2.0, "alpha": 1.5}, -3.0),
        ("Shrink", np.float32(-2), {"lambd": 1.5, "bias": 1.5}, -0.5),
        ("Shrink", np.int8(127), {"lambd": 1.5, "bias": 1.0}, 126),
        ("Shrink", np.int8(-1), {"lambd": 0.5, "bias": 0.0}, -1),
        ("Shrink", np.uint8(1), {"lambd": 1.5, "bias": 1.0}, 0),
        ("Relu", np.int64(-(2**63)), {}, 0),
        ("Relu", np.int8(127), {}, 127),
        ("Gelu", np.float32(-0.0), {"approximate": "tanh"}, -0.0),
    ],
)
def test_attributes(operator: str, value: Any, attributes: dict[str, Any], expected: Any) -> None:
    result = run(operator, np.array(value), **attributes)
    np.testing.assert_array_equal(result, np.array(expected).astype(value.dtype), strict=True)


@pytest.mark.parametrize(("opset", "alpha", "gamma"), [(1, 1.6732, 1.0507), (6, 1.6732632, 1.0507010)])
def test_defaults_of_selu_by_version(opset: int, alpha: float, gamma: float) -> None:
    result = run("Selu", np.array([-INF, 1.0], np.float32), opset=opset)
    expected = [-float(np.float32(alpha)) * float(np.float32(gamma)), np.float32(gamma)]
    assert result.tolist() == np.array(expected, np.float32).tolist()


@pytest.mark.parametrize("operator", [operator for operator, kernel in KERNEL.items() if kernel.since_version == 1])
@pytest.mark.parametrize("opset", [1, 6])
def test_first_versions(operator: str, opset: int) -> None:
    x = np.array([[0.5, -0.25]], np.float16)
    operands = [x, np.array([2], np.float16)] if operator == "PRelu" else [x]
    result = run(operator, *operands, opset=opset)
    attributes = {"alpha": 1.6732, "gamma": 1.0507} if operator == "Selu" and opset == 1 else {}
    assert bits_of(result) == bits_of(run(operator, *operands, opset=13, **attributes))
    hint = {"consumed_inputs": [0]} if operator not in ("Softplus", "Softsign") else {}
    assert bits_of(run(operator, *operands, opset=opset, **hint)) == bits_of(result)


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_products_of_prelu_are_rounded_once(name: str, data: st.DataObject) -> None:
    form, dtype = FORMATS[name], BY_NAME[name]
    bits, slope_bits = data.draw(elements(dtype)), data.draw(elements(dtype))
    result = bits_of(run("PRelu", array_of([bits], dtype, (1,)), array_of([slope_bits], dtype, ())))[0]
    (negative, size, _), (slope_negative, slope, _) = form.decode(bits), form.decode(slope_bits)
    if size is None or slope is None:
        return
    expected = form.encode(not slope_negative, size * slope) if negative and size else bits
    assert result == expected


@pytest.mark.parametrize(
    ("x_shape", "slope", "opset", "expected"),
    [
        ((1, 2, 2), [2, 3], 6, [[-2, -2], [-3, -3]]),
        ((1, 2, 2), [2], 6, [[-2, -2], [-2, -2]]),
        ((1, 2, 2), [2, 3], 7, [[-2, -3], [-2, -3]]),
        ((1, 2, 2), [[2], [3]], 16, [[-2, -2], [-3, -3]]),
        ((1, 2, 3), [2, 3], 6, [[-2, -2, -2], [-3, -3, -3]]),
        ((1, 2, 3), [2, 3], 7, "a slope of shape|shapes"),
        ((2, 3), [[[2]]], 7, "a slope of shape"),
        ((4,), [1, 2], 6, "a slope of shape"),
    ],
)
def test_slopes_by_version(x_shape: tuple[int, ...], slope: Any, opset: int, expected: Any) -> None:
    x, slopes = np.full(x_shape, -1, np.float32), np.array(slope, np.float32)
    if isinstance(expected, str):
        with pytest.raises(KernelError, match=f"^({expected})"):
            run("PRelu", x, slopes, opset=opset)
        return
    assert run("PRelu", x, slopes, opset=opset).tolist() == [expected]


def test_slope_of_integers_wraps_around() -> None:
    assert run("PRelu", np.array([-(2**31), 5], np.int32), np.array(3, np.int32)).tolist() == [-(2**31), 5]


@pytest.mark.parametrize(
    ("operator", "value", "opset", "attributes", "reason"),
    [
        ("Erf", np.int32(1), 9, {}, "Erf of integers is rounded in no specified way"),
        ("Gelu", np.float64(1), 20, {}, "nothing on this platform computes the tail of erf"),
        ("Gelu", np.float32(1), 20, {"approximate": "other"}, "attribute approximate is 'other'"),
        ("HardSwish", np.float64(1), 14, {}, "1/6 is exact in the operator's document"),
        ("Relu", np.float32(-0.0), 14, {}, "the specification does not say which zero"),
        ("Softplus", np.float64(710), 22, {}, "the function body of Softplus overflows"),
        ("Celu", np.float32(1), 12, {"alpha": 0.0}, "attribute alpha is not positive"),
        ("ThresholdedRelu", np.float16(1), 10, {"alpha": 0.1}, "alpha is not exact in float16"),
        ("Shrink", np.float16(1), 9, {"lambd": 0.1}, "lambd is not exact in float16"),
        ("Shrink", np.float16(1), 9, {"bias": 0.1}, "bias is not exact in float16"),
        ("Shrink", np.int32(1), 9, {"bias": 0.5}, "integers shrink only by integers"),
        ("Shrink", np.int8(1), 9, {"bias": 200.0}, "integers shrink only by integers"),
        ("Shrink", np.int8(1), 9, {"lambd": -1.0}, "integers shrink only by integers"),
    ],
)
def test_declines(operator: str, value: Any, opset: int, attributes: dict[str, Any], reason: str) -> None:
    with pytest.raises(KernelError, match=f"^{reason}"):
        run(operator, np.array(value), opset=opset, **attributes)


def test_doubles_where_nothing_is_wider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxfold.passes.kernels.rounding.WIDE", np.float64)
    monkeypatch.setattr(transcendental, "WIDE", np.float64)
    with pytest.raises(KernelError, match=r"wider than double"):
        run("Exp", np.ones(1))
    assert run("Exp", np.zeros(1, np.float32)).tolist() == [1.0]
    assert run("Mish", np.array([1000.0], np.float32)).tolist() == [1000.0]
