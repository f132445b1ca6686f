"""Operators that choose elements by index or by value.

Sources: the documents of all versions of the operators in ONNX opsets 1 to 28.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from maxfold.passes.kernels.call import Array, Call, KernelError, Result, Shape, axis_of
from maxfold.passes.kernels.elementwise import is_float, settle_nan
from maxfold.passes.kernels.kernel import Kernel
from maxfold.passes.kernels.shape import EXACT_MOVE, INT64, NEGATIVE_AXES_SINCE, scalar, vector, version_axis

# Since this opset OneHot counts negative indices from the back.
_NEGATIVE_CLASSES_SINCE = 11

_UPDATES: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def places_of(call: Call, indices: Array, size: int) -> Array:
    """Indices into a dimension of `size`, counted from the front; KernelError outside of it."""
    least = -size if call.opset >= NEGATIVE_AXES_SINCE else 0
    if indices.size and not (least <= int(indices.min()) and int(indices.max()) < size):
        raise KernelError(f"an index is outside {least} to {size - 1}")
    places = indices.astype(np.int64)
    return np.where(places < 0, places + size, places)


def _fresh(call: Call, values: Any) -> Array:
    """A new array of the first input's type; numpy gives one element of an array of strings as a string."""
    return np.array(values, call.dtype().numpy, order="C")


def sortable(array: Array) -> Array:
    """Numbers that numpy can order, as they are; KernelError where they have no order."""
    if not is_float(array):
        return array
    wide = array.astype(np.float32) if array.dtype.itemsize <= 2 else array
    if np.isnan(wide).any():
        raise KernelError("a NaN has no place in an order")
    return wide


def _gather_axis(call: Call) -> int:
    return axis_of(call.integer("axis", 0), len(call.shape(0)))


def _gather_results(call: Call) -> tuple[Result, ...]:
    shape, axis = call.shape(0), _gather_axis(call)
    return (Result(call.dtype(), (*shape[:axis], *call.shape(1), *shape[axis + 1 :])),)


def _gather(call: Call) -> tuple[Array, ...]:
    axis = _gather_axis(call)
    places = places_of(call, call.array(1), call.shape(0)[axis])
    return (_fresh(call, np.take(call.array(0), places, axis)),)


def _elements_axis(call: Call) -> int:
    """The axis of GatherElements and ScatterElements, whose indices fit the data in the other dimensions."""
    shape, indices = call.shape(0), call.shape(1)
    axis = axis_of(call.integer("axis", 0), len(shape))
    others = (place for place in range(len(shape)) if place != axis)
    if len(indices) != len(shape) or any(indices[place] > shape[place] for place in others):
        raise KernelError(f"indices of shape {indices} do not fit data of shape {shape}")
    return axis


def _element_indices(call: Call) -> tuple[Array, ...]:
    axis = _elements_axis(call)
    chosen: list[Array] = list(np.indices(call.shape(1), sparse=True))
    chosen[axis] = places_of(call, call.array(1), call.shape(0)[axis])
    return tuple(np.broadcast_arrays(*chosen))


def _gather_elements_results(call: Call) -> tuple[Result, ...]:
    _elements_axis(call)
    return (Result(call.dtype(), call.shape(1)),)


def _gather_elements(call: Call) -> tuple[Array, ...]:
    return (_fresh(call, call.array(0)[_element_indices(call)]),)


def _tuples(call: Call, batch: int) -> tuple[Array, ...]:
    """The last dimension of the indices as one array of places for each dimension of the data that it names."""
    indices, shape = call.array(1), call.shape(0)
    return tuple(places_of(call, indices[..., place], shape[batch + place]) for place in range(indices.shape[-1]))


def _tuple_length(call: Call, batch: int) -> int:
    """How many dimensions of the data each tuple of the indices names."""
    shape, indices = call.shape(0), call.shape(1)
    if not 0 <= batch < min(len(shape), len(indices)) or shape[:batch] != indices[:batch]:
        raise KernelError(f"shapes {shape} and {indices} do not share {batch} batch dimensions")
    if not 1 <= indices[-1] <= len(shape) - batch:
        raise KernelError(f"indices of shape {indices} do not index data of shape {shape}")
    return indices[-1]


