"""Operators that only say where elements go: values of small tensors go with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from maxfold.model.data import Array
from maxfold.model.inference.call import Call, normal_axes, normal_axis
from maxfold.model.inference.elementwise import broadcast_dims
from maxfold.model.inference.facts import MOST_ELEMENTS, Element, Fact, PartialValue, Unknown, static, value_of
from maxfold.model.inference.nonzero import is_nonzero, nonzero_factors
from maxfold.model.inference.symbolic import Dim, Expr, choose_nonzero, exact_div, floor_div, product


def reshape(call: Call) -> Fact:
    """Reshape, whose target is an input, in version 1 an attribute."""
    fact = call.fact(0)
    given = call.integers("shape")
    target: tuple[Element, ...] | None = given if given is not None else call.vector(1)
    if target is None:
        return Fact(fact.dtype)
    dims = _reshaped(call, call.dims(0), target, bool(call.attribute("allowzero", 0)))
    if call.node.scope is call.engine.view.model.graph:
        call.engine.nonzero |= nonzero_factors(call.node, target, dims)
    return Fact(fact.dtype, dims, _moved_value(call, dims, lambda array, shape: array.reshape(shape)))


def _reshaped(
    call: Call, source: tuple[Dim, ...] | None, target: Sequence[Element], allowzero: bool
) -> tuple[Dim | None, ...]:
    """The dims that a target describes: 0 copies a dim of the source, -1 takes what is left."""
    total = None if source is None else product(source)
    dims = [_target_dim(call, element, source, axis, allowzero) for axis, element in enumerate(target)]
    if allowzero and not all(dim is None or call.is_at_least(dim, 1) for dim in dims):
        # The specification forbids -1 beside 0 then; ONNX Runtime divides what is not 0 by what is not 0.
        return tuple(dims)
    if total is not None and dims.count(None) == 1 and all(_is_size(call, element) for element in target):
        axis = dims.index(None)
        dims[axis] = _left_over(total, [dim for dim in dims if dim is not None])
    return tuple(dims)


def _is_size(call: Call, element: Element) -> bool:
    """Whether an element of a target is known not to copy or infer a dim by surprise, or openly infers it."""
    return isinstance(element, int) or (isinstance(element, Expr) and call.is_at_least(element, 0))


def _target_dim(call: Call, element: Element, source: tuple[Dim, ...] | None, axis: int, allowzero: bool) -> Dim | None:
    """One dim of a target, None where it is inferred or unknown.

    A symbolic element that a run makes 0 copies the dim in its place, which may be another.
    """
    if element == 0 and not allowzero:
        return source[axis] if source is not None and axis < len(source) else None
    if isinstance(element, int):
        return element if element >= 0 else None
    if not isinstance(element, Expr) or not call.is_at_least(element, 0):
        return None
    if allowzero or call.is_at_least(element, 1) or is_nonzero(element, call.engine.nonzero):
        return element
    if source is None:
        return None
    return element if axis >= len(source) else choose_nonzero(element, source[axis])


def _left_over(total: Dim, others: Sequence[Dim]) -> Dim | None:
    """The dim that -1 stands for: the size divided by the other dims, without those that both have."""
    rest = product(others)
    if rest == 0:
        return None
    exact = exact_div(total, rest)
    if exact is not None or isinstance(total, int) or not isinstance(rest, int):
        return exact
    return floor_div(total, rest)


def _moved_value(
    call: Call, dims: Sequence[Dim | None] | None, move: Callable[[Array, tuple[int, ...]], Array], index: int = 0
) -> PartialValue | None:
    """The value of an input after a movement to a shape that must be known."""
    value = call.value(index)
    shape = None if dims is None else static(tuple(dims))
    return None if value is None or shape is None else value_of(move(value.array(), shape))


def transpose(call: Call) -> Fact:
    """Transpose: reverses the axes where it names none."""
    fact = call.fact(0)
    permutation = call.integers("perm")
    if fact.dims is None:
        return Fact(fact.dtype, None if permutation is None else (None,) * len(permutation))
    order = tuple(reversed(range(len(fact.dims)))) if permutation is None else permutation
    if sorted(order) != list(range(len(fact.dims))):
        raise Unknown
    dims = tuple(fact.dims[axis] for axis in order)
    return Fact(fact.dtype, dims, _moved_value(call, dims, lambda array, shape: array.transpose(order)))


def squeeze(call: Call) -> Fact:
    """Squeeze: without axes, all dims of size 1 go, so that all must be known.

    Of an empty list of axes ONNX Runtime makes the same, the specification nothing.
    """
    fact = call.fact(0)
    dims = call.known_dims(0)
    if call.has(1) and call.numbers(1) is None:
        count = static(call.dims(1))
        return Fact(fact.dtype, (None,) * (len(dims) - count[0]) if count and 0 < count[0] <= len(dims) else None)
    axes = call.axes()
    if axes == () and any(not call.is_at_least(dim, 2) for dim in dims):
        return Fact(fact.dtype)
    if axes is None:
        if any(isinstance(dim, Expr) and not call.is_at_least(dim, 2) for dim in dims):
            return Fact(fact.dtype)
        left = tuple(dim for dim in dims if dim != 1)
    else:
        gone = normal_axes(axes, len(dims))
        left = tuple(dim for axis, dim in enumerate(dims) if axis not in gone)
    return Fact(fact.dtype, left, _moved_value(call, left, lambda array, shape: array.reshape(shape)))


def unsqueeze(call: Call) -> Fact:
    """Unsqueeze: axes are those of the result."""
    fact = call.fact(0)
    source = call.dims(0)
    numbers = call.vector(1) if call.has(1) else call.integers("axes")
    if source is None or numbers is None:
        return Fact(fact.dtype)
    rank = len(source) + len(numbers)
    known = [number for number in numbers if isinstance(number, int)]
    if len(known) < len(numbers):
        return Fact(fact.dtype, (None,) * rank)
    axes = normal_axes(known, rank)
    dims: list[Dim] = list(source)
    for axis in sorted(axes):
        dims.insert(axis, 1)
    return Fact(fact.dtype, tuple(dims), _moved_value(call, dims, lambda array, shape: array.reshape(shape)))


def flatten(call: Call) -> Fact:
    """Flatten: the dims before and from an axis on, multiplied."""
    fact = call.fact(0)
    dims = call.dims(0)
    if dims is None:
        return Fact(fact.dtype, (None, None))
    axis = call.attribute("axis", 1)
    split = axis if axis == len(dims) else normal_axis(axis, len(dims))
    flat = (product(dims[:split]), product(dims[split:]))
    return Fact(fact.dtype, flat, _moved_value(call, flat, lambda array, shape: array.reshape(shape)))


def expand(call: Call) -> Fact:
    """Expand: both ways, so that a 1 in the target keeps the input's dim."""
    fact = call.fact(0)
    source, target = call.dims(0), call.vector(1)
    if source is None or target is None:
        return Fact(fact.dtype)
    rank = max(len(source), len(target))
    if not all(_is_size(call, element) for element in target):
        return Fact(fact.dtype, _partly_expanded(source, target, rank))
    wanted = tuple(element for element in target if isinstance(element, (int, Expr)))
    dims = broadcast_dims([source, wanted])
    return Fact(fact.dtype, dims, _moved_value(call, dims, np.broadcast_to))


