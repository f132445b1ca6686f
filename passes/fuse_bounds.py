"""fuse-bounds: Max and Min with a number are Relu and Clip, which runtimes fuse into what stands before them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.chains import node_before
from maxfold.passes.driver import RulePass
from maxfold.passes.nodes import why_not_absorbed
from maxfold.passes.patterns import clip_bounds, is_type, scalar_step
from maxfold.passes.rule import Decline, Match, Rule, frozen, options
from maxfold.passes.targets import Target

# Before this operator set Max and Min did not broadcast.
_BROADCASTING_OPSET = 8
# Before this operator set bounds were attributes.
_INPUTS_OPSET = 11
_TARGETS: tuple[Target, ...] = ("onnxruntime", "openvino")


@frozen
class _Clipped:
    """A node that becomes Clip of `source`, or Relu, and nodes that go with it; new bounds are named after `like`."""

    node: Node
    source: Tensor
    low: float
    high: float
    like: Tensor
    has_inputs: bool
    inner: tuple[Node, ...] = ()

    def apply(self, edit: Edit) -> None:
        """An infinite bound is written too, since Clip without it stops at the largest finite number."""
        if (self.low, self.high) == (0, math.inf):
            edit.become(self.node, "Relu", [self.source])
        elif self.has_inputs:
            bounds = [edit.add_constant(np.array(bound, np.float32), like=self.like) for bound in (self.low, self.high)]
            edit.become(self.node, "Clip", [self.source, *bounds])
        else:
            edit.become(self.node, "Clip", [self.source], {"min": self.low, "max": self.high})
        edit.remove_unused(self.inner)


@frozen
class BoundToClip(Rule):
    """Max(x, c) is Clip(x, c, inf) or Relu(x), Min(x, c) is Clip(x, -inf, c).

    Reduces the number of Max and Min. Not exact where c is 0: which of two zeros Max gives is anybody's choice, and
    Clip keeps its own. OpenVINO gives -inf where Clip reads NaN.
    """

    target: Target = "any"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Max"), ("", "Min")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines in exact mode what is not exact in the runtime."""
        opset = view.opset(node)
        step = scalar_step(node, node.op, view) if self.target in _TARGETS else None
        if step is None or opset is None or opset < _BROADCASTING_OPSET or not math.isfinite(step.value):
            return None
        if not is_type(step.variable, ("FLOAT",), view) or _is_in_tree(node, view):
            return None
        if view.math == "exact" and step.value == 0:
            return Decline("Clip and Relu may give another zero; only with --math relaxed")
        if view.math == "exact" and self.target == "openvino":
            return Decline("OpenVINO may give something else where Clip reads NaN; only with --math relaxed")
        low, high = (step.value, math.inf) if node.op == "Max" else (-math.inf, step.value)
        constant = node.inputs[0 if step.is_left else 1]
        return _Clipped(node, step.variable, low, high, constant, opset >= _INPUTS_OPSET)


def _is_in_tree(node: Node, view: View) -> bool:
    """Whether the node is an operand of another of its kind, which may take its operands in."""
    return any(view.is_operator(reader, node.op) for reader in view.consumers(node.outputs[0]))


@frozen
class ClipOfRelu(Rule):
    """Clip(Relu(x), a, b) and Relu(Clip(x, a, b)) are Clip(x, max(a, 0), b) if b >= 0.

    Removes one node.
    """

    target: Target = "any"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Clip"), ("", "Relu")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines in exact mode, and where the inner node has to stay."""
        inner = node_before(node, ("Relu" if node.op == "Clip" else "Clip",), view)
        opset = view.opset(node)
        if self.target not in _TARGETS or inner is None or opset is None:
            return None
        clip = node if node.op == "Clip" else inner
        bounds = clip_bounds(clip, view)
        if bounds is None or not max(bounds[0], 0.0) <= bounds[1] or not is_type(inner.inputs[0], ("FLOAT",), view):
            return None
        blocked = why_not_absorbed((inner,), node, view)
        if blocked is not None:
            return Decline(blocked)
        if view.math == "exact":
            return Decline("Clip may give another zero than Relu; only with --math relaxed", relaxed_gain=1)
        like = clip.inputs[-1]
        return _Clipped(node, inner.inputs[0], max(bounds[0], 0.0), bounds[1], like, opset >= _INPUTS_OPSET, (inner,))


@options
class FuseBounds(RulePass):
    """`target`: the runtime that is to run the model. Others than ONNX Runtime and OpenVINO are not known to gain."""

    target: Target = "any"
    name: ClassVar[str] = "fuse-bounds"
    summary: ClassVar[str] = "make Relu and Clip of Max and Min, with --target onnxruntime or openvino"
    mode: ClassVar[str] = "exact, more with relaxed"
    makes: ClassVar[frozenset[str]] = frozenset(("Clip", "Relu"))

    def rules(self) -> Sequence[Rule]:
        """The first makes what the second looks for."""
        return (BoundToClip(self.target), ClipOfRelu(self.target))
