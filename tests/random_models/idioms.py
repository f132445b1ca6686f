"""Makers of what exporters write for one layer in many nodes, right and nearly right: a fusion must look closely."""

from __future__ import annotations

import numpy as np
from onnx import helper

from tests.random_models.builder import Builder, Value
from tests.random_models.layers import image
from tests.random_models.movement import any_value, axis_of, slice_of, squeeze, unsqueeze, with_axes
from tests.random_models.trial import Refused
from tests.random_models.values import F32, F64, FLOATS, I64, NUMBERS, draw

_FAR = (1 << 63) - 1


def layer_norm(b: Builder) -> Value:
    """LayerNormalization or RMSNormalization as its formula, over the last axis or another one, with scale and bias."""
    value = b.pick(F32, F32, F64, least=2)
    axes = b.random.choice(([-1], [-1], [-1], [value.rank - 1], [1], [-2, -1]))
    if any(len({array.shape[axis] for array in value.arrays}) > 1 for axis in axes):
        raise Refused("the axis is dynamic")
    centred = value
    if b.chance(0.6):
        other = b.pick(value.dtype, least=1) if b.chance(0.05) else value
        centred = b.emit("Sub", value, with_axes(b, "ReduceMean", other, axes, 18))
    squared = b.emit("Mul", centred, centred) if b.chance(0.5) else b.emit("Pow", centred, b.scalar(2, value.dtype))
    mean = with_axes(b, "ReduceMean", squared, axes, 18)
    shifted = b.emit("Add", mean, b.constant(np.full(b.random.choice(((), (1,))), 1e-3, value.dtype)))
    root = b.emit("Sqrt", shifted)
    made = b.emit("Div", centred, root) if b.chance(0.7) else b.emit("Mul", centred, b.emit("Reciprocal", root))
    shape = value.shape[axes[0] :] if axes[0] < 0 else value.shape[-1:]
    if b.chance(0.7):
        scale = b.weights(value.dtype, shape)
        made = b.emit("Mul", *((made, scale) if b.chance(0.5) else (scale, made)))
    return b.emit("Add", made, b.weights(value.dtype, shape)) if b.chance(0.6) else made


def length(b: Builder) -> Value:
    """A division by the root of a sum of squares."""
    value = b.pick(*FLOATS, least=1)
    axis = axis_of(b, value)
    total = with_axes(b, "ReduceSum", b.emit("Mul", value, value), [axis], 13)
    root = b.emit("Sqrt", total) if b.chance(0.8) else b.emit("Pow", total, b.scalar(0.5, value.dtype))
    if b.chance(0.5):
        root = b.emit("Max", root, b.scalar(1e-3, value.dtype))
    return b.emit("Div", value, root)


def activation(b: Builder) -> Value:
    """HardSwish, Swish, Mish or Gelu in several ways of writing."""
    value = b.pick(F32, F32, F64)
    which = b.random.randint(0, 4)

    def number(item: float) -> Value:
        return b.constant(np.full(b.random.choice(((), (), (1,))), item, value.dtype))

    if which == 0:
        gate = b.emit("HardSigmoid", value, alpha=b.random.choice((1 / 6, 0.2)), beta=0.5)
        return b.emit("Mul", value, gate)
    if which == 1:
        shifted = b.emit("Add", value, number(3))
        clipped = b.emit("Clip", shifted, b.scalar(0, value.dtype), b.scalar(b.random.choice((6, 6, 5)), value.dtype))
        if b.chance(0.5):
            return b.emit("Mul", value, b.emit("Div", clipped, number(6)))
        return b.emit("Div", b.emit("Mul", value, clipped), number(6))
    if which == 2:
        return b.emit("Mul", value, b.emit("Tanh", b.emit("Softplus", value)))
    if which == 3:
        cubed = b.emit("Mul", b.emit("Pow", value, number(3)), number(0.044715))
        inner = b.emit("Tanh", b.emit("Mul", b.emit("Add", value, cubed), number(0.7978845608)))
        return b.emit("Mul", b.emit("Mul", value, b.emit("Add", inner, number(1))), number(0.5))
    inner = b.emit("Erf", b.emit("Mul", value, number(0.70710678118)))
    half = b.emit("Mul", value, number(0.5))
    return b.emit("Mul", half, b.emit("Add", inner, number(1)))


