"""flatten-concats: Concat of Concat along one axis is one Concat."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import is_same_axis, made_by
from maxfold.passes.operands import is_inner, why_not_inlined
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
        """Declines where an inner result is needed elsewhere, and where axes may not be the same.

        Looks at a tree once, from its root.
        """
        if not _is_concat(node, view) or is_inner(node, view, lambda reader, _: _is_joined(node, reader, view)):
            return None
        operands: list[Tensor] = []
        inlined: list[Node] = []
        reason: str | None = None
        pending = list(reversed(node.inputs))
        while pending:
            tensor = pending.pop()
            inner = made_by(tensor, "Concat", view)
            if inner is None or not _is_concat(inner, view):
                operands.append(tensor)
                continue
            refusal = _why_not(node, inner, view)
            reason = reason or refusal
            if refusal is not None:
                operands.append(tensor)
                continue
            pending.extend(reversed(inner.inputs))
            inlined.append(inner)
        if inlined:
            return FlatConcat(node, tuple(operands), tuple(inlined))
        return None if reason is None else Decline(reason)


def _is_concat(node: Node, view: View) -> bool:
    return view.is_operator(node, "Concat") and all(tensor.name for tensor in node.inputs)


def _is_joined(inner: Node, node: Node, view: View) -> bool:
    """Whether a Concat goes into the one that reads its result."""
    return _is_concat(node, view) and _why_not(node, inner, view) is None


def _why_not(node: Node, inner: Node, view: View) -> str | None:
    is_same = is_same_axis(concat_axis(node, view), concat_axis(inner, view), view.rank(inner.outputs[0]))
    if not is_same:
        return "the rank of the tensors is not known" if is_same is None else "the axes differ"
    return why_not_inlined(inner.outputs[0], node, view)
