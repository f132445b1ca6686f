"""fuse-pad: a convolution or pooling takes in the Pad before it."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import (
    axes,
    integer,
    integers,
    known_integers,
    made_by,
    number,
    operand,
    scalar,
    text,
    why_not_absorbed,
)
from maxfold.passes.rule import Decline, Match, frozen

# From this operator set on pads and value are inputs of Pad; before, attributes.
_INPUTS_OPSET = 11
# From this one on AveragePool can count what is padded.
_COUNTING_OPSET = 7
_RELAXED = "runtimes pool -0.0, -inf and NaN otherwise where they pad themselves; only with --math relaxed"


@frozen
class _Padded:
    """A node that pads by itself, and the Pad that goes."""

    node: Node
    pad: Node
    attributes: dict[str, Any]

    def apply(self, edit: Edit) -> None:
        """Reads what the Pad reads."""
        inputs: list[Tensor] = [self.pad.inputs[0], *self.node.inputs[1:]]
        edit.become(self.node, self.node.op, inputs, self.attributes)
        edit.remove_unused([self.pad])


class FusePad(SingleRulePass):
    """Pad with zeros before Conv or AveragePool, and with -inf before MaxPool, along spatial axes.

    Removes the Pad. The windows, and what is in them, stay the same; but runtimes begin the pooling of a window that
    reaches into pads with other numbers, which shows where nothing but -0.0, -inf or NaN is in it.
    """

    name: ClassVar[str] = "fuse-pad"
    summary: ClassVar[str] = "let convolutions and poolings take in the Pad before them"
    mode: ClassVar[str] = "exact, more with relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset(
        ("", name) for name in ("Conv", "AveragePool", "MaxPool")
    )

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines for other values and modes, for pads below zero, and where the node pads by itself by SAME."""
        pad = made_by(operand(node, 0), "Pad", view)
        opset = view.opset(node)
        if pad is None or opset is None or operand(pad, 0) is None:
            return None
        mode = text(pad, "mode", "constant")
        if mode != "constant":
            return Decline(f"the Pad before it is of mode {mode}")
        value = _value(pad, opset, view)
        if value is None:
            return Decline("the Pad before it has a value that is not known")
        reason = _why_not_value(node, value)
        if reason is not None:
            return Decline(reason)
        sizes = _sizes(node, view)
        amounts = None if sizes is None else _amounts(pad, opset, len(sizes) + 2, view)
        if sizes is None or amounts is None:
            return Decline("kernel or pads are not known")
        begins, ends = amounts
        if any(begins[:2]) or any(ends[:2]):
            return Decline("the Pad before it pads the batch or the channels")
        if min(*begins, *ends) < 0:
            return Decline("the Pad before it crops")
        attributes = _attributes(node, begins[2:], ends[2:], sizes, opset)
        if isinstance(attributes, str):
            return Decline(attributes)
        reason = why_not_absorbed([pad], node, view)
        if reason is not None:
            return Decline(reason)
        if node.op != "Conv" and view.math == "exact":
            return Decline(_RELAXED, relaxed_gain=1)
        return _Padded(node, pad, attributes)


def _value(pad: Node, opset: int, view: View) -> float | None:
    if opset < _INPUTS_OPSET:
        return number(pad, "value", 0.0)
    tensor = operand(pad, 2)
    found = 0.0 if tensor is None else scalar(tensor, view)
    return found if isinstance(found, float) else None


def _why_not_value(node: Node, value: float) -> str | None:
    if node.op == "MaxPool":
        return None if value == -math.inf else "MaxPool pads with -inf, and the Pad before it does not"
    is_zero = value == 0 and math.copysign(1.0, value) > 0
    return None if is_zero else f"{node.op} pads with zeros, and the Pad before it does not"


def _sizes(node: Node, view: View) -> list[int | None] | None:
    """The kernel's spatial shape, which weights have behind their channels; only its rank matters for Conv."""
    if "kernel_shape" in node.attrs:
        return list(integers(node, "kernel_shape"))
    weight = operand(node, 1) if node.op == "Conv" else None
    shape = None if weight is None else view.shape(weight)
    return list(shape[2:]) if shape is not None and len(shape) > 2 else None


def _amounts(pad: Node, opset: int, rank: int, view: View) -> tuple[list[int], list[int]] | None:
    """What is added before and behind each axis."""
    if opset < _INPUTS_OPSET:
        amounts: list[int] | None = integers(pad, "pads" if "pads" in pad.attrs else "paddings")
    else:
        amounts = known_integers(operand(pad, 1), view)
    places = axes(pad, 3, view) if opset >= _INPUTS_OPSET else None
    if amounts is None:
        return None
    if places is None:
        return (amounts[:rank], amounts[rank:]) if len(amounts) == 2 * rank else None
    begins, ends = [0] * rank, [0] * rank
    if len(amounts) != 2 * len(places) or any(not -rank <= axis < rank for axis in places):
        return None
    for axis, begin, end in zip(places, amounts, amounts[len(places) :], strict=False):
        begins[axis] += begin
        ends[axis] += end
    return begins, ends


def _attributes(
    node: Node, begins: list[int], ends: list[int], sizes: list[int | None], opset: int
) -> dict[str, Any] | str:
    """The node's attributes with the pads added, or why they cannot be."""
    auto_pad = text(node, "auto_pad", "NOTSET")
    if auto_pad not in ("NOTSET", "VALID"):
        return f"the node pads by {auto_pad}"
    count = len(sizes)
    own = integers(node, "pads", [0] * (2 * count)) if auto_pad == "NOTSET" else [0] * (2 * count)
    if len(own) != 2 * count:
        return "kernel or pads are not known"
    pads = [before + added for before, added in zip(own, [*begins, *ends], strict=True)]
    attributes = {name: value for name, value in node.attrs.items() if name != "auto_pad"}
    attributes["pads"] = pads
    if node.op == "Conv":
        return attributes
    if integer(node, "ceil_mode", 0):
        return "with ceil_mode, windows may begin in the pads"
    if any(size is None or max(pads[axis::count]) >= size for axis, size in enumerate(sizes)):
        return "pooling takes no pads as wide as its kernel"
    if node.op == "MaxPool" and any(step != 1 for step in integers(node, "dilations", [])):
        return "with dilations, a window may hold nothing but pads"
    if node.op == "AveragePool":
        if opset < _COUNTING_OPSET or (any(own) and not integer(node, "count_include_pad", 0)):
            return "AveragePool does not count its own pads, and counts those of the Pad before it"
        attributes["count_include_pad"] = 1
    return attributes
