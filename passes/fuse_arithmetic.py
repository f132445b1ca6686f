"""fuse-arithmetic: two constants in a row of Mul and Div, or of Add and Sub, become one; inverses and signs go."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from maxfold.model.broadcast import BroadcastError, numpy_shape
from maxfold.model.data import Array
from maxfold.model.dtypes import DType
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.affine import is_precise, rounded
from maxfold.passes.driver import RulePass
from maxfold.passes.fuse_add import goes_by_itself
from maxfold.passes.nodes import growth_bytes, made_by, operand, too_large, why_not_absorbed
from maxfold.passes.operands import Growing, why_not_merged
from maxfold.passes.patterns import BROADCASTING_OPSET, Fused, absorbed, orders, scalar_step
from maxfold.passes.rule import Decline, Match, Rule, frozen
from maxfold.passes.runtime_patterns import why_protected

_RELAXED = "floats round differently in another order; only with --math relaxed"
_OPPOSITE = {"Mul": "Div", "Div": "Mul", "Add": "Sub", "Sub": "Add"}
_DIRECT = {"Mul": "Mul", "Div": "Mul", "Add": "Add", "Sub": "Add"}


@frozen_value
class _Step:
    """A node of one variable and one constant operand; `is_left` tells whether the constant comes first."""

    node: Node
    variable: Tensor
    constant: Constant

    @property
    def is_left(self) -> bool:
        return self.node.inputs[0] is self.constant

    @property
    def inverts(self) -> bool:
        """Whether the variable is divided by or subtracted: c / x, c - x."""
        return self.is_left and self.node.op in ("Div", "Sub")

    @property
    def is_inverse(self) -> bool:
        """Whether the constant is divided by or subtracted: x / c, x - c."""
        return not self.is_left and self.node.op in ("Div", "Sub")


def _step(node: Node | None, family: tuple[str, ...], view: View) -> _Step | None:
    if node is None or not any(view.is_operator(node, operator) for operator in family) or len(node.inputs) != 2:
        return None
    left, right = node.inputs
    if isinstance(left, Constant) == isinstance(right, Constant) or not left.name or not right.name:
        return None
    return _Step(node, right, left) if isinstance(left, Constant) else _Step(node, left, right)


@frozen
class _Merged:
    """The outer of two nodes takes the variable of the inner one and one constant for both."""

    outer: Node
    inner: Node
    operator: str
    variable: Tensor
    value: Array
    is_left: bool

    def apply(self, edit: Edit) -> None:
        """Removes the inner node."""
        constant = edit.add_constant(self.value, like=self.outer.outputs[0])
        inputs: list[Tensor] = [constant, self.variable] if self.is_left else [self.variable, constant]
        edit.become(self.outer, self.operator, inputs)
        edit.remove_unused([self.inner])


@frozen
class MergeConstants(Rule):
    """(x * c) / d is x * (c / d), and so on for all orders of Mul and Div; (x + c) - d is x + (c - d), and so on.

    Removes one node. Integers are left where a division takes part; their sums wrap around, and are exact.
    """

    max_growth_bytes: int
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset(("", name) for name in ("Mul", "Div", "Add", "Sub"))

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines for floats in exact mode, for results that are needed elsewhere, overflow and growth."""
        family = ("Mul", "Div") if node.op in ("Mul", "Div") else ("Add", "Sub")
        outer = _step(node, family, view)
        inner = None if outer is None else _step(view.producer(outer.variable), family, view)
        if outer is None or inner is None or (outer.node.op == inner.node.op == "Add"):
            return None
        opset = view.opset(node)
        if opset is None or opset < BROADCASTING_OPSET:
            return None
        dtype = outer.constant.data.dtype
        if dtype is None or not dtype.is_arithmetic:
            return None
        if dtype.kind != "float" and "Div" in (outer.node.op, inner.node.op):
            return None
        reason = (
            why_protected(node, view)
            or why_protected(inner.node, view)
            or why_not_merged(inner.constant, view)
            or why_not_merged(outer.constant, view)
            or why_not_absorbed([inner.node], node, view)
            or self._why_larger(outer, inner, dtype, view)
        )
        if reason is not None:
            return Decline(reason)
        if dtype.kind == "float" and view.math == "exact":
            is_counted = any(goes_by_itself(step.node, view) for step in (inner, outer))
            return Decline(_RELAXED, relaxed_gain=0 if is_counted else 1)
        return _merged(outer, inner, dtype)

    def _why_larger(self, outer: _Step, inner: _Step, dtype: DType, view: View) -> str | None:
        shapes = [step.constant.data.shape for step in (inner, outer)]
        try:
            shape = numpy_shape(*shapes)
        except BroadcastError:
            return "the constants do not broadcast to each other"
        if math.prod(shape) > sum(math.prod(item) for item in shapes):
            return f"constants of shapes {list(shapes[0])} and {list(shapes[1])} would be larger merged than apart"
        growth = growth_bytes([(dtype, shape)], Counter((inner.constant, outer.constant)), view)
        if growth > self.max_growth_bytes:
            return too_large(growth, self.max_growth_bytes)
        return None


