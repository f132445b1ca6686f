"""Makers of nodes that move elements or tell shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import numpy_helper

from tests.random_models.builder import Builder, Value
from tests.random_models.trial import Refused
from tests.random_models.values import ALL, F16, F32, FLOATS, I32, I64, NUMBERS, Dtype

_FAR = (1 << 63) - 1
_ANY = tuple(kind for kind in ALL if kind != F16)


def any_value(b: Builder, *, least: int = 0, rank: int | None = None, static: bool = False) -> Value:
    """A value of any dtype, a float one most of the time."""
    kinds: tuple[Dtype, ...] = (F32,) if b.chance(0.5) else _ANY if not b.half else ALL
    return b.pick(*kinds, least=least, rank=rank, static=static)


def axis_of(b: Builder, value: Value) -> int:
    """An axis, counted from the front or from the back."""
    if not value.rank:
        raise Refused("no axes")
    axis = b.random.randrange(value.rank)
    return axis - value.rank if b.chance(0.3) else axis


def with_axes(b: Builder, operator: str, value: Value, axes: list[int], since: int, **attributes: Any) -> Value:
    """A node whose axes are an attribute before an opset and an input from there on."""
    if b.opset < since:
        return b.emit(operator, value, axes=axes, **attributes)
    return b.emit(operator, value, b.ints(*axes), **attributes)


def unsqueeze(b: Builder, value: Value, axes: list[int]) -> Value:
    """Unsqueeze in the form of the opset."""
    return with_axes(b, "Unsqueeze", value, axes, 13)


def squeeze(b: Builder, value: Value, axes: list[int]) -> Value:
    """Squeeze in the form of the opset."""
    return with_axes(b, "Squeeze", value, axes, 13)


def transpose(b: Builder) -> Value:
    """Transpose by drawn axes, or by default."""
    value = any_value(b, least=2)
    if b.chance(0.15):
        return b.emit("Transpose", value)
    axes = list(range(value.rank))
    b.random.shuffle(axes)
    return b.emit("Transpose", value, perm=axes)


def factors(b: Builder, size: int) -> list[int]:
    """A shape of a number of elements."""
    dims = [size] if size else [0]
    for _ in range(b.random.randint(0, 2)):
        last = dims.pop()
        choices = [item for item in (1, 2, 3, 4) if last and last % item == 0] or [1]
        item = b.random.choice(choices)
        dims += [item, last // item]
    return dims


def reshape(b: Builder) -> Value:
    """Reshape to a constant shape with 0 and -1 where they fit."""
    value = any_value(b)
    if value.is_static:
        dims = factors(b, value.arrays[0].size)
        if b.chance(0.5) and 0 not in dims:
            dims[b.random.randrange(len(dims))] = -1
        dims = [0 if axis < value.rank and value.shape[axis] == dim and b.chance(0.5) else dim
                for axis, dim in enumerate(dims)]  # fmt: skip
    else:
        dims = b.random.choice(([-1], [0, -1], [-1, 1], [0, 0, -1], [-1, *value.shape[1:]]))
    return b.emit("Reshape", value, b.ints(*dims))


def flatten(b: Builder) -> Value:
    """Flatten at an axis."""
    value = any_value(b, least=1)
    return b.emit("Flatten", value, **({} if b.chance(0.4) else {"axis": axis_of(b, value)}))


def squeezing(b: Builder) -> Value:
    """Unsqueeze, Squeeze, or both with axes that agree or not."""
    value = any_value(b)
    if b.chance(0.3):
        axes = [axis for axis, dim in enumerate(value.shape) if dim == 1]
        if axes and value.is_static:
            return squeeze(b, value, b.random.sample(axes, b.random.randint(1, len(axes))))
    axis = b.random.randint(0, value.rank)
    value = unsqueeze(b, value, [axis])
    if b.chance(0.5):
        return value
    ones = [place for place, dim in enumerate(value.shape) if dim == 1]
    return squeeze(b, value, [b.random.choice([axis, *ones])])


def slicing(b: Builder) -> Value:
    """Slice of one or two axes, forwards or backwards."""
    value = any_value(b, least=1)
    axes = b.random.sample(range(value.rank), min(value.rank, b.random.choice((1, 1, 2))))
    starts, ends, steps = [], [], []
    for _ in axes:
        step = b.random.choice((1, 1, 1, 2, -1, -2))
        steps.append(step)
        starts.append(b.random.choice((0, 0, 1, -2)) if step > 0 else b.random.choice((-1, _FAR, 1)))
        ends.append(b.random.choice((_FAR, 2, -1, 3)) if step > 0 else b.random.choice((-_FAR, 0)))
    dtype = I64 if b.chance(0.85) or _FAR in (*starts, *ends) or -_FAR in ends else I32
    return slice_of(b, value, starts, ends, axes, steps, dtype=dtype)


def slice_of(
    b: Builder, value: Value, starts: list[int], ends: list[int], axes: list[int], steps: list[int],
    *, dtype: Dtype = I64,
) -> Value:  # fmt: skip
    """Slice with or without the steps that are 1."""
    more = [] if all(step == 1 for step in steps) and b.chance(0.5) else [b.ints(*steps, dtype=dtype)]
    return b.emit(
        "Slice", value, b.ints(*starts, dtype=dtype), b.ints(*ends, dtype=dtype), b.ints(*axes, dtype=dtype), *more
    )


def concat(b: Builder) -> Value:
    """Concat of a value with itself or with constants; of one sometimes."""
    value = any_value(b, least=1)
    axis = axis_of(b, value)
    parts = [value]
    for _ in range(b.random.choice((0, 1, 1, 2))):
        same = b.find(lambda item: item is not value and joins(item, value, axis))
        parts.append(same if same is not None and b.chance(0.6) else value)
    if value.is_static and b.chance(0.3):
        parts.insert(b.random.randint(0, 1), b.weights(value.dtype, value.shape))
    return b.emit("Concat", *parts, axis=axis)


def joins(one: Value, other: Value, axis: int) -> bool:
    """Whether two values can be concatenated; ONNX Runtime alone does not mind the other dims of an empty one."""
    if one.dtype != other.dtype or one.rank != other.rank:
        return False
    pairs = zip(one.arrays, other.arrays, strict=True)
    return all(np.delete(a.shape, axis).tolist() == np.delete(c.shape, axis).tolist() for a, c in pairs)


def gather(b: Builder) -> Value:
    """Gather of constant or computed indices."""
    value = any_value(b, least=1)
    axis = axis_of(b, value)
    most = min(array.shape[axis] for array in value.arrays)
    if not most:
        raise Refused("nothing to gather")
    shape = b.random.choice(((), (), (1,), (2,), (2, 2)))
    indices = b.constant(np.asarray(b.source.integers(-most, most, shape), b.random.choice((I64, I64, I32))))
    return b.emit("Gather", value, indices, axis=axis)


def gather_nd(b: Builder) -> Value:
    """GatherND of the first axes."""
    value = any_value(b, least=1)
    depth = b.random.randint(1, value.rank)
    indices = b.constant(np.zeros((b.random.randint(1, 3), depth), I64))
    return b.emit("GatherND", value, indices)


def gather_elements(b: Builder) -> Value:
    """GatherElements, or ScatterElements of drawn updates."""
    value = any_value(b, least=1, static=True)
    axis = axis_of(b, value)
    if not value.arrays[0].size:
        raise Refused("nothing to gather")
    if b.chance(0.5):
        indices = b.constant(np.asarray(b.source.integers(0, value.shape[axis], value.shape), I64))
        return b.emit("GatherElements", value, indices, axis=axis)
    # Each place is written once, so that the order does not matter.
    order = np.argsort(b.source.random(value.shape), axis=axis).astype(I64)
    return b.emit("ScatterElements", value, b.constant(order), b.weights(value.dtype, value.shape), axis=axis)


def scatter_nd(b: Builder) -> Value:
    """ScatterND of one row."""
    value = any_value(b, least=1, static=True)
    row = b.constant(np.array([[b.random.randrange(max(1, value.shape[0]))]], I64))
    return b.emit("ScatterND", value, row, b.weights(value.dtype, (1, *value.shape[1:])))


def expand(b: Builder) -> Value:
    """Expand to a constant shape or to the shape of another value."""
    value = any_value(b)
    if b.chance(0.5):
        shape = b.random.choice(([2, 3], [1], [3, 1], [2, 1, 1], [4]))
        return b.emit("Expand", value, b.ints(*shape))
    other = b.find(lambda item: item.fits(value))
    if other is None:
        raise Refused("nothing to expand to")
    return b.emit("Expand", value, b.emit("Shape", other))


def tile(b: Builder) -> Value:
    """Tile by one to three."""
    value = any_value(b, least=1)
    return b.emit("Tile", value, b.ints(*(b.random.choice((1, 1, 2, 3)) for _ in range(value.rank))))


def pad(b: Builder) -> Value:
    """Pad by a constant, the edge or a reflection; by less than nothing sometimes."""
    value = b.pick(*NUMBERS, least=1)
    mode = b.random.choice(("constant", "constant", "edge", "reflect"))
    pads = [b.random.choice((0, 0, 1, 2, -1) if mode == "constant" else (0, 0, 1)) for _ in range(2 * value.rank)]
    fill = b.weights(value.dtype, ()) if mode == "constant" and b.chance(0.7) else None
    return b.emit("Pad", value, b.ints(*pads), fill, mode=mode)


def split(b: Builder) -> list[Value]:
    """Split into parts, equal or not; put together again sometimes."""
    value = any_value(b, least=1)
    axis = axis_of(b, value)
    size = value.shape[axis]
    if size < 2 or not value.is_static:
        raise Refused("nothing to split")
    first = b.random.randint(1, size - 1)
    sizes = [first, size - first]
    if b.opset < 13:
        parts = b.emit_all("Split", [value], 2, axis=axis, split=sizes)
    elif size % 2 == 0 and b.chance(0.4):
        more = {"num_outputs": 2} if b.opset >= 18 else {}
        parts = b.emit_all("Split", [value], 2, axis=axis, **more)
    else:
        parts = b.emit_all("Split", [value, b.ints(*sizes)], 2, axis=axis)
    if b.chance(0.3):
        b.emit("Concat", *parts, axis=axis)
    return parts


def shape(b: Builder) -> Value:
    """Shape of all axes or of some, or Size."""
    value = any_value(b, least=1)
    if b.chance(0.15):
        return b.emit("Size", value)
    if b.opset >= 15 and b.chance(0.3):
        return b.emit("Shape", value, start=b.random.choice((0, 1, -1)), **({"end": -1} if b.chance(0.3) else {}))
    return b.emit("Shape", value)


def filled(b: Builder) -> Value:
    """ConstantOfShape of a constant shape or of a computed one."""
    shape = b.emit("Shape", any_value(b)) if b.chance(0.6) else b.ints(*b.random.choice(([2, 3], [], [1], [0, 2])))
    if b.chance(0.4):
        return b.emit("ConstantOfShape", shape)
    fill = np.array([b.random.choice((0, 1, -1, 3))], b.random.choice(NUMBERS))
    return b.emit("ConstantOfShape", shape, value=numpy_helper.from_array(fill, "fill"))


def counted(b: Builder) -> Value:
    """Range, constant or up to the size of an axis."""
    if b.chance(0.5):
        dtype = b.random.choice((I64, I32, F32))
        step = b.random.choice((1, 2, -1))
        start, limit = (0, 5) if step > 0 else (4, -1)
        return b.emit("Range", b.scalar(start, dtype), b.scalar(limit, dtype), b.scalar(step, dtype))
    size = b.emit("Gather", b.emit("Shape", any_value(b, least=1)), b.scalar(0))
    return b.emit("Range", b.scalar(0), size, b.scalar(1))


def indices(b: Builder) -> Value:
    """NonZero, Compress, OneHot or EyeLike."""
    which = b.random.randint(0, 3)
    if which == 0:
        return b.emit("NonZero", b.pick(*NUMBERS, least=1))
    if which == 1:
        value = any_value(b, least=1)
        return b.emit("Compress", value, b.constant(b.source.random(2) < 0.6), axis=axis_of(b, value))
    if which == 2:
        value = b.pick(I64, least=0)
        return b.emit("OneHot", value, b.scalar(4), b.constant(np.array([0, 1], b.random.choice((F32, I64)))))
    return b.emit("EyeLike", b.pick(*NUMBERS, rank=2))


def blocks(b: Builder) -> Value:
    """SpaceToDepth or DepthToSpace."""
    value = b.pick(*FLOATS, rank=4)
    if b.chance(0.5):
        return b.emit("SpaceToDepth", value, blocksize=2)
    return b.emit("DepthToSpace", value, blocksize=2, mode=b.random.choice(("DCR", "CRD")))


def triangle(b: Builder) -> Value:
    """Trilu, or a sum along an axis."""
    if b.opset >= 14 and b.chance(0.5):
        return b.emit("Trilu", b.pick(*NUMBERS, least=2), upper=b.random.randint(0, 1))
    value = b.pick(*NUMBERS, least=1)
    return b.emit(
        "CumSum", value, b.scalar(axis_of(b, value)), exclusive=b.random.randint(0, 1), reverse=b.random.randint(0, 1)
    )


MAKERS = {
    transpose: 4, reshape: 4, flatten: 1, squeezing: 3, slicing: 4, concat: 3, gather: 3, gather_nd: 1,
    gather_elements: 1, scatter_nd: 1, expand: 2, tile: 1, pad: 2, split: 2, shape: 2, filled: 2, counted: 1,
    indices: 1, blocks: 1, triangle: 2,
}  # fmt: skip
