"""remove-failing-branch: an If with a branch that no run survives becomes its other branch.

Exporters that do not know a rank ask for it at run time, and write down what would follow from each answer, although
an operator further on takes only one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from maxfold.model.graph import Graph, Node, Tensor
from maxfold.model.inference import Fact, Inference, PartialValue
from maxfold.model.splice import is_used, why_not_moved, why_not_replaced
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.inline_constant_if import Taken, known_condition
from maxfold.passes.rule import Decline, Match

# How many nodes behind an If are looked at.
_MOST_NODES = 256

# Operators that take their first input in one rank only, whatever their version, and that runtimes are strict about.
_RANKS = {"DepthToSpace": 4, "GRU": 3, "LSTM": 3, "RNN": 3, "SpaceToDepth": 4}


class RemoveFailingBranch(SingleRulePass):
    """A branch fails where the rank of its results makes an operator that follows in every run impossible.

    Holds for every run that ends: for others the model failed before, and fails. Removes one node a match.
    """

    name: ClassVar[str] = "remove-failing-branch"
    summary: ClassVar[str] = "replace an If by one branch where the other leads to a rank that an operator refuses"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "If")})
    results: ClassVar[int | None] = None

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Only branches that give different ranks are compared. Declines where the other cannot stand outside."""
        branches = [node.attrs.get("then_branch"), node.attrs.get("else_branch")]
        graphs = [branch for branch in branches if isinstance(branch, Graph)]
        if len(node.inputs) != 1 or len(graphs) != 2 or known_condition(node.inputs[0], view) is not None:
            return None
        if any(len(branch.outputs) != len(node.outputs) for branch in graphs) or not _ranks_differ(graphs, view):
            return None
        tests = list(_tests_behind(node, view))
        if not tests:
            return None
        failing = [_fails(node, branch, tests, view) for branch in graphs]
        if failing[0] == failing[1]:
            return None
        branch = graphs[1] if failing[0] else graphs[0]
        reason = why_not_moved(branch, node, view) or why_not_replaced(node, branch.outputs, view, branch)
        results = zip(node.outputs, branch.outputs, strict=True)
        reason = reason or view.why_not_settled(node)
        reason = reason or view.why_not_known({result: view.ever_known(tensor) for result, tensor in results})
        return Taken(node, branch) if reason is None else Decline(reason)


def _ranks_differ(branches: Iterable[Graph], view: View) -> bool:
    ranks = [[view.rank(tensor) for tensor in branch.outputs] for branch in branches]
    return any(None not in pair and pair[0] != pair[1] for pair in zip(*ranks, strict=True))


def _tests_behind(node: Node, view: View) -> Iterator[tuple[Tensor, int]]:
    """Tensors behind a node that must have a certain rank for the run to go on; all are made whenever the node runs."""
    pending = [node]
    seen = {node}
    while pending and len(seen) < _MOST_NODES:
        for tensor in pending.pop().outputs:
            for consumer in view.consumers(tensor):
                holder = _in_scope(consumer, node.scope)
                if holder is None or holder in seen:
                    continue
                seen.add(holder)
                pending.append(holder)
                if any(is_used(result, view) for result in holder.outputs):
                    yield from _tests_of(holder, view)


def _in_scope(node: Node, scope: Graph) -> Node | None:
    """The node of a scope that a node is, or stands inside."""
    found: Node | None = node
    while found is not None and found.scope is not scope:
        found = found.scope.parent
    return found


def _tests_of(node: Node, view: View) -> Iterator[tuple[Tensor, int]]:
    if node.op in _RANKS and view.is_operator(node, node.op) and node.inputs:
        yield node.inputs[0], _RANKS[node.op]


def _fails(node: Node, branch: Graph, tests: list[tuple[Tensor, int]], view: View) -> bool:
    """Whether the results of a branch lead to a wrong rank."""
    taken = branch is node.attrs["then_branch"]
    inference = Inference(view)
    given: dict[Tensor, Fact] = {}
    condition = inference.fact(node.inputs[0])
    if condition.dims == ():
        given[node.inputs[0]] = Fact(condition.dtype, (), PartialValue((), (taken,)))
    for result, tensor in zip(node.outputs, branch.outputs, strict=True):
        given[result] = inference.fact(tensor)
    supposed = Inference(view)
    supposed.suppose(given)
    for tensor, rank in tests:
        dims = supposed.dims(tensor)
        if dims is not None and len(dims) != rank:
            return True
    return False
