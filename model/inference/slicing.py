"""Operators that take parts of a tensor, or make a tensor of a shape: values of small ones are followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from maxfold.model import dtypes
from maxfold.model.graph import Constant
from maxfold.model.inference import arithmetic
from maxfold.model.inference.call import Call, normal_axes, normal_axis
from maxfold.model.inference.elementwise import FLOAT, INT64
from maxfold.model.inference.facts import MOST_ELEMENTS, Element, Fact, PartialValue, Unknown, static, value_of
from maxfold.model.inference.symbolic import Dim, Expr, ceil_div, floor_div, maximum, minimum, product

# Ends from here on mean "to the end", as exporters write it; dimensions are taken to be smaller.
_TO_THE_END = (1 << 31) - 1


def shape(call: Call) -> Fact:
    """Shape, of the dims from `start` to `end`."""
    dims = call.dims(0)
    if dims is None:
        return Fact(INT64, (None,))
    part = dims[slice(call.attribute("start", 0), call.attribute("end"))]
    return Fact(INT64, (len(part),), PartialValue((len(part),), part) if len(part) <= MOST_ELEMENTS else None)


def size(call: Call) -> Fact:
    """Size: the product of all dims."""
    dims = call.dims(0)
    return Fact(INT64, (), None if dims is None else PartialValue((), (product(dims),)))


def slice_(call: Call) -> Fact:
    """Slice, whose limits are inputs, before version 10 attributes."""
    fact = call.fact(0)
    dims = call.known_dims(0)
    starts, ends = _limits(call, 1, "starts"), _limits(call, 2, "ends")
    is_known = all(call.numbers(index) is not None for index in (3, 4) if call.has(index))
    if starts is None or ends is None or len(starts) != len(ends) or not is_known:
        return Fact(fact.dtype, (None,) * len(dims))
    axes = normal_axes(call.axes(3) or range(len(starts)), len(dims))
    steps = call.axes(4, "steps") or (1,) * len(axes)
    if len(axes) != len(starts) or len(steps) != len(starts) or 0 in steps:
        raise Unknown
    sliced: list[Dim | None] = list(dims)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        sliced[axis] = _length(call, dims[axis], start, end, step)
    return Fact(fact.dtype, tuple(sliced), _slice_value(call, axes, starts, ends, steps))


def _limits(call: Call, index: int, name: str) -> tuple[Element, ...] | None:
    given = call.integers(name)
    return given if given is not None else call.vector(index)


def _length(call: Call, dim: Dim, start: Element, end: Element, step: int) -> Dim | None:
    """How many elements of a dim a slice takes; limits are clamped to the dim."""
    if isinstance(dim, int) and isinstance(start, int) and isinstance(end, int):
        return None if _is_beyond(dim, start, end, step) else len(range(*slice(start, end, step).indices(dim)))
    if not isinstance(start, (int, Expr)) or not isinstance(end, (int, Expr)):
        return None
    if step == -1 and isinstance(start, int) and isinstance(end, int):
        is_whole = (start == -1 or start >= _TO_THE_END) and end < -_TO_THE_END
        return dim if is_whole else None
    if step < 0:
        return None
    is_to_the_end = end == dim or (isinstance(end, int) and end >= _TO_THE_END)
    if is_to_the_end and isinstance(start, int) and start < 0:
        return ceil_div(minimum(dim, -start), step)
    first = _from_front(call, dim, start)
    last = dim if is_to_the_end else _from_front(call, dim, end)
    if first is None or last is None:
        return None
    length = minimum(last, dim) - maximum(first, 0)
    if isinstance(start, int) and start == 0 and call.is_at_least(minimum(last, dim), 0):
        return ceil_div(minimum(last, dim), step)
    return ceil_div(length if call.is_at_least(length, 0) else maximum(length, 0), step)


def _is_beyond(dim: int, start: int, end: int, step: int) -> bool:
    """Whether a slice goes backwards from before the first element, where ONNX begins at it and Python has nothing, or
    to an end that ONNX Runtime takes for the beginning.
    """
    return step < 0 and (start < -dim or end >= _TO_THE_END)


def _from_front(call: Call, dim: Dim, limit: Dim) -> Dim | None:
    """A limit counted from the front, not yet clamped, None where it may be of either sign."""
    if call.is_at_least(limit, 0):
        return limit
    return dim + limit if call.is_at_least(-limit, 1) else None


def _slice_value(
    call: Call, axes: Sequence[int], starts: Sequence[Element], ends: Sequence[Element], steps: Sequence[int]
) -> PartialValue | None:
    value = call.value(0)
    limits = [limit for limit in (*starts, *ends) if isinstance(limit, int)]
    if value is None or len(limits) != len(starts) + len(ends):
        return None
    parts = [slice(None)] * len(value.shape)
    for axis, start, end, step in zip(axes, limits, limits[len(starts) :], steps, strict=False):
        if _is_beyond(value.shape[axis], start, end, step):
            return None
        parts[axis] = slice(start, end, step)
    return value_of(value.array()[tuple(parts)])


def gather(call: Call) -> Fact:
    """Gather: the indices' dims stand where the axis was."""
    fact = call.fact(0)
    dims, indices = call.known_dims(0), call.known_dims(1)
    axis = normal_axis(call.attribute("axis", 0), len(dims))
    return Fact(fact.dtype, dims[:axis] + indices + dims[axis + 1 :], _gather_value(call, axis))


