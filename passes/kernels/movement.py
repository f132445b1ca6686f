"""Operators that put elements elsewhere: joined, cut, padded, repeated, rearranged.

Sources: the documents of all versions of the operators in ONNX opsets 1 to 28.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from maxfold.model.dtypes import DType
from maxfold.model.records import frozen_value
from maxfold.passes.kernels.call import Array, Call, KernelError, Piecewise, Result, Shape
from maxfold.passes.kernels.kernel import Kernel
from maxfold.passes.kernels.shape import EXACT_MOVE, distinct_axes, scalar, vector, version_axis, whole_numbers

# The least number that files have for "to the end"; backwards, some runtimes take it for "to the beginning".
_NO_END = np.iinfo(np.int32).max


def zero_of(dtype: DType) -> Array:
    """The element of rank 0 that stands where nothing was: 0, False, or the empty string."""
    if dtype.name == "FLOAT8E8M0":
        raise KernelError(f"{dtype} has no zero")
    return np.array("" if dtype.kind == "string" else 0).astype(dtype.numpy)


def _concat_axis(call: Call) -> int:
    rank = len(call.shape(0))
    return version_axis(call, call.integer("axis", 1 if call.opset < 4 else None), rank)


def _concat_results(call: Call) -> tuple[Result, ...]:
    axis = _concat_axis(call)
    shapes = [call.shape(index) for index in range(len(call.inputs))]
    first = shapes[0]
    for shape in shapes:
        if len(shape) != len(first) or shape[:axis] + shape[axis + 1 :] != first[:axis] + first[axis + 1 :]:
            raise KernelError(f"shapes {first} and {shape} do not join at axis {axis}")
    return (Result(call.dtype(), (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])),)


def _concat(call: Call) -> tuple[Array, ...]:
    _concat_results(call)
    return (np.concatenate([call.array(index) for index in range(len(call.inputs))], _concat_axis(call)),)


def _concat_pieces(call: Call) -> tuple[Piecewise, ...]:
    axis, operands = _concat_axis(call), [call.operand(index) for index in range(len(call.inputs))]

    def rows(part: slice) -> Array:
        if axis:
            return np.concatenate([operand.along(0, part) for operand in operands], axis)
        found, start = [], 0
        for operand in operands:
            low, high = max(part.start - start, 0), min(part.stop - start, operand.shape[0])
            if low < high:
                found.append(operand.along(0, slice(low, high)))
            start += operand.shape[0]
        return np.concatenate(found)

    return (Piecewise(rows),)


def _split_sizes(call: Call, size: int) -> list[int]:
    """The sizes of the parts of a dimension of `size`."""
    if call.optional(1) is not None and ("split" in call.attributes or "num_outputs" in call.attributes):
        raise KernelError("how to split is given in two ways")
    if call.optional(1) is not None:
        sizes = vector(call, 1)
    else:
        sizes = call.integers("split") if "split" in call.attributes else _equal_sizes(call, size)
    if len(sizes) != call.outputs or any(part < 0 for part in sizes) or sum(sizes) != size:
        raise KernelError(f"parts of {sizes} are no {call.outputs} parts of {size}")
    return sizes


def _equal_sizes(call: Call, size: int) -> list[int]:
    """Equal parts; from version 18 on the last one may be smaller."""
    if call.opset >= 18:
        count = call.integer("num_outputs")
        part = -(-size // max(count, 1))
        return [part] * (count - 1) + [size - part * (count - 1)]
    if size % call.outputs:
        raise KernelError(f"{size} is not split into {call.outputs} equal parts")
    return [size // call.outputs] * call.outputs


def _split_axis(call: Call) -> int:
    return version_axis(call, call.integer("axis", 0), len(call.shape(0)))


def _split_results(call: Call) -> tuple[Result, ...]:
    shape, axis = call.shape(0), _split_axis(call)
    parts = _split_sizes(call, shape[axis])
    return tuple(Result(call.dtype(), (*shape[:axis], part, *shape[axis + 1 :])) for part in parts)


def _split(call: Call) -> tuple[Array, ...]:
    axis = _split_axis(call)
    ends = np.cumsum(_split_sizes(call, call.shape(0)[axis]), dtype=np.int64)
    return tuple(part.copy() for part in np.split(call.array(0), ends[:-1], axis))


def _split_pieces(call: Call) -> tuple[Piecewise, ...]:
    axis, operand = _split_axis(call), call.operand(0)

    def rows(start: int, size: int, part: slice) -> Array:
        if not axis:
            return operand.along(0, slice(start + part.start, start + part.stop)).copy()
        return operand.along(0, part)[(*[slice(None)] * axis, slice(start, start + size))].copy()

    sizes = _split_sizes(call, operand.shape[axis])
    starts = itertools.accumulate(sizes[:-1], initial=0)
    return tuple(Piecewise(functools.partial(rows, *pair)) for pair in zip(starts, sizes, strict=True))


@frozen_value
class _Cut:
    """The elements `start`, `start + step`, ... of one dimension, `count` of them."""

    start: int
    step: int
    count: int

    @property
    def slice(self) -> slice:
        stop = self.start + self.step * self.count
        return slice(self.start, stop if stop >= 0 else None, self.step)


def _cuts(call: Call) -> list[_Cut]:
    """What Slice takes of each dimension."""
    shape = call.shape(0)
    if call.opset < 10:
        starts, ends, axes, steps = call.integers("starts"), call.integers("ends"), call.axes(1), None
    else:
        starts, ends, axes, steps = vector(call, 1), vector(call, 2), call.axes(3), call.axes(4)
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise KernelError("starts, ends, axes and steps are not of one length")
    cuts = [_Cut(0, 1, size) for size in shape]
    for axis, start, end, step in zip(distinct_axes(call, axes, len(shape)), starts, ends, steps, strict=True):
        cuts[axis] = _cut(start, end, step, shape[axis])
    return cuts


def _cut(start: int, end: int, step: int, size: int) -> _Cut:
    if step == 0:
        raise KernelError("a step is 0")
    if step < 0 and end >= _NO_END:
        raise KernelError("an end of INT_MAX goes back, which runtimes disagree on")
    start = start + size if start < 0 else start
    end = end + size if end < 0 else end
    if step < 0 and start < 0:
        raise KernelError("a start before the first element goes back, which runtimes disagree on")
    low, high = (0, size) if step > 0 else (-1, size - 1)
    start, end = max(low, min(start, high)), max(low, min(end, high))
    count = max(0, -(-(end - start) // step))
    return _Cut(start if count else 0, step, count)


def _slice_results(call: Call) -> tuple[Result, ...]:
    return (Result(call.dtype(), tuple(cut.count for cut in _cuts(call))),)


def _slice(call: Call) -> tuple[Array, ...]:
    taken: tuple[Any, ...] = (*(cut.slice for cut in _cuts(call)), ...)
    return (call.array(0)[taken].copy(),)


def _slice_pieces(call: Call) -> tuple[Piecewise, ...]:
    (first, *others), operand = _cuts(call), call.operand(0)

    def rows(part: slice) -> Array:
        ends = [first.start + first.step * place for place in (part.start, part.stop - 1)]
        read = operand.along(0, slice(min(ends), max(ends) + 1))
        return read[(slice(None, None, first.step), *(cut.slice for cut in others))].copy()

    return (Piecewise(rows),)


def _pads(call: Call) -> list[tuple[int, int]]:
    """How much is added before and after each dimension, or removed where negative."""
    shape = call.shape(0)
    rank = len(shape)
    if call.opset >= 11:
        sizes, axes = vector(call, 1), call.axes(3)
    else:
        sizes, axes = call.integers("paddings" if call.opset < 2 else "pads"), None
    places = range(rank) if axes is None else distinct_axes(call, axes, rank)
    if len(sizes) != 2 * len(places):
        raise KernelError(f"{len(sizes)} pads are not two for each of {len(places)} axes")
    pads = [(0, 0)] * rank
    for place, axis in enumerate(places):
        pads[axis] = (sizes[place], sizes[place + len(places)])
    mode = call.text("mode", "constant")
    for size, pad in zip(shape, pads, strict=True):
        _check_pad(mode, call.opset, size, pad)
    return pads


def _check_pad(mode: str, opset: int, size: int, pad: tuple[int, int]) -> None:
    if mode not in ("constant", "reflect", "edge") and (mode != "wrap" or opset < 19):
        raise KernelError(f"mode {mode!r} is not known")
    removed = -sum(min(0, count) for count in pad)
    if removed and (mode != "constant" or opset < 2):
        raise KernelError(f"mode {mode} of opset {opset} says nothing of negative pads")
    if removed > size:
        raise KernelError(f"more is removed than the {size} elements that there are")
    if mode == "reflect" and max(pad) > max(size - 1, 0):
        raise KernelError(f"pads {pad} are more than {size} elements reflect")
    if mode != "constant" and size == 0 and any(pad):
        raise KernelError("an empty dimension has no elements to pad with")


def _pad_results(call: Call) -> tuple[Result, ...]:
    shape = tuple(before + size + after for size, (before, after) in zip(call.shape(0), _pads(call), strict=True))
    return (Result(call.dtype(), shape),)


def _pad_value(call: Call) -> Array:
    if call.opset < 11:
        return np.array(call.number("value", 0.0), np.float64).astype(call.dtype().numpy)
    return zero_of(call.dtype()) if call.optional(2) is None else scalar(call, 2)


def _pad(call: Call) -> tuple[Array, ...]:
    (result,) = _pad_results(call)
    pads, mode, data = _pads(call), call.text("mode", "constant"), call.array(0)
    if mode != "constant":
        for axis, (before, after) in enumerate(pads):
            size = data.shape[axis]
            data = np.take(data, _sources(mode, np.arange(-before, size + after), size), axis)
        return (data.copy(),)
    out = np.full(result.shape, _pad_value(call), result.dtype.numpy)
    kept = [(max(0, -before), size - max(0, -after)) for size, (before, after) in zip(data.shape, pads, strict=True)]
    placed = tuple(slice(a + before, b + before) for (a, b), (before, _) in zip(kept, pads, strict=True))
    out[placed] = data[tuple(slice(*bounds) for bounds in kept)]
    return (out,)


def _sources(mode: str, places: Array, size: int) -> Array:
    """The elements of a dimension of `size` that stand at `places`, which are counted from its first element."""
    last = max(size - 1, 0)
    if mode == "reflect":
        return np.asarray(last - np.abs(last - np.abs(places)))
    return np.asarray(places % (last + 1) if mode == "wrap" else places.clip(0, last))


def _repeats(call: Call) -> list[int]:
    rank = len(call.shape(0))
    if call.opset < 6:
        ((count,), (axis,)) = (whole_numbers(scalar(call, index)) for index in (1, 2))
        repeats = [1] * rank
        repeats[version_axis(call, axis, rank)] = count
    else:
        repeats = vector(call, 1)
    if len(repeats) != rank or any(count < 0 for count in repeats):
        raise KernelError(f"{repeats} repeats no data of rank {rank}")
    return repeats


def _tile_results(call: Call) -> tuple[Result, ...]:
    shape = tuple(size * count for size, count in zip(call.shape(0), _repeats(call), strict=True))
    return (Result(call.dtype(), shape),)


def _tile(call: Call) -> tuple[Array, ...]:
    shape, repeats = call.shape(0), _repeats(call)
    # Each dimension gets a dimension of copies before it, along which broadcasting repeats.
    apart = call.array(0).reshape([size for item in shape for size in (1, item)])
    target = [size for pair in zip(repeats, shape, strict=True) for size in pair]
    (result,) = _tile_results(call)
    return (np.broadcast_to(apart, target).copy().reshape(result.shape),)


def _trilu_results(call: Call) -> tuple[Result, ...]:
    if len(call.shape(0)) < 2:
        raise KernelError(f"shape {call.shape(0)} has no matrices")
    if call.dtype().kind == "string":
        raise KernelError("strings have no zero")
    return (Result(call.dtype(), call.shape(0)),)


def _trilu(call: Call) -> tuple[Array, ...]:
    (result,) = _trilu_results(call)
    diagonal = 0 if call.optional(1) is None else int(scalar(call, 1))
    rows, columns = result.shape[-2:]
    distance = np.arange(columns) - np.arange(rows)[:, None]
    dropped = distance < diagonal if call.integer("upper", 1) else distance > diagonal
    out = call.array(0).copy()
    out[..., dropped] = zero_of(result.dtype)
    return (out,)


def _blocks(call: Call, *, channels: int, space: int) -> tuple[int, bool]:
    """The block size of [N, C, H, W] data whose C (H, W) are multiples of that power of it; whether the mode is CRD."""
    shape, size, mode = call.shape(0), call.integer("blocksize"), call.text("mode", "DCR")
    if len(shape) != 4 or size < 1 or shape[1] % size**channels or any(item % size**space for item in shape[2:]):
        raise KernelError(f"shape {shape} has no blocks of {size}")
    if mode not in ("DCR", "CRD"):
        raise KernelError(f"mode {mode!r} is not known")
    return size, mode == "CRD"


def _depth_to_space_shape(call: Call) -> Shape:
    size, _ = _blocks(call, channels=2, space=0)
    batch, channels, height, width = call.shape(0)
    return batch, channels // size**2, height * size, width * size


def _depth_to_space(call: Call) -> tuple[Array, ...]:
    size, is_crd = _blocks(call, channels=2, space=0)
    batch, channels, height, width = call.shape(0)
    depth = channels // size**2
    apart = (batch, depth, size, size, height, width) if is_crd else (batch, size, size, depth, height, width)
    order = (0, 1, 4, 2, 5, 3) if is_crd else (0, 3, 4, 1, 5, 2)
    moved = call.array(0).reshape(apart).transpose(order).copy()
    return (moved.reshape(_depth_to_space_shape(call)),)


def _space_to_depth_shape(call: Call) -> Shape:
    size, _ = _blocks(call, channels=0, space=1)
    batch, channels, height, width = call.shape(0)
    return batch, channels * size**2, height // size, width // size


def _space_to_depth(call: Call) -> tuple[Array, ...]:
    size, is_crd = _blocks(call, channels=0, space=1)
    batch, channels, height, width = call.shape(0)
    apart = (batch, channels, height // size, size, width // size, size)
    order = (0, 1, 3, 5, 2, 4) if is_crd else (0, 3, 5, 1, 2, 4)
    moved = call.array(0).reshape(apart).transpose(order).copy()
    return (moved.reshape(_space_to_depth_shape(call)),)


def _reversed_results(call: Call) -> tuple[Result, ...]:
    shape, batch, time = call.shape(0), call.integer("batch_axis", 1), call.integer("time_axis", 0)
    if len(shape) < 2 or sorted((batch, time)) != [0, 1]:
        raise KernelError(f"axes {batch} and {time} are not the first two of shape {shape}")
    lengths = vector(call, 1)
    if len(lengths) != shape[batch] or any(not 0 <= length <= shape[time] for length in lengths):
        raise KernelError(f"lengths {lengths} are none of {shape[batch]} sequences of up to {shape[time]}")
    return (Result(call.dtype(), shape),)


def _reverse_sequence(call: Call) -> tuple[Array, ...]:
    _reversed_results(call)
    out = call.array(0).copy()
    by_time = out if call.integer("time_axis", 0) == 0 else out.swapaxes(0, 1)
    for batch, length in enumerate(vector(call, 1)):
        by_time[:length, batch] = by_time[:length, batch][::-1].copy()
    return (out,)


def _move(
    operator: str,
    since: int,
    last: int,
    results: Callable[[Call], tuple[Result, ...]],
    evaluate: Callable[[Call], tuple[Array, ...]],
) -> Kernel:
    return Kernel(operator, "", since, last, EXACT_MOVE, results, evaluate)


def _same_type(shape: Callable[[Call], Shape]) -> Callable[[Call], tuple[Result, ...]]:
    return lambda call: (Result(call.dtype(), shape(call)),)


MOVEMENT: tuple[Kernel, ...] = (
    replace(_move("Concat", 1, 13, _concat_results, _concat), pieces=_concat_pieces),
    replace(_move("Split", 1, 18, _split_results, _split), pieces=_split_pieces),
    replace(_move("Slice", 1, 13, _slice_results, _slice), pieces=_slice_pieces),
    _move("Pad", 1, 25, _pad_results, _pad),
    _move("Tile", 1, 13, _tile_results, _tile),
    _move("Trilu", 14, 14, _trilu_results, _trilu),
    _move("DepthToSpace", 1, 28, _same_type(_depth_to_space_shape), _depth_to_space),
    _move("SpaceToDepth", 1, 28, _same_type(_space_to_depth_shape), _space_to_depth),
    _move("ReverseSequence", 10, 28, _reversed_results, _reverse_sequence),
)
"""Concat, Split, Slice, Pad, Tile, Trilu, DepthToSpace, SpaceToDepth, ReverseSequence."""
