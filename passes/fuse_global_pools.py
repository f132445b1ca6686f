"""fuse-global-pools: the mean of each channel between convolutions is GlobalAveragePool, which keeps their layout."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.chains import node_before
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import axes, integer
from maxfold.passes.patterns import is_type
from maxfold.passes.rule import Decline, Match, frozen, options
from maxfold.passes.targets import Target

# What ONNX Runtime computes in the blocked layout of its convolutions, or fuses into them.
_ACTIVATIONS = ("Clip", "HardSigmoid", "HardSwish", "LeakyRelu", "Relu", "Sigmoid", "Tanh")
_SPATIAL = {2, 3}
_RANK = 4


@frozen
class _Pooled:
    """A ReduceMean over both spatial axes."""

    node: Node

    def apply(self, edit: Edit) -> None:
        """The node keeps its result."""
        edit.become(self.node, "GlobalAveragePool", [self.node.inputs[0]])


@options
class FuseGlobalPools(SingleRulePass):
    """ReduceMean over the spatial axes of an image, behind a convolution and before nothing but convolutions.

    ONNX Runtime then does not bring the image into another layout and back. Elsewhere it would do so for the pool.
    Reduces the number of ReduceMean. `target`: the runtime that is to run the model.
    """

    target: Target = "any"
    name: ClassVar[str] = "fuse-global-pools"
    summary: ClassVar[str] = "make GlobalAveragePool of ReduceMean between convolutions, with --target onnxruntime"
    mode: ClassVar[str] = "relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "ReduceMean")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines in exact mode: the sum is made in another order."""
        if self.target != "onnxruntime" or not node.inputs or view.rank(node.inputs[0]) != _RANK:
            return None
        places = axes(node, 1, view)
        if places is None or len(places) != len(_SPATIAL) or {axis % _RANK for axis in places} != _SPATIAL:
            return None
        if integer(node, "keepdims", 1) != 1 or not is_type(node.inputs[0], ("FLOAT",), view):
            return None
        if not _is_behind_convolution(node, view) or not _is_before_convolutions(node, view):
            return None
        if view.math == "exact":
            return Decline("GlobalAveragePool may round differently; only with --math relaxed")
        return _Pooled(node)


def _is_behind_convolution(node: Node, view: View) -> bool:
    activation = node_before(node, _ACTIVATIONS, view)
    return node_before(node if activation is None else activation, ("Conv",), view) is not None


def _is_before_convolutions(node: Node, view: View) -> bool:
    result = node.outputs[0]
    readers = view.consumers(result)
    if not readers or view.is_graph_output(result):
        return False
    return all(view.is_operator(reader, "Conv") and reader.inputs[0] is result for reader in readers)
