"""remove-no-op-pad: Pad by nothing gives its input."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import bypassed, integers, made_by, operand
from maxfold.passes.rule import Decline, Match, options
from maxfold.passes.targets import Target

# From these operator sets on the attribute had another name, and then was an input.
_RENAMED_OPSET = 2
_INPUT_OPSET = 11


@options
class RemoveNoOpPad(SingleRulePass):
    """Every pad is 0, as a constant or as derived, whatever the mode. Removes one node.

    One between DequantizeLinear and QuantizeLinear of INT8 stays for ONNX Runtime where something else reads what is
    dequantized before or behind it: without it a quantized tensor has several readers, and the operators around are not
    fused. With `target` "onnxruntime" the tensors become UINT8, which are fused all the same.
    """

    target: Target = "any"
    name: ClassVar[str] = "remove-no-op-pad"
    summary: ClassVar[str] = "remove Pad that pads by nothing"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Pad")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the input cannot take the result's place."""
        source = operand(node, 0)
        if source is None or not _pads_nothing(node, view):
            return None
        if self.target != "onnxruntime" and _is_quantized(node, view):
            return Decline("between quantized operators, which runtimes fuse with it; goes with --target onnxruntime")
        return bypassed(node, source, view)


def _is_quantized(node: Node, view: View) -> bool:
    """Whether a node is between signed tensors that are dequantized and quantized, not all of one reader."""
    maker = made_by(node.inputs[0], "DequantizeLinear", view)
    if maker is None:
        return False
    dtype = view.dtype(maker.inputs[0])
    if dtype is not None and dtype.name != "INT8":
        return False
    quantizers = [reader for reader in view.consumers(node.outputs[0]) if view.is_operator(reader, "QuantizeLinear")]
    return any(not _is_chain([maker.inputs[0], maker.outputs[0], node.outputs[0]], item, view) for item in quantizers)


def _is_chain(tensors: list[Tensor], quantizer: Node, view: View) -> bool:
    """Whether tensors, what is quantized of the last one and what is dequantized of that have one reader at most."""
    reader = view.only_consumer(quantizer.outputs[0])
    if reader is None or not view.is_operator(reader, "DequantizeLinear"):
        return False
    result = reader.outputs[0]
    return all(map(view.is_single_use, tensors)) and view.use_count(result) + view.return_count(result) <= 1


def _pads_nothing(node: Node, view: View) -> bool:
    opset = view.opset(node)
    if opset is None:
        return False
    if opset < _INPUT_OPSET:
        return not any(integers(node, "paddings" if opset < _RENAMED_OPSET else "pads"))
    pads = operand(node, 1)
    value = None if pads is None else view.value(pads)
    return value is not None and all(element == 0 for element in value.elements)
