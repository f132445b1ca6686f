"""fuse-softmax: Exp(x - ReduceMax(x)) over its sum is Softmax, and with a logarithm LogSoftmax."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.patterns import Fused, absorbed, is_type
from maxfold.passes.rule import Decline, Match
from maxfold.passes.softmax import softmax

# Before it, Softmax takes all axes from its own on for one.
_SINGLE_AXIS_OPSET = 13


class FuseSoftmax(SingleRulePass):
    """Softmax and LogSoftmax along one axis from their parts, as TensorFlow and JAX write them.

    Removes all nodes of the pattern but one.
    """

    name: ClassVar[str] = "fuse-softmax"
    summary: ClassVar[str] = "make Softmax and LogSoftmax of their parts"
    mode: ClassVar[str] = "relaxed"
    makes: ClassVar[frozenset[str]] = frozenset(("LogSoftmax", "Softmax"))
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Div"), ("", "Mul"), ("", "Sub")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where an inner result is needed elsewhere, or the type is not a known float."""
        opset, found = view.opset(node), softmax(node, view)
        if opset is None or found is None:
            return None
        if opset < _SINGLE_AXIS_OPSET and found.axis != -1:
            return Decline(f"{found.operator} is along the last axes before operator set {_SINGLE_AXIS_OPSET}")
        if not is_type(found.x, ("FLOAT", "DOUBLE"), view):
            return Decline(f"{found.x.name!r} is not known to be float32 or float64")
        reason = f"{found.operator} rounds differently; only with --math relaxed"
        return absorbed(Fused(node, found.operator, (found.x,), {"axis": found.axis}, found.inner), view, reason)
