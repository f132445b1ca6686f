"""fold-constants: a node whose inputs are all constant becomes a constant."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from maxfold.model.computed import SupposedData, computed, computed_rows, is_small, row_pieces
from maxfold.model.data import Array, ArrayData, StoredData, TensorData, reshaped
from maxfold.model.dtypes import DType
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node
from maxfold.model.reading import is_derived, read_along, read_array
from maxfold.model.view import View, domain_of
from maxfold.passes import kernels
from maxfold.passes.driver import RulePass
from maxfold.passes.kernels import Call, Kernel, Operand, Result
from maxfold.passes.kernels.call import Piecewise, of_rows
from maxfold.passes.nodes import growth_bytes, too_large
from maxfold.passes.operands import DEFAULT_MAX_GROWTH_BYTES
from maxfold.passes.rule import Decline, Match, Rule, frozen, options

# Up to this many elements of a narrow type are parameters (scales, zero points), more are a weight.
_MOST_PARAMETERS = 16
_HALF_BITS = 16
# Results of so many bytes are computed when they are written, where that can be.
_LARGE_BYTES = 1 << 16
# Readers of one constant that are looked at together.
_MOST_READERS = 16


@frozen
class Folded:
    """A node and the values of its results, in their order."""

    node: Node
    values: tuple[Array, ...]
    note: str

    def apply(self, edit: Edit) -> None:
        """Puts the values in the place of the node."""
        edit.fold(self.node, self.values)


@frozen
class Reshaped:
    """A node that gives weights another shape or order: their bytes stay where they are until they are written."""

    node: Node
    data: Sequence[TensorData]

    def apply(self, edit: Edit) -> None:
        """Puts the weights in the place of the node."""
        edit.fold(self.node, self.data)


@frozen
class FoldNode(Rule):
    """Evaluates a node by its kernel, rounded to the node's dtype.

    Removes one node a match. The file may grow by `max_growth_bytes` a node, what dies with the node subtracted.
    Quantized weights stay quantized, and those of half precision what they are, unless `fold_quantized`.
    """

    max_growth_bytes: int
    fold_quantized: bool = False
    operators: ClassVar[frozenset[tuple[str, str]]] = kernels.OPERATORS
    results: ClassVar[int | None] = None

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where an input only looks constant, the kernel refuses, or the file would grow too much."""
        for tensor in node.inputs:
            if tensor.name and not isinstance(tensor, Constant):
                return None
        constants = [tensor for tensor in node.inputs if isinstance(tensor, Constant)]
        if not constants:
            return None
        for constant in constants:
            reason = view.why_not_constant(constant)
            if reason is not None:
                return Decline(reason)
        opset = view.opset(node)
        if opset is None:
            return Decline(f"the model imports no operator set for domain {domain_of(node)!r}")
        kernel = kernels.find(domain_of(node), node.op, opset)
        if kernel is None:
            return Decline(f"no kernel for {node.op} of operator set {opset}")
        call = _call(node, opset)
        dtypes = [None if operand is None else operand.dtype for operand in call.inputs]
        reason = kernels.check(kernel, dtypes, opset, node.attrs)
        if reason is not None:
            return Decline(reason)
        results = kernel.results(call)
        reason = self._why_not(node, call, results, constants, view)
        if reason is not None:
            return Decline(reason)
        data = constants[0].data
        if kernel.keeps_bytes and isinstance(data, StoredData):
            return Reshaped(node, [reshaped(data, results[0].shape)])
        if view.supposes_weights and not all(_is_small(constant.data) for constant in constants):
            return Reshaped(node, [SupposedData(result.dtype, result.shape) for result in results])
        later = _computed_later(kernel, call, results, [constant.data for constant in constants])
        if later is not None:
            return Reshaped(node, later)
        note = "folded with rounding that may differ from a runtime's in the last place" if kernel.is_rounded else ""
        return Folded(node, kernel.evaluate(call), note)

    def _why_not(
        self, node: Node, call: Call, results: Sequence[Result], constants: Sequence[Constant], view: View
    ) -> str | None:
        for tensor in node.outputs[len(results) :]:
            if tensor.name:
                return f"result {tensor.name!r} is not one that the kernel computes"
        widened = None if self.fold_quantized else _widened_weight(node, call, results)
        if widened is not None:
            return f"it would widen {widened}; only with --fold-quantized"
        growth = growth_bytes(_made(node, results), Counter(constants), view)
        if growth > self.max_growth_bytes and not self._fits_with_others(node, constants, view):
            return too_large(growth, self.max_growth_bytes)
        return None

    def _fits_with_others(self, node: Node, constants: Sequence[Constant], view: View) -> bool:
        """Whether all that reads the largest constant can be folded, which lets it go from the file.

        So the gates of a recurrent weight are cut apart and put together in another order.
        """
        largest = max(constants, key=lambda constant: constant.data.nbytes)
        if not view.is_removable(largest) or view.use_count(largest) > _MOST_READERS:
            return False
        made: list[tuple[DType, tuple[int, ...]]] = []
        uses: Counter[Constant] = Counter()
        readers = view.consumers(largest)
        for reader in readers:
            results = None if reader.scope is not node.scope else self._results(reader, view)
            if results is None:
                return False
            made += _made(reader, results)
            uses.update(tensor for tensor in reader.inputs if isinstance(tensor, Constant))
        return growth_bytes(made, uses, view) <= self.max_growth_bytes

    def _results(self, node: Node, view: View) -> Sequence[Result] | None:
        """The types of the results of a node that could be folded by itself, None where it could not."""
        opset = view.opset(node)
        known = all(view.constant(tensor) is not None for tensor in node.inputs if tensor.name)
        if opset is None or not known or view.is_kept(node) or view.is_function_call(node):
            return None
        kernel = kernels.find(domain_of(node), node.op, opset)
        call = _call(node, opset)
        dtypes = [None if operand is None else operand.dtype for operand in call.inputs]
        if kernel is None or kernels.check(kernel, dtypes, opset, node.attrs) is not None:
            return None
        results = kernel.results(call)
        if any(tensor.name for tensor in node.outputs[len(results) :]):
            return None
        return None if not self.fold_quantized and _widened_weight(node, call, results) else results


