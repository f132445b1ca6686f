"""Makers of ONNX Runtime's own operators with sizes that are computed behind them, and of added zeros."""

from __future__ import annotations

import numpy as np

from tests.random_models.builder import Builder, Value
from tests.random_models.movement import unsqueeze
from tests.random_models.trial import Refused
from tests.random_models.values import F32, F64, I8, U8, Array

DOMAIN = "com.microsoft"
_STEPS = ("Abs", "Exp", "Sigmoid", "Neg", "Neg", "Sqrt", "Reciprocal", "Identity", "Tanh", "Floor")


def _full(b: Builder, *dtypes: type[np.generic], **wanted: int) -> Value:
    """A value that is never empty: of some operators the results of empty operands are memory that nobody has set."""
    value = b.pick(*dtypes, **wanted)
    if any(not array.size for array in value.arrays):
        raise Refused("it is empty")
    return value


def quantized_lstm(b: Builder) -> Value:
    """DynamicQuantizeLSTM with computed states of zeros, states of another kind, or none."""
    value = _full(b, F32, rank=3)
    hidden, directions = 2, b.random.choice((1, 1, 2))
    if len({array.shape[2] for array in value.arrays}) > 1:
        raise Refused("the width is dynamic")
    shapes = ((directions, value.shape[2], 4 * hidden), (directions, hidden, 4 * hidden))
    weights = [b.constant(np.asarray(b.source.integers(-99, 99, shape), I8)) for shape in shapes]
    scale, point = b.constant(np.full(directions, 0.01, F32)), b.constant(np.zeros(directions, I8))
    batch = unsqueeze(b, b.emit("Gather", b.emit("Shape", value), b.scalar(b.random.choice((1, 1, 1, 0)))), [0])
    sizes = b.emit("Concat", b.ints(directions), batch, b.ints(hidden), axis=0)
    state = b.emit("ConstantOfShape", sizes) if b.chance(0.6) else b.emit("Expand", b.scalar(0.5, F32), sizes)
    states = [state if b.chance(0.8) else None, state if b.chance(0.6) else None]
    direction = "bidirectional" if directions == 2 else "forward"
    operands = [value, *weights, None, None, *states, None, scale, point, scale, point]
    made = b.emit_all(
        "DynamicQuantizeLSTM", operands, b.random.randint(1, 3), domain=DOMAIN, hidden_size=hidden, direction=direction
    )
    return _flattened(b, b.random.choice(made))


def _flattened(b: Builder, value: Value) -> Value:
    """A value of another shape, whose sizes are taken from its own."""
    shape = b.emit("Shape", value)
    first = unsqueeze(b, b.emit("Gather", shape, b.scalar(b.random.randint(0, value.rank - 1))), [0])
    return b.emit(
        "Reshape", value, b.emit("Concat", *((first, b.ints(-1)) if b.chance(0.5) else (b.ints(-1), first)), axis=0)
    )


def product(b: Builder) -> Value:
    """A product of transposed operands, of integers, or of floats and integers."""
    value = _full(b, F32, F32, F64, least=2)
    if any(len({array.shape[axis] for array in value.arrays}) > 1 for axis in (-1, -2)):
        raise Refused("the inner size is dynamic")
    columns = b.random.choice((1, 3))
    if value.dtype == F32 and b.chance(0.3):
        weight: Array = np.asarray(b.source.integers(0, 9, (value.shape[-1], columns)), U8)
        bias = b.weights(F32, (columns,)) if b.chance(0.5) else None
        operands = [value, b.constant(weight), b.scalar(0.5, F32), None, bias]
        return _flattened(b, b.emit("DynamicQuantizeMatMul", *operands, domain=DOMAIN))
    turned = [b.random.randint(0, 1) for _ in "AB"]
    inner = value.shape[-2] if turned[0] else value.shape[-1]
    weights = b.weights(value.dtype, (columns, inner) if turned[1] else (inner, columns))
    made = b.emit("FusedMatMul", value, weights, domain=DOMAIN, transA=turned[0], transB=turned[1], alpha=0.5)
    return _flattened(b, made) if b.chance(0.6) else made


def gate(b: Builder) -> Value:
    """Gelu in its forms."""
    value = _full(b, F32, least=1)
    operator = b.random.choice(("BiasGelu", "FastGelu", "Gelu", "QuickGelu"))
    operands = [value]
    if operator == "BiasGelu" or (operator == "FastGelu" and b.chance(0.5)):
        operands.append(b.weights(F32, value.shape[-1:]))
    made = b.emit(operator, *operands, domain=DOMAIN)
    return _flattened(b, made) if b.chance(0.5) else made


def normalization(b: Builder) -> Value:
    """SkipLayerNormalization, or the simplified form, of which the sum is read too."""
    value = _full(b, F32, rank=b.random.choice((2, 3)))
    operator = b.random.choice(("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"))
    scale = b.weights(F32, value.shape[-1:])
    made = b.emit_all(operator, [value, value, scale], 4, domain=DOMAIN, epsilon=1e-3)
    return _flattened(b, b.random.choice((made[0], made[3])))


def quantized(b: Builder) -> Value:
    """A sum of quantized values, or one through eight bits and back."""
    value = _full(b, F32, least=1)
    scale, point = b.scalar(0.5, F32), b.scalar(3, U8)
    small = b.emit("QuantizeLinear", value, scale, point, domain=DOMAIN)
    if b.chance(0.6):
        operator = b.random.choice(("QLinearAdd", "QLinearMul"))
        small = b.emit(operator, small, scale, point, small, scale, point, scale, point, domain=DOMAIN)
    return _flattened(b, b.emit("DequantizeLinear", small, scale, point, domain=DOMAIN))


def added_zero(b: Builder) -> Value:
    """A zero that is added between operators that let nobody tell which zero there was, or do."""
    value = b.pick(F32, F32, F64)
    for _ in range(b.random.randint(0, 2)):
        value = _zero_step(b, value)
    zero = b.scalar(0.0, value.dtype)
    if b.chance(0.7):
        value = b.emit("Add", *((value, zero) if b.chance(0.6) else (zero, value)))
    else:
        value = b.emit("Sub", value, b.scalar(-0.0, value.dtype))
    made = value
    for _ in range(b.random.randint(0, 4)):
        made = _zero_step(b, made)
    return b.emit("Add", made, _zero_step(b, value)) if b.chance(0.2) else made


def _zero_step(b: Builder, value: Value) -> Value:
    which = b.random.randint(0, 5)
    if which == 0:
        return b.emit(b.random.choice(("Mul", "Add", "Sub")), value, value)
    if which == 1:
        return b.emit(
            b.random.choice(("Add", "Mul", "Sub")), value, b.scalar(b.random.choice((1, 1, 0, -0.0)), value.dtype)
        )
    if which == 2:
        return b.emit("Cast", b.emit("Cast", value, to=9), to=value.kind)
    return b.emit(
        b.random.choice(("Abs", "Exp", "Sigmoid", "Neg", "Neg", "Sqrt", "Reciprocal", "Identity", "Tanh", "Floor")),
        value,
    )


MAKERS = {
    added_zero: 4,
    gate: 2,
    normalization: 2,
    product: 3,
    quantized: 2,
    quantized_lstm: 3,
}
