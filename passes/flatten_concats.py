"""flatten-concats: Concat of Concat along one axis is one Concat."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import made_by
from maxfold.passes.operands import why_not_inlined
from maxfold.passes.remove_no_op_concat import concat_axis
from maxfold.passes.rule import Decline, Match, frozen


@frozen
class FlatConcat:
    """A Concat and the operands that it has with those of the Concat nodes before it."""

    node: Node
    operands: tuple[Tensor, ...]
    inlined: tuple[Node, ...]

    def apply(self, edit: Edit) -> None:
        """The inner nodes have no other reader."""
        edit.set_inputs(self.node, self.operands)
        edit.remove_unused(self.inlined)


class FlattenConcats(SingleRulePass):
    """Concat(Concat(a, b), c) is Concat(a, b, c) where nothing else reads the inner result. Removes one node each."""

    name: ClassVar[str] = "flatten-concats"
    summary: ClassVar[str] = "make one Concat of Concat nodes along one axis"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Concat")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where an inner result is needed elsewhere, and where axes may not be the same."""
        operands: list[Tensor] = []
        inlined: list[Node] = []
        reason: str | None = None
        for tensor in node.inputs:
            inner = made_by(tensor, "Concat", view)
            if inner is None or not all(item.name for item in inner.inputs):
                operands.append(tensor)
                continue
            refusal = _why_not(node, inner, view)
            reason = reason or refusal
            operands += [tensor] if refusal is not None else inner.inputs
            inlined += [] if refusal is not None else [inner]
        if inlined:
            return FlatConcat(node, tuple(operands), tuple(inlined))
        return None if reason is None else Decline(reason)


def _why_not(node: Node, inner: Node, view: View) -> str | None:
    own, other = concat_axis(node, view), concat_axis(inner, view)
    if own != other:
        rank = view.rank(inner.outputs[0])
        if rank is None:
            return "the rank of the tensors is not known"
        if own % rank != other % rank:
            return "the axes differ"
    return why_not_inlined(inner.outputs[0], node, view)