def _computed_later(
    kernel: Kernel, call: Call, results: Sequence[Result], sources: Sequence[TensorData]
) -> list[TensorData] | None:
    """Large results as values that are computed when they are written, where that cannot fail then."""
    if sum(result.dtype.nbytes(math.prod(result.shape)) for result in results) < _LARGE_BYTES:
        return None
    result = results[0]
    if not result.shape:
        return None
    if kernel.pieces is not None:
        pairs = zip(results, kernel.pieces(call), strict=True)
        return [_moved_later(result, pieces, sources) for result, pieces in pairs]
    has_rows = None if kernel.rows is None or result.dtype.is_packed else kernel.rows(call)
    if has_rows is None:
        return None

    def compute(part: slice) -> Array:
        return kernel.evaluate(of_rows(call, has_rows, part))[0]

    # Whether the kernel refuses a value is known when all have been seen.
    for part in row_pieces(result.shape):
        compute(part)
    return [computed_rows(result.dtype, result.shape, compute, sources)]


def _is_small(data: TensorData) -> bool:
    return data.dtype is not None and is_small(data.dtype, data.shape)


def _moved_later(result: Result, pieces: Piecewise, sources: Sequence[TensorData]) -> TensorData:
    dtype, shape = result.dtype, result.shape
    whole = functools.partial(pieces.rows, slice(0, shape[0]))
    if is_small(dtype, shape):
        return ArrayData(whole() if math.prod(shape) else np.empty(shape, dtype.numpy), dtype)
    if dtype.is_packed or any(map(is_derived, sources)):
        return computed(dtype, shape, whole, sources)
    return computed_rows(dtype, shape, pieces.rows, sources, least_rows=pieces.least_rows)


def _made(node: Node, results: Sequence[Result]) -> list[tuple[DType, tuple[int, ...]]]:
    """The types of the constants that a node would become."""
    return [(result.dtype, result.shape) for tensor, result in zip(node.outputs, results, strict=False) if tensor.name]


def _call(node: Node, opset: int) -> Call:
    inputs: list[Operand | None] = []
    for tensor in node.inputs:
        if not isinstance(tensor, Constant):
            inputs.append(None)
            continue
        data = tensor.data
        assert data.dtype is not None
        load, load_along = functools.partial(read_array, data), functools.partial(read_along, data)
        inputs.append(Operand(data.dtype, data.shape, load, load_along))
    return Call(tuple(inputs), node.attrs, opset, len(node.outputs))


def _widened_weight(node: Node, call: Call, results: Sequence[Result]) -> str | None:
    """What a node makes wider: a weight that its file has quantized or in half precision, where it does that."""
    if node.op == "DequantizeLinear":
        return "a quantized weight"
    weights = [
        operand
        for operand in call.inputs
        if operand is not None
        and operand.dtype.kind in ("int", "uint", "float")
        and math.prod(operand.shape) > _MOST_PARAMETERS
    ]
    if any(operand.dtype.bits <= 8 for operand in weights):
        is_wider = any(item.dtype.bits > 8 and math.prod(item.shape) > 1 for item in results)
        return "a quantized weight" if is_wider else None
    halves = [operand for operand in weights if operand.dtype.kind == "float" and operand.dtype.bits == _HALF_BITS]
    stored = sum(operand.dtype.nbytes(math.prod(operand.shape)) for operand in halves)
    wider = [item for item in results if item.dtype.kind == "float" and item.dtype.bits > _HALF_BITS]
    made = sum(item.dtype.nbytes(math.prod(item.shape)) for item in wider)
    return "a weight of half precision" if halves and made > stored else None


@options
class FoldConstants(RulePass):
    """`max_growth_bytes`: how much the file may grow for one node. `fold_quantized`: also where that widens
    weights that are quantized or of half precision."""

    max_growth_bytes: int = DEFAULT_MAX_GROWTH_BYTES
    fold_quantized: bool = False
    name: ClassVar[str] = "fold-constants"
    summary: ClassVar[str] = "evaluate nodes whose inputs are all constant"

    def rules(self) -> Sequence[Rule]:
        """A folded node makes its consumers candidates."""
        return (FoldNode(self.max_growth_bytes, self.fold_quantized),)
