"""fuse-swish: x * Sigmoid(x) is Swish, and x * Tanh(Softplus(x)) is Mish, where the operator set has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.driver import RulePass
from maxfold.passes.nodes import made_by
from maxfold.passes.patterns import Fused, absorbed, factor, is_type, orders
from maxfold.passes.rule import Decline, Match, Rule, frozen

_MISH_OPSET = 18
_SWISH_OPSET = 24
_REASON = "{} rounds differently; only with --math relaxed"


@frozen
class SigmoidToSwish(Rule):
    """x * Sigmoid(x) is Swish(x), and x * Sigmoid(a * x) Swish with alpha a, in models that use Swish already.

    Runtimes that do not know Swish run its parts; one that runs the model's own Swish runs more of them.

    Removes one or two nodes.
    """

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Mul")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the gate is needed elsewhere, the type is not float32, or no other node is Swish."""
        opset = view.opset(node)
        if opset is None or opset < _SWISH_OPSET:
            return None
        for x, gate in orders(node, "Mul", view):
            maker = made_by(gate, "Sigmoid", view)
            if maker is None:
                continue
            argument = maker.inputs[0]
            scale = None if argument is x else factor(view.producer(argument), view)
            if argument is not x and (scale is None or scale[0] is not x):
                continue
            if not is_type(x, ("FLOAT",), view):
                return Decline(f"{x.name!r} is not known to be float32")
            if not view.is_used("Swish", opset):
                return Decline(f"Swish of operator set {opset} is in few runtimes, and this model does not use it yet")
            inner = [maker] if scale is None else [maker, *argument.inputs]
            attributes = {} if scale is None else {"alpha": scale[1]}
            return absorbed(Fused(node, "Swish", (x,), attributes, tuple(inner)), view, _REASON.format("Swish"))
        return None


@frozen
class SoftplusToMish(Rule):
    """x * Tanh(Softplus(x)) is Mish(x).

    Removes two nodes.
    """

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Mul")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where an inner result is needed elsewhere, or the type is not float32."""
        opset = view.opset(node)
        if opset is None or opset < _MISH_OPSET:
            return None
        for x, gate in orders(node, "Mul", view):
            outer = made_by(gate, "Tanh", view)
            inner = None if outer is None else made_by(outer.inputs[0], "Softplus", view)
            if outer is None or inner is None or inner.inputs[0] is not x:
                continue
            if not is_type(x, ("FLOAT",), view):
                return Decline(f"{x.name!r} is not known to be float32")
            return absorbed(Fused(node, "Mish", (x,), {}, (outer, inner)), view, _REASON.format("Mish"))
        return None


class FuseSwish(RulePass):
    """Swish and Mish from their parts."""

    name: ClassVar[str] = "fuse-swish"
    summary: ClassVar[str] = "make Swish and Mish of their parts"
    mode: ClassVar[str] = "relaxed"
    makes: ClassVar[frozenset[str]] = frozenset(("Mish", "Swish"))

    def rules(self) -> Sequence[Rule]:
        """Both look at products."""
        return (SigmoidToSwish(), SoftplusToMish())
