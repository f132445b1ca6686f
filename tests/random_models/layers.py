"""Makers of reductions and of the layers of networks."""

from __future__ import annotations

import numpy as np

from tests.random_models.builder import Builder, Value
from tests.random_models.movement import axis_of, with_axes
from tests.random_models.trial import Refused
from tests.random_models.values import F32, F64, FLOATS, I8, I64, NUMBERS, U8, Array

_REDUCTIONS = (
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
    "ReduceLogSumExp", "ReduceLogSum",
)  # fmt: skip


def reduction(b: Builder) -> Value:
    """A reduction over some axes, all or none."""
    operator = b.random.choice((*_REDUCTIONS[:4], *_REDUCTIONS))
    value = b.pick(*(NUMBERS if operator in _REDUCTIONS[:4] else FLOATS))
    keep = {} if b.chance(0.4) else {"keepdims": b.random.randint(0, 1)}
    since = 13 if operator == "ReduceSum" else 18
    if not value.rank or b.chance(0.2):
        if b.opset >= since and b.chance(0.4):
            return b.emit(operator, value, noop_with_empty_axes=1, **keep)
        return b.emit(operator, value, **keep)
    axes = b.random.sample(range(value.rank), b.random.randint(1, value.rank))
    axes = [axis - value.rank if b.chance(0.3) else axis for axis in axes]
    return with_axes(b, operator, value, axes, since, **keep)


def arg(b: Builder) -> Value:
    """ArgMax, ArgMin or TopK of numbers without NaN."""
    value = b.pick(*FLOATS, I64, least=1)
    if any(not np.isfinite(array).all() or not array.size for array in value.arrays):
        raise Refused("no order")
    axis = axis_of(b, value)
    if b.chance(0.4):
        return b.emit_all("TopK", [value, b.ints(1)], 2, axis=axis)[b.random.randint(0, 1)]
    return b.emit(b.random.choice(("ArgMax", "ArgMin")), value, axis=axis, keepdims=b.random.randint(0, 1))


def softmax(b: Builder) -> Value:
    """Softmax, LogSoftmax, Hardmax or LpNormalization along an axis; spelled out sometimes."""
    value = b.pick(*FLOATS, least=1)
    axis = axis_of(b, value)
    if b.chance(0.2):
        powers = b.emit("Exp", value)
        return b.emit("Div", powers, with_axes(b, "ReduceSum", powers, [axis], 13))
    operator = b.random.choice(("Softmax", "Softmax", "LogSoftmax", "Hardmax", "LpNormalization"))
    return b.emit(operator, value, **({} if b.chance(0.3) else {"axis": axis}))


def matmul(b: Builder) -> Value:
    """MatMul with weights or with another value, with a bias or a transposition sometimes."""
    value = b.pick(*FLOATS, least=1)
    inner, width = value.shape[-1], b.random.choice((1, 2, 3, 4))
    if b.chance(0.25):
        value = b.emit("Transpose", value, perm=[*range(value.rank - 2), value.rank - 1, value.rank - 2])
        inner = value.shape[-1]
    if len({array.shape[-1] for array in value.arrays}) > 1:
        raise Refused("inner dim differs")
    weight = b.weights(value.dtype, (inner, width))
    if b.chance(0.2):
        weight = b.emit("Transpose", b.weights(value.dtype, (width, inner)))
    product = b.emit("MatMul", value, weight)
    if b.chance(0.5):
        bias = b.weights(value.dtype, b.random.choice(((width,), (1, width), ())))
        product = b.emit("Add", *((product, bias) if b.chance(0.5) else (bias, product)))
    if b.chance(0.25):
        product = b.emit("Mul", product, b.weights(value.dtype, b.random.choice(((width,), ()))))
    return b.emit("MatMul", product, b.weights(value.dtype, (width, 2))) if b.chance(0.2) else product


