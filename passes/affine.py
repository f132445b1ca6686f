"""Nodes that scale and shift a tensor by constants per channel, and what chains of them come to.

The weights that take them in are computed in float64 and rounded once.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from maxfold.model.computed import SupposedData, UnreadError, computed_rows, is_small, row_pieces
from maxfold.model.data import Array, ArrayData, SparseData, TensorData
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.reading import read_rows
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.driver import named_results
from maxfold.passes.nodes import integer, number, operand
from maxfold.passes.runtime_patterns import why_protected

Factor = Callable[[slice], Array]
AFFINE_OPERATORS = ("Mul", "Div", "Add", "Sub", "Neg", "BatchNormalization")

# From this operator set on binary operators broadcast as numpy does; before, by attributes.
_BROADCASTING_OPSET = 7
# Weights are widened to float64 in pieces of about this many elements; sums over rows depend on it in the last place.
_SUMMED_ELEMENTS = 1 << 20
# The distance of neighbours near 1 by bytes of the type, the coarser one of bfloat16 for two.
_STEPS = {2: 2.0**-7, 4: 2.0**-23, 8: 2.0**-52}


@frozen_value
class Channels:
    """The axis of a tensor that constants follow: its size, its place counted from the end, and the tensor's rank."""

    size: int
    from_end: int
    rank: int


@frozen_value
class Affine:
    """A node that computes `variable` * scale + shift; `constants` in the order of the node's inputs."""

    node: Node
    variable: Tensor
    constants: tuple[Constant, ...]

    @property
    def scales(self) -> bool:
        """Whether it does more than shift."""
        return self.node.op not in ("Add", "Sub") or self._is_reversed

    @property
    def shifts(self) -> bool:
        """Whether it does more than scale."""
        return self.node.op not in ("Mul", "Div", "Neg")

    @property
    def _is_reversed(self) -> bool:
        return self.node.op == "Sub" and self.node.inputs[0] is self.constants[0]

    def parameters(self) -> tuple[Array, Array]:
        """Scale and shift as float64 vectors of one element or one a channel."""
        values = [constant.values.astype(np.float64).reshape(-1) for constant in self.constants]
        one, zero = np.ones(1), np.zeros(1)
        with np.errstate(all="ignore"):
            match self.node.op:
                case "Neg":
                    return -one, zero
                case "Mul":
                    return values[0], zero
                case "Div":
                    return one / values[0], zero
                case "Add":
                    return one, values[0]
                case "Sub":
                    return (-one, values[0]) if self._is_reversed else (one, -values[0])
            scale, shift, mean, variance = values
            factor = scale / np.sqrt(variance + number(self.node, "epsilon", 1e-5))
            return factor, shift - mean * factor


def affine(node: Node, channels: Channels, view: View) -> Affine | str | None:
    """A node as an affine map of its variable operand, the reason why it is none, or None for other operators."""
    if node.op not in AFFINE_OPERATORS or not view.is_operator(node, node.op) or named_results(node) != 1:
        return None
    protected = why_protected(node, view)
    if protected is not None:
        return protected
    if node.op == "BatchNormalization":
        return _normalization(node, channels, view)
    if node.op == "Neg":
        return Affine(node, node.inputs[0], ()) if operand(node, 0) is not None else None
    if len(node.inputs) != 2:
        return None
    constants = [tensor for tensor in node.inputs if isinstance(tensor, Constant)]
    if len(constants) != 1 or (node.op == "Div" and constants[0] is node.inputs[0]):
        return None
    opset = view.opset(node)
    if opset is None or opset < _BROADCASTING_OPSET:
        return f"{node.op} before operator set 7 broadcasts by attributes"
    constant = constants[0]
    reason = why_not_weight(constant, view)
    if reason is not None:
        return reason
    shape = constant.data.shape
    if len(shape) > channels.rank or not _is_per_channel(shape, channels):
        return f"{constant.name!r} of shape {list(shape)} is not one value a channel"
    variable = next(tensor for tensor in node.inputs if tensor is not constant)
    return Affine(node, variable, (constant,))


def _is_per_channel(shape: tuple[int, ...], channels: Channels) -> bool:
    return all(
        dim == 1 or (place == channels.from_end and dim == channels.size)
        for place, dim in enumerate(reversed(shape), start=1)
    )


def _normalization(node: Node, channels: Channels, view: View) -> Affine | str:
    tensors = [operand(node, index) for index in range(1, 5)]
    constants = [tensor for tensor in tensors if isinstance(tensor, Constant)]
    opset = view.opset(node)
    if len(constants) < 4 or operand(node, 0) is None or opset is None:
        return "BatchNormalization with parameters that are not constant"
    if channels.from_end != channels.rank - 1:
        return "BatchNormalization works along another axis"
    if opset < 7 and not integer(node, "is_test", 0):
        return "BatchNormalization in training mode"
    if opset < 9 and not integer(node, "spatial", 1):
        return "BatchNormalization with parameters for each position"
    if opset >= 14 and integer(node, "training_mode", 0):
        return "BatchNormalization in training mode"
    for constant in constants:
        reason = why_not_weight(constant, view)
        if reason is not None:
            return reason
        if constant.data.shape != (channels.size,):
            return f"{constant.name!r} of shape {list(constant.data.shape)} is not one value a channel"
    return Affine(node, node.inputs[0], tuple(constants))


