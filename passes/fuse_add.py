"""fuse-add: the constants of a tree of Add become one.

Exact for integers, whose wrap-around addition is associative. For floats only the removal of an exact zero is exact;
the rest needs `--math relaxed`.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from maxfold.model.data import Array, TensorData
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.view import View
from maxfold.passes import kernels
from maxfold.passes.driver import RulePass
from maxfold.passes.nodes import bypassed
from maxfold.passes.operands import (
    Growing,
    all_equal_bits,
    is_inner,
    keeps_shape,
    merge_constants,
    why_not_inlined,
    why_not_merged,
)
from maxfold.passes.rule import Decline, Match, Rule, frozen
from maxfold.passes.runtime_patterns import is_protected, why_protected
from maxfold.passes.signed_zeros import if_nobody_can_tell

# From this operator set on Add broadcasts as numpy does; before, by attributes and in one direction only.
_BROADCASTING_OPSET = 7
# In exact mode floats are added up only to see whether the sum overflows, and that only up to this size.
_COUNTED_BYTES = 64 * 1024


@frozen
class CollectedConstants:
    """The constants of a tree: the node that keeps their sum, and the nodes that go with the others."""

    root: Node
    holder: Node
    value: TensorData
    collapsed: tuple[Node, ...]

    def apply(self, edit: Edit) -> None:
        """Puts the sum in the place of one constant; the nodes of the others give their other operand.

        Sums between these nodes and the root are others from now on, and may have another shape.
        """
        total = edit.add_constant(self.value, like=self.holder.outputs[0])
        for node in self._between(edit):
            edit.renew(node.outputs[0])
        edit.set_inputs(
            self.holder, [total if isinstance(operand, Constant) else operand for operand in self.holder.inputs]
        )
        for node in self.collapsed:
            other = next(operand for operand in node.inputs if not isinstance(operand, Constant))
            edit.replace_uses(node.outputs[0], other)
            edit.remove_node(node)

    def _between(self, view: View) -> list[Node]:
        """The nodes that stay and add up without a constant that they had, or with one that they had not."""
        found: dict[Node, None] = {}
        for node in (self.holder, *self.collapsed):
            while node is not self.root and node not in found:
                found[node] = None
                (node,) = view.consumers(node.outputs[0])
        return [node for node in found if node not in self.collapsed]


@frozen
class DropZero(Rule):
    """x + 0 is x: for integers, and for floats where the zero is -0.0, x never is, or nobody sees the sign of a zero.

    With `--math relaxed` also where somebody does.

    Removes one node a match.
    """

    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Add")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the constant may change the shape or the sign of a zero."""
        if not _is_sum(node, view):
            return None
        for constant, other in (node.inputs, reversed(node.inputs)):
            if not isinstance(constant, Constant) or isinstance(other, Constant):
                continue
            result = _drop(node, constant, other, view)
            if result is not None:
                return result
        return None


def _drop(node: Node, constant: Constant, other: Tensor, view: View) -> Match | Decline | None:
    reason = view.why_not_constant(constant)
    if reason is not None:
        return Decline(reason)
    dtype = constant.data.dtype
    assert dtype is not None
    if not dtype.is_arithmetic:
        return None
    is_float = dtype.kind == "float"
    is_negative = is_float and all_equal_bits(constant, -0.0)
    if not is_negative and not all_equal_bits(constant, 0):
        return None
    opset = view.opset(node)
    if opset is None or opset < _BROADCASTING_OPSET:
        return Decline("Add before operator set 7 broadcasts by attributes")
    if not keeps_shape(constant, [other], view):
        return Decline(f"{constant.name!r} is zero but its shape {list(constant.data.shape)} may widen the result")
    blocked = why_protected(node, view)
    match = bypassed(node, other, view) if blocked is None else Decline(blocked)
    if isinstance(match, Decline):
        return match
    if not is_float or is_negative or view.math == "relaxed":
        return match
    gain = 0 if _is_in_tree(node, view) else 1
    return if_nobody_can_tell(match, node, other, view) or Decline(
        "x + 0.0 is not x for x = -0.0; only with --math relaxed", relaxed_gain=gain
    )


def _is_in_tree(node: Node, view: View) -> bool:
    """Whether other constants stand in the same tree: adding them up counts the node of one already."""
    return is_inner(node, view, _is_add) or len(_holders(node, view)[0]) > 1


def goes_by_itself(node: Node, view: View) -> bool:
    """Whether relaxed mode drops an Add of zero, by which exact mode counts it as a gain."""
    if not _is_add(node, view) or _is_in_tree(node, view):
        return False
    return any(
        isinstance(constant, Constant) and all_equal_bits(constant, 0) and keeps_shape(constant, [other], view)
        for constant, other in (node.inputs, reversed(node.inputs))
        if not isinstance(other, Constant)
    )