def _partly_expanded(source: Sequence[Dim], target: Sequence[Element], rank: int) -> tuple[Dim | None, ...]:
    """What holds whatever the unknown elements of a target are: numbers other than 1 are what they are."""
    own = (1,) * (rank - len(source)) + tuple(source)
    return tuple(
        next((dim for dim in (one, other) if isinstance(dim, int) and dim > 1), one if other == 1 else None)
        for one, other in zip(own, (1,) * (rank - len(target)) + tuple(target), strict=True)
    )


def tile(call: Call) -> Fact:
    """Tile: each dim times its number of repeats."""
    fact = call.fact(0)
    source, repeats = call.dims(0), call.vector(1)
    if source is None:
        return Fact(fact.dtype, None if repeats is None or call.input_count > 2 else (None,) * len(repeats))
    if repeats is None or len(repeats) != len(source) or call.input_count > 2:
        return Fact(fact.dtype, (None,) * len(source))
    dims = [dim * count if isinstance(count, (int, Expr)) else None for dim, count in zip(source, repeats, strict=True)]
    counts = [count for count in repeats if isinstance(count, int)]
    value = _moved_value(call, dims, lambda array, shape: np.tile(array, counts)) if _is_small(dims) else None
    return Fact(fact.dtype, tuple(dims), value)


def _is_small(dims: Sequence[Dim | None]) -> bool:
    shape = static(tuple(dims))
    return shape is not None and 0 <= int(np.prod(shape, dtype=object)) <= MOST_ELEMENTS


def pad(call: Call) -> Fact:
    """Pad: begins and ends are an input, before version 11 an attribute (`paddings` in version 1)."""
    fact = call.fact(0)
    dims = call.known_dims(0)
    given = call.integers("pads") or call.integers("paddings")
    pads: tuple[Element, ...] | None = given if given is not None else call.vector(1)
    axes: Sequence[int] = range(len(dims))
    if call.has(3):
        numbers = call.numbers(3)
        if numbers is None:
            return Fact(fact.dtype, (None,) * len(dims))
        axes = normal_axes(numbers, len(dims))
    if pads is None or len(pads) != 2 * len(axes):
        return Fact(fact.dtype, (None,) * len(dims))
    padded: list[Dim | None] = list(dims)
    for axis, begin, end in zip(axes, pads, pads[len(axes) :], strict=False):
        padded[axis] = None
        if isinstance(begin, (int, Expr)) and isinstance(end, (int, Expr)):
            padded[axis] = dims[axis] + begin + end
    return Fact(fact.dtype, tuple(padded))


def depth_to_space(call: Call) -> Fact:
    """DepthToSpace: [n, c, h, w] to [n, c / b^2, h * b, w * b]."""
    fact = call.fact(0)
    batch, channels, height, width = call.known_dims(0)
    block = int(call.attribute("blocksize"))
    return Fact(fact.dtype, (batch, floor_div(channels, block * block), height * block, width * block))


def space_to_depth(call: Call) -> Fact:
    """SpaceToDepth: [n, c, h, w] to [n, c * b^2, h / b, w / b]."""
    fact = call.fact(0)
    batch, channels, height, width = call.known_dims(0)
    block = int(call.attribute("blocksize"))
    return Fact(fact.dtype, (batch, channels * block * block, floor_div(height, block), floor_div(width, block)))


SHAPE_FUNCTIONS: dict[str, Callable[[Call], Fact | list[Fact]]] = {
    "DepthToSpace": depth_to_space,
    "Expand": expand,
    "Flatten": flatten,
    "Pad": pad,
    "Reshape": reshape,
    "SpaceToDepth": space_to_depth,
    "Squeeze": squeeze,
    "Tile": tile,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
