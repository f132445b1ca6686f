"""remove-no-op-where: Where that always chooses one side gives it."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import bypassed, operand
from maxfold.passes.operands import all_equal_bits
from maxfold.passes.remove_no_op_reshape import has_dims_of
from maxfold.passes.rule import Decline, Match


class RemoveNoOpWhere(SingleRulePass):
    """The condition is constant and the same everywhere, or both sides are one tensor. Removes one node.

    ONNX Runtime's Where makes 0.0 of -0.0, so that floats need `--math relaxed`.
    """

    name: ClassVar[str] = "remove-no-op-where"
    summary: ClassVar[str] = "remove Where that always chooses one side"
    mode: ClassVar[str] = "exact, more with relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Where")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the other operands may widen the result, and for floats in exact mode."""
        condition, chosen, other = (operand(node, index) for index in range(3))
        if condition is None or chosen is None or other is None:
            return None
        constant = view.constant(condition)
        if chosen is not other and (constant is None or not constant.data.nbytes):
            return None
        if constant is not None and chosen is not other and not all_equal_bits(constant, True):
            if not all_equal_bits(constant, False):
                return None
            chosen = other
        if not has_dims_of(node.outputs[0], chosen, view):
            return Decline(f"the other operands may widen {chosen.name!r}")
        match, dtype = bypassed(node, chosen, view), view.dtype(chosen)
        is_exact = dtype is not None and dtype.kind not in ("float", "complex")
        if is_exact or view.math == "relaxed" or isinstance(match, Decline):
            return match
        return Decline("Where may make 0.0 of -0.0; only with --math relaxed", relaxed_gain=1)
