"""fuse-scales: a factor moves through linear operators into a weight, or into another factor."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import too_large
from maxfold.passes.operands import Growing
from maxfold.passes.patterns import factor
from maxfold.passes.rule import Decline, Match, frozen
from maxfold.passes.runtime_patterns import why_protected
from maxfold.passes.scaling import Multiplied, Scaling, growth_of, multiplied, why_out_of_range

_RELAXED = "weights that take in a factor round differently; only with --math relaxed"


@frozen
class _Moved:
    """The node of a factor goes; constants at other nodes get new values.

    With `is_before` the node's operand comes out as the node's result does now.
    """

    node: Node
    variable: Tensor
    constants: Multiplied
    is_before: bool

    def apply(self, edit: Edit) -> None:
        """Lets everybody read what was multiplied, as its maker makes it now or from now on."""
        self.constants.apply(edit)
        if self.is_before:
            edit.take_place(self.node.outputs[0], self.variable)
        else:
            edit.replace_uses(self.node.outputs[0], self.variable)
        edit.remove_node(self.node)


class FuseScales(Growing, SingleRulePass):
    """x * c with a scalar c: the weights that x is made with, or those that it meets, take in the factor.

    Removes one node. Where x is read elsewhere too, those readers have to take in the inverse.
    `max_growth_bytes`: how much the file may grow where the weights are used elsewhere too.
    """

    name: ClassVar[str] = "fuse-scales"
    summary: ClassVar[str] = "move scalar factors through linear operators into weights"
    mode: ClassVar[str] = "relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Mul"), ("", "Div")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines in exact mode, where the file would grow, and where a weight would overflow."""
        found = factor(node, view)
        if found is None or not np.isfinite(found[1]) or found[1] == 0:
            return None
        variable, scale = found
        dtype = view.dtype(variable)
        if dtype is None or dtype.kind != "float":
            return None
        if view.why_not_replaceable(node.outputs[0], variable) is not None:
            return None
        protected = why_protected(node, view)
        if protected is not None:
            return Decline(protected)
        before = _before(node, variable, scale, view)
        plan = before or _behind(node, scale, view)
        if plan is None:
            return None
        reason = why_out_of_range(plan, scale, dtype)
        return Decline(reason) if reason is not None else self._moved(node, variable, plan, plan is before, view)

    def _moved(self, node: Node, variable: Tensor, plan: Scaling, is_before: bool, view: View) -> Match | Decline:
        growth = growth_of(plan, view)
        if growth > self.max_growth_bytes:
            return Decline(too_large(growth, self.max_growth_bytes))
        if view.math == "exact":
            return Decline(_RELAXED, relaxed_gain=1)
        constants = multiplied(plan, gone=variable if is_before else node.outputs[0])
        if constants is None:
            return Decline("the new weights would not be finite, or too small for their type")
        return _Moved(node, variable, constants, is_before)


def _before(node: Node, variable: Tensor, scale: float, view: View) -> Scaling | None:
    """Multiplies what the node reads; its other readers get the inverse."""
    producer = view.producer(variable)
    if producer is None or producer.scope is not node.scope or view.is_graph_output(variable):
        return None
    if view.why_fixed(variable) is not None:
        return None
    plan = Scaling(view, node)
    if not plan.multiply_result(variable, scale) or not plan.divide_readers(variable, 1.0 / scale):
        return None
    return plan


def _behind(node: Node, scale: float, view: View) -> Scaling | None:
    """Lets all that read the node's result take in the factor."""
    plan = Scaling(view, node)
    if not view.use_count(node.outputs[0]) or not plan.divide_readers(node.outputs[0], scale):
        return None
    return plan
