"""bypass-expand: operators that broadcast read what Expand would have expanded for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.inference.elementwise import broadcast_dims
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import made_by, operand
from maxfold.passes.rule import Decline, Match, frozen

_BROADCASTING = (
    "Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater", "GreaterOrEqual", "Less",
    "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "Pow", "Sub", "Sum", "Where", "Xor",
)  # fmt: skip
# Operands that have a say in how ONNX Runtime computes these: with one exponent for all it may multiply, and the sign
# of a zero depends on which operand is expanded.
_BY_SHAPE = {"Max": (0, 1), "Min": (0, 1), "Pow": (1,)}


@frozen
class ReadsUnexpanded:
    """A node and the operands that it has from now on."""

    node: Node
    operands: tuple[Tensor, ...]
    expand: Node

    def apply(self, edit: Edit) -> None:
        """The Expand stays where others need it."""
        edit.set_inputs(self.node, self.operands)
        edit.remove_unused([self.expand])


class BypassExpand(SingleRulePass):
    """Elementwise operators expand their operands by themselves: Add(Expand(x), y) is Add(x, y) if the derived shape
    of the result is the same. Removes one use of an Expand.

    Exponents, and operands of Max and Min of floats, need `--math relaxed`; exponents of integers stay.
    """

    name: ClassVar[str] = "bypass-expand"
    summary: ClassVar[str] = "let operators that broadcast read what Expand expands"
    mode: ClassVar[str] = "exact, more with relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset(("", name) for name in _BROADCASTING)

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the other operands do not provably give the result its shape, or it may be another."""
        reason: Decline | None = None
        for place, tensor in enumerate(node.inputs):
            expand = made_by(tensor, "Expand", view)
            source = None if expand is None or expand.scope is not node.scope else operand(expand, 0)
            if expand is None or source is None:
                continue
            operands = [*node.inputs[:place], source, *node.inputs[place + 1 :]]
            if not _gives_dims_of(node.outputs[0], operands, view):
                reason = Decline("without the Expand the result may have another shape")
                continue
            refusal = _why_not(node, place, view)
            if refusal is None:
                return ReadsUnexpanded(node, tuple(operands), expand)
            reason = refusal
        return reason


def _why_not(node: Node, place: int, view: View) -> Decline | None:
    """Why a result may have other bits, None where it may not."""
    if place not in _BY_SHAPE.get(node.op, ()):
        return None
    dtype = view.dtype(node.outputs[0])
    is_float = dtype is not None and dtype.kind == "float"
    if node.op == "Pow" and not is_float:
        return Decline("powers of integers are computed in another way without the Expand")
    if (dtype is not None and not is_float) or view.math == "relaxed":
        return None
    what = "rounds differently" if node.op == "Pow" else "may give the other zero"
    return Decline(f"{node.op} {what} without the Expand; only with --math relaxed", relaxed_gain=1)


def _gives_dims_of(result: Tensor, operands: Sequence[Tensor], view: View) -> bool:
    try:
        dims = broadcast_dims([view.dims(tensor) for tensor in operands])
    except ValueError:
        return False
    return dims is not None and dims == view.dims(result)
