"""Operators that reduce axes to one element, and those that pick along an axis."""

from __future__ import annotations

import functools
from collections.abc import Callable

from maxfold.model import dtypes
from maxfold.model.dtypes import DType
from maxfold.model.inference import arithmetic
from maxfold.model.inference.call import Call, normal_axes, normal_axis
from maxfold.model.inference.elementwise import FLOAT, INT64
from maxfold.model.inference.facts import Element, Fact, PartialValue, object_array, static, value_of
from maxfold.model.inference.symbolic import Dim, Expr


def reduce(call: Call) -> Fact:
    """Reduce*: axes are an attribute or, in newer versions, an input; none are all, or with a flag really none."""
    fact = call.fact(0)
    keeps = bool(call.attribute("keepdims", 1))
    dims = call.known_dims(0)
    if call.has(1) and call.numbers(1) is None:
        return Fact(fact.dtype, _partly_reduced(call, len(dims), keeps))
    given = call.axes()
    if not given and call.attribute("noop_with_empty_axes", 0):
        return Fact(fact.dtype, dims)
    axes = set(normal_axes(given, len(dims)) if given else range(len(dims)))
    reduced = tuple(1 if axis in axes else dim for axis, dim in enumerate(dims) if keeps or axis not in axes)
    return Fact(fact.dtype, reduced, _reduced_value(call, fact.dtype, axes, reduced))


def _partly_reduced(call: Call, rank: int, keeps: bool) -> tuple[None, ...] | None:
    """The rank where only the number of axes is known."""
    count = static(call.dims(1))
    if keeps:
        return (None,) * rank
    return (None,) * (rank - count[0]) if count and 0 < count[0] <= rank else None


_REDUCED_BY = {"ReduceMax": "Max", "ReduceMin": "Min", "ReduceProd": "Mul", "ReduceSum": "Add"}


def _reduced_value(call: Call, dtype: DType | None, axes: set[int], dims: tuple[Dim, ...]) -> PartialValue | None:
    """The value of a reduced vector, or of one whose other axes all stay."""
    value, operator = call.value(0), _REDUCED_BY.get(call.node.op)
    shape = static(dims)
    if value is None or operator is None or dtype is None or shape is None or dtype.kind not in ("int", "uint"):
        return None
    kept = [axis for axis in range(len(value.shape)) if axis not in axes]
    rows = value.array().transpose(*kept, *sorted(axes))
    count = 1
    for axis in axes:
        count *= value.shape[axis]
    if count == 0:
        return None
    function = functools.partial(arithmetic.BINARY[operator], call, dtype)
    elements: list[Element] = [functools.reduce(function, row) for row in rows.reshape(-1, count)]
    return value_of(object_array(elements).reshape(shape))


def arg_extreme(call: Call) -> Fact:
    """ArgMax and ArgMin."""
    dims = call.known_dims(0)
    axis = normal_axis(call.attribute("axis", 0), len(dims))
    kept: tuple[Dim, ...] = (1,) if call.attribute("keepdims", 1) else ()
    return Fact(INT64, dims[:axis] + kept + dims[axis + 1 :])


def top_k(call: Call) -> list[Fact]:
    """TopK: the number is an input, before version 10 an attribute."""
    fact = call.fact(0)
    dims = call.dims(0)
    if dims is None:
        return [Fact(fact.dtype), Fact(INT64)]
    axis = normal_axis(call.attribute("axis", -1), len(dims))
    count: Element = call.attribute("k")
    if count is None:
        numbers = call.vector(1)
        count = numbers[0] if numbers is not None and len(numbers) == 1 else None
    picked = (*dims[:axis], count if isinstance(count, (int, Expr)) else None, *dims[axis + 1 :])
    return [Fact(fact.dtype, picked), Fact(INT64, picked)]


def non_zero(call: Call) -> Fact:
    """NonZero: a column for each element that is not zero.

    Of a scalar the specification makes no row, ONNX Runtime one.
    """
    dims = call.dims(0)
    return Fact(INT64, (len(dims) if dims else None, None))


def one_hot(call: Call) -> Fact:
    """OneHot: the depth stands at an axis of its own."""
    dtype, dims = call.dtype(2), call.dims(0)
    if dims is None:
        return Fact(dtype)
    axis = normal_axis(call.attribute("axis", -1), len(dims) + 1)
    depth = call.vector(1)
    number = depth[0] if depth is not None and len(depth) == 1 else None
    return Fact(dtype, (*dims[:axis], number if isinstance(number, (int, Expr)) else None, *dims[axis:]))


def eye_like(call: Call) -> Fact:
    """EyeLike."""
    number = call.attribute("dtype")
    return Fact(call.dtype(0) if number is None else dtypes.from_onnx(number), call.dims(0))


def layer_normalization(call: Call) -> list[Fact]:
    """LayerNormalization: mean and deviation have 1 for the axes that are normalized."""
    fact = call.fact(0)
    dims = call.dims(0)
    number = call.attribute("stash_type", 1)
    stashed = FLOAT if number == 1 else dtypes.from_onnx(number)
    if dims is None:
        return [Fact(fact.dtype), Fact(stashed), Fact(stashed)]
    axis = normal_axis(call.attribute("axis", -1), len(dims))
    reduced = dims[:axis] + (1,) * (len(dims) - axis)
    return [Fact(fact.dtype, dims), Fact(stashed, reduced), Fact(stashed, reduced)]


def negative_log_likelihood(call: Call) -> Fact:
    """NegativeLogLikelihoodLoss: one number, or one for each element of the target of the target."""
    dims = call.dims(1) if call.attribute("reduction", "mean") == "none" else ()
    return Fact(call.dtype(0), dims)


_REDUCTIONS = [
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
]  # fmt: skip

SHAPE_FUNCTIONS: dict[str, Callable[[Call], Fact | list[Fact]]] = {
    **dict.fromkeys(_REDUCTIONS, reduce),
    "ArgMax": arg_extreme,
    "ArgMin": arg_extreme,
    "EyeLike": eye_like,
    "LayerNormalization": layer_normalization,
    "NegativeLogLikelihoodLoss": negative_log_likelihood,
    "NonZero": non_zero,
    "OneHot": one_hot,
    "TopK": top_k,
}