def _merged(outer: _Step, inner: _Step, dtype: DType) -> Match | Decline:
    # With "-" for "/" the rule for sums and products is the same: the inner constant first, the outer one behind it.
    is_product = outer.node.op in ("Mul", "Div")
    kind = np.float64 if dtype.kind == "float" else dtype.numpy
    first, second = (step.constant.values.astype(kind) for step in (inner, outer))
    with np.errstate(all="ignore"):
        if outer.inverts:
            # d / (x * c) is (d / c) / x; d / (x / c) is (d * c) / x; d / (c / x) is x * (d / c).
            value = _combined(second, first, is_inverse=not inner.is_inverse, is_product=is_product)
            inverts = not inner.inverts
        elif inner.is_inverse and outer.is_inverse:
            value = _combined(first, second, is_inverse=False, is_product=is_product)
            return _result(outer, inner, value, dtype, _OPPOSITE[_DIRECT[outer.node.op]], is_left=False)
        elif inner.is_inverse:
            # (x / c) * d is x * (d / c).
            value = _combined(second, first, is_inverse=True, is_product=is_product)
            inverts = False
        else:
            value = _combined(first, second, is_inverse=outer.is_inverse, is_product=is_product)
            inverts = inner.inverts
    operator = _DIRECT[outer.node.op]
    if inverts:
        return _result(outer, inner, value, dtype, _OPPOSITE[operator], is_left=True)
    return _result(outer, inner, value, dtype, operator, is_left=False)


def _combined(left: Array, right: Array, *, is_inverse: bool, is_product: bool) -> Array:
    if is_product:
        return np.asarray(left / right if is_inverse else left * right)
    return np.asarray(left - right if is_inverse else left + right)


def _result(outer: _Step, inner: _Step, value: Array, dtype: DType, operator: str, *, is_left: bool) -> Match | Decline:
    final = value if dtype.kind != "float" else rounded(value, dtype.numpy)
    if final is None:
        return Decline("the merged constant would not be finite")
    if dtype.kind == "float" and operator in ("Mul", "Div") and not is_precise(final, value):
        return Decline("the merged constant would be too small for its type")
    return _Merged(outer.node, inner.node, operator, inner.variable, final, is_left)


@frozen
class InverseFactor(Rule):
    """x * (1 / s) and x * Reciprocal(s) are x / s.

    Removes one node.
    """

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Mul")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the inverse is needed elsewhere, and in exact mode, since it was rounded."""
        for x, inverse in orders(node, "Mul", view):
            if x is inverse:
                continue
            maker = made_by(inverse, "Reciprocal", view)
            divisor = None if maker is None else operand(maker, 0)
            if maker is None:
                step = scalar_step(made_by(inverse, "Div", view), "Div", view)
                if step is None or not step.is_left or step.value != 1:
                    continue
                maker, divisor = step.node, step.variable
            dtype = None if divisor is None else view.dtype(divisor)
            if divisor is None or dtype is None or dtype.kind != "float":
                continue
            return absorbed(Fused(node, "Div", (x, divisor), {}, (maker,)), view, _RELAXED)
        return None


@frozen
class SubtractNegated(Rule):
    """x + (-y) is x - y, and x - (-y) is x + y: the same bits for floats, and integers wrap around.

    Removes one node.
    """

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Add"), ("", "Sub")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the negated value is needed elsewhere."""
        opset = view.opset(node)
        if opset is None or opset < BROADCASTING_OPSET or len(node.inputs) != 2:
            return None
        pairs = [(node.inputs[0], node.inputs[1])]
        if node.op == "Add":
            pairs.append((node.inputs[1], node.inputs[0]))
        reason: Decline | None = None
        for x, negated in pairs:
            maker = made_by(negated, "Neg", view)
            if x is negated or maker is None or operand(maker, 0) is None:
                continue
            blocked = why_not_absorbed([maker], node, view)
            if blocked is None:
                return Fused(node, _OPPOSITE[node.op], (x, maker.inputs[0]), {}, (maker,))
            reason = Decline(blocked)
        return reason


class FuseArithmetic(Growing, RulePass):
    """`max_growth_bytes`: how much the file may grow where merged constants are used elsewhere too."""

    name: ClassVar[str] = "fuse-arithmetic"
    summary: ClassVar[str] = "merge the constants of Mul and Div, Add and Sub; drop inverses and signs"
    mode: ClassVar[str] = "exact, more with relaxed"

    def rules(self) -> Sequence[Rule]:
        """What is exact first."""
        return (SubtractNegated(), MergeConstants(self.max_growth_bytes), InverseFactor())
