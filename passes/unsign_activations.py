"""unsign-activations: activations that are quantized to INT8 become UINT8, which ONNX Runtime fuses on x86."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from maxfold.model.data import Array
from maxfold.model.graph import Constant, Node
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.rule import Decline, Match, options
from maxfold.passes.targets import Target
from maxfold.passes.zero_points import requantized

_OFFSET = 128


@options
class UnsignActivations(SingleRulePass):
    """QuantizeLinear to INT8 with zero point z, and all DequantizeLinear that read it, with UINT8 and z + 128.

    No dequantized value changes, since the bounds of saturation move along. Reduces the number of INT8 activations.
    Done where `target` is "onnxruntime": accelerators want symmetric INT8.
    """

    target: Target = "any"
    name: ClassVar[str] = "unsign-activations"
    summary: ClassVar[str] = "quantize activations to UINT8 in place of INT8, with --target onnxruntime"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "QuantizeLinear")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the quantized tensor is needed as it is, or a zero point is not constant."""
        return requantized(node, "INT8", _unsigned, view) if self.target == "onnxruntime" else None


def _unsigned(zero_point: Constant) -> Array:
    return np.asarray((zero_point.values.astype(np.int16) + _OFFSET).astype(np.uint8))
