"""fuse-gemm: a matrix product takes in the bias, scales and shifts per column behind it, and transposes before it."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from maxfold.model.data import Array, TensorData
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.inference.symbolic import Dim
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.affine import Affine, Channels, affine, composed, pieces, rounded, scaled, uses_of, why_not_weight
from maxfold.passes.driver import RulePass
from maxfold.passes.nodes import growth_bytes, integer, integers, made_by, number, operand, too_large, why_not_absorbed
from maxfold.passes.operands import Growing
from maxfold.passes.rule import Decline, Match, Rule, frozen

# From this operator set on Gemm broadcasts its third input as numpy does, in one direction.
_GEMM_OPSET = 7
# From this one on the third input may be left out.
_OPTIONAL_OPSET = 11
_BFLOAT16_OPSET = 13
_ROUNDING = "runtimes round Gemm differently; only with --math relaxed"
# No dimension: a tensor may be no matrix.
_UNKNOWN = -1
_RELAXED = "weights that take in a scale or a shift round differently; only with --math relaxed"


@frozen
class Replaced:
    """The last node of a pattern becomes another operator over other tensors; the inner nodes go if unused."""

    last: Node
    operator: str
    inputs: tuple[Tensor, ...]
    attributes: dict[str, Any]
    inner: tuple[Node, ...]

    def apply(self, edit: Edit) -> None:
        """Rewrites the last node and removes the others."""
        edit.become(self.last, self.operator, self.inputs, self.attributes)
        edit.remove_unused(self.inner)


@frozen
class AddToProduct(Rule):
    """MatMul(a, b) + c is Gemm(a, b, c) for matrices, and Gemm(a, b) + c is Gemm(a, b, c).

    Removes one node.
    """

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Add")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where an operand may be no matrix, or the sum may be larger than the product."""
        if len(node.inputs) != 2:
            return None
        reason: Decline | None = None
        for product, bias in (node.inputs, reversed(node.inputs)):
            maker = made_by(product, "MatMul", view) or made_by(product, "Gemm", view)
            if maker is None or product is bias:
                continue
            result = _with_bias(node, maker, bias, view)
            if not isinstance(result, Decline):
                return result
            reason = reason or result
        return reason


def _with_bias(node: Node, maker: Node, bias: Tensor, view: View) -> Match | Decline:
    opset = view.opset(node)
    if opset is None or opset < _GEMM_OPSET:
        return Decline("Gemm before operator set 7 broadcasts by attributes")
    if maker.op == "Gemm" and operand(maker, 2) is not None:
        return Decline(f"Gemm has a third input already, {maker.inputs[2].name!r}")
    left, right = maker.inputs[:2]
    rows, columns = _dims(maker, view)
    if _UNKNOWN in (rows, columns):
        return Decline(f"{left.name!r} and {right.name!r} are not known to be matrices")
    if not _is_gemm_type(left, opset, view):
        return Decline(f"Gemm of operator set {opset} is not known to take the type of {left.name!r}")
    shape = view.dims(bias)
    if shape is None or len(shape) > 2 or not _fits(shape, rows, columns):
        return Decline(f"{bias.name!r} is not known to broadcast to the product")
    reason = why_not_absorbed([maker], node, view)
    if reason is not None:
        return Decline(reason)
    if view.math == "exact":
        return Decline(_ROUNDING, relaxed_gain=1)
    attributes = {name: value for name, value in maker.attrs.items() if name != "beta"}
    return Replaced(node, "Gemm", (left, right, bias), attributes if maker.op == "Gemm" else {}, (maker,))


def _dims(product: Node, view: View) -> tuple[Dim | None, Dim | None]:
    """Rows and columns of a product, None where not derived; -1 where its operands may be no matrices."""
    transposed = (False, False)
    if product.op == "Gemm":
        transposed = (bool(integer(product, "transA", 0)), bool(integer(product, "transB", 0)))
    left, right = (view.dims(tensor) for tensor in product.inputs[:2])
    if product.op == "MatMul" and (left is None or right is None or len(left) != 2 or len(right) != 2):
        return _UNKNOWN, _UNKNOWN
    rows = None if left is None else left[1 if transposed[0] else 0]
    return rows, None if right is None else right[0 if transposed[1] else 1]


