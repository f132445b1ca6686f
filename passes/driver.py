"""Runs rules over a model: a worklist of nodes, each looked at again when something near it changes."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from maxfold.model.edit import Edit
from maxfold.model.errors import ModelError
from maxfold.model.graph import Node
from maxfold.model.splice import rewired
from maxfold.model.view import View, domain_of
from maxfold.passes.failures import endless, failed, is_own
from maxfold.passes.kernels import KernelError
from maxfold.passes.rule import Decline, DeclineRecord, Match, NoteRecord, Pass, PassResult, Progress, Rule

_PROGRESS_STEP = 1000
_VISITS_PER_NODE = 100

_Matcher = Callable[[Node, View], Match | Decline | None]


class RulePass(Pass):
    """A pass that is nothing but rules. Neighbours in the catalogue share one worklist."""

    @abstractmethod
    def rules(self) -> Sequence[Rule]:
        """The rules, the first that matches a node wins."""

    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """Applies the rules until none matches any more."""
        return run_rule_passes([self], edit, progress)[0]


class SingleRulePass(RulePass, Rule):
    """A pass that is its own only rule."""

    def rules(self) -> Sequence[Rule]:
        """Itself."""
        return (self,)


class _Tally:
    """What one pass has done so far."""

    def __init__(self, entry: RulePass) -> None:
        self.name = entry.name
        self.is_own = is_own(entry)
        self.changes = 0
        self.seconds = 0.0
        self.declines: list[DeclineRecord] = []
        self.notes: list[NoteRecord] = []

    def result(self) -> PassResult:
        return PassResult(self.name, self.changes, tuple(self.declines), self.seconds, tuple(self.notes))


class _Table:
    """The rules that look at a node, by its domain, operator and number of named results.

    It depends on the passes alone, so that it serves all rounds.
    """

    def __init__(self, passes: Sequence[RulePass]) -> None:
        self._rules: dict[tuple[str, str], list[tuple[Rule, int]]] = {}
        for place, entry in enumerate(passes):
            for rule in entry.rules():
                for key in rule.operators:
                    self._rules.setdefault(key, []).append((rule, place))
        self._matchers: dict[tuple[str | None, str, int], list[tuple[_Matcher, int]]] = {}
        self._known: dict[tuple[str | None, str], bool] = {}

    def __contains__(self, node: Node) -> bool:
        key = node.domain, node.op
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = (domain_of(node), node.op) in self._rules
        return found

    def first(self, node: Node) -> int:
        """The place of the first pass that has a rule for the node's operator."""
        return self._rules[domain_of(node), node.op][0][1]

    def matchers(self, node: Node) -> list[tuple[_Matcher, int]]:
        """What to call with a node, and the place of the pass that it is for; nothing for malformed nodes and sinks."""
        results = named_results(node)
        if not results:
            return []
        key = node.domain, node.op, results
        found = self._matchers.get(key)
        if found is None:
            rules = self._rules.get((domain_of(node), node.op), ())
            found = [(rule.match, place) for rule, place in rules if rule.results in (None, results)]
            self._matchers[key] = found
        return found


class RuleGroup:
    """Passes whose rules run together, in any number of rounds."""

    def __init__(self, passes: Sequence[RulePass]) -> None:
        self._passes = passes
        self._table = _Table(passes)

    def run(
        self, edit: Edit, progress: Progress | None = None, *, nodes: Iterable[Node] | None = None
    ) -> list[PassResult]:
        """Applies the rules until none matches any more; work is linear in nodes and in edits.

        At each node they are tried in the order of the passes. `elapsed_seconds` of a pass is the time in its rules.
        `nodes` are those to begin with, all by default.
        """
        return _run(self._passes, self._table, edit, progress, edit.nodes() if nodes is None else nodes)


def run_rule_passes(passes: Sequence[RulePass], edit: Edit, progress: Progress | None = None) -> list[PassResult]:
    """Applies the rules of passes together until none matches any more."""
    return RuleGroup(passes).run(edit, progress)


