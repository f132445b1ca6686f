"""Makers of regions in another order of axes: Transposes around layers, and what is done between them."""

from __future__ import annotations

from collections.abc import Callable

from tests.random_models.builder import Builder, Value
from tests.random_models.layers import image
from tests.random_models.movement import axis_of, with_axes
from tests.random_models.trial import Refused
from tests.random_models.values import F32, NUMBERS

_TO_FRONT, _TO_BACK = [0, 3, 1, 2], [0, 2, 3, 1]


def between_transposes(b: Builder) -> Value:
    """One to six nodes on a value that is transposed before, and back, or in another way, behind."""
    value = b.pick(*NUMBERS, least=2)
    order = b.random.sample(range(value.rank), value.rank)
    back = [order.index(axis) for axis in range(value.rank)]
    made = [b.emit("Transpose", value, perm=order)]
    if b.chance(0.3):
        made.append(b.emit("Transpose", value, perm=order))
    for _ in range(b.random.randint(1, 6)):
        made.append(_node(b, b.random.choice(made[-3:]), value.rank))
    ends = [made[-1]] if b.chance(0.6) else made[-2:]
    return [b.emit("Transpose", item, perm=back if b.chance(0.85) else order) for item in ends][-1]


def channels_last(b: Builder) -> Value:
    """Convolutions or pools between Transposes, with biases, sums and pads of channels last."""
    made = b.emit("Transpose", image(b), perm=_TO_BACK)
    for _ in range(b.random.randint(1, 3)):
        front = b.emit("Transpose", made, perm=_TO_FRONT)
        if b.chance(0.7):
            channels = front.shape[1]
            result = b.emit("Conv", front, b.weights(F32, (channels, channels, 1, 1)))
        else:
            result = b.emit("MaxPool", front, kernel_shape=[1, 1])
        before, made = made, b.emit("Transpose", result, perm=_TO_BACK)
        for _ in range(b.random.randint(0, 3)):
            made = _node(b, made, 4)
        if b.chance(0.4) and made.fits(before):
            made = b.emit("Add", made, before)
    return made


def _node(b: Builder, value: Value, rank: int) -> Value:
    """One node that leaves the rank as it is."""
    if value.rank != rank:
        raise Refused("another rank")
    makers: list[Callable[[Builder, Value], Value]] = [
        _unary, _binary, _binary, _binary, _concat, _split, _pad, _slice, _reduced, _softmax, _where,
    ]  # fmt: skip
    made = b.random.choice(makers)(b, value)
    if made.rank != rank:
        raise Refused("another rank")
    return made


def _unary(b: Builder, value: Value) -> Value:
    return b.emit(b.random.choice(("Relu", "Abs", "Neg", "Sigmoid", "Tanh", "Exp", "Identity", "Softplus")), value)


def _binary(b: Builder, value: Value) -> Value:
    pair = [value, b.partner(value, 0.3)]
    b.random.shuffle(pair)
    return b.emit(b.random.choice(("Add", "Sub", "Mul", "Max", "Min")), *pair)


def _concat(b: Builder, value: Value) -> Value:
    return b.emit("Concat", value, b.emit("Neg", value) if b.chance(0.5) else value, axis=axis_of(b, value))


def _split(b: Builder, value: Value) -> Value:
    axis = axis_of(b, value)
    if {array.shape[axis] % 2 for array in value.arrays} != {0}:
        raise Refused("no halves")
    parts = {"num_outputs": 2} if b.opset >= 18 else {}
    first, second = b.emit_all("Split", [value], 2, axis=axis, **parts)
    return b.emit("Sub", second, first) if b.chance(0.6) else first


def _pad(b: Builder, value: Value) -> Value:
    pads = [b.random.choice((0, 0, 1)) for _ in range(2 * value.rank)]
    return b.emit("Pad", value, b.ints(*pads), mode=b.random.choice(("constant", "constant", "edge")))


def _slice(b: Builder, value: Value) -> Value:
    axis = axis_of(b, value)
    return b.emit("Slice", value, b.ints(b.random.choice((0, 1))), b.ints(1 << 40), b.ints(axis))


def _reduced(b: Builder, value: Value) -> Value:
    operator, since = b.random.choice((("ReduceMax", 18), ("ReduceMean", 18), ("ReduceSum", 13)))
    return with_axes(b, operator, value, [axis_of(b, value)], since, keepdims=1)


def _softmax(b: Builder, value: Value) -> Value:
    return b.emit("Softmax", value, axis=-1)


def _where(b: Builder, value: Value) -> Value:
    test = b.emit("Less", value, b.partner(value, 0.2))
    return b.emit("Where", test, value, b.partner(value, 0.2))


MAKERS = {between_transposes: 3, channels_last: 2}
