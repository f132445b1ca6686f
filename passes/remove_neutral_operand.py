"""remove-neutral-operand: arithmetic with a constant that changes nothing gives the other operand."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import bypassed
from maxfold.passes.operands import all_equal_bits, keeps_shape
from maxfold.passes.remove_no_op_reshape import has_dims_of
from maxfold.passes.rule import Decline, Match
from maxfold.passes.runtime_patterns import why_protected
from maxfold.passes.signed_zeros import if_nobody_can_tell

# What is neutral, and whether as the first operand too. Add has a pass of its own.
_NEUTRAL: dict[str, tuple[object, bool]] = {
    "Mul": (1, True),
    "Div": (1, False),
    "Sub": (0, False),
    "Pow": (1, False),
    "And": (True, True),
    "Or": (False, True),
    "Xor": (False, True),
    "BitwiseOr": (0, True),
    "BitwiseXor": (0, True),
    "BitShift": (0, False),
}
# From this operator set on both operands are broadcast, as numpy does it.
_BROADCASTING_OPSET = 7
# Runtimes compute powers of integers as floats, which hold integers below 2^53.
_WIDEST_POWER_BITS = 32


class RemoveNeutralOperand(SingleRulePass):
    """x * 1, x / 1, x - 0, x ** 1, x and true, x or false, x xor false, and the like. Removes one node.

    Exact for every number: -0.0 - 0.0 is -0.0. What is not exact is x - (-0.0), where x may be
    -0.0 and somebody can tell: that needs `--math relaxed`.
    """

    name: ClassVar[str] = "remove-neutral-operand"
    summary: ClassVar[str] = "remove multiplication by 1, subtraction of 0 and the like"
    mode: ClassVar[str] = "exact, more with relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset(("", name) for name in _NEUTRAL)

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the constant may change the shape or the sign of a zero."""
        if len(node.inputs) != 2 or not all(tensor.name for tensor in node.inputs):
            return None
        first, second = node.inputs
        pairs = [(second, first), (first, second)] if _NEUTRAL[node.op][1] else [(second, first)]
        for constant, other in pairs:
            if isinstance(constant, Constant) and not isinstance(other, Constant):
                return _without(node, constant, other, view)
        return None


def _without(node: Node, constant: Constant, other: Tensor, view: View) -> Match | Decline | None:
    dtype = constant.data.dtype
    if dtype is None or not (dtype.is_arithmetic or dtype.kind == "bool"):
        return None
    reason = view.why_not_constant(constant)
    if reason is not None:
        return Decline(reason)
    is_negative_zero = node.op == "Sub" and dtype.kind == "float" and all_equal_bits(constant, -0.0)
    if not is_negative_zero and not all_equal_bits(constant, _NEUTRAL[node.op][0]):
        return None
    if (view.opset(node) or 0) < _BROADCASTING_OPSET:
        return Decline(f"{node.op} before operator set 7 broadcasts by attributes")
    if node.op == "Pow" and not _is_power_exact(other, view):
        return Decline("powers of 64-bit integers are computed as floats, which do not hold them all")
    if not keeps_shape(constant, [other], view) and not has_dims_of(node.outputs[0], other, view):
        return Decline(f"{constant.name!r} is neutral but its shape {list(constant.data.shape)} may widen the result")
    protected = why_protected(node, view)
    if protected is not None:
        return Decline(protected)
    match = bypassed(node, other, view)
    if not is_negative_zero or view.math == "relaxed" or isinstance(match, Decline):
        return match
    return if_nobody_can_tell(match, node, other, view) or Decline(
        "x - (-0.0) is not x for x = -0.0; only with --math relaxed", relaxed_gain=1
    )


def _is_power_exact(base: Tensor, view: View) -> bool:
    dtype = view.dtype(base)
    return dtype is not None and (dtype.kind == "float" or dtype.bits <= _WIDEST_POWER_BITS)
