"""hoist-from-branches: what both branches of an If compute is computed once, in front of it.

One of the branches runs whenever the If does, so that nothing runs that did not run before. An If whose branches give
the same goes with its condition.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field
from typing import ClassVar

from maxfold.model.edit import Edit
from maxfold.model.errors import ModelError
from maxfold.model.graph import Constant, Graph, Node, Tensor
from maxfold.model.order import node_reads
from maxfold.model.records import record
from maxfold.model.splice import why_kept_inside
from maxfold.model.view import View
from maxfold.passes.numbering import Numbering
from maxfold.passes.rule import DeclineRecord, Pass, PassResult, Progress

_BRANCHES = ("then_branch", "else_branch")
# Operators that runtimes do not fuse with what reads their results. What computes integers is not fused either.
_APART = frozenset(
    (
        "Compress", "Concat", "ConstantOfShape", "DepthToSpace", "Expand", "EyeLike", "Flatten", "Gather",
        "GatherElements", "GatherND", "OneHot", "Range", "Reshape", "ScatterElements", "ScatterND", "Size", "Slice",
        "SpaceToDepth", "Split", "Squeeze", "Tile", "TopK", "Trilu", "Unsqueeze",
    )
)  # fmt: skip


@record
class _Group:
    """Nodes of both branches that compute the same; the first one, of the first branch, may be moved."""

    nodes: tuple[Node, ...]
    is_moved: bool = True


@record
class _Plan:
    """What is moved out of the first branch, and which results are read in front of the If.

    `spare` constants of the other branch are those that nothing reads any more.
    """

    node: Node
    groups: list[_Group] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)
    spare: list[Constant] = field(default_factory=list)
    results: list[tuple[int, Tensor]] = field(default_factory=list)

    def apply(self, edit: Edit) -> None:
        """Moves the nodes, lets all read their results, and removes what is left of the If where that is nothing."""
        node = self.node
        then = _branches(node)[0]
        pairs = [(node.outputs[place], tensor) for place, tensor in self.results]
        edit.drop_results(node, [place for place, _ in self.results])
        moved = [group.nodes[0] for group in self.groups]
        twins = [twin for group in self.groups for twin in group.nodes[1:]]
        edit.hoist(then, moved, self.constants, [*twins, *self.spare])
        for group in self.groups:
            for twin in group.nodes[1:]:
                _redirect(twin, group.nodes[0], edit)
        replaced: dict[Tensor, Tensor] = {}
        for result, given in pairs:
            tensor = replaced.get(given, given)
            if edit.is_graph_output(result):
                # It takes the place of the tensor.
                replaced[given] = result
            edit.replace_uses(result, tensor)
        if not node.outputs:
            edit.remove_node(node)
            return
        for constant in self.spare:
            edit.remove_constant(constant)


def _redirect(twin: Node, node: Node, edit: Edit) -> None:
    for own, other in zip(list(twin.outputs), list(node.outputs), strict=True):
        if own.name:
            edit.replace_uses(own, other)
    edit.remove_node(twin)


class HoistFromBranches(Pass):
    """Equal means what it means for merge-equal-nodes, and for nodes with graphs inside that these give the same.

    A node stays where something reads it in its branch that runtimes may fuse with it. What both branches return alike
    is read in front of the If, which gives it no more. Removes a node, or a result of an If, each time.
    """

    name: ClassVar[str] = "hoist-from-branches"
    summary: ClassVar[str] = "compute in front of an If what both branches compute; remove an If of equal branches"

    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """Looks at outer nodes first, again and again until nothing is left to move."""
        started = time.perf_counter()
        changes = 0
        while True:
            declines: list[DeclineRecord] = []
            found = [_visit(node, edit, declines) for node in list(edit.nodes()) if node.op == "If"]
            edit.flush()
            changes += sum(found)
            if not any(found):
                break
        edit.take_touched()
        return PassResult(self.name, changes, tuple(declines), time.perf_counter() - started)


def _visit(node: Node, edit: Edit, declines: list[DeclineRecord]) -> int:
    if not edit.is_live(node) or not edit.is_operator(node, "If") or not _is_whole(node):
        return 0
    plan = _Planner(node, edit)
    try:
        reason = "it is to be kept" if edit.is_kept(node) else plan.make()
    except ModelError as error:
        # Values that cannot be decoded, or nodes in a cycle.
        reason = str(error)
    if reason is not None:
        declines.append(DeclineRecord(HoistFromBranches.name, node.name or node.outputs[0].name, node.op, reason))
    if reason is not None or not (plan.found.groups or plan.found.results):
        return 0
    plan.found.apply(edit)
    return len(plan.found.groups) + len(plan.found.results)


def _branches(node: Node) -> list[Graph]:
    return [graph for graph in map(node.attrs.get, _BRANCHES) if isinstance(graph, Graph)]


def _is_whole(node: Node) -> bool:
    branches = _branches(node)
    if len(branches) != len(_BRANCHES) or not node.outputs or not all(tensor.name for tensor in node.outputs):
        return False
    return all(len(graph.outputs) == len(node.outputs) and not graph.inputs for graph in branches)


class _Planner:
    """Finds what the branches of one If have in common."""

    def __init__(self, node: Node, view: View) -> None:
        self._view = view
        self._branches = _branches(node)
        self._numbering = Numbering(view)
        self._group_of: dict[Node, _Group] = {}
        self._constants: dict[int, Constant] = {}
        self._known: dict[int, bool] = {}
        self.found = _Plan(node)

    def make(self) -> str | None:
        """Fills `found`; the reason why nothing of what is common is moved, None where nothing is, or something is."""
        by_key = [self._numbering.nodes_of(graph) for graph in self._branches]
        self._constants = {
            self._numbering.number(constant): constant
            for constant in self._branches[1].constants
            if self._view.constant(constant) is not None
        }
        reasons = [reason for key in by_key[0] if key in by_key[1] for reason in self._candidate(key, by_key)]
        groups = list(dict.fromkeys(self._group_of.values()))
        reasons += self._settle(groups)
        self.found.groups = [group for group in groups if group.is_moved]
        self.found.results = [
            (place, self._alike(tensor)[0])
            for place, tensor in enumerate(self._branches[0].outputs)
            if self._is_same(place)
        ]
        self._add_constants()
        is_empty = not self.found.groups and not self.found.results
        return reasons[0] if is_empty and reasons else None

    def _settle(self, groups: Sequence[_Group]) -> list[str]:
        """Leaves groups where they are until the others can go without them; the reasons."""
        reasons: list[str] = []
        while True:
            before = len(reasons)
            for group in reversed(groups):
                reason = self._why_read(group) if group.is_moved else None
                if reason is not None:
                    group.is_moved = False
                    reasons.append(reason)
            if len(reasons) == before:
                return reasons
            for group in groups:
                group.is_moved &= all(self._is_outside(tensor) for tensor in node_reads(group.nodes[0]))

    def _candidate(self, key: Hashable, by_key: Sequence[dict[Hashable, list[Node]]]) -> Iterator[str]:
        """Groups the nodes that compute one thing, or says why they stay."""
        nodes = (*by_key[0][key], *by_key[1][key])
        for node in nodes:
            reason = self._why_fixed(node)
            if reason is not None:
                yield reason
                return
        if all(self._is_outside(tensor) for tensor in node_reads(nodes[0])):
            group = _Group(nodes)
            self._group_of.update(dict.fromkeys(nodes, group))

    def _why_fixed(self, node: Node) -> str | None:
        if self._view.is_kept(node):
            return f"{node.name or node.outputs[0].name!r} inside is to be kept"
        reasons = (self._view.why_fixed(tensor) for tensor in node.outputs if tensor.name)
        reason = next((reason for reason in reasons if reason is not None), None)
        return reason or why_kept_inside(node, self._view) or self._view.why_frozen(node)

    def _is_outside(self, tensor: Tensor) -> bool:
        """Whether something read in the first branch is outside of it, or will be, or is read inside a node of it."""
        if tensor.scope is not self._branches[0]:
            return True
        if isinstance(tensor, Constant):
            is_common = self._view.constant(tensor) is not None and self._numbering.number(tensor) in self._constants
            return is_common and not self._view.is_graph_output(tensor)
        group = self._group_of.get(tensor.inputs[0]) if tensor.inputs else None
        return not tensor.name or (group is not None and group.is_moved)

    def _is_same(self, place: int) -> bool:
        """Whether both branches return the same there, and everybody can read it in front of the If instead."""
        view, node = self._view, self.found.node
        tensors = [graph.outputs[place] for graph in self._branches]
        if self._numbering.number(tensors[0]) != self._numbering.number(tensors[1]):
            return False
        result, tensor = node.outputs[place], tensors[0]
        if view.why_fixed(result) is not None or not self._may_be_known(place):
            return False
        if tensor.scope is not self._branches[0]:
            return view.why_not_replaceable(result, tensor) is None
        # What is returned twice cannot go where one of the two cannot.
        alike = self._alike(tensor)
        is_alone = sum(view.return_count(item) for item in alike if item.scope is tensor.scope) == 1
        if isinstance(tensor, Constant):
            is_common = view.constant(tensor) is not None and self._numbering.number(tensor) in self._constants
            return is_alone and is_common and not view.is_graph_output(result)
        if not self._is_outside(tensor):
            return False
        if not view.is_graph_output(result):
            return True
        # A graph output takes the place of what is moved; its name may be another tensor's in a graph inside.
        return is_alone and not any(reader for item in alike for reader in self._readers(item))

    def _may_be_known(self, place: int) -> bool:
        """Whether what the branches return there may be known to all that read it."""
        found = self._known.get(place)
        if found is None:
            node, tensor = self.found.node, self._branches[0].outputs[place]
            reason = self._view.why_not_settled(node)
            reason = reason or self._view.why_not_known({node.outputs[place]: self._view.ever_known(tensor)})
            found = self._known[place] = reason is None
        return found

    def _alike(self, tensor: Tensor) -> list[Tensor]:
        """The results of nodes of a group that are one value, the one that stays first; others are alone."""
        group = self._group_of.get(tensor.inputs[0]) if tensor.inputs else None
        if group is None:
            return [tensor]
        index = next(index for index, item in enumerate(tensor.inputs[0].outputs) if item is tensor)
        return [node.outputs[index] for node in group.nodes]

    def _readers(self, tensor: Tensor) -> Iterator[Node]:
        """The nodes of the branch that read a tensor, or have a graph inside that does, and are not moved."""
        for consumer in self._view.consumers(tensor):
            holder: Node | None = consumer
            while holder is not None and holder.scope is not tensor.scope:
                holder = holder.scope.parent
            group = None if holder is None else self._group_of.get(holder)
            if holder is not None and (group is None or not group.is_moved):
                yield holder

    def _why_read(self, group: _Group) -> str | None:
        """Why nodes have to stay because of what reads them, None where they may go."""
        for node in group.nodes:
            for tensor in node.outputs:
                places = [place for place, item in enumerate(node.scope.outputs) if item is tensor]
                is_returned = self._view.return_count(tensor) > len(places)
                if is_returned or not all(self._is_same(place) for place in places):
                    return (
                        f"{tensor.name!r} is computed in both branches, and returned where it cannot be read in front"
                    )
                if any(self._readers(tensor)) and not self._is_apart(node, tensor):
                    return f"{tensor.name!r} is computed in both branches, and may be fused there with what reads it"
        return None

    def _is_apart(self, node: Node, tensor: Tensor) -> bool:
        dtype = self._view.dtype(tensor)
        return node.op in _APART or (dtype is not None and dtype.kind in ("bool", "int", "string", "uint"))

    def _add_constants(self) -> None:
        """The constants of the first branch that are read outside from now on, and those that they make needless."""
        read = [tensor for group in self.found.groups for tensor in node_reads(group.nodes[0])]
        read += [tensor for _, tensor in self.found.results]
        dropped = {place for place, _ in self.found.results}
        for tensor in dict.fromkeys(read):
            if not isinstance(tensor, Constant) or tensor.scope is not self._branches[0]:
                continue
            self.found.constants.append(tensor)
            twin = self._constants[self._numbering.number(tensor)]
            places = [place for place, item in enumerate(twin.scope.outputs) if item is twin]
            is_returned = self._view.return_count(twin) > len(places) or not dropped.issuperset(places)
            if not is_returned and not any(self._readers(twin)):
                self.found.spare.append(twin)
