"""remove-no-op-cast: a cast to the type that a tensor has already gives the tensor."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model import dtypes
from maxfold.model.dtypes import DType
from maxfold.model.graph import Node
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import bypassed, integer, operand
from maxfold.passes.rule import Decline, Match


class RemoveNoOpCast(SingleRulePass):
    """Cast to its input's type, and CastLike of two tensors of one type. Removes one node."""

    name: ClassVar[str] = "remove-no-op-cast"
    summary: ClassVar[str] = "remove casts to the type that a tensor has"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Cast"), ("", "CastLike")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where a type is not known, or the input cannot take the result's place."""
        source = operand(node, 0)
        wanted = target(node, view)
        if source is None or wanted is None or view.dtype(source) is not wanted:
            return None
        return bypassed(node, source, view)


def target(node: Node, view: View) -> DType | None:
    """The type that Cast or CastLike gives, None where it is not known. ModelError for an attribute of another kind."""
    if node.op == "Cast":
        return dtypes.from_onnx(integer(node, "to"))
    like = operand(node, 1)
    return None if like is None else view.dtype(like)
