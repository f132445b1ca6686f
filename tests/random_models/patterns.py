"""Makers of what runtimes fuse, in all forms that exporters write, right and nearly right."""

from __future__ import annotations

import numpy as np

from tests.random_models.builder import Builder, Value
from tests.random_models.layers import image
from tests.random_models.movement import with_axes
from tests.random_models.trial import Refused
from tests.random_models.values import F16, F32, F64, Dtype

_STEPS: tuple[tuple[str, ...], ...] = (
    ("Mul", "Add"), ("Mul",), (), ("Mul", "Mul"), ("Mul", "Add", "Mul", "Sub", "Div"),
)  # fmt: skip


def normalization(b: Builder) -> Value:
    """A normalization over the last axis, of half precision in float32 sometimes, with what may follow it."""
    value = b.pick(F32, F32, F32, F64, F16, least=2)
    if len({array.shape[-1] for array in value.arrays}) > 1:
        raise Refused("the last axis is dynamic")
    wide = b.emit("Cast", value, to=1) if value.dtype == F16 else value
    made = _normalized(b, wide)
    if value.dtype == F16 and b.chance(0.8):
        made = b.emit("Cast", made, to=10)
    return _behind(b, made)


def _normalized(b: Builder, value: Value) -> Value:
    centred = value
    if b.chance(0.6):
        centred = b.emit("Sub", value, with_axes(b, "ReduceMean", value, [-1], 18))
    square = b.emit("Mul", centred, centred) if b.chance(0.6) else b.emit("Pow", centred, _number(b, 2, value.dtype))
    sum_ = b.emit("Add", with_axes(b, "ReduceMean", square, [-1], 18), _number(b, 1e-3, value.dtype))
    root = b.emit("Sqrt", sum_) if b.chance(0.7) else b.emit("Pow", sum_, _number(b, 0.5, value.dtype))
    which = b.random.randint(0, 3)
    if which > 1:
        return b.emit("Div", centred, root)
    inverse = b.emit("Reciprocal", root) if which else b.emit("Div", _number(b, 1, value.dtype), root)
    return b.emit("Mul", *((centred, inverse) if b.chance(0.5) else (inverse, centred)))


def _behind(b: Builder, value: Value) -> Value:
    """Scales, shifts and factors by vectors and by numbers, some with leading axes, one read twice sometimes."""
    size = value.shape[-1]
    for operator in b.random.choice(
        (("Mul", "Add"), ("Mul",), (), ("Mul", "Mul"), ("Mul", "Add", "Mul", "Sub", "Div"))
    ):
        shape = b.random.choice(((size,), (size,), (1, size), ()))
        other = b.weights(value.dtype, shape) if b.chance(0.7) else b.constant(np.full(shape, 0.5, value.dtype))
        is_first = operator in ("Mul", "Add") and b.chance(0.3)
        result = b.emit(operator, *((other, value) if is_first else (value, other)))
        value = b.emit("Add", result, value) if b.chance(0.05) else result
    return value


def gelu(b: Builder) -> Value:
    """Gelu by Erf or Tanh, the half in any place, the powers in any form."""
    value = b.pick(F32, F32, F32, F64)
    if b.chance(0.3):
        value = b.emit(b.random.choice(("Mul", "Add")), value, _number(b, 1.5, value.dtype))
    if b.chance(0.4):
        if b.chance(0.5):
            inner = b.emit("Div", value, _number(b, 2**0.5, value.dtype))
        else:
            inner = b.emit("Mul", value, _number(b, b.random.choice((0.5**0.5, 0.5**0.5, 0.7)), value.dtype))
        gate = b.emit("Erf", inner)
    else:
        gate = b.emit("Tanh", _tanh_argument(b, value))
    one = _number(b, 1, value.dtype)
    gate = b.emit("Add", *((gate, one) if b.chance(0.5) else (one, gate)))
    which = b.random.randint(0, 2)
    if which == 0:
        return _halved(b, b.emit("Mul", value, gate))
    return b.emit("Mul", _halved(b, value), gate) if which == 1 else b.emit("Mul", value, _halved(b, gate))