def _fits(shape: Sequence[Dim], rows: Dim | None, columns: Dim | None) -> bool:
    """Whether a shape provably broadcasts to [rows, columns] without making it larger."""
    dims = zip(reversed(shape), (columns, rows), strict=False)
    return all(dim in (1, size) for dim, size in dims)


def _is_gemm_type(tensor: Tensor, opset: int, view: View) -> bool:
    dtype = view.dtype(tensor)
    names = ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16")[: 4 if opset >= _BFLOAT16_OPSET else 3]
    return dtype is not None and dtype.name in names


@frozen
class TransposedOperand(Rule):
    """Gemm(Transpose(a), b) is Gemm with transA; the same for b, and for MatMul of matrices.

    Removes a transpose, or a use of one.
    """

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Gemm"), ("", "MatMul")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines in exact mode: the products and sums are the same, but runtimes add up in another order."""
        opset = view.opset(node)
        makers = [made_by(operand(node, index), "Transpose", view) for index in (0, 1)]
        if makers == [None, None] or opset is None:
            return None
        if node.op == "MatMul":
            if opset < _OPTIONAL_OPSET or _dims(node, view)[0] == _UNKNOWN or len(node.inputs) != 2:
                return None
            if not _is_gemm_type(node.inputs[0], opset, view):
                return None
        inputs = list(node.inputs)
        attributes = dict(node.attrs)
        turned: list[Node] = []
        for index, (maker, name) in enumerate(zip(makers, ("transA", "transB"), strict=True)):
            if maker is None or integers(maker, "perm", [1, 0]) != [1, 0]:
                continue
            if node.op == "MatMul" and not view.is_single_use(maker.outputs[0]):
                continue
            inputs[index] = maker.inputs[0]
            attributes[name] = 0 if integer(node, name, 0) else 1
            turned.append(maker)
        if not turned:
            return None
        if view.math == "exact":
            gone = sum(view.is_single_use(maker.outputs[0]) and not view.is_kept(maker) for maker in turned)
            return Decline(_ROUNDING, relaxed_gain=gone)
        return Replaced(node, "Gemm", tuple(inputs), attributes, tuple(turned))


@frozen
class FusedProduct:
    """A product with a new weight and bias; `add` is the node that adds the bias where the product cannot.

    `source` is what the product reads instead of its left operand; through a Flatten where `flatten` is one.
    """

    product: Node
    last: Node
    add: Node | None
    inner: tuple[Node, ...]
    source: Tensor
    flatten: Node | None
    weight: TensorData | None
    bias: Array | None

    def apply(self, edit: Edit) -> None:
        """Makes the last node the product, or the sum of the product and the bias."""
        product, source = self.product, self.source
        if self.flatten is not None:
            attributes = dict(self.flatten.attrs)
            source = edit.add_node("Flatten", [source], before=self.last, attributes=attributes).outputs[0]
        inputs = [source, product.inputs[1]]
        if self.weight is not None:
            inputs[1] = edit.add_constant(self.weight, like=inputs[1])
        bias = None if self.bias is None else edit.add_constant(self.bias, like=self.last.outputs[0])
        if bias is not None and self.add is not None:
            if self.weight is not None:
                edit.renew(product.outputs[0])
            edit.set_inputs(product, inputs)
            edit.become(self.last, "Add", [product.outputs[0], bias])
        else:
            attributes = {name: value for name, value in product.attrs.items() if bias is None or name != "beta"}
            operator = product.op if bias is None else "Gemm"
            edit.become(self.last, operator, [*inputs, *([] if bias is None else [bias])], attributes)
        edit.remove_unused(self.inner)


