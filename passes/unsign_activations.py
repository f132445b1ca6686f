"""unsign-activations: activations that are quantized to INT8 become UINT8, which ONNX Runtime fuses on x86."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from maxfold.model.data import Array
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import operand
from maxfold.passes.operands import why_not_merged
from maxfold.passes.rule import Decline, Match, frozen, options
from maxfold.passes.targets import Target

_OFFSET = 128
_ZERO_POINT = 2


@frozen
class _Unsigned:
    """A QuantizeLinear, the DequantizeLinear nodes that read it, and the new zero points of all."""

    zero_points: tuple[tuple[Node, Array], ...]

    def apply(self, edit: Edit) -> None:
        """The quantized tensor is a new one, of another type."""
        edit.renew(self.zero_points[0][0].outputs[0])
        for node, zero_point in self.zero_points:
            inputs = list(node.inputs)
            inputs[_ZERO_POINT] = edit.add_constant(zero_point, like=inputs[_ZERO_POINT])
            edit.set_inputs(node, inputs)


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
        source, result = operand(node, 0), node.outputs[0]
        if self.target != "onnxruntime" or source is None or isinstance(source, Constant):
            return None
        dtype = view.dtype(result)
        if dtype is None or dtype.name != "INT8" or "output_dtype" in node.attrs:
            return None
        if view.is_graph_output(result):
            return Decline(f"{result.name!r} is a graph output")
        readers = view.consumers(result)
        reason = view.why_fixed(result)
        zero_points: list[tuple[Node, Array]] = []
        for item in (node, *readers):
            is_reader = item is node or (view.is_operator(item, "DequantizeLinear") and item.inputs[0] is result)
            zero_point = operand(item, _ZERO_POINT)
            if not is_reader or view.is_kept(item):
                return Decline(f"{result.name!r} is read by {item.op}, as INT8")
            if not isinstance(zero_point, Constant):
                return Decline("a zero point is not constant")
            reason = reason or why_not_merged(zero_point, view)
            if reason is not None:
                return Decline(reason)
            shifted = zero_point.values.astype(np.int16) + _OFFSET
            zero_points.append((item, np.asarray(shifted.astype(np.uint8))))
        return _Unsigned(tuple(zero_points)) if readers else None