def _gather_nd_results(call: Call) -> tuple[Result, ...]:
    batch = call.integer("batch_dims", 0)
    named = _tuple_length(call, batch)
    return (Result(call.dtype(), call.shape(1)[:-1] + call.shape(0)[batch + named :]),)


def _gather_nd(call: Call) -> tuple[Array, ...]:
    _gather_nd_results(call)
    batch = call.integer("batch_dims", 0)
    batches: list[Array] = list(np.indices(call.shape(1)[:batch], sparse=True))
    rank = len(call.shape(1)) - 1
    aligned = tuple(item.reshape(item.shape + (1,) * (rank - batch)) for item in batches)
    return (_fresh(call, call.array(0)[aligned + _tuples(call, batch)]),)


def _scatter_results(call: Call) -> tuple[Result, ...]:
    _elements_axis(call)
    if call.shape(2) != call.shape(1):
        raise KernelError(f"updates of shape {call.shape(2)} are none for indices of shape {call.shape(1)}")
    return (Result(call.dtype(), call.shape(0)),)


def _scatter(call: Call) -> tuple[Array, ...]:
    _scatter_results(call)
    return (_updated(call, _element_indices(call)),)


def _scatter_nd_results(call: Call) -> tuple[Result, ...]:
    shape, indices = call.shape(0), call.shape(1)
    expected = indices[:-1] + shape[_tuple_length(call, 0) :]
    if call.shape(2) != expected:
        raise KernelError(f"updates have shape {call.shape(2)} and not {expected}")
    return (Result(call.dtype(), shape),)


def _scatter_nd(call: Call) -> tuple[Array, ...]:
    _scatter_nd_results(call)
    return (_updated(call, _tuples(call, 0)),)


def _updated(call: Call, places: tuple[Array, ...]) -> Array:
    """The data with the updates put in, or applied to, where `places` says."""
    out, updates, reduction = call.array(0).copy(), call.array(2), call.text("reduction", "none")
    sizes = call.shape(0)[: len(places)]
    flat = np.ravel_multi_index(places, sizes) if places[0].size else places[0]
    is_repeated = np.unique(flat).size != flat.size
    if reduction == "none":
        if is_repeated:
            raise KernelError("an element is updated twice, in an order that is not specified")
        out[places] = updates
        return out
    update = _update_of(call, reduction)
    if is_repeated and is_float(out) and reduction in ("add", "mul"):
        raise KernelError("a float is updated twice, in an order that is not specified")
    with np.errstate(all="ignore"):
        if is_float(out) and reduction in ("max", "min"):
            _check_zeros(out[places], updates)
        update.at(out, places, updates)
        if is_float(out):
            _settle(out, places)
    return out


def _update_of(call: Call, reduction: str) -> Any:
    if reduction not in _UPDATES or (reduction in ("max", "min") and call.opset < 18):
        raise KernelError(f"reduction {reduction!r} is not known")
    if call.dtype().kind not in ("int", "uint", "float"):
        raise KernelError(f"{call.dtype()} has no {reduction}")
    return _UPDATES[reduction]


def _check_zeros(*arrays: Array) -> None:
    """Raises KernelError for zeros of both signs: which of them is the greatest or least is not specified."""
    if len({sign for array in arrays for sign in np.signbit(array[array == 0]).tolist()}) > 1:
        raise KernelError("zeros of both signs meet")


def _settle(out: Array, places: tuple[Array, ...]) -> None:
    """NaN that were computed become the positive quiet one; those of the data stay as they are."""
    touched = np.array(out[places], order="C")
    settle_nan(touched)
    out[places] = touched


def _one_hot_results(call: Call) -> tuple[Result, ...]:
    shape = call.shape(0)
    axis = axis_of(call.integer("axis", -1), len(shape) + 1)
    (depth,) = _truncated(scalar(call, 1)).reshape(-1).tolist()
    if depth < 0 or call.shape(2) != (2,):
        raise KernelError(f"depth {depth} or values of shape {call.shape(2)} are not right")
    return (Result(call.dtype(2), (*shape[:axis], depth, *shape[axis:])),)