def why_not_weight(constant: Constant, view: View) -> str | None:
    """Why a constant is no weight to compute with (of a float type, dense, not to change), None where it is."""
    if isinstance(constant.data, SparseData):
        return f"{constant.name!r} is sparse, and would be stored dense"
    dtype = constant.data.dtype
    if dtype is None or dtype.kind != "float" or dtype.bits < 16:
        return f"{constant.name!r} is not of a float type of 16 bits or more"
    return view.why_not_constant(constant)


def composed(steps: Iterable[Affine], size: int) -> tuple[Array, Array]:
    """Scale and shift of affine maps that follow one another, as float64 vectors of `size` elements."""
    scale, shift = np.ones(size), np.zeros(size)
    with np.errstate(all="ignore"):
        for step in steps:
            factor, term = step.parameters()
            scale, shift = scale * factor, shift * factor + term
    return scale, shift


def uses_of(steps: Iterable[Affine], others: Iterable[Tensor | None]) -> Counter[Constant]:
    """How often the nodes of a pattern read each constant."""
    uses = Counter(constant for step in steps for constant in step.constants)
    uses.update(tensor for tensor in others if isinstance(tensor, Constant))
    return uses


def pieces(weight: TensorData, view: View, elements: int = _SUMMED_ELEMENTS) -> Iterator[tuple[slice, Array]]:
    """A weight in float64, rows of its first axis of about so many elements at a time.

    Raises `UnreadError` for a large one where large weights are not to be read.
    """
    if view.supposes_weights and weight.dtype is not None and not is_small(weight.dtype, weight.shape):
        raise UnreadError
    for part in row_pieces(weight.shape, elements):
        yield part, read_rows(weight, part).astype(np.float64)


def scaled(
    weight: TensorData, factor: Factor, summed: tuple[int, ...] = (), *, is_supposed: bool = False
) -> TensorData | None:
    """weight * factor, computed in float64 and rounded once; None where that overflows or loses precision.

    `factor` gives what rows of the first axis are multiplied by, which broadcasts to them. `summed` are the axes along
    which products of the weight are added up: the error of a number too small for its type is measured by the largest
    one along them. A large result is computed again when it is written. Where `is_supposed`, one is taken to be right,
    and nothing is read for it.
    """
    assert weight.dtype is not None
    if is_supposed and not is_small(weight.dtype, weight.shape):
        return SupposedData(weight.dtype, weight.shape)
    dtype = weight.dtype.numpy
    kept: list[Array] | None = [] if is_small(weight.dtype, weight.shape) else None
    largest: Array = np.zeros(())
    error: Array = np.zeros(())
    for part in row_pieces(weight.shape):
        values = read_rows(weight, part).astype(np.float64)
        with np.errstate(all="ignore"):
            products = values * factor(part)
        piece = rounded(products, dtype)
        if piece is None:
            return None
        if kept is not None:
            kept.append(piece)
        found = _largest(products, summed), _largest(piece.astype(np.float64) - products, summed)
        # Rows of other pieces belong to the same sums only where the first axis is summed.
        largest, error = (np.maximum(largest, found[0]), np.maximum(error, found[1])) if 0 in summed else found
        if 0 not in summed and _is_lost(largest, error, dtype):
            return None
    if _is_lost(largest, error, dtype):
        return None
    if kept is not None:
        return ArrayData(np.concatenate(kept) if kept else np.empty(weight.shape, dtype), weight.dtype)
    return computed_rows(weight.dtype, weight.shape, functools.partial(_product, weight, factor), [weight])


def _product(weight: TensorData, factor: Factor, part: slice) -> Array:
    assert weight.dtype is not None
    with np.errstate(all="ignore"):
        product: Array = (read_rows(weight, part).astype(np.float64) * factor(part)).astype(weight.dtype.numpy)
    return product


def _largest(values: Array, summed: tuple[int, ...]) -> Array:
    return np.asarray(np.max(np.abs(values), axis=summed, initial=0.0) if summed else np.abs(values))


def _is_lost(largest: Array, error: Array, dtype: np.dtype[Any]) -> bool:
    # In a type's normal range half of this is never exceeded.
    return bool((error > _STEPS[dtype.itemsize] * largest).any())


def is_precise(result: Array, exact: Array) -> bool:
    """Whether each element is finite and within the precision of its type of what was computed in float64."""
    with np.errstate(all="ignore"):
        error = abs(result.astype(np.float64) - exact)
        # False for a NaN, and for an infinity, whose error is infinite.
        return bool((error <= _STEPS[result.dtype.itemsize] * abs(exact)).all()) and bool(np.isfinite(exact).all())


def rounded(values: Array, dtype: np.dtype[np.generic]) -> Array | None:
    """Values rounded to a float type; None where a result is not finite."""
    with np.errstate(all="ignore"):
        result = np.asarray(values.astype(dtype))
        is_finite = bool(np.isfinite(result.astype(np.float64)).all())
    return result if is_finite else None
