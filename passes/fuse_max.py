"""fuse-max: a tree of Max becomes one variadic Max with as few operands as its value needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import ClassVar, TypeGuard

import numpy as np

from maxfold.model.data import Array
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.records import record
from maxfold.model.view import View
from maxfold.passes import kernels
from maxfold.passes.driver import RulePass
from maxfold.passes.fuse_maximum import FuseMaximum
from maxfold.passes.operands import (
    Growing,
    MergedConstant,
    all_equal_bits,
    is_inner,
    keeps_shape,
    merge_constants,
    why_not_inlined,
    why_not_merged,
)
from maxfold.passes.rule import Decline, Match, Rule, frozen


@frozen
class FusedMax:
    """A Max node, the operands that it is to have, and the inner Max nodes that they come from."""

    node: Node
    operands: tuple[Tensor | MergedConstant, ...]
    absorbed: tuple[Node, ...]
    is_replaced: bool

    def apply(self, edit: Edit) -> None:
        """Gives the node its operands, or lets its consumers read the only one."""
        output = self.node.outputs[0]
        operands = [
            edit.add_constant(operand.data, like=output) if isinstance(operand, MergedConstant) else operand
            for operand in self.operands
        ]
        if self.is_replaced:
            edit.replace_uses(output, operands[0])
            edit.remove_node(self.node)
        else:
            edit.set_inputs(self.node, operands)
            # A hint of version 1 that names inputs by position.
            edit.set_attribute(self.node, "consumed_inputs", None)
        for node in self.absorbed:
            edit.remove_node(node)


@record
class _Tree:
    """The operands of a tree of Max nodes, in order, and why it ends where it does."""

    operands: list[Tensor] = field(default_factory=list)
    absorbed: list[Node] = field(default_factory=list)
    reason: str | None = None


@frozen
class FuseMax(Rule):
    """Flattens, drops duplicates and neutral constants, merges constants; keeps the order of operands.

    Exact, since the maximum is associative and commutative and repeats nothing (which of two zeros of different sign
    it gives is not specified). Reduces the number of Max nodes and of their operands.
    """

    max_growth_bytes: int
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Max")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where inner results are needed elsewhere, or constants would grow."""
        opset = view.opset(node)
        if opset is None or not node.inputs or not _is_max(node, view) or is_inner(node, view, _is_max):
            return None
        tree = _flatten(node, view)
        operands: list[Tensor] = list(dict.fromkeys(tree.operands))
        merged, reason = self._merge(operands, Counter(filter(_is_constant, tree.operands)), view, opset)
        reason = tree.reason or reason
        operands = _without_neutral(operands, merged, view)
        final = _with_merged(operands, merged)
        only = final[0] if len(final) == 1 and not isinstance(final[0], MergedConstant) else None
        blocked = view.why_not_replaceable(node.outputs[0], only) if only is not None else None
        is_replaced = only is not None and blocked is None
        if not is_replaced and not tree.absorbed and len(final) == len(node.inputs):
            reason = reason or blocked
            return None if reason is None else Decline(reason)
        return FusedMax(node, tuple(final), tuple(tree.absorbed), is_replaced)

    def _merge(
        self, operands: Sequence[Tensor], uses: Counter[Constant], view: View, opset: int
    ) -> tuple[dict[Constant, MergedConstant], str | None]:
        """For each constant that can join others, the one that takes its place."""
        listed = [operand for operand in operands if isinstance(operand, Constant)]
        refusals = {constant: why_not_merged(constant, view) for constant in listed}
        constants = [constant for constant, refusal in refusals.items() if refusal is None]
        reason = next((refusal for refusal in refusals.values() if refusal is not None), None)
        if len(constants) < 2:
            return {}, reason
        kernel = kernels.find("", "Max", opset)
        if kernel is None:
            return {}, f"no kernel for Max of operator set {opset}"
        refusal = kernels.check(kernel, [constant.data.dtype for constant in constants], opset)
        if refusal is not None:
            return {}, refusal
        evaluate = kernel.apply

        def combine(arrays: Sequence[Array]) -> Array:
            return evaluate(arrays, {}, opset)

        merged, refusal = merge_constants(constants, uses, combine, view, self.max_growth_bytes)
        return {constants[index]: group for group in merged for index in group.members}, reason or refusal


def _is_constant(tensor: Tensor) -> TypeGuard[Constant]:
    return isinstance(tensor, Constant)


def _is_max(node: Node | None, view: View) -> bool:
    if node is None or not view.is_operator(node, "Max"):
        return False
    return len(node.outputs) == 1 and all(operand.name for operand in node.inputs)


def _flatten(root: Node, view: View) -> _Tree:
    """Walks the tree with a stack, so that a chain of any length is no problem."""
    tree = _Tree()
    pending = list(reversed(root.inputs))
    while pending:
        operand = pending.pop()
        producer = view.producer(operand)
        if producer is None or not _is_max(producer, view):
            tree.operands.append(operand)
            continue
        reason = why_not_inlined(operand, root, view)
        if reason is not None:
            tree.reason = tree.reason or reason
            tree.operands.append(operand)
            continue
        tree.absorbed.append(producer)
        pending.extend(reversed(producer.inputs))
    return tree


def _without_neutral(operands: list[Tensor], merged: Mapping[Constant, MergedConstant], view: View) -> list[Tensor]:
    """Drops constants that are the least value everywhere, where the result provably keeps its shape."""
    left = list(operands)
    for operand in operands:
        if not isinstance(operand, Constant) or operand in merged or len(left) == 1:
            continue
        if view.constant(operand) is None or not _is_lowest(operand):
            continue
        others = [other for other in left if other is not operand]
        if keeps_shape(operand, others, view):
            left = others
    return left


def _is_lowest(constant: Constant) -> bool:
    dtype = constant.data.dtype
    assert dtype is not None
    if dtype.kind == "float":
        return all_equal_bits(constant, -np.inf) if dtype.name in _WITH_INFINITY else False
    if dtype.kind in ("int", "uint") and not dtype.is_packed:
        return all_equal_bits(constant, np.iinfo(dtype.numpy).min)
    return False


_WITH_INFINITY = {"FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16"}


def _with_merged(
    operands: Sequence[Tensor], merged: Mapping[Constant, MergedConstant]
) -> list[Tensor | MergedConstant]:
    """The operands with each merged constant where its first member stood."""
    final: dict[Tensor | int, Tensor | MergedConstant] = {}
    for operand in operands:
        group = merged.get(operand) if isinstance(operand, Constant) else None
        if group is None:
            final[operand] = operand
        else:
            final.setdefault(id(group), group)
    return list(final.values())


class FuseMaxPass(Growing, RulePass):
    """`max_growth_bytes`: how much the file may grow where merged constants are used elsewhere too."""

    name: ClassVar[str] = "fuse-max"
    summary: ClassVar[str] = "join chains and trees of Max into one variadic Max"

    def rules(self) -> Sequence[Rule]:
        """Max nodes, and the Maximum nodes of an IR."""
        return (FuseMax(self.max_growth_bytes), FuseMaximum(self.max_growth_bytes))
