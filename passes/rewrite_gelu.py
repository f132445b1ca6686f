"""rewrite-gelu: Gelu from its parts in the one form that all runtimes fuse, where it does not become an operator.

That is (x * 0.5) * (1 + Erf(x / sqrt(2))), or with sqrt(2 / pi) * (x + 0.044715 * Pow(x, 3)) and Tanh.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.fuse_gelu import GELU_OPSET
from maxfold.passes.gelu import CUBIC, TANH_SCALE, FoundGelu, gelu
from maxfold.passes.nodes import made_by, why_not_absorbed
from maxfold.passes.patterns import is_type
from maxfold.passes.rule import Decline, Match, frozen
from maxfold.passes.runtime_patterns import add_to_pattern

_RELAXED = "Gelu in another form rounds differently; only with --math relaxed"
# How many nodes the form takes.
_LENGTHS = {"none": 5, "tanh": 8}


@frozen
class _Rewritten:
    """The last node of a Gelu, and what it is found to be."""

    last: Node
    found: FoundGelu

    def apply(self, edit: Edit) -> None:
        """The last node multiplies by the new parts; the old ones go."""
        x = self.found.x
        half = self._step(edit, "Mul", x, 0.5)
        if self.found.approximate == "tanh":
            cubic = self._step(edit, "Mul", self._step(edit, "Pow", x, 3), CUBIC)
            total = self._node(edit, "Add", x, cubic)
            gate = self._node(edit, "Tanh", self._step(edit, "Mul", total, TANH_SCALE))
        else:
            gate = self._node(edit, "Erf", self._step(edit, "Div", x, math.sqrt(2)))
        edit.become(self.last, "Mul", [half, self._step(edit, "Add", gate, 1)])
        edit.remove_unused(self.found.inner)

    def _step(self, edit: Edit, operator: str, tensor: Tensor, value: float) -> Tensor:
        constant = edit.add_constant(np.array(value, np.float32), like=self.last.outputs[0])
        return self._node(edit, operator, tensor, constant)

    def _node(self, edit: Edit, operator: str, *inputs: Tensor) -> Tensor:
        made = edit.add_node(operator, inputs, before=self.last)
        add_to_pattern(made, self.last, edit)
        result: Tensor = made.outputs[0]
        return result


class RewriteGelu(SingleRulePass):
    """A Gelu that ONNX Runtime does not find, such as x * (0.5 * (1 + Erf(..))), or with x * x * x.

    From operator set 20 on it becomes the operator, see `fuse_gelu`.
    Reduces the number of Gelus in other forms.
    """

    name: ClassVar[str] = "rewrite-gelu"
    summary: ClassVar[str] = "write Gelu in the form that runtimes fuse"
    mode: ClassVar[str] = "relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Mul"), ("", "Div")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines in exact mode, and where an inner result is needed elsewhere."""
        opset = view.opset(node)
        found = None if opset is None or opset >= GELU_OPSET else gelu(node, view)
        if found is None or not is_type(found.x, ("FLOAT",), view) or _is_fused(found, view):
            return None
        if view.is_kept(node) or view.why_fixed(node.outputs[0]) is not None:
            return Decline(f"{node.outputs[0].name!r} is to be kept")
        gain = len(found.inner) + 1 - _LENGTHS[found.approximate]
        blocked = why_not_absorbed(found.inner, node, view)
        if blocked is not None or gain < 0:
            return Decline(blocked or "the form that runtimes fuse has more nodes")
        return Decline(_RELAXED, relaxed_gain=gain) if view.math == "exact" else _Rewritten(node, found)


def _is_fused(found: FoundGelu, view: View) -> bool:
    """Whether ONNX Runtime finds a Gelu as it is."""
    operators = [item.op for item in found.argument]
    if not view.is_operator(found.half, "Mul"):
        return False
    if found.approximate == "tanh":
        return found.place == "x" and (operators == ["Mul", "Add", "Mul", "Pow"] or _is_horner(found))
    if operators != ["Div"] or found.place == "gate":
        return False
    # Where a Mul makes x, it is taken for the half.
    return found.place == "x" or made_by(found.x, "Mul", view) is None


def _is_horner(found: FoundGelu) -> bool:
    """Whether the argument is (sqrt(2 / pi) * x) * (1 + (0.044715 * x) * x)."""
    if [item.op for item in found.argument] != ["Mul", "Mul", "Add", "Mul", "Mul"]:
        return False
    _, scaled, plus, product, _ = found.argument
    is_inside = any(item is found.x for item in product.inputs)
    return is_inside and all(item is not plus.outputs[0] for item in scaled.inputs)