def _one_hot(call: Call) -> tuple[Array, ...]:
    (result,) = _one_hot_results(call)
    axis = axis_of(call.integer("axis", -1), len(result.shape))
    depth, indices = result.shape[axis], _truncated(call.array(0))
    if call.opset >= _NEGATIVE_CLASSES_SINCE:
        indices = np.where(indices < 0, indices + depth, indices)
    classes = np.arange(depth).reshape([-1 if place == axis else 1 for place in range(len(result.shape))])
    off, on = np.split(call.array(2), 2)
    return (np.where(np.expand_dims(indices, axis) == classes, on, off).reshape(result.shape),)


def _truncated(values: Array) -> Array:
    """Numbers cast to int64; KernelError where that is not defined."""
    wide = values.astype(np.float64) if is_float(values) else values
    if wide.size and not (wide.min().item() >= -(2**63) and wide.max().item() < 2**63):
        raise KernelError("an index or a depth is no 64-bit integer")
    return wide.astype(np.int64)


def _nonzero_results(call: Call) -> tuple[Result, ...]:
    if call.dtype().kind == "string":
        raise KernelError("strings have no zero")
    if not call.shape(0):
        raise KernelError("runtimes disagree on the shape that a scalar gives")
    with np.errstate(all="ignore"):
        count = int(np.count_nonzero(call.array(0)))
    return (Result(INT64, (len(call.shape(0)), count)),)


def _nonzero(call: Call) -> tuple[Array, ...]:
    (result,) = _nonzero_results(call)
    with np.errstate(all="ignore"):
        places = np.nonzero(call.array(0))
    return (np.array(places, np.int64).reshape(result.shape),)


def _compressed(call: Call) -> tuple[Shape, int, Array]:
    """The shape that the data is read in, the axis, and the places that are kept."""
    shape = call.shape(0)
    if "axis" not in call.attributes:
        shape, axis = (math.prod(shape),), 0
    else:
        axis = version_axis(call, call.integer("axis"), len(shape))
    if len(call.shape(1)) != 1 or call.shape(1)[0] > shape[axis]:
        raise KernelError(f"a condition of shape {call.shape(1)} does not choose from {shape[axis]} elements")
    return shape, axis, np.flatnonzero(call.array(1))


def _compress_results(call: Call) -> tuple[Result, ...]:
    shape, axis, kept = _compressed(call)
    return (Result(call.dtype(), (*shape[:axis], kept.size, *shape[axis + 1 :])),)


def _compress(call: Call) -> tuple[Array, ...]:
    shape, axis, kept = _compressed(call)
    return (_fresh(call, np.take(call.array(0).reshape(shape), kept, axis)),)


def _last_axis(call: Call, rank: int) -> int:
    """The attribute `axis`, -1 by default in all versions."""
    axis = call.integer("axis", -1)
    return axis_of(axis, rank) if axis == -1 else version_axis(call, axis, rank)


def _top_k_results(call: Call) -> tuple[Result, ...]:
    shape = call.shape(0)
    axis = _last_axis(call, len(shape))
    (count,) = [call.integer("k")] if call.opset < 10 else vector(call, 1)[:1] or [0]
    if not 1 <= count <= shape[axis]:
        raise KernelError(f"there are no top {count} of {shape[axis]}")
    if not call.integer("sorted", 1) and count > 1:
        raise KernelError("without sorting the order is not specified")
    chosen = (*shape[:axis], count, *shape[axis + 1 :])
    return Result(call.dtype(), chosen), Result(INT64, chosen)