def gemm(b: Builder) -> Value:
    """Gemm with its factors and transpositions."""
    value = b.pick(*FLOATS, rank=2)
    flip = b.random.randint(0, 1)
    inner = value.shape[0 if flip else 1]
    other = b.random.randint(0, 1)
    weight = b.weights(value.dtype, (3, inner) if other else (inner, 3))
    bias = None if b.chance(0.3) else b.weights(value.dtype, b.random.choice(((3,), (1,), (), (1, 3))))
    factors = {} if b.chance(0.6) else {"alpha": 0.5, "beta": b.random.choice((0.0, 2.0))}
    product = b.emit("Gemm", value, weight, bias, transA=flip, transB=other, **factors)
    return b.emit("Add", product, b.weights(value.dtype, (3,))) if b.chance(0.3) else product


def image(b: Builder) -> Value:
    """A value of four axes with room for a window."""
    found = b.find(lambda item: item.rank == 4 and item.dtype == F32 and item.shape[1] < 9 and min(item.shape[2:]) >= 2)
    if found is not None and len({array.shape[1:] for array in found.arrays}) == 1 and b.chance(0.8):
        return found
    dims = (b.random.choice((1, 2, 4)), b.random.choice((4, 5)), b.random.choice((4, 6)))
    if b.depth == 0:
        return b.input(F32, ("N", *dims))
    return b.add(b.weights(F32, (1, *dims)))


def per_channel(b: Builder, value: Value) -> list[Value]:
    """Scale, bias, mean and variance of a normalization."""
    channels = value.shape[1]
    arrays = [b.source.normal(0, 1, channels).astype(F32) for _ in range(3)]
    if b.chance(0.2):
        arrays = [np.ones(channels, F32), np.zeros(channels, F32), np.zeros(channels, F32)]
    variance = np.abs(b.source.normal(1, 0.5, channels)).astype(F32)
    return [b.constant(array) for array in (*arrays, variance)]


