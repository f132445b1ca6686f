"""fuse-rms-normalization: x / sqrt(mean(x * x) + epsilon) is RMSNormalization, from its operator set on."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.normalization import fused_normalization
from maxfold.passes.root_mean_square import root_mean_square
from maxfold.passes.rule import Decline, Match, options
from maxfold.passes.targets import Target

_OPSET = 23


@options
class FuseRmsNormalization(SingleRulePass):
    """RMSNormalization along the last axes from its parts, with the scale behind them.

    Removes all nodes of the pattern but one. `target`: the runtime that is to run the model.
    """

    target: Target = "any"
    name: ClassVar[str] = "fuse-rms-normalization"
    summary: ClassVar[str] = "make RMSNormalization of its parts"
    mode: ClassVar[str] = "relaxed"
    makes: ClassVar[frozenset[str]] = frozenset(("RMSNormalization",))
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Div"), ("", "Mul")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines for other axes, sizes and types, and where an inner result is needed elsewhere."""
        opset = view.opset(node)
        if opset is None or opset < _OPSET:
            return None
        found = root_mean_square(node, view)
        if found is not None and self.target == "tensorrt":
            return Decline("TensorRT has RMSNormalization only from release 10.15 on, and runs its parts in all")
        return None if found is None else fused_normalization("RMSNormalization", found, found.d, (), view)
