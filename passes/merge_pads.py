"""merge-pads: Pad of Pad is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.chains import node_before
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.merge_reshapes import normalized
from maxfold.passes.nodes import integers, known_integers, number, operand, text, why_not_absorbed
from maxfold.passes.rule import Decline, Match, frozen

# From these operator sets on the attribute had another name, and then was an input.
_RENAMED_OPSET = 2
_INPUT_OPSET = 11
_KINDS = ("int", "uint", "float", "bool")


@frozen
class OnePad:
    """Two Pad nodes that become one."""

    node: Node
    inner: Node
    pads: tuple[int, ...]
    has_inputs: bool

    def apply(self, edit: Edit) -> None:
        """Pads of all axes are named, so that there are no axes."""
        attributes = {name: value for name, value in self.node.attrs.items() if name != "pads"}
        inputs: list[Tensor] = [self.inner.inputs[0]]
        if self.has_inputs:
            inputs.append(edit.add_constant(np.array(self.pads, np.int64), like=self.node.outputs[0]))
            fill = operand(self.node, 2)
            inputs += [] if fill is None else [fill]
        else:
            attributes["pads"] = list(self.pads)
        edit.become(self.node, "Pad", inputs, attributes)
        edit.remove_unused([self.inner])


class MergePads(SingleRulePass):
    """Pads of one mode and one constant add up if all of an axis are at least 0; those of different axes go together.

    Removes one node. Two reflections of one axis, and two wraps, are none.
    """

    name: ClassVar[str] = "merge-pads"
    summary: ClassVar[str] = "make one Pad of two in a row"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Pad")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where pads are not constant, do not add up, and where others read the inner result."""
        inner = node_before(node, ("Pad",), view)
        opset = view.opset(node)
        if inner is None or opset is None or opset < _RENAMED_OPSET:
            return None
        mode = text(node, "mode", "constant")
        if mode != text(inner, "mode", "constant"):
            return Decline("the modes differ")
        if mode == "constant" and not _is_same_fill(node, inner, opset, view):
            return Decline("the constants may differ")
        first, second = (_pads(item, opset, view) for item in (inner, node))
        if first is None or second is None:
            return Decline("the pads are not constant")
        joined = _joined(first, second, mode)
        if joined is None:
            return Decline("the pads of an axis do not add up")
        reason = why_not_absorbed([inner], node, view)
        return OnePad(node, inner, tuple(joined), opset >= _INPUT_OPSET) if reason is None else Decline(reason)


def _pads(node: Node, opset: int, view: View) -> list[int] | None:
    """The pads of all axes, begins before ends."""
    if opset < _INPUT_OPSET:
        return integers(node, "pads")
    given = known_integers(operand(node, 1), view)
    if given is None or operand(node, 3) is None:
        return given
    named, rank = known_integers(operand(node, 3), view), view.rank(node.inputs[0])
    if named is None or rank is None or 2 * len(named) != len(given) or normalized(named, rank) is None:
        return None
    pads = [0] * (2 * rank)
    for place, axis in enumerate(named):
        pads[axis % rank], pads[axis % rank + rank] = given[place], given[place + len(named)]
    return pads


def _joined(first: Sequence[int], second: Sequence[int], mode: str) -> list[int] | None:
    if len(first) != len(second) or len(first) % 2:
        return None
    rank = len(first) // 2
    for axis in range(rank):
        own, other = (first[axis], first[axis + rank]), (second[axis], second[axis + rank])
        is_of_one = not any(own) or not any(other)
        if min(*own, *other) < 0 and not (mode == "constant" and is_of_one):
            return None
        if not is_of_one and mode not in ("constant", "edge"):
            return None
    return [one + another for one, another in zip(first, second, strict=True)]


def _is_same_fill(node: Node, inner: Node, opset: int, view: View) -> bool:
    if opset < _INPUT_OPSET:
        one, other = (np.float32(number(item, "value", 0.0)) for item in (node, inner))
        return one.tobytes() == other.tobytes()
    fill, inner_fill = operand(node, 2), operand(inner, 2)
    if fill is inner_fill:
        return True
    own, others = _fill_bytes(fill, view), _fill_bytes(inner_fill, view)
    return own is not None and others is not None and (own or bytes(len(others))) == (others or bytes(len(own)))


def _fill_bytes(tensor: Tensor | None, view: View) -> bytes | None:
    """The bytes of a constant that fills, none at all for one that is left out, which is 0; None if it is not known."""
    if tensor is None:
        return b""
    constant = view.constant(tensor)
    if constant is None or constant.data.dtype is None or constant.data.dtype.is_packed:
        return None
    is_one = constant.data.nbytes == constant.data.dtype.nbytes(1)
    return constant.values.tobytes() if is_one and constant.data.dtype.kind in _KINDS else None
