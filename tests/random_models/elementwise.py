"""Makers of elementwise nodes: arithmetic, comparison, logic, functions, casts, choices."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper

from tests.random_models.builder import Builder, Value
from tests.random_models.trial import Refused
from tests.random_models.values import ALL, BOOL, F16, F32, FLOATS, I8, INTS, NUMBERS, U8, Dtype

UNARY = {
    "Identity": 1, "Neg": 1, "Abs": 1, "Relu": 1, "Sqrt": 1, "Exp": 1, "Log": 1, "Sin": 1, "Cos": 1, "Tan": 1,
    "Tanh": 1, "Sigmoid": 1, "Floor": 1, "Ceil": 1, "Round": 11, "Reciprocal": 1, "Erf": 9, "Sign": 9, "Softplus": 1,
    "Softsign": 1, "Elu": 1, "LeakyRelu": 1, "Selu": 1, "HardSigmoid": 1, "HardSwish": 14, "ThresholdedRelu": 10,
    "Celu": 12, "Gelu": 20, "Mish": 18, "Atan": 7, "Sinh": 9, "Asinh": 9,
}  # fmt: skip
_COMPARISONS = {"Equal": 7, "Less": 7, "Greater": 7, "LessOrEqual": 12, "GreaterOrEqual": 12}


def unary(b: Builder) -> Value:
    """A function of one number."""
    operator = b.random.choice([name for name, since in UNARY.items() if since <= b.opset])
    is_integer = operator in ("Identity", "Neg", "Abs", "Sign", "Relu") and b.chance(0.4)
    value = b.pick(*(NUMBERS if is_integer else (*FLOATS, F16) if b.half else FLOATS))
    attributes = {}
    if operator in ("Elu", "LeakyRelu", "Celu", "ThresholdedRelu") and b.chance(0.5):
        attributes["alpha"] = b.random.choice((1.0, 0.25, 0.5))
    return b.emit(operator, value, **attributes)


def arithmetic(b: Builder) -> Value:
    """An operation of two numbers in either order."""
    operator = b.random.choice(("Add", "Add", "Sub", "Mul", "Mul", "Div", "Pow", "Mod"))
    a = b.pick()
    if operator in ("Div", "Mod") and a.dtype.kind in "iu":
        # A division of integers by zero, or of the least one by -1, ends the process.
        divisor = b.constant(np.array(b.random.choice((2, 3, 1, 5) if operator == "Div" else (2, 3, -3)), a.dtype))
        return b.emit(operator, a, divisor)
    if operator == "Pow":
        base = b.emit("Abs", b.pick(*FLOATS))
        power = b.constant(np.array(b.random.choice((1, 2, 0, 0.5, 3, -1)), base.dtype))
        return b.emit(operator, base, power)
    other = b.partner(a)
    operands = [a, other] if b.chance(0.6) else [other, a]
    return b.emit(operator, *operands, **({"fmod": 1} if operator == "Mod" else {}))


def chain(b: Builder) -> Value:
    """Several additions, multiplications or maxima of constants in a row."""
    operator = b.random.choice(("Add", "Max", "Mul", "Min", "Sub", "Div"))
    value = b.pick(*(FLOATS if operator == "Div" else NUMBERS))
    for _ in range(b.random.randint(2, 3)):
        constant = b.weights(value.dtype, b.shape_for(value))
        value = b.emit(operator, *((value, constant) if b.chance(0.7) else (constant, value)))
    return value


def variadic(b: Builder) -> Value:
    """Max, Min, Sum or Mean of one to five operands, some of them twice."""
    operator = b.random.choice(("Max", "Max", "Min", "Sum", "Mean"))
    first = b.pick(*(NUMBERS if operator in ("Max", "Min") and b.opset >= 12 else FLOATS))
    others = range(b.random.choice((0, 1, 1, 2, 3)))
    operands = [first, *(first if b.chance(0.2) else b.partner(first) for _ in others)]
    b.random.shuffle(operands)
    return b.emit(operator, *operands)


def constants_only(b: Builder) -> Value:
    """A node that reads constants alone."""
    dtype = b.random.choice(NUMBERS)
    shape = b.random.choice(((), (1,), (3,), (2, 3), (4, 1)))
    a, c = b.weights(dtype, shape), b.weights(dtype, b.random.choice((shape, (), (1,))))
    return b.emit(b.random.choice(("Add", "Mul", "Sub", "Max", "Min", "Pow" if dtype in FLOATS else "Add")), a, c)


def comparison(b: Builder) -> Value:
    """A comparison, or a test for NaN or infinity."""
    if b.chance(0.2):
        return b.emit(b.random.choice(("IsNaN", "IsInf")), b.pick(*FLOATS))
    a = b.pick()
    operator = b.random.choice([name for name, since in _COMPARISONS.items() if since <= b.opset])
    return b.emit(operator, a, b.partner(a))


def truth(b: Builder) -> Value:
    """A truth value to work with."""
    found = b.find(lambda value: value.dtype == BOOL)
    return found if found is not None and b.chance(0.85) else comparison(b)


def logic(b: Builder) -> Value:
    """And, Or, Xor or Not, once or twice."""
    a = truth(b)
    operator = b.random.choice(("Not", "Not", "And", "Or", "Xor"))
    if operator != "Not":
        return b.emit(operator, a, b.partner(a))
    a = b.emit("Not", a)
    return b.emit("Not", a) if b.chance(0.5) else a


def bits(b: Builder) -> Value:
    """An operation on the bits of integers."""
    if b.opset < 18 or b.chance(0.4):
        a = b.pick(U8)
        shift = b.constant(np.array(b.random.choice((0, 1, 3)), U8))
        return b.emit("BitShift", a, shift, direction=b.random.choice(("LEFT", "RIGHT")))
    a = b.pick(*INTS, U8, I8)
    if b.chance(0.3):
        return b.emit("BitwiseNot", a)
    return b.emit(b.random.choice(("BitwiseAnd", "BitwiseOr", "BitwiseXor")), a, b.partner(a))


def where(b: Builder) -> Value:
    """A choice by a condition, which may be constant."""
    a = b.pick(*NUMBERS, U8)
    if b.chance(0.2):
        condition = b.constant(np.array(b.chance(0.5)))
    else:
        condition = truth(b)
        if not condition.fits(a):
            condition = b.weights(BOOL, b.shape_for(a))
    other = a if b.chance(0.1) else b.partner(a)
    return b.emit("Where", condition, *((a, other) if b.chance(0.5) else (other, a)))


def clip(b: Builder) -> Value:
    """Clip with both bounds, one or none; sometimes twice."""
    value = b.pick(*(NUMBERS if b.opset >= 12 else FLOATS), *((I8, U8) if b.opset >= 12 else ()))
    for _ in range(b.random.choice((1, 1, 2))):
        low = None if b.chance(0.3) else b.constant(np.array(b.random.choice((0, 1, 2)), value.dtype))
        high = None if b.chance(0.3) else b.constant(np.array(b.random.choice((1, 6, 3)), value.dtype))
        value = b.emit("Clip", value, low, high)
    return value


def cast(b: Builder) -> Value:
    """One Cast or a chain of them; some keep all values, some do not."""
    value = b.pick(*ALL)
    for _ in range(b.random.choice((1, 1, 2, 2, 3))):
        value = cast_to(b, value, b.random.choice(ALL if b.half else tuple(kind for kind in ALL if kind != F16)))
    return value


def cast_to(b: Builder, value: Value, dtype: Dtype) -> Value:
    """A Cast that is defined: no NaN and nothing out of range becomes an integer."""
    if dtype.kind in "iu" and value.dtype.kind == "f":
        limits: np.iinfo[Any] = np.iinfo(dtype)
        bound = min(int(limits.max), 1 << 30)
        for array in value.arrays:
            wide = array.astype(np.float64)
            if not ((wide >= max(int(limits.min), -bound)) & (wide <= bound)).all():
                raise Refused("out of range")
    if b.opset >= 15 and b.chance(0.1):
        return b.emit("CastLike", value, b.weights(dtype, (1,)))
    return b.emit("Cast", value, to=helper.np_dtype_to_tensor_dtype(dtype))


def prelu(b: Builder) -> Value:
    """PRelu, whose slope may be a constant."""
    value = b.pick(*FLOATS)
    return b.emit("PRelu", value, b.weights(value.dtype, (1,) if b.chance(0.5) else ()))


def quantize(b: Builder) -> Value:
    """A value through eight bits and back, or a weight out of them."""
    dtype = b.random.choice((U8, I8))
    zero = b.constant(np.array(b.random.choice((0, 3)), dtype)) if b.chance(0.8) else None
    dtype = U8 if zero is None else dtype
    scale = b.constant(np.array(b.random.choice((0.5, 0.1, 1.0)), F32))
    if b.chance(0.3):
        value = b.weights(dtype, b.random.choice(((3,), (2, 3))))
        return b.emit("DequantizeLinear", value, scale, zero)
    value = b.emit("QuantizeLinear", b.pick(F32), scale, zero)
    return b.emit("DequantizeLinear", value, scale, zero) if b.chance(0.8) else value


MAKERS = {
    unary: 8, arithmetic: 8, chain: 3, variadic: 4, constants_only: 2, comparison: 2, logic: 2, bits: 1, where: 2,
    clip: 2, cast: 3, prelu: 1, quantize: 1,
}  # fmt: skip
