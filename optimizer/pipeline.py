"""Which passes run, in which order, and how often."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from maxfold.model import Model, ModelError
from maxfold.model.declarations import forget_contradicted
from maxfold.model.edit import Edit
from maxfold.model.view import Math
from maxfold.optimizer.known_names import why_no_operator, why_no_pass
from maxfold.optimizer.own_passes import ALL, installed, made, own_pass, own_passes
from maxfold.optimizer.report import Hint, PassReport, Report
from maxfold.optimizer.rounds import MAX_ROUNDS, run_round, steps_of
from maxfold.passes import CATALOGUE, Pass, PassResult, Progress, failures, kernels
from maxfold.passes.rule import NoteRecord
from maxfold.passes.upgrade_opset import UpgradeOpset


@dataclass(frozen=True, slots=True)
class PassInfo:
    """A pass of the catalogue: its name, what it does, whether it is exact, and its options with their defaults."""

    name: str
    summary: str
    mode: str
    options: Mapping[str, Any]


def catalogue() -> tuple[PassInfo, ...]:
    """All passes in the order in which they run."""
    return tuple(map(_info, CATALOGUE))


def installed_passes() -> tuple[PassInfo, ...]:
    """The passes that installed packages bring, by name; what cannot be used says so in its summary."""
    return tuple(map(_installed_pass, installed()))


def _installed_pass(name: str) -> PassInfo:
    try:
        entry = own_pass(name)
    except ModelError as error:
        return PassInfo(name, str(error), "unusable", {})
    return _info(entry)


def _info(entry: type[Pass]) -> PassInfo:
    return PassInfo(entry.name, entry.summary, entry.mode, {field.name: field.default for field in fields(entry)})


@dataclass(frozen=True, slots=True)
class FoldingInfo:
    """An operator that `fold-constants` evaluates ("" is ONNX's own domain), and how it rounds."""

    operator: str
    domain: str
    is_rounded: bool
    numeric_policy: str


def folded_operators() -> tuple[FoldingInfo, ...]:
    """What `fold-constants` evaluates, by name."""
    rows = {
        FoldingInfo(kernel.operator, kernel.domain, kernel.is_rounded, kernel.numeric_policy)
        for kernel in kernels.KERNELS
    }
    return tuple(sorted(rows, key=lambda row: (row.domain, row.operator, row.numeric_policy)))


def select_passes(passes: Sequence[str] | None, skip: Iterable[str], options: Mapping[str, Any]) -> list[Pass]:
    """The passes to run, with those of `options` that are theirs. Raises `ModelError` for a name that is none."""
    skipped = set(skip)
    for name in (*(passes or ()), *skipped):
        _raise_if(None if name == ALL and name not in skipped else why_no_pass(name))
    for name in options.get("expand", ()):
        _raise_if(why_no_operator(name))
    wanted = {entry.name for entry in CATALOGUE} if passes is None or ALL in passes else set(passes)
    chosen = [entry for entry in CATALOGUE if entry.name in wanted - skipped]
    # An operator that is to be expanded is not made again of its parts.
    chosen = [entry for entry in chosen if entry.makes.isdisjoint(options.get("expand", ()))]
    if options.get("opset") is not None and UpgradeOpset not in chosen:
        raise ModelError(f"an opset to upgrade to needs the pass {UpgradeOpset.name!r}, which is not to run")
    chosen += own_passes(name for name in passes or () if name not in skipped)
    selected: list[Pass] = []
    for entry in chosen:
        own = {field.name for field in fields(entry)}
        selected.append(made(entry, {name: value for name, value in options.items() if name in own}))
    return selected


def _raise_if(reason: str | None) -> None:
    if reason is not None:
        raise ModelError(reason)


def run_pipeline(
    model: Model,
    passes: Sequence[Pass],
    *,
    math: Math = "exact",
    keep: Iterable[str] = (),
    progress: Progress | None = None,
    hints: bool = False,
) -> Report:
    """Runs passes in turn until a whole round changes nothing. The model is changed in place."""
    started = time.perf_counter()
    before = _counts(model)
    edit = Edit(model, math=math, keep=_checked_keep(model, keep))
    totals = {entry.name: (0, 0.0) for entry in passes}
    results: dict[str, PassResult] = {}
    notes: list[NoteRecord] = []
    steps = steps_of(passes)
    was_frozen = hints and edit.why_frozen_anywhere() is not None
    try:
        for _ in range(MAX_ROUNDS):
            changes = 0
            for result in run_round(steps, edit, progress):
                results[result.name] = result
                count, seconds = totals[result.name]
                totals[result.name] = (count + result.changes, seconds + result.elapsed_seconds)
                changes += result.changes
                notes += result.notes
            if not changes:
                break
            edit.forget_types()
        else:
            _raise_if_endless(passes, results)
    finally:
        # A cancelled run leaves a model that is right, with the rewrites made so far.
        edit.flush()
    if any(count for count, _ in totals.values()):
        forget_contradicted(edit)
        if model.has_new_names:
            from maxfold.model.wished_names import settle

            settle(model, _checked_keep(model, keep))
    declines = tuple(decline for result in results.values() for decline in result.declines)
    after = _counts(model)
    elapsed_seconds = time.perf_counter() - started
    gain, found = _hints(model, edit, passes, was_frozen=was_frozen) if hints else (None, None)
    return Report(
        math=math, nodes_before=before[0], nodes_after=after[0], constants_before=before[1], constants_after=after[1],
        constant_bytes_before=before[2], constant_bytes_after=after[2],
        passes=tuple(PassReport(name, count, seconds) for name, (count, seconds) in totals.items()),
        declines=declines, notes=tuple(notes), relaxed_gain=gain, hints=found, warnings=_warnings(edit),
        elapsed_seconds=elapsed_seconds,
    )  # fmt: skip


def _hints(
    model: Model, edit: Edit, passes: Sequence[Pass], *, was_frozen: bool
) -> tuple[int | None, tuple[Hint, ...]]:
    # Only a report that is read needs them.
    from maxfold.optimizer.hints import find_hints

    return find_hints(model, edit, passes, was_frozen=was_frozen)


def _warnings(edit: Edit) -> tuple[str, ...]:
    if edit.math != "relaxed":
        return ()
    from maxfold.optimizer.growing import warnings_of

    return warnings_of(edit)


def _raise_if_endless(passes: Iterable[Pass], results: Mapping[str, PassResult]) -> None:
    """Names a pass of one's own that changed something in the last round of all."""
    for entry in passes:
        if failures.is_own(entry) and results[entry.name].changes:
            raise failures.endless(entry.name, results[entry.name].changes)


def _counts(model: Model) -> tuple[int, int, int]:
    return model.node_count(), sum(1 for _ in model.constants()), model.constant_bytes()


def _checked_keep(model: Model, keep: Iterable[str]) -> frozenset[str]:
    """The names to keep; one that names nothing is a mistake of the caller's."""
    wanted = frozenset(keep)
    left = set(wanted)
    if not left:
        return wanted
    known: set[str] = set()
    for scope in model.scopes():
        known.update(tensor.name for tensor in (*scope.inputs, *scope.constants))
        for node in scope.nodes:
            known.update((node.name, *(tensor.name for tensor in node.outputs)))
    left -= known - {""}
    if left:
        raise ModelError(f"nothing in the model is named {min(left)!r}; --keep takes names of tensors or nodes")
    return wanted