def _top_k(call: Call) -> tuple[Array, ...]:
    results = _top_k_results(call)
    axis = _last_axis(call, len(call.shape(0)))
    last = np.moveaxis(sortable(call.array(0)), axis, -1)
    if call.integer("largest", 1):
        # Backwards before and after a stable sort: descending, and of equal values the first one first.
        order = last.shape[-1] - 1 - np.argsort(last[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    else:
        order = np.argsort(last, axis=-1, kind="stable")
    chosen = np.moveaxis(order[..., : results[0].shape[axis]], -1, axis).astype(np.int64).copy()
    return _fresh(call, np.take_along_axis(call.array(0), chosen, axis)), chosen


def _unique(call: Call) -> tuple[Array, ...]:
    """Y, first places, inverse places, counts."""
    data, axis = call.array(0), None
    if call.dtype().kind not in ("int", "uint", "float", "bool"):
        raise KernelError(f"{call.dtype()} has no order to sort by")
    if "axis" in call.attributes:
        axis = axis_of(call.integer("axis"), data.ndim)
    if data.size == 0:
        raise KernelError("there are no values")
    keys = sortable(data)
    if is_float(keys) and ((keys == 0) & np.signbit(keys)).any():
        raise KernelError("-0.0 is and is not another value than 0.0")
    _, first, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    order = np.arange(first.size) if call.integer("sorted", 1) else np.argsort(first)
    rank_of = np.argsort(order)
    chosen = np.take(data.reshape(-1) if axis is None else data, first[order], 0 if axis is None else axis)
    rows = (first[order], rank_of[inverse.reshape(-1)], counts[order])
    return np.array(chosen, order="C"), *(np.array(row, np.int64) for row in rows)


def _unique_results(call: Call) -> tuple[Result, ...]:
    values, *rows = _unique(call)
    return Result(call.dtype(), values.shape), *(Result(INT64, row.shape) for row in rows)


def _arg_results(call: Call) -> tuple[Result, ...]:
    shape, axis = call.shape(0), version_axis(call, call.integer("axis", 0), len(call.shape(0)))
    if shape[axis] == 0:
        raise KernelError("an empty dimension has no greatest or least element")
    kept = (1,) if call.integer("keepdims", 1) else ()
    return (Result(INT64, (*shape[:axis], *kept, *shape[axis + 1 :])),)


def _arg(choose: Callable[..., Array]) -> Callable[[Call], tuple[Array, ...]]:
    def evaluate(call: Call) -> tuple[Array, ...]:
        (result,) = _arg_results(call)
        axis = version_axis(call, call.integer("axis", 0), len(call.shape(0)))
        data = sortable(call.array(0))
        if call.integer("select_last_index", 0):
            found = data.shape[axis] - 1 - choose(np.flip(data, axis), axis=axis)
        else:
            found = choose(data, axis=axis)
        return (np.array(found, np.int64).reshape(result.shape),)

    return evaluate


def _exact(
    operator: str,
    since: int,
    last: int,
    results: Callable[[Call], tuple[Result, ...]],
    evaluate: Callable[[Call], tuple[Array, ...]],
    policy: str = EXACT_MOVE,
) -> Kernel:
    return Kernel(operator, "", since, last, policy, results, evaluate)


_UPDATE_POLICY = (
    "Each update is rounded once to the type, integers wrap around; what depends on an order of updates is left alone."
)
_ORDER_POLICY = "Exact; a NaN, which has no place in an order, is left alone."

INDEXING: tuple[Kernel, ...] = (
    _exact("Gather", 1, 13, _gather_results, _gather),
    _exact("GatherElements", 11, 13, _gather_elements_results, _gather_elements),
    _exact("GatherND", 11, 13, _gather_nd_results, _gather_nd),
    _exact("Scatter", 9, 11, _scatter_results, _scatter),
    _exact("ScatterElements", 11, 18, _scatter_results, _scatter, _UPDATE_POLICY),
    _exact("ScatterND", 11, 18, _scatter_nd_results, _scatter_nd, _UPDATE_POLICY),
    _exact("OneHot", 9, 28, _one_hot_results, _one_hot),
    _exact("NonZero", 9, 13, _nonzero_results, _nonzero, "Exact; a NaN is not zero."),
    _exact("Compress", 9, 28, _compress_results, _compress),
    _exact("TopK", 1, 24, _top_k_results, _top_k, _ORDER_POLICY),
    _exact("Unique", 11, 28, _unique_results, _unique, _ORDER_POLICY),
    _exact("ArgMax", 1, 13, _arg_results, _arg(np.argmax), _ORDER_POLICY),
    _exact("ArgMin", 1, 13, _arg_results, _arg(np.argmin), _ORDER_POLICY),
)
"""Gather*, Scatter*, OneHot, NonZero, Compress, TopK, Unique, ArgMax, ArgMin."""