@frozen
class CollectConstants(Rule):
    """(x + c) + d is x + (c + d), over a whole tree of Add.

    Removes one node for each constant but one.
    """

    max_growth_bytes: int
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Add")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines for floats in exact mode, where inner sums are needed elsewhere, or constants would grow."""
        opset = view.opset(node)
        if opset is None or not _is_add(node, view) or is_inner(node, view, _is_add):
            return None
        holders, reason = _holders(node, view)
        constants: dict[Node, Constant] = {}
        for holder in holders:
            constant = _constant_operand(holder)
            refusal = why_not_merged(constant, view)
            if refusal is None:
                constants[holder] = constant
            reason = reason or refusal
        if len(constants) < 2:
            return None if reason is None or not holders else Decline(reason)
        if opset < _BROADCASTING_OPSET:
            return Decline("Add before operator set 7 broadcasts by attributes")
        dtype = next(iter(constants.values())).data.dtype
        if dtype is None or not dtype.is_arithmetic:
            return None
        result = self._collect(node, constants, view, opset)
        if isinstance(result, CollectedConstants) and dtype.kind == "float" and view.math == "exact":
            why = "float addition may round differently in another order; only with --math relaxed"
            return Decline(why, relaxed_gain=len(result.collapsed))
        return result or (None if reason is None else Decline(reason))

    def _collect(
        self, root: Node, holders: Mapping[Node, Constant], view: View, opset: int
    ) -> CollectedConstants | Decline | None:
        kernel = kernels.find("", "Add", opset)
        if kernel is None:
            return Decline(f"no kernel for Add of operator set {opset}")
        constants = list(holders.values())
        refusal = kernels.check(kernel, [constant.data.dtype for constant in constants[:2]], opset)
        if refusal is not None:
            return Decline(refusal)
        evaluate = kernel.apply
        is_counted_only = view.math == "exact" and _kind(constants) == "float"

        def total(arrays: Sequence[Array]) -> Array:
            if is_counted_only and arrays[0].nbytes > _COUNTED_BYTES:
                return arrays[0]
            return functools.reduce(lambda left, right: evaluate([left, right], {}, opset), arrays)

        merged, reason = merge_constants(constants, Counter(constants), total, view, self.max_growth_bytes)
        if not merged:
            return None if reason is None else Decline(reason)
        nodes = list(holders)
        group = merged[0]
        is_small = group.value.nbytes <= _COUNTED_BYTES
        if (
            (is_small or not is_counted_only)
            and not _is_finite(group.value)
            and all(_is_finite(constants[index].values) for index in group.members)
        ):
            return Decline("the sum of the constants overflows")
        return CollectedConstants(
            root, nodes[group.members[0]], group.data, tuple(nodes[index] for index in group.members[1:])
        )


def _kind(constants: Sequence[Constant]) -> str:
    """The kind of the constants' element type."""
    dtype = constants[0].data.dtype
    return "" if dtype is None else dtype.kind


def _is_finite(array: Array) -> bool:
    return array.dtype.kind in "iu" or bool(np.isfinite(array.astype(np.float64)).all())


def _is_add(node: Node, view: View) -> bool:
    """Whether a node is part of a tree of Add."""
    return _is_sum(node, view) and not is_protected(node, view)


def _is_sum(node: Node, view: View) -> bool:
    if not view.is_operator(node, "Add") or len(node.inputs) != 2 or len(node.outputs) != 1:
        return False
    return all(operand.name for operand in node.inputs)


def _holders(root: Node, view: View) -> tuple[list[Node], str | None]:
    """The nodes of a tree of Add that have one constant operand, nearest to the root first, and why it ends."""
    holders: list[Node] = []
    reason = None
    pending = [root]
    while pending:
        node = pending.pop()
        variables = [operand for operand in node.inputs if not isinstance(operand, Constant)]
        if len(variables) == 1:
            holders.append(node)
        for operand in reversed(variables):
            producer = view.producer(operand)
            if producer is None or not _is_add(producer, view):
                continue
            refusal = why_not_inlined(operand, root, view)
            if refusal is None:
                pending.append(producer)
            elif any(isinstance(inner, Constant) for inner in producer.inputs):
                reason = reason or refusal
    return holders, reason


def _constant_operand(node: Node) -> Constant:
    return next(operand for operand in node.inputs if isinstance(operand, Constant))


class FuseAddPass(Growing, RulePass):
    """`max_growth_bytes`: how much the file may grow where merged constants are used elsewhere too."""

    name: ClassVar[str] = "fuse-add"
    summary: ClassVar[str] = "add up the constants of Add chains, drop added zeros"
    mode: ClassVar[str] = "exact, more with relaxed"

    def rules(self) -> Sequence[Rule]:
        """Zeros first, so that they are not added up."""
        return (DropZero(), CollectConstants(self.max_growth_bytes))
