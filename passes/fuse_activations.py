"""fuse-activations: a matrix product before an activation is Gemm, which ONNX Runtime lets take the activation in."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import made_by
from maxfold.passes.patterns import is_type, scalar_maker
from maxfold.passes.rule import Decline, Match, frozen, options
from maxfold.passes.targets import Target

# What ONNX Runtime's FusedGemm computes.
_ACTIVATIONS = frozenset(
    ("Elu", "HardSigmoid", "LeakyRelu", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Tanh", "ThresholdedRelu")
)
# From this operator set on Gemm may have no third input.
_OPTIONAL_OPSET = 11


@frozen
class _Gemm:
    """A MatMul of two matrices."""

    node: Node

    def apply(self, edit: Edit) -> None:
        """The node keeps its inputs and its result."""
        edit.become(self.node, "Gemm", list(self.node.inputs))


@options
class FuseActivations(SingleRulePass):
    """MatMul of two matrices, the second a weight, that nothing but an activation reads, is Gemm.

    With a bias between it is one anyway. Reduces the number of MatMul. `target`: the runtime that is to run the model.
    """

    target: Target = "any"
    name: ClassVar[str] = "fuse-activations"
    summary: ClassVar[str] = "make Gemm of MatMul before an activation, with --target onnxruntime"
    mode: ClassVar[str] = "relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "MatMul")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines in exact mode. What ONNX Runtime fuses in another way stays: quantized products, and factors."""
        opset = view.opset(node)
        if self.target != "onnxruntime" or opset is None or opset < _OPTIONAL_OPSET or len(node.inputs) != 2:
            return None
        left, weight = node.inputs
        reader = view.only_consumer(node.outputs[0])
        if reader is None or not any(view.is_operator(reader, name) for name in _ACTIVATIONS):
            return None
        if not isinstance(weight, Constant) or isinstance(left, Constant) or reader.scope is not node.scope:
            return None
        shape = weight.data.shape
        if view.rank(left) != 2 or len(shape) != 2 or not shape[0] or not is_type(left, ("FLOAT",), view):
            return None
        if (
            made_by(left, "DequantizeLinear", view)
            or scalar_maker(left, "Mul", view)
            or scalar_maker(left, "Div", view)
        ):
            return None
        if view.math == "exact":
            return Decline("Gemm may round differently; only with --math relaxed")
        return _Gemm(node)