def parts(b: Builder) -> list[Value]:
    """Slices that take a tensor apart, or leave something out, or overlap."""
    value = any_value(b, least=1, static=True)
    axis = axis_of(b, value)
    size = value.shape[axis]
    if size < 2:
        raise Refused("nothing to take apart")
    cut = b.random.randint(1, size - 1)
    second = cut if b.chance(0.7) else b.random.randint(0, size - 1)
    made = [
        slice_of(b, value, [0], [cut], [axis], [1]),
        slice_of(b, value, [second], [b.random.choice((_FAR, size))], [axis], [1]),
    ]
    if b.chance(0.3):
        b.emit("Add", made[0], made[1])
    return made


def apart_and_together(b: Builder) -> Value:
    """A Split that Concat undoes, or puts together in another order, or a Split into one part."""
    value = any_value(b, least=1, static=True)
    axis = axis_of(b, value)
    size = value.shape[axis]
    if b.chance(0.3) or size < 2:
        if b.opset >= 18:
            return b.emit_all("Split", [value], 1, axis=axis, num_outputs=1)[0]
        return b.emit_all("Split", [value], 1, axis=axis)[0]
    sizes = [1, size - 1]
    if b.opset < 13:
        made = b.emit_all("Split", [value], 2, axis=axis, split=sizes)
    else:
        made = b.emit_all("Split", [value, b.ints(*sizes)], 2, axis=axis)
    if b.chance(0.3):
        made.reverse()
    return b.emit("Concat", *made, axis=axis)


def slices_of_axes(b: Builder) -> Value:
    """Two slices in a row, along different axes or the same one, forwards or backwards."""
    value = any_value(b, least=2)
    first, second = b.random.sample(range(value.rank), 2)
    if b.chance(0.2):
        second = first - value.rank
    value = slice_of(b, value, [b.random.choice((0, 1, -1))], [_FAR], [first], [1])
    return slice_of(b, value, [0], [b.random.choice((1, 2, -1))], [second], [b.random.choice((1, 1, 2))])


def focus(b: Builder) -> Value:
    """Strided slices of an image put together by channel."""
    value = image(b)
    if any(size % 2 for size in value.shape[2:]):
        raise Refused("odd sizes")
    offsets = [(0, 0), (0, 1), (1, 0), (1, 1)]
    if b.chance(0.6):
        b.random.shuffle(offsets)
    made = []
    for row, column in offsets:
        if b.chance(0.6):
            rows = slice_of(b, value, [row], [_FAR], [2], [2])
            made.append(slice_of(b, rows, [column], [_FAR], [3], [2]))
        else:
            made.append(slice_of(b, value, [row, column], [_FAR, _FAR], [2, 3], [2, 2]))
    return b.emit("Concat", *made, axis=1)


