"""Runs rules over a model: a worklist of nodes, each looked at again when something near it changes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

from maxfold.model.edit import Edit
from maxfold.model.errors import ModelError
from maxfold.model.graph import Node
from maxfold.model.view import domain_of
from maxfold.passes.kernels import KernelError
from maxfold.passes.rule import Decline, DeclineRecord, Match, PassResult, Progress, Rule

_PROGRESS_STEP = 1000


def run_rules(name: str, rules: Sequence[Rule], edit: Edit, progress: Progress | None = None) -> PassResult:
    """Applies rules until none matches any more; work is linear in nodes and in edits."""
    started = time.perf_counter()
    by_operator: dict[tuple[str, str], list[Rule]] = {}
    for rule in rules:
        for key in rule.operators:
            by_operator.setdefault(key, []).append(rule)
    queue = deque(node for node in edit.nodes() if (domain_of(node), node.op) in by_operator)
    queued = set(queue)
    declines: dict[tuple[Node, int], Decline] = {}
    changes = seen = 0
    while queue:
        node = queue.popleft()
        queued.discard(node)
        seen += 1
        if progress is not None and seen % _PROGRESS_STEP == 0:
            progress(name, seen, seen + len(queue))
        if not edit.is_live(node) or edit.is_function_call(node) or not _has_one_result(node):
            continue
        changed = _visit(node, by_operator[domain_of(node), node.op], edit, declines)
        if not changed:
            continue
        changes += 1
        for touched in edit.take_touched():
            if touched not in queued and (domain_of(touched), touched.op) in by_operator:
                queued.add(touched)
                queue.append(touched)
    edit.flush()
    records = tuple(
        DeclineRecord(name, node.name or node.outputs[0].name, node.op, decline.reason, decline.relaxed_gain)
        for (node, _), decline in declines.items()
        if edit.is_live(node)
    )
    return PassResult(name, changes, records, time.perf_counter() - started)


def _has_one_result(node: Node) -> bool:
    """Whether a node has the one named result that operators with rules have; a malformed one is left alone."""
    return len(node.outputs) == 1 and bool(node.outputs[0].name)


def _visit(node: Node, rules: Sequence[Rule], edit: Edit, declines: dict[tuple[Node, int], Decline]) -> bool:
    """Lets each rule look at a node; the first that matches is applied."""
    if edit.is_kept(node):
        declines[node, 0] = Decline("it is to be kept")
        return False
    for index, rule in enumerate(rules):
        result = _match(rule, node, edit)
        declines.pop((node, index), None)
        if result is None:
            continue
        if isinstance(result, Decline):
            declines[node, index] = result
            continue
        result.apply(edit)
        return True
    return False


def _match(rule: Rule, node: Node, edit: Edit) -> Match | Decline | None:
    try:
        return rule.match(node, edit)
    except (KernelError, ModelError) as error:
        # A constant that cannot be decoded, or values that a kernel refuses.
        return Decline(str(error))
