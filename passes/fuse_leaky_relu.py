"""fuse-leaky-relu: max(x, c * x), and PRelu of one slope for all, are LeakyRelu, which ONNX Runtime fuses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import RulePass
from maxfold.passes.nodes import operand, why_not_absorbed
from maxfold.passes.operands import all_equal_bits, keeps_shape, why_not_merged
from maxfold.passes.patterns import BROADCASTING_OPSET, is_type, orders, scalar_maker
from maxfold.passes.rule import Decline, Match, Rule, frozen, options
from maxfold.passes.targets import Target


@frozen
class _Leaky:
    """A node that becomes LeakyRelu of `source`, and the nodes that go with it."""

    node: Node
    source: Tensor
    alpha: float
    inner: tuple[Node, ...] = ()

    def apply(self, edit: Edit) -> None:
        """The node keeps its result."""
        edit.become(self.node, "LeakyRelu", [self.source], {"alpha": self.alpha})
        edit.remove_unused(self.inner)


@frozen
class MaxToLeakyRelu(Rule):
    """Max(x, c * x) with 0 < c < 1 is LeakyRelu(x) with alpha c. Removes one node.

    The same bits in float32: the product is the larger one of the two where x is negative, and only there.
    """

    target: Target = "any"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Max")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the product is needed elsewhere."""
        for x, scaled in orders(node, "Max", view) if self.target == "onnxruntime" else ():
            step = scalar_maker(scaled, "Mul", view)
            if step is None or step.variable is not x or not 0 < step.value < 1:
                continue
            # Half precision and double would round alpha, which is a float32.
            if not is_type(x, ("FLOAT",), view):
                return None
            blocked = why_not_absorbed((step.node,), node, view)
            return _Leaky(node, x, step.value, (step.node,)) if blocked is None else Decline(blocked)
        return None


@frozen
class PReluToLeakyRelu(Rule):
    """PRelu whose slopes are all one positive number is LeakyRelu. Reduces the number of PRelu.

    The same bits in float32, for zeros of both signs too.
    """

    target: Target = "any"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "PRelu")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the slopes may be others, or make the shape of the result."""
        opset, x, slope = view.opset(node), operand(node, 0), operand(node, 1)
        if self.target != "onnxruntime" or opset is None or opset < BROADCASTING_OPSET or x is None:
            return None
        if not isinstance(slope, Constant) or isinstance(x, Constant) or not is_type(slope, ("FLOAT",), view):
            return None
        reason = why_not_merged(slope, view)
        if reason is not None:
            return Decline(reason)
        alpha = float(slope.values.reshape(-1)[0]) if slope.data.nbytes else 0.0
        if not 0 < alpha < math.inf or not all_equal_bits(slope, alpha):
            return None
        if not keeps_shape(slope, [x], view):
            return Decline(f"the shape of {x.name!r} is not known to be that of the result")
        return _Leaky(node, x, alpha)


@options
class FuseLeakyRelu(RulePass):
    """`target`: the runtime that is to run the model; only ONNX Runtime gains."""

    target: Target = "any"
    name: ClassVar[str] = "fuse-leaky-relu"
    summary: ClassVar[str] = "make LeakyRelu of Max and PRelu, with --target onnxruntime"
    makes: ClassVar[frozenset[str]] = frozenset(("LeakyRelu",))

    def rules(self) -> Sequence[Rule]:
        """Neither makes what the other looks for."""
        return (MaxToLeakyRelu(self.target), PReluToLeakyRelu(self.target))