def recurrent(b: Builder) -> Value:
    """LSTM, GRU or RNN with initial states of zeros, of other values, or without them."""
    value = b.pick(F32, rank=3)
    inputs, hidden = value.shape[2], 2
    operator, gates = b.random.choice((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
    if len({array.shape[1:] for array in value.arrays}) > 1:
        raise Refused("the batch is dynamic")
    if any(not array.size for array in value.arrays):
        raise Refused("ONNX Runtime adds to memory that it has not set, or ends the process")
    shape = (1, value.shape[1], hidden)
    start = b.constant(np.zeros(shape, F32)) if b.chance(0.6) else b.weights(F32, shape)
    shapes = ((1, gates * hidden, inputs), (1, gates * hidden, hidden))
    weights = [b.constant(draw(b.source, F32, item, finite=b.chance(0.8))) for item in shapes]
    states: list[Value | None] = [start if b.chance(0.8) else None]
    if operator == "LSTM" and b.chance(0.7):
        states.append(b.constant(np.zeros(shape, F32)))
    made = b.emit_all(operator, [value, *weights, None, None, *states], 2, hidden_size=hidden)
    return made[b.random.randint(0, 1)]


def reshaped_operand(b: Builder) -> Value:
    """A constant added before a Reshape."""
    value = b.pick(F32, least=2, static=True)
    made = b.emit(b.random.choice(("Add", "Mul")), value, b.weights(F32, value.shape if b.chance(0.5) else ()))
    return b.emit("Reshape", made, b.ints(*b.random.choice(([-1], [1, -1], [-1, 1]))))


def constant_first(b: Builder) -> Value:
    """Arithmetic of sizes that begins with a constant and ends in a Reshape, or a Cast that loses nothing of a size."""
    value = any_value(b, least=1)
    size = b.emit("Gather", b.emit("Shape", value), b.scalar(0))
    kind = helper.np_dtype_to_tensor_dtype(F32)
    scaled = b.emit("Mul", b.emit("Cast", size, to=kind), b.scalar(b.random.choice((0.5, 1.0, 2.0)), F32))
    floor = b.emit("Cast", b.emit("Floor", scaled), to=helper.np_dtype_to_tensor_dtype(I64))
    rounded = b.emit("Div", b.emit("Add", floor, b.scalar(1)), b.scalar(2))
    return b.emit("Range", b.scalar(0), rounded, b.scalar(1))


def reduced(b: Builder) -> Value:
    """A reduction, and Squeeze or Unsqueeze of the axes that it has reduced, or of others."""
    value = b.pick(F32, F32, F64, I64, least=1)
    axis = axis_of(b, value)
    keeps = b.random.randint(0, 1)
    if b.chance(0.2):
        made = b.emit(b.random.choice(("ArgMax", "ArgMin")), value, axis=axis, keepdims=keeps)
    else:
        operator, since = b.random.choice((("ReduceSum", 13), ("ReduceMax", 18), ("ReduceMean", 18), ("ReduceMin", 18)))
        made = with_axes(b, operator, value, [axis], since, keepdims=keeps)
    other = axis if b.chance(0.8) else axis_of(b, value)
    if not keeps:
        return unsqueeze(b, made, [other])
    return b.emit("Squeeze", made) if b.chance(0.2) and made.is_static else squeeze(b, made, [other])


def repeated(b: Builder) -> Value:
    """Two of a kind: Tile, Expand, Pad, cuts of one axis, or reshapes of which Squeeze names no axes."""
    value = any_value(b, least=1)
    which = b.random.randint(0, 4)
    axis = axis_of(b, value)
    for place in range(2):
        if which == 0:
            value = b.emit("Tile", value, b.ints(*(b.random.choice((0, 1, 2, 2)) for _ in range(value.rank))))
        elif which == 1:
            value = b.emit("Expand", value, b.ints(*b.random.choice(([2, 1, 1], [3, 1], [1, 3], [1], [2, 3], [0, 1]))))
        elif which == 2:
            value = padded(b, value)
        elif which == 3:
            start, end = b.random.choice((0, 0, 1, 2, -1, -2)), b.random.choice((_FAR, _FAR, 1, 3, -1, -2))
            value = slice_of(b, value, [start], [end], [axis], [b.random.choice((1, 1, 2, -1))])
        elif place == 0:
            value = unsqueeze(b, value, [0])
        elif value.is_static:
            value = b.emit("Squeeze", value)
    return value


def padded(b: Builder, value: Value) -> Value:
    """Pad of one kind, of one axis or of several."""
    if value.dtype not in NUMBERS or b.opset < 11:
        raise Refused("no Pad for it")
    pads = [b.random.choice((0, 0, 0, 1, 2)) for _ in range(2 * value.rank)]
    fill = b.scalar(b.random.choice((0, 0, 1)), value.dtype) if b.chance(0.5) else None
    return b.emit("Pad", value, b.ints(*pads), fill)


def gathered(b: Builder) -> Value:
    """Gather of everything, in its order or nearly."""
    value = any_value(b, least=1, static=True)
    axis = axis_of(b, value)
    size = value.shape[axis]
    order = [index if b.chance(0.9) else index - size for index in range(size)]
    if b.chance(0.2):
        b.random.shuffle(order)
    return b.emit("Gather", value, b.ints(*order), axis=axis)


MAKERS = {
    layer_norm: 3, length: 1, activation: 3, parts: 2, apart_and_together: 2, slices_of_axes: 2, focus: 1,
    recurrent: 1, reshaped_operand: 2, constant_first: 1, reduced: 2, repeated: 4, gathered: 1,
}  # fmt: skip