def _gather_value(call: Call, axis: int) -> PartialValue | None:
    data = call.value(0)
    if data is None:
        return None
    indices = call.numbers(1)
    if indices is None or any(not -data.shape[axis] <= index < data.shape[axis] for index in indices):
        return None
    index_shape = static(call.dims(1))
    if index_shape is None:
        return None
    taken = data.array().take(np.array(indices, np.int64), axis)
    return value_of(taken.reshape(data.shape[:axis] + index_shape + data.shape[axis + 1 :]))


def gather_elements(call: Call) -> Fact:
    """GatherElements, and the like: one element for each index."""
    return Fact(call.dtype(0), call.dims(1))


def gather_nd(call: Call) -> Fact:
    """GatherND: each vector of indices takes a part of the data, after the batch dims."""
    fact = call.fact(0)
    dims, indices = call.known_dims(0), call.known_dims(1)
    depth = indices[-1]
    if not isinstance(depth, int):
        return Fact(fact.dtype)
    start = int(call.attribute("batch_dims", 0)) + depth
    if start > len(dims):
        raise Unknown
    return Fact(fact.dtype, indices[:-1] + dims[start:])


def split(call: Call) -> list[Fact]:
    """Split: into given lengths, or into equal parts of which the last may be shorter."""
    fact = call.fact(0)
    dims = call.known_dims(0)
    axis = normal_axis(call.attribute("axis", 0), len(dims))
    count = len(call.node.outputs)
    given = call.integers("split")
    lengths: Sequence[Element] | None = given if given is not None else call.vector(1)
    if not call.has(1) and given is None:
        lengths = _equal_parts(dims[axis], count, call.version < 18)
    if lengths is None or len(lengths) != count:
        lengths = (None,) * count
    known = [length if isinstance(length, (int, Expr)) else None for length in lengths]
    return [
        Fact(fact.dtype, (*dims[:axis], length, *dims[axis + 1 :]), value)
        for length, value in zip(known, _split_values(call, axis, known), strict=True)
    ]


def _equal_parts(dim: Dim, count: int, is_even: bool) -> list[Dim]:
    if is_even:
        return [floor_div(dim, count)] * count
    part = ceil_div(dim, count)
    return [part] * (count - 1) + [dim - part * (count - 1)]


def _split_values(call: Call, axis: int, lengths: Sequence[Dim | None]) -> list[PartialValue | None]:
    value = call.value(0)
    numbers = [length for length in lengths if isinstance(length, int)]
    if value is None or len(numbers) < len(lengths) or sum(numbers) != value.shape[axis]:
        return [None] * len(lengths)
    return [value_of(part) for part in np.split(value.array(), np.cumsum(numbers)[:-1], axis)]


def constant_of_shape(call: Call) -> Fact:
    """ConstantOfShape: zeros of type FLOAT, or what the attribute `value` says."""
    fill = call.attribute("value")
    dtype = fill.data.dtype if isinstance(fill, Constant) else FLOAT
    target = call.vector(0)
    if target is None:
        return Fact(dtype)
    dims = tuple(element if isinstance(element, (int, Expr)) else None for element in target)
    sizes = static(dims)
    if dtype is None or dtype.kind not in ("int", "uint", "bool", "float") or sizes is None:
        return Fact(dtype, dims)
    count = product(sizes)
    if not isinstance(count, int) or not 0 <= count <= MOST_ELEMENTS:
        return Fact(dtype, dims)
    number: Element = 0.0 if not isinstance(fill, Constant) else fill.data.array().reshape(-1)[0].item()
    return Fact(dtype, dims, PartialValue(sizes, (number,) * count))


def range_(call: Call) -> Fact:
    """Range: from start to before limit."""
    dtype = next((call.dtype(index) for index in range(3) if call.dtype(index) is not None), None)
    ends = [call.vector(index) for index in range(3)]
    start, limit, delta = (end[0] if end is not None and len(end) == 1 else None for end in ends)
    if not isinstance(start, (int, Expr)) or not isinstance(limit, (int, Expr)) or not isinstance(delta, int):
        return Fact(dtype, (None,))
    if delta == 0:
        raise Unknown
    span, step = (limit - start, delta) if delta > 0 else (start - limit, -delta)
    if dtype is not None and not arithmetic.fits(call, dtype, span):
        # Runtimes subtract in the type of the operands.
        return Fact(dtype, (None,))
    length = ceil_div(span if call.is_at_least(span, 0) else maximum(span, 0), step)
    if not isinstance(length, int) or length > MOST_ELEMENTS:
        return Fact(dtype, (length,))
    return Fact(dtype, (length,), PartialValue((length,), tuple(start + index * delta for index in range(length))))


def window(call: Call) -> Fact:
    """BlackmanWindow, HammingWindow and HannWindow, of a given length."""
    length = call.vector(0)
    number = length[0] if length is not None and len(length) == 1 else None
    dtype = dtypes.from_onnx(call.attribute("output_datatype", 1))
    return Fact(dtype, (number if isinstance(number, (int, Expr)) else None,))


SHAPE_FUNCTIONS: dict[str, Callable[[Call], Fact | list[Fact]]] = {
    **dict.fromkeys(["BlackmanWindow", "HammingWindow", "HannWindow"], window),
    "ConstantOfShape": constant_of_shape,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Range": range_,
    "Shape": shape,
    "Size": size,
    "Slice": slice_,
    "Split": split,
}
