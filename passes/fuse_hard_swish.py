"""fuse-hard-swish: Clip(x + 3, 0, 6) / 6 is HardSigmoid, and x times that HardSwish, from its operator set on.

ONNX Runtime lets a convolution take in HardSigmoid, and OpenVINO the parts; both take in HardSwish.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from maxfold.model.graph import Node, Tensor
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.driver import RulePass
from maxfold.passes.nodes import made_by, number
from maxfold.passes.patterns import Fused, absorbed, clip_bounds, factor, is_about, is_type, orders, scalar_maker
from maxfold.passes.rule import Decline, Match, Rule, frozen, options
from maxfold.passes.targets import Target

_HARD_SIGMOID_OPSET = 6
_HARD_SWISH_OPSET = 14
_REASON = "{} rounds differently; only with --math relaxed"
_DISAGREE = "part of a {}, which runtimes fuse in other forms; only with --target onnxruntime{}"


@frozen_value
class _Shift:
    """`variable` and a number that `nodes` add to it."""

    variable: Tensor
    value: float
    nodes: tuple[Node, ...]


@frozen
class ClipToHardSigmoid(Rule):
    """Clip(x + a, 0, h) / h is HardSigmoid(x) with alpha 1/h and beta a/h; y * Clip(x + a, 0, h) / h is y times that.

    Removes two nodes, or one where a convolution took `a` in. Parts of what does not become HardSwish stay unless
    `target` is "onnxruntime".
    """

    target: Target = "any"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Clip")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where an inner result is needed elsewhere, or the type is not float32."""
        opset = view.opset(node)
        if opset is None or opset < _HARD_SIGMOID_OPSET or not node.inputs:
            return None
        bounds = clip_bounds(node, view)
        shift = self._shift(node, view)
        if shift is None or bounds is None or bounds[0] != 0 or bounds[1] <= 0:
            return None
        found = _fused(node, shift, bounds[1], view)
        if found is None:
            return None
        if not is_type(shift.variable, ("FLOAT",), view):
            return Decline(f"{shift.variable.name!r} is not known to be float32")
        is_gate = _is_gate(found, shift.variable, view)
        is_hard_swish = is_gate and opset >= _HARD_SWISH_OPSET and (shift.value, bounds[1]) == (3, 6)
        if not is_hard_swish and self.target != "onnxruntime":
            name = "HardSwish" if is_gate else "HardSigmoid"
            return Decline(_DISAGREE.format(name, "" if view.math == "relaxed" else " and --math relaxed"))
        return absorbed(found, view, _REASON.format("HardSigmoid"))

    def _shift(self, clip: Node, view: View) -> _Shift | None:
        """What is clipped, as x + a; behind a convolution, which may have taken `a` in, as it is."""
        added = scalar_maker(clip.inputs[0], "Add", view)
        if added is not None:
            return _Shift(added.variable, added.value, (added.node,))
        maker = made_by(clip.inputs[0], "Conv", view)
        return None if maker is None or self.target != "onnxruntime" else _Shift(clip.inputs[0], 0.0, ())


def _fused(clip: Node, shift: _Shift, height: float, view: View) -> Fused | None:
    reader = view.only_consumer(clip.outputs[0])
    if reader is None:
        return None
    attributes = {"alpha": 1.0 / height, "beta": shift.value / height}
    if _divides(reader, clip.outputs[0], height, view):
        return Fused(reader, "HardSigmoid", (shift.variable,), attributes, (clip, *shift.nodes))
    for product, other in orders(reader, "Mul", view):
        last = view.only_consumer(reader.outputs[0])
        if product is not clip.outputs[0] or last is None or not _divides(last, reader.outputs[0], height, view):
            continue
        inner = (reader, clip, *shift.nodes)
        return Fused(last, "Mul", (other, None), {}, inner, ("HardSigmoid", attributes), (shift.variable,))
    return None


def _is_gate(found: Fused, x: Tensor, view: View) -> bool:
    """Whether x is multiplied by the HardSigmoid of x."""
    if found.first is not None:
        return x in found.inputs
    reader = view.only_consumer(found.last.outputs[0])
    return reader is not None and view.is_operator(reader, "Mul") and x in reader.inputs


def _divides(node: Node, tensor: Tensor, height: float, view: View) -> bool:
    found = factor(node, view)
    return found is not None and found[0] is tensor and is_about(found[1], 1.0 / height, tensor, view)


@frozen
class HardSigmoidToHardSwish(Rule):
    """x * HardSigmoid(x) with alpha 1/6 and beta 1/2 is HardSwish(x).

    Removes one node.
    """

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Mul")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the gate is needed elsewhere, or the type is not float32."""
        opset = view.opset(node)
        if opset is None or opset < _HARD_SWISH_OPSET:
            return None
        for x, gate in orders(node, "Mul", view):
            maker = made_by(gate, "HardSigmoid", view)
            if maker is None or maker.inputs[0] is not x:
                continue
            if abs(number(maker, "alpha", 0.2) - 1 / 6) > 1e-7 or number(maker, "beta", 0.5) != 0.5:
                return None
            if not is_type(x, ("FLOAT",), view):
                return Decline(f"{x.name!r} is not known to be float32")
            return absorbed(Fused(node, "HardSwish", (x,), {}, (maker,)), view, _REASON.format("HardSwish"))
        return None


@options
class FuseHardSwish(RulePass):
    """`target`: the runtime that is to run the model, which decides on what does not become HardSwish."""

    target: Target = "any"
    name: ClassVar[str] = "fuse-hard-swish"
    summary: ClassVar[str] = "make HardSigmoid and HardSwish of their parts"
    mode: ClassVar[str] = "relaxed"
    makes: ClassVar[frozenset[str]] = frozenset(("HardSigmoid", "HardSwish"))

    def rules(self) -> Sequence[Rule]:
        """The first makes what the second looks for."""
        return (ClipToHardSigmoid(self.target), HardSigmoidToHardSwish())