def _run(
    passes: Sequence[RulePass], table: _Table, edit: Edit, progress: Progress | None, nodes: Iterable[Node]
) -> list[PassResult]:
    tallies = [_Tally(entry) for entry in passes]
    shown = passes[0].name if len(passes) == 1 else "rewriting"
    # What the last visit of a node found against it.
    declines: dict[Node, list[tuple[_Tally, Decline]]] = {}
    queue = deque(node for node in nodes if node in table)
    queued = set(queue)
    seen = 0
    # Rules reduce a measure, each by itself; two that undo each other would never end.
    budget = _VISITS_PER_NODE * (len(queue) + _PROGRESS_STEP)
    while queue and seen < budget:
        node = queue.popleft()
        queued.discard(node)
        seen += 1
        if progress is not None and seen % _PROGRESS_STEP == 0:
            progress(shown, seen, seen + len(queue))
        if not edit.is_live(node) or edit.is_function_call(node):
            continue
        declines.pop(node, None)
        if not _visit(node, table, tallies, edit, declines):
            continue
        if edit.math_log.has_asked:
            edit.math_log.rounded.update(dict.fromkeys(rewired(edit)))
        for touched in (node, *edit.take_touched()):
            if edit.is_live(touched) and touched not in queued and touched in table:
                queued.add(touched)
                queue.append(touched)
    edit.flush()
    endless_own = max((tally for tally in tallies if tally.is_own), key=lambda tally: tally.changes, default=None)
    if queue and endless_own is not None and endless_own.changes:
        raise endless(endless_own.name, endless_own.changes)
    for node, found in declines.items():
        for tally, decline in found if edit.is_live(node) else ():
            tally.declines.append(
                DeclineRecord(tally.name, _shown(node), node.op, decline.reason, decline.relaxed_gain)
            )
    return [tally.result() for tally in tallies]


def named_results(node: Node) -> int | None:
    """How many results a node has, unnamed ones at the end not counted; None where one before them has no name."""
    outputs = node.outputs
    count = len(outputs)
    if count == 1:
        return 1 if outputs[0].name else 0
    while count and not outputs[count - 1].name:
        count -= 1
    return count if count < 2 or all(tensor.name for tensor in outputs[:count]) else None


def _visit(
    node: Node, table: _Table, tallies: Sequence[_Tally], edit: Edit, declines: dict[Node, list[tuple[_Tally, Decline]]]
) -> bool:
    """Lets each rule look at a node; the first that matches is applied."""
    matchers = table.matchers(node)
    if edit.keep and edit.is_kept(node):
        if named_results(node) and node in table:
            declines[node] = [(tallies[table.first(node)], Decline("it is to be kept"))]
        return False
    frozen = edit.why_frozen(node)
    found: list[tuple[_Tally, Decline]] = []
    is_rewritten = False
    edit.math_log.has_asked = False
    started = time.perf_counter()
    for matcher, place in matchers:
        try:
            match = matcher(node, edit)
        except (KernelError, ModelError) as error:
            # A constant that cannot be decoded, or values that a kernel refuses.
            match = Decline(str(error))
        except Exception as error:
            if not tallies[place].is_own:
                raise
            raise failed(tallies[place].name, error, _place(node)) from error
        if frozen is not None and match is not None and not isinstance(match, Decline):
            match = Decline(frozen)
        if isinstance(match, Decline):
            found.append((tallies[place], match))
        elif match is not None:
            _apply(match, node, tallies[place], edit)
            is_rewritten = True
        ended = time.perf_counter()
        tallies[place].seconds += ended - started
        started = ended
        if is_rewritten:
            break
    if found:
        declines[node] = found
    if not is_rewritten:
        edit.math_log.note_decline(node, edit.derived)
    return is_rewritten


def _apply(match: Match, node: Node, tally: _Tally, edit: Edit) -> None:
    tally.changes += 1
    note = getattr(match, "note", "")
    if note:
        tally.notes.append(NoteRecord(tally.name, _shown(node), node.op, note))
    if not tally.is_own:
        match.apply(edit)
        return
    # What the node was is gone where this fails.
    place = _place(node)
    try:
        match.apply(edit)
    except Exception as error:
        raise failed(tally.name, error, place) from error


def _place(node: Node) -> str:
    return f" at {node.op} {_shown(node)!r}"


def _shown(node: Node) -> str:
    return node.name or node.outputs[0].name
