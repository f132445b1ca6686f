"""fold-constants: a node whose inputs are all constant becomes a constant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from maxfold.model.data import Array
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node
from maxfold.model.view import View, domain_of
from maxfold.passes import kernels
from maxfold.passes.driver import run_rules
from maxfold.passes.rule import Decline, Match, Pass, PassResult, Progress, Rule

DEFAULT_MAX_GROWTH_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Folded:
    """A node and the value of its only result."""

    node: Node
    value: Array

    def apply(self, edit: Edit) -> None:
        """Puts the value in the place of the node."""
        edit.fold(self.node, self.value)


@dataclass(frozen=True, slots=True)
class FoldNode(Rule):
    """Evaluates a node by its kernel, rounded to the node's dtype.

    Removes one node a match. The file may grow by `max_growth_bytes` a node, what dies with the node subtracted.
    """

    max_growth_bytes: int
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset(
        (kernel.domain, kernel.operator) for kernel in kernels.KERNELS
    )

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where an input only looks constant, the kernel refuses, or the file would grow too much."""
        if not node.inputs or not all(isinstance(tensor, Constant) for tensor in node.inputs):
            return None
        constants = [tensor for tensor in node.inputs if isinstance(tensor, Constant)]
        for constant in constants:
            reason = view.why_not_constant(constant)
            if reason is not None:
                return Decline(reason)
        opset = view.opset(node)
        if opset is None:
            return Decline(f"the model imports no operator set for domain {domain_of(node)!r}")
        kernel = kernels.find(domain_of(node), node.op, opset)
        if kernel is None:
            return Decline(f"no kernel for {node.op} of operator set {opset}")
        reason = kernels.check(kernel, [constant.data.dtype for constant in constants if constant.data.dtype], opset)
        if reason is not None:
            return Decline(reason)
        shape = kernel.output_shape([constant.data.shape for constant in constants], node.attrs, opset)
        growth = _growth(constants, shape, view)
        if growth > self.max_growth_bytes:
            return Decline(f"the file would grow by {growth} bytes, more than {self.max_growth_bytes}")
        return Folded(node, kernel.evaluate([constant.values for constant in constants], node.attrs, opset))


def _growth(constants: list[Constant], shape: tuple[int, ...], view: View) -> int:
    """Bytes that folding adds to the file; exact, from shapes alone."""
    dtype = constants[0].data.dtype
    assert dtype is not None
    dying = sum(
        constant.data.nbytes
        for constant in dict.fromkeys(constants)
        if view.dies_with(constant, sum(item is constant for item in constants))
    )
    return dtype.nbytes(math.prod(shape)) - dying


@dataclass(frozen=True)
class FoldConstants(Pass):
    """`max_growth_bytes`: how much the file may grow for one node."""

    max_growth_bytes: int = DEFAULT_MAX_GROWTH_BYTES
    name: ClassVar[str] = "fold-constants"
    summary: ClassVar[str] = "evaluate nodes whose inputs are all constant"

    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """One worklist run: a folded node makes its consumers candidates."""
        return run_rules(self.name, [FoldNode(self.max_growth_bytes)], edit, progress)