def _tanh_argument(b: Builder, value: Value) -> Value:
    cubic, outer = _number(b, 0.044715, value.dtype), _number(b, 0.7978845608, value.dtype)
    which = b.random.randint(0, 4)
    if which == 4:
        third = b.emit("Mul", value, b.emit("Mul", value, b.emit("Mul", cubic, value)))
        return b.emit("Mul", b.emit("Add", value, third), outer)
    if which == 0:
        cube = b.emit("Pow", value, _number(b, 3, value.dtype))
    elif which == 1:
        cube = b.emit("Mul", value, b.emit("Mul", value, value))
    else:
        square = b.emit("Mul", b.emit("Mul", value, cubic), value)
        if b.chance(0.4):
            square = b.emit("Mul", b.emit("Mul", value, value), cubic)
        sum_ = b.emit("Add", square, _number(b, 1, value.dtype))
        if which == 2:
            return b.emit("Mul", b.emit("Mul", value, outer), sum_)
        return b.emit("Mul", b.emit("Mul", value, sum_), outer)
    return b.emit("Mul", b.emit("Add", value, b.emit("Mul", cube, cubic)), outer)


def _halved(b: Builder, value: Value) -> Value:
    if b.chance(0.2):
        return b.emit("Div", value, _number(b, 2, value.dtype))
    half = _number(b, 0.5, value.dtype)
    return b.emit("Mul", *((value, half) if b.chance(0.5) else (half, value)))


def softmax(b: Builder) -> Value:
    """Softmax or its logarithm from the parts, along any axis, which the reductions keep or lose."""
    value = b.pick(F32, F32, F64, least=2)
    axis = b.random.choice((-1, -1, -2))
    highest = _kept(b, "ReduceMax", value, axis)
    difference = b.emit("Sub", value, highest)
    powers = b.emit("Exp", difference)
    total = _kept(b, "ReduceSum", powers, axis if b.chance(0.9) else -1)
    which = b.random.randint(0, 2)
    if which == 0:
        return b.emit("Mul", powers, b.emit("Reciprocal", total))
    return b.emit("Div", powers, total) if which == 1 else b.emit("Sub", difference, b.emit("Log", total))


def _kept(b: Builder, operator: str, value: Value, axis: int) -> Value:
    since = 13 if operator == "ReduceSum" else 18
    if b.chance(0.6):
        return with_axes(b, operator, value, [axis], since)
    reduced = with_axes(b, operator, value, [axis], since, keepdims=0)
    return with_axes(b, "Unsqueeze", reduced, [axis % len(value.shape)], 13)


def rows_of_images(b: Builder) -> Value:
    """The axes of an image joined, by a computed target or a constant one, and the channels last, or elsewhere."""
    value = image(b)
    channels = value.shape[1]
    if b.chance(0.5):
        shape = b.emit("Shape", value)
        batch = b.emit("Gather", shape, b.constant(np.zeros(1, np.int64)), axis=0)
        target = b.emit("Concat", batch, b.ints(channels), b.ints(-1), axis=0)
    else:
        target = b.ints(0, b.random.choice((0, channels)), -1)
    joined = b.emit("Reshape", value, target)
    rows = b.emit("Transpose", joined, perm=b.random.choice(([0, 2, 1], [0, 2, 1], [2, 0, 1], [1, 0, 2])))
    if len({array.shape[-1] for array in rows.arrays}) > 1:
        return rows
    made = _behind(b, _normalized(b, rows))
    return b.emit("Transpose", made, perm=[0, 2, 1]) if b.chance(0.3) else made


def _number(b: Builder, item: float, dtype: Dtype) -> Value:
    return b.constant(np.full(b.random.choice(((), (), (1,))), item, dtype))


MAKERS = {normalization: 6, gelu: 5, rows_of_images: 3, softmax: 3}
