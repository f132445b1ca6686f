"""sign-activations: activations that are quantized to UINT8 around 128 become INT8 around 0, as TensorRT asks for."""

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

_MIDDLE = 128


@options
class SignActivations(SingleRulePass):
    """QuantizeLinear to UINT8 with zero point 128, and all DequantizeLinear that read it, with INT8 and 0.

    No dequantized value changes, since the bounds of saturation move along. Reduces the number of UINT8 activations.
    Done where `target` is "tensorrt", which has no other zero point and no UINT8 inside a network.
    """

    target: Target = "any"
    name: ClassVar[str] = "sign-activations"
    summary: ClassVar[str] = "quantize activations to INT8 in place of UINT8 around 128, with --target tensorrt"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "QuantizeLinear")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the quantized tensor is needed as it is, or a zero point is another or not constant."""
        return requantized(node, "UINT8", _signed, view) if self.target == "tensorrt" else None


def _signed(zero_point: Constant) -> Array | str:
    if not bool((zero_point.values == _MIDDLE).all()):
        return f"the zero point {zero_point.name!r} is not 128, which TensorRT does not take"
    return np.zeros(zero_point.data.shape, np.int8)