def convolution(b: Builder) -> Value:
    """Conv or ConvTranspose, padded by a node before, and scaled, shifted or normalized after it sometimes."""
    value = image(b)
    if b.chance(0.2):
        value = b.emit("Pad", value, b.ints(0, 0, 1, 1, 0, 0, 1, 1), b.scalar(b.random.choice((0, 0, 1)), F32))
    channels, width = value.shape[1], b.random.choice((1, 2, 4))
    window = b.random.choice(((1, 1), (3, 3), (2, 1)))
    is_transposed = b.chance(0.25)
    group = 2 if channels % 2 == 0 and width % 2 == 0 and not is_transposed and b.chance(0.4) else 1
    shape = (channels, width, *window) if is_transposed else (width, channels // group, *window)
    bias = b.weights(F32, (width,)) if b.chance(0.5) else None
    attributes: dict[str, object] = {"group": group} if group > 1 else {}
    if b.chance(0.4):
        attributes["pads"] = [1, 0, 1, 0] if is_transposed or window[0] > 1 else [0, 0, 0, 0]
    elif b.chance(0.2):
        attributes["auto_pad"] = "SAME_UPPER"
    if b.chance(0.3):
        attributes["strides"] = [2, 1]
    operator = "ConvTranspose" if is_transposed else "Conv"
    made = b.emit(operator, value, b.weights(F32, shape), bias, **attributes)
    after = b.random.randint(0, 4)
    if after == 0:
        return b.emit("BatchNormalization", made, *per_channel(b, made))
    if after == 1:
        scale = b.weights(F32, (1, width, 1, 1) if b.chance(0.7) else ())
        return b.emit(b.random.choice(("Mul", "Add")), made, scale)
    return b.emit("Relu", made) if after == 2 else made


def normalization(b: Builder) -> Value:
    """A normalization with constant or neutral parameters."""
    if b.opset >= 17 and b.chance(0.3):
        value = b.pick(F32, least=1)
        width = (value.shape[-1],)
        return b.emit("LayerNormalization", value, b.weights(F32, width), b.weights(F32, width), axis=-1)
    value = image(b)
    parameters = per_channel(b, value)
    which = b.random.randint(0, 2)
    if which == 0:
        return b.emit("InstanceNormalization", value, *parameters[:2])
    if which == 1:
        return b.emit("LRN", value, size=3)
    return b.emit("BatchNormalization", value, *parameters)


def pool(b: Builder) -> Value:
    """A pooling layer, global or of a window that may be 1 x 1."""
    value = image(b)
    if b.chance(0.3):
        return b.emit(b.random.choice(("GlobalAveragePool", "GlobalMaxPool")), value)
    operator = b.random.choice(("MaxPool", "AveragePool"))
    attributes: dict[str, object] = {"kernel_shape": b.random.choice(([2, 2], [1, 1], [3, 2]))}
    if b.chance(0.4) and attributes["kernel_shape"] != [1, 1]:
        attributes["pads"] = [1, 1, 1, 1]
    if b.chance(0.4):
        attributes["strides"] = [2, 2]
    return b.emit(operator, value, **attributes)


def resize(b: Builder) -> Value:
    """Resize by factors, which may be 1, or to sizes."""
    value = image(b)
    mode = b.random.choice(("nearest", "nearest", "linear"))
    empty = b.constant(np.zeros(0, F32)) if b.opset < 13 else None
    if b.chance(0.6):
        scales = [1.0, 1.0, *b.random.choice(([2.0, 2.0], [1.0, 1.0], [0.5, 2.0]))]
        return b.emit("Resize", value, empty, b.constant(np.array(scales, F32)), mode=mode)
    if not value.is_static:
        raise Refused("sizes need a constant batch")
    sizes = b.ints(*value.shape[:2], *b.random.choice(([4, 4], list(value.shape[2:]))))
    return b.emit("Resize", value, empty, empty, sizes, mode=mode)


def dropout(b: Builder) -> Value:
    """Dropout that does nothing, or that draws; its mask is used, kept or left out."""
    value = b.pick(*FLOATS)
    outputs = b.random.choice((1, 1, 2))
    if b.opset < 12:
        made = b.emit_all("Dropout", [value], outputs, ratio=0.3)
    else:
        ratio = b.constant(np.array(b.random.choice((0.0, 0.5)), F32)) if b.chance(0.7) else None
        training = b.constant(np.array(b.chance(0.3))) if b.chance(0.6) else None
        is_training = training is not None and any(array.any() for array in training.arrays)
        is_drawn = is_training and (ratio is None or any(array.any() for array in ratio.arrays))
        made = b.emit_all("Dropout", [value, ratio, training], outputs, is_drawn=is_drawn)
    return made[-1] if b.chance(0.3) else made[0]


def einsum(b: Builder) -> Value:
    """A product in Einstein's notation."""
    value = b.pick(F32, F64, rank=2)
    if b.opset < 12:
        raise Refused("no Einsum yet")
    equation, shape = b.random.choice(
        (("ij,jk->ik", (value.shape[1], 2)), ("ij->ji", None), ("ij,j->i", (value.shape[1],)))
    )
    return b.emit("Einsum", value, *([] if shape is None else [b.weights(value.dtype, shape)]), equation=equation)


def integer_product(b: Builder) -> Value:
    """MatMulInteger of bytes and weights."""
    value = b.pick(U8, I8, rank=2)
    array: Array = np.asarray(b.source.integers(0, 5, (value.shape[1], 2)), U8)
    return b.emit("MatMulInteger", value, b.constant(array))


def chance(b: Builder) -> Value:
    """A node whose results no one may foresee, once or twice the same."""
    seed = float(b.random.choice((1, 2)))
    which = b.random.randint(0, 3)
    if which == 0:
        value = b.emit("RandomNormal", shape=[2, 3], seed=seed)
        return b.emit("Sub", value, b.emit("RandomNormal", shape=[2, 3], seed=seed)) if b.chance(0.5) else value
    if which == 1:
        source = b.pick(F32)
        value = b.emit("RandomUniformLike", source, seed=seed)
        return b.emit("Sub", value, b.emit("RandomUniformLike", source, seed=seed)) if b.chance(0.5) else value
    if which == 2 and b.opset >= 15:
        return b.emit("Bernoulli", b.emit("Sigmoid", b.pick(F32)), seed=seed)
    return b.emit("Multinomial", b.weights(F32, (2, 3)), sample_size=4, seed=seed, dtype=7)


MAKERS = {
    reduction: 4, arg: 1, softmax: 2, matmul: 3, gemm: 2, convolution: 3, normalization: 2,
    pool: 2, resize: 1, dropout: 2, einsum: 1, integer_product: 1, chance: 1,
}  # fmt: skip
