"""rewrite-normalizations: in a normalization d * d is Pow(d, 2) and Pow(v, 0.5) is Sqrt(v), which runtimes find."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.patterns import is_type, scalar_step
from maxfold.passes.rule import Decline, Match, frozen
from maxfold.passes.runtime_patterns import NORMALIZATIONS, pattern_of

_RELAXED = "a power may round differently; only with --math relaxed"


@frozen
class _Rewritten:
    """A node that becomes another operator of the same tensor; `exponent` is a second operand."""

    node: Node
    operator: str
    variable: Tensor
    exponent: Any

    def apply(self, edit: Edit) -> None:
        """The result is the same one."""
        inputs = [self.variable]
        if self.exponent is not None:
            inputs.append(edit.add_constant(self.exponent, like=self.node.outputs[0]))
        edit.become(self.node, self.operator, inputs)


class RewriteNormalizations(SingleRulePass):
    """The square and the root of a normalization that no operator of the operator set is, or that has to stay parts.

    Reduces the number of squares by Mul and of roots by Pow in normalizations.
    """

    name: ClassVar[str] = "rewrite-normalizations"
    summary: ClassVar[str] = "write squares and roots of normalizations in the form that runtimes fuse"
    mode: ClassVar[str] = "relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Mul"), ("", "Pow")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines in exact mode."""
        if pattern_of(node, view) not in NORMALIZATIONS or len(node.inputs) != 2:
            return None
        match = _square(node, view) if node.op == "Mul" else _root(node, view)
        if match is None or not is_type(node.outputs[0], ("FLOAT", "FLOAT16", "DOUBLE"), view):
            return None
        if view.is_kept(node) or view.why_fixed(node.outputs[0]) is not None:
            return Decline(f"{node.outputs[0].name!r} is to be kept")
        return Decline(_RELAXED) if view.math == "exact" else match


def _square(node: Node, view: View) -> Match | None:
    dtype = view.dtype(node.inputs[0])
    if node.inputs[0] is not node.inputs[1] or dtype is None:
        return None
    return _Rewritten(node, "Pow", node.inputs[0], np.array(2, dtype.numpy))


def _root(node: Node, view: View) -> Match | None:
    power = scalar_step(node, "Pow", view)
    if power is None or power.is_left or power.value != 0.5:
        return None
    return _Rewritten(node, "Sqrt", power.variable, None)
