"""Passes in turn, round after round: all of them, or only what changes call for."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from maxfold.model import ModelError
from maxfold.model.edit import Edit
from maxfold.model.graph import Node, Tensor
from maxfold.model.model import Model
from maxfold.model.view import View
from maxfold.passes import Pass, PassResult, Progress, failures
from maxfold.passes.driver import RuleGroup, RulePass
from maxfold.passes.runtime_patterns import forget_patterns

# Every rewrite reduces nodes, operands or constants, so rounds end by themselves; real models need two.
MAX_ROUNDS = 100

Step = RuleGroup | Pass


def steps_of(passes: Sequence[Pass]) -> list[Step]:
    """The passes in order; rule passes beside each other share one worklist."""
    steps: list[Step] = []
    for is_rules, group in itertools.groupby(passes, lambda entry: isinstance(entry, RulePass)):
        if is_rules:
            steps.append(RuleGroup([entry for entry in group if isinstance(entry, RulePass)]))
        else:
            steps += group
    return steps


def run_round(steps: Sequence[Step], edit: Edit, progress: Progress | None) -> Iterator[PassResult]:
    """Every pass once."""
    for step in steps:
        edit.math_log.has_asked = False
        if isinstance(step, RuleGroup):
            results = step.run(edit, progress)
        else:
            results = [_run_pass(step, edit, progress)]
            if edit.math_log.has_asked:
                edit.math_log.undecided_passes.add(step.name)
        if any(result.changes for result in results):
            forget_patterns(edit)
        yield from results


def _run_pass(entry: Pass, edit: Edit, progress: Progress | None) -> PassResult:
    if not failures.is_own(entry):
        return entry.run(edit, progress)
    started = time.perf_counter()
    try:
        result = entry.run(edit, progress)
        edit.flush()
    except ModelError:
        raise
    except Exception as error:
        raise failures.failed(entry.name, error) from error
    # Its own word counts for what it did, not for its name and for how long it took.
    return replace(result, name=entry.name, elapsed_seconds=time.perf_counter() - started)


class ContinuedEdit(Edit):
    """An edit that goes on with a model, and knows all nodes that edits have touched since it was last asked.

    `sizes` of tensors, by axis, are taken for granted where they cannot be derived any more.
    """

    def __init__(self, model: Model, sizes: Mapping[Tensor, Mapping[int, int]], **options: Any) -> None:
        super().__init__(model, **options)
        self._seen: dict[Node, None] = {}
        self._sizes = sizes
        self._grant()

    def forget_types(self, *, settles_loops: bool = False) -> None:
        """See `Edit`."""
        super().forget_types(settles_loops=settles_loops)
        self._grant()

    def know(self, derive: Callable[[View], Any], found: Any) -> None:
        """What a function would derive of the whole model, see `View.remembered`, is known already."""
        self._remembered[derive] = found

    def _grant(self) -> None:
        for tensor, sizes in self._sizes.items():
            fact = self.fact(tensor)
            if fact.dims is not None:
                dims = tuple(sizes.get(axis, dim) for axis, dim in enumerate(fact.dims))
                self.suppose({tensor: replace(fact, dims=dims)})

    def take_touched(self) -> list[Node]:
        """See `Edit`."""
        touched = super().take_touched()
        self._seen.update(dict.fromkeys(touched))
        return touched

    def take_seen(self) -> list[Node]:
        """The nodes touched since the last call."""
        self.take_touched()
        seen = [node for node in self._seen if self.is_live(node)]
        self._seen.clear()
        return seen


def run_from(steps: Sequence[Step], edit: ContinuedEdit, nodes: Iterable[Node], needed: Iterable[Pass]) -> None:
    """Goes on where a run has come to its end and something is different since: at `nodes`, and for the steps `needed`.

    Rules begin at those nodes and go on where edits touched something; a pass that looks at whole scopes runs again
    where something has changed since it ran last.
    """
    waiting = {step: dict.fromkeys(nodes) for step in steps if isinstance(step, RuleGroup)}
    outdated = set(needed)
    for _ in range(MAX_ROUNDS):
        has_changed = False
        for step in steps:
            if not _run_again(step, edit, waiting, outdated):
                continue
            has_changed = True
            forget_patterns(edit)
            outdated.update(other for other in steps if isinstance(other, Pass) and other is not step)
            touched = dict.fromkeys(edit.take_seen())
            for other, pending in waiting.items():
                if other is not step:
                    pending.update(touched)
        if not has_changed:
            break
        edit.forget_types()
    edit.flush()


def _run_again(step: Step, edit: Edit, waiting: dict[RuleGroup, dict[Node, None]], outdated: set[Pass]) -> bool:
    """Whether a step changed something; one that has nothing to do is not run."""
    if isinstance(step, RuleGroup):
        nodes = [node for node in waiting[step] if edit.is_live(node)]
        waiting[step].clear()
        return bool(nodes) and any(result.changes for result in step.run(edit, nodes=nodes))
    if step not in outdated:
        return False
    outdated.discard(step)
    return bool(_run_pass(step, edit, None).changes)
