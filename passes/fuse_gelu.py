"""fuse-gelu: x * (1 + Erf(x / sqrt(2))) / 2 and its tanh approximation are Gelu, where the operator set has it."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.gelu import gelu
from maxfold.passes.patterns import Fused, absorbed, is_type
from maxfold.passes.rule import Decline, Match

GELU_OPSET = 20
_REASON = "Gelu rounds differently; only with --math relaxed"


class FuseGelu(SingleRulePass):
    """Gelu with and without approximation from its parts, the half at any place of the product.

    Removes all nodes of the pattern but one.
    """

    name: ClassVar[str] = "fuse-gelu"
    summary: ClassVar[str] = "make Gelu of its parts"
    mode: ClassVar[str] = "relaxed"
    makes: ClassVar[frozenset[str]] = frozenset(("Gelu",))
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Mul"), ("", "Div")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where an inner result is needed elsewhere, or the type is not float32."""
        opset = view.opset(node)
        if opset is None or opset < GELU_OPSET:
            return None
        found = gelu(node, view)
        if found is None:
            return None
        if not is_type(found.x, ("FLOAT",), view):
            return Decline(f"{found.x.name!r} is not known to be float32")
        attributes = {"approximate": found.approximate} if found.approximate != "none" else {}
        return absorbed(Fused(node, "Gelu", (found.x,), attributes, found.inner), view, _REASON)