@frozen
class ScaledProduct(Rule):
    """A product with a constant right operand takes in BatchNormalization before it, and scales and shifts behind it.

    Removes the nodes that scale and shift; behind MatMul of others than matrices one Add stays for all shifts.
    """

    max_growth_bytes: int
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Gemm"), ("", "MatMul")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where constants may change or do not fit, results are needed elsewhere, or values overflow."""
        weight = operand(node, 1)
        opset = view.opset(node)
        if not isinstance(weight, Constant) or len(weight.data.shape) != 2 or opset is None or opset < _GEMM_OPSET:
            return None
        if not math.prod(weight.data.shape) or operand(node, 0) is None or weight is node.inputs[0]:
            return None
        rows, columns = reversed(weight.data.shape) if _is_transposed(node) else weight.data.shape
        rank = 2 if node.op == "Gemm" else view.rank(node.outputs[0]) or 1
        is_gemm = node.op == "Gemm" or (rank == 2 and _is_gemm_type(node.inputs[0], opset, view))
        before, reason_before = _steps_before(node, rows, view) if rank == 2 and is_gemm else (_NOTHING, None)
        after, reason = _steps(node, Channels(columns, 1, rank), view)
        shifts = any(step.shifts for step in (*before.steps, *after))
        gain = len(before.steps) + len(after) - (shifts and not is_gemm)
        if gain <= 0 or (node.op == "MatMul" and not before.steps and [step.node.op for step in after] == ["Add"]):
            reason = reason_before or reason
            return None if reason is None else Decline(reason)
        reason = why_not_weight(weight, view) or _why_not_bias(node, columns, opset, shifts, view)
        return Decline(reason) if reason is not None else self._fused(node, weight, before, after, is_gemm, view)

    def _fused(
        self, node: Node, weight: Constant, before: Before, after: Sequence[Affine], is_gemm: bool, view: View
    ) -> Match | Decline:
        dtype = weight.data.dtype
        assert dtype is not None
        is_transposed = _is_transposed(node)
        rows, columns = reversed(weight.data.shape) if is_transposed else weight.data.shape
        old = operand(node, 2) if node.op == "Gemm" else None
        steps = [*before.steps, *after]
        scales, shifts = any(step.scales for step in steps), any(step.shifts for step in steps) or old is not None
        made = [(dtype, weight.data.shape)] if scales else []
        made += [(dtype, (columns,))] if shifts else []
        growth = growth_bytes(made, uses_of(steps, [weight if scales else None, old]), view)
        if growth > self.max_growth_bytes:
            return Decline(too_large(growth, self.max_growth_bytes))
        has_add = shifts and not is_gemm
        if view.math == "exact":
            return Decline(_RELAXED, relaxed_gain=len(steps) - has_add)
        scale_in, shift_in = (
            np.repeat(item, before.repeats) for item in composed(before.steps, rows // before.repeats)
        )
        scale_out, shift_out = composed(after, columns)
        axis = 1 if is_transposed else 0
        new_weight = new_bias = None
        with np.errstate(all="ignore"):
            if scales:
                by_row, by_column = (scale_out, scale_in) if is_transposed else (scale_in, scale_out)
                factor = functools.partial(_outer, by_row, by_column)
                summed = () if before.steps else (axis,)
                new_weight = scaled(weight.data, factor, summed, is_supposed=view.supposes_weights)
            if shifts:
                start = np.zeros(columns)
                if isinstance(old, Constant):
                    start = start + old.values.astype(np.float64).reshape(-1) * number(node, "beta", 1.0)
                if before.steps:
                    start = start + number(node, "alpha", 1.0) * _response(weight.data, shift_in, axis, view)
                new_bias = rounded(start * scale_out + shift_out, dtype.numpy)
        if (scales and new_weight is None) or (shifts and new_bias is None):
            return Decline("the new weights would not be finite, or too small for their type")
        last = after[-1].node if after else node
        removed = (
            [step.node for step in after[:-1]] + [node] * (last is not node) + [item.node for item in before.steps]
        )
        inner = (*removed, *([] if before.flatten is None else [before.flatten]))
        add = last if has_add else None
        return FusedProduct(node, last, add, inner, before.source(node), before.flatten, new_weight, new_bias)


def _outer(by_row: Array, by_column: Array, part: slice) -> Array:
    product: Array = by_row[part, None] * by_column
    return product


def _is_transposed(node: Node) -> bool:
    return node.op == "Gemm" and bool(integer(node, "transB", 0))


def _response(weight: TensorData, level: Array, axis: int, view: View) -> Array:
    """What a left operand that is `level` in each row gives."""
    total = np.zeros(weight.shape[1 - axis])
    for part, values in pieces(weight, view):
        if axis:
            total[part] = values @ level
        else:
            total += level[part] @ values
    return total


@frozen_value
class Before:
    """What scales and shifts the left operand of a product by its columns, in its order.

    Each parameter is about `repeats` columns where a Flatten stands between.
    """

    steps: tuple[Affine, ...] = ()
    flatten: Node | None = None
    repeats: int = 1

    def source(self, product: Node) -> Tensor:
        """What the product reads without all of that."""
        return self.steps[0].variable if self.steps else product.inputs[0]


_NOTHING = Before()


def _steps_before(product: Node, rows: int, view: View) -> tuple[Before, str | None]:
    """The BatchNormalization nodes before a product, and why there are no more.

    Other scales and shifts belong to normalizations more often than not, which runtimes fuse as a whole.
    """
    if product.op == "Gemm" and integer(product, "transA", 0):
        return _NOTHING, None
    flatten = made_by(product.inputs[0], "Flatten", view)
    tail = product.inputs[0]
    channels = Channels(rows, 1, 2)
    if flatten is not None:
        shape = view.shape(flatten.inputs[0])
        if integer(flatten, "axis", 1) != 1 or shape is None or len(shape) < 2 or not shape[1] or rows % shape[1]:
            return _NOTHING, None
        tail = flatten.inputs[0]
        channels = Channels(shape[1], len(shape) - 1, len(shape))
    between = [] if flatten is None else [flatten]
    found: list[Affine] = []
    reason: str | None = None
    while True:
        maker = made_by(tail, "BatchNormalization", view)
        step = None if maker is None else affine(maker, channels, view)
        if not isinstance(step, Affine):
            reason = step
            break
        reason = why_not_absorbed([step.node, *(item.node for item in found), *between], product, view)
        if reason is not None:
            break
        found.insert(0, step)
        tail = step.variable
    if not found:
        return _NOTHING, reason
    return Before(tuple(found), flatten, rows // channels.size), reason


def _steps(product: Node, channels: Channels, view: View) -> tuple[list[Affine], str | None]:
    found: list[Affine] = []
    tail = product
    while True:
        reader = view.only_consumer(tail.outputs[0])
        step = None if reader is None else affine(reader, channels, view)
        if reader is None or step is None or isinstance(step, str):
            return found, step if isinstance(step, str) else None
        if view.is_kept(reader):
            return found, f"{reader.outputs[0].name!r} is to be kept"
        reason = why_not_absorbed([product, *(item.node for item in found)], reader, view)
        if reason is not None:
            return found, reason
        found.append(step)
        tail = reader


def _why_not_bias(node: Node, columns: int, opset: int, shifts: bool, view: View) -> str | None:
    if node.op == "MatMul":
        return None
    bias = operand(node, 2)
    if bias is None:
        return "Gemm before operator set 11 needs its third input" if shifts and opset < _OPTIONAL_OPSET else None
    if not isinstance(bias, Constant):
        return f"the bias {bias.name!r} is not constant"
    shape = bias.data.shape
    if len(shape) > 2 or shape[:-1] not in ((), (1,)) or (shape and shape[-1] not in (1, columns)):
        return f"{bias.name!r} of shape {list(shape)} is not one value a column"
    return why_not_weight(bias, view)


class FuseGemm(Growing, RulePass):
    """`max_growth_bytes`: how much the file may grow where weights are used elsewhere too."""

    name: ClassVar[str] = "fuse-gemm"
    summary: ClassVar[str] = "make Gemm of MatMul and Add, let matrix products take in scales, shifts and transposes"
    mode: ClassVar[str] = "relaxed"

    def rules(self) -> Sequence[Rule]:
        """Scales first: a product with constant weights takes in a whole chain at once."""
        return (ScaledProduct(self.max_growth_bytes), TransposedOperand(), AddToProduct())
