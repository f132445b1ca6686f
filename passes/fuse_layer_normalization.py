"""fuse-layer-normalization: (x - mean) / sqrt(variance + epsilon) is LayerNormalization, from its operator set on."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import axes, integer, made_by
from maxfold.passes.normalization import fused_normalization
from maxfold.passes.root_mean_square import root_mean_square
from maxfold.passes.rule import Decline, Match

_OPSET = 17


class FuseLayerNormalization(SingleRulePass):
    """LayerNormalization along the last axes from its parts, with the scale and the bias behind them.

    Removes all nodes of the pattern but one.
    """

    name: ClassVar[str] = "fuse-layer-normalization"
    summary: ClassVar[str] = "make LayerNormalization of its parts"
    mode: ClassVar[str] = "relaxed"
    makes: ClassVar[frozenset[str]] = frozenset(("LayerNormalization",))
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Div"), ("", "Mul")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines for other axes, sizes and types, and where an inner result is needed elsewhere."""
        opset = view.opset(node)
        if opset is None or opset < _OPSET:
            return None
        found = root_mean_square(node, view)
        minus = None if found is None else made_by(found.d, "Sub", view)
        if found is None or minus is None:
            return None
        mean = made_by(minus.inputs[1], "ReduceMean", view)
        x: Tensor = minus.inputs[0]
        if mean is None or mean.inputs[0] is not x or integer(mean, "keepdims", 1) != 1:
            return None
        if axes(mean, 1, view) != list(found.axes):
            return None
        return fused_normalization("LayerNormalization", found, x, (mean, minus), view)
