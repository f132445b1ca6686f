"""Makers of what is rewritten for one runtime and not for another, right and nearly right."""

from __future__ import annotations

import numpy as np

from tests.random_models.builder import Builder, Value
from tests.random_models.layers import image
from tests.random_models.trial import Refused
from tests.random_models.values import F32, F64, I8, U8, Array


def bounded(b: Builder) -> Value:
    """Max and Min with numbers, in a row, behind Relu or before it."""
    value = b.pick(F32, F32, F32, F64)
    for _ in range(b.random.randint(1, 3)):
        operator = b.random.choice(("Max", "Min", "Max", "Min", "Relu", "Clip"))
        if operator == "Relu":
            value = b.emit("Relu", value)
            continue
        bound = _number(b, b.random.choice((0, 0, -0.0, 6, 6, -3, 0.5)), value)
        if operator == "Clip" and b.opset >= 11:
            value = b.emit("Clip", value, b.scalar(b.random.choice((0, -1)), value.dtype), b.scalar(6, value.dtype))
        elif operator != "Clip":
            value = b.emit(operator, *((value, bound) if b.chance(0.6) else (bound, value)))
    return value


def leaky(b: Builder) -> Value:
    """max(x, c * x), or PRelu of equal slopes."""
    value = b.pick(F32, F32, F64)
    alpha = b.random.choice((0.1, 0.25, 0.25, 1, 2, -0.5, 0))
    if b.chance(0.5):
        sizes = [size[0] if len(set(size)) == 1 else 1 for size in zip(*(a.shape for a in value.arrays), strict=True)]
        slope: Array = np.full(sizes[b.random.randint(0, value.rank) :], alpha, value.dtype)
        return b.emit("PRelu", value, b.constant(slope))
    constant = _number(b, alpha, value)
    scaled = b.emit("Mul", *((value, constant) if b.chance(0.6) else (constant, value)))
    return b.emit("Max", *((value, scaled) if b.chance(0.6) else (scaled, value)))


def activated(b: Builder) -> Value:
    """A matrix product, with or without a bias, and an activation, sometimes with another reader between."""
    value = b.pick(F32, F32, F64, rank=2, static=b.chance(0.5))
    if len({array.shape[1] for array in value.arrays}) > 1:
        raise Refused("the inner size is dynamic")
    columns = b.random.choice((1, 2, 5))
    made = b.emit("MatMul", value, b.weights(value.dtype, (value.shape[1], columns)))
    if b.chance(0.3):
        made = b.emit("Add", made, b.weights(value.dtype, (columns,)))
    result = b.emit(b.random.choice(("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "Softplus", "Neg")), made)
    return b.emit("Add", result, made) if b.chance(0.2) else result


def quantized_products(b: Builder) -> Value:
    """Quantized products of one tensor, whose scales are equal, shared, vectors, or nearly so."""
    value = b.pick(F32, least=2)
    if len({array.shape[-1] for array in value.arrays}) > 1:
        raise Refused("the inner size is dynamic")
    quantized, scale, zero = b.emit_all("DynamicQuantizeLinear", [value], 3)
    columns = b.random.choice((9, 12, 12, 3))
    made: list[Value] = []
    for _ in range(b.random.randint(2, 4)):
        weight: Array = np.asarray(b.source.integers(-5, 5, (value.shape[-1], columns)), I8)
        product = b.emit("MatMulInteger", quantized, b.constant(weight), zero)
        shape = b.random.choice(((), (), (1,), (columns,), (columns,)))
        scales = b.emit("Mul", scale, b.constant(np.full(shape, b.random.choice((0.25, 0.25, 0.1)), F32)))
        cast = b.emit("Cast", product, to=1)
        made.append(b.emit("Mul", *((cast, scales) if b.chance(0.7) else (scales, cast))))
        if b.chance(0.4):
            made.append(b.emit("Add", made[-1], b.weights(F32, (columns,))))
    return b.emit("Add", made[0], made[-1])


def quantized(b: Builder) -> Value:
    """A value through eight bits, once or twice, perhaps padded by nothing, read as it is too."""
    kind = b.random.choice((I8, I8, U8))
    points = (0, 3) if kind == I8 else (3, 128, 128)
    scale, zero = b.scalar(b.random.choice((0.5, 0.125)), F32), b.scalar(b.random.choice(points), kind)
    value = b.pick(F32, least=1)
    made = b.emit("DequantizeLinear", b.emit("QuantizeLinear", value, scale, zero), scale, zero)
    again = b.emit("Pad", made, b.ints(*(0,) * (2 * value.rank))) if b.chance(0.5) else made
    if b.chance(0.6):
        again = b.emit("DequantizeLinear", b.emit("QuantizeLinear", again, scale, zero), scale, zero)
    return b.emit("Add", made, again) if b.chance(0.6) else again


def convolution(b: Builder) -> Value:
    """A convolution, and one of these behind it, or part of a HardSwish."""
    value = image(b)
    channels = value.shape[1]
    made = b.emit("Conv", value, b.weights(F32, (channels, channels, 1, 1)))
    which = b.random.randint(0, 3)
    if which == 0 and b.opset >= 11:
        shifted = b.emit("Add", made, _number(b, 3, made)) if b.chance(0.6) else made
        clipped = b.emit("Clip", shifted, b.scalar(0, F32), b.scalar(6, F32))
        gated = b.emit("Mul", made, clipped) if b.chance(0.4) else clipped
        return b.emit("Div", gated, _number(b, 6, gated))
    if which == 1:
        return b.emit("PRelu", made, b.constant(np.full((channels, 1, 1), 0.25, F32)))
    if which == 2:
        return b.emit("Min", b.emit("Max", made, _number(b, 0, made)), _number(b, 6, made))
    return b.emit("Max", made, b.emit("Mul", made, _number(b, 0.25, made)))


def _number(b: Builder, item: float, value: Value) -> Value:
    return b.constant(np.full(b.random.choice(((), (), (1,))), item, value.dtype))


MAKERS = {bounded: 4, leaky: 3, activated: 3, quantized_products: 3, quantized: 3, convolution: 3}
