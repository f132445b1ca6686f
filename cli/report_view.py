"""How the result of one input is shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from maxfold.cli.formats import STREAM, files_of
from maxfold.cli.layout import (
    arrow,
    bytes_text,
    change_text,
    columns,
    counted,
    plain,
    print_framed,
    print_lines,
    seconds_text,
    shortened,
)
from maxfold.optimizer.report_table import (
    PASS_ALIGNMENT,
    SIZE_ALIGNMENT,
    below_passes,
    facts,
    hint_lines,
    pass_cells,
    size_cells,
)

if TYPE_CHECKING:
    from rich.console import Console

    from maxfold.cli.options import OptimizeOptions
    from maxfold.cli.work import Outcome
    from maxfold.optimizer import Report

_NARROW = 70


def show_outcome(console: Console, outcome: Outcome, options: OptimizeOptions) -> None:
    """The sizes before and after, the passes, what was not done, and where the result is."""
    lines = [*_sizes(console, outcome.report), Text()]
    if outcome.conversion is not None:
        lines.append(plain(f"converted from {outcome.conversion.source} to {outcome.conversion.result}"))
        if outcome.conversion.opset_reason:
            lines.append(plain(f"for {outcome.conversion.opset_reason}", "dim"))
        lines += [plain(line) for line in _compressed(outcome)]
        lines += [plain(line, "yellow") for line in _lost(outcome)]
    lines += _passes(outcome.report, is_full=options.verbose)
    notes = _notes(outcome, options)
    if notes:
        lines += [Text(), *notes]
    source = outcome.task.source
    print_framed(console, "standard input" if source == STREAM else Path(source).name, lines)
    print_lines(console, [plain(ending(outcome, options)), *_settings(options)])


def _lost(outcome: Outcome) -> list[str]:
    """What of a model has no place in the other format, in lines."""
    lost = () if outcome.conversion is None else outcome.conversion.lost
    return [f"not carried over: {item.what} ({item.count:,}, such as {item.example!r})" for item in lost]


def _compressed(outcome: Outcome) -> list[str]:
    compressed = None if outcome.conversion is None else outcome.conversion.compressed
    if compressed is None:
        return []
    if compressed.is_quantized:
        return ["no constant in float16: OpenVINO leaves quantized models as they are"]
    kept = f", {counted(compressed.kept, 'other')} kept wide as OpenVINO keeps them" if compressed.kept else ""
    return [f"{counted(compressed.count, 'constant')} in float16{kept}"]


def _settings(options: OptimizeOptions) -> list[Text]:
    return [] if options.settings is None else [plain(f"settings from {options.settings}", "dim")]


def _sizes(console: Console, report: Report) -> list[Text]:
    cells = size_cells(report, arrow(console))
    lines = columns(cells, SIZE_ALIGNMENT, ("", "", "dim", "bold", ""))
    for line, row in zip(lines, cells, strict=True):
        change = row[-1]
        line.stylize("green" if change.startswith("-") else "yellow" if change.startswith("+") else "dim", -len(change))
    return lines


def _passes(report: Report, *, is_full: bool) -> list[Text]:
    """The passes that changed something; all of them where all are asked for."""
    cells = pass_cells(report, is_full=is_full)
    below = below_passes(report, len(cells))
    return [*columns(cells, PASS_ALIGNMENT, ("", "bold", "dim")), *([plain(below, "dim")] if below else [])]


def _notes(outcome: Outcome, options: OptimizeOptions) -> list[Text]:
    report = outcome.report
    notes = [plain(line) for line in facts(report)]
    if report.declines and not options.explain:
        notes.append(plain(f"{counted(len(report.declines), 'rewrite')} declined (--explain says why)"))
    notes += [plain(line) for hint in report.hints or () for line in hint_lines(hint, hint.options)]
    if report.math == "relaxed":
        notes.append(plain("--math relaxed: results may be rounded differently"))
    if outcome.verification is not None and outcome.failure is None:
        notes.append(plain(_verified(outcome), "green"))
    return notes


def _verified(outcome: Outcome) -> str:
    verification = outcome.verification
    assert verification is not None
    compared = f"{counted(verification.runs, 'run')} in {' and '.join(dict.fromkeys(verification.runtimes))}"
    if all(output.is_bit_equal for output in verification.outputs):
        return f"verified: the same bits in {compared}"
    largest = max(output.max_rel for output in verification.outputs)
    return f"verified: at most {largest:.2g} apart in {compared}"


def ending(outcome: Outcome, options: OptimizeOptions) -> str:
    """What became of the result, in one line."""
    target = outcome.task.target
    elapsed = seconds_text(outcome.elapsed_seconds)
    if outcome.failure is not None:
        return f"nothing written: {outcome.failure}"
    if outcome.written:
        places = "standard output" if target == STREAM else " and ".join(files_of(str(target)))
        return f"wrote {places} in {elapsed}"
    if options.writes:
        return f"{target}: left as it is, in {elapsed}"
    option = "--check" if options.check else "--dry-run"
    if options.is_conversion:
        return f"nothing written ({option}): the model can be converted"
    would = "would change" if outcome.report.changed else "would not change"
    return f"nothing written ({option}): the model {would}"


def show_batch(console: Console, outcomes: Sequence[Outcome], options: OptimizeOptions) -> None:
    """A line for each input, and a last one for all."""
    if not outcomes:
        return
    sign = arrow(console)
    figures = [_figures([item.report], item.elapsed_seconds, sign) for item in outcomes]
    names = [Path(item.task.source).name for item in outcomes]
    if len(outcomes) > 1:
        total_seconds = sum(item.elapsed_seconds for item in outcomes)
        figures.append(_figures([item.report for item in outcomes], total_seconds, sign))
        names.append("all")
    rows = [["nodes", "", "", "", "bytes", "", ""], *figures]
    room = console.width if console.is_terminal else 1000
    if room < _NARROW:
        # The times are what is missed least.
        rows = [row[:-1] for row in rows]
    lines = columns(rows, "rlrrrrr", ("", "dim", "bold", "", "bold", "", "dim"))
    room -= max(line.cell_len for line in lines) + 2
    labels = columns([[""], *([shortened(name, max(room, 12))] for name in names)], "l", pad=True)
    lines[0].stylize("dim")
    print_lines(console, [label.append("  ").append_text(line) for label, line in zip(labels, lines, strict=True)])
    for outcome in outcomes:
        if outcome.failure is not None or options.verbose:
            print_lines(console, [plain(f"{outcome.task.source}: {ending(outcome, options)}")])
        if options.verbose:
            print_lines(console, [plain(f"{outcome.task.source}: {line}") for line in _lost(outcome)])
    losing = sum(bool(_lost(outcome)) for outcome in outcomes)
    if losing and not options.verbose:
        print_lines(console, [plain(f"not all is carried over of {counted(losing, 'model')} (-v says what)")])
    print_lines(console, _batch_hints(outcomes, options))
    print_lines(console, [plain(_batch_ending(outcomes, options)), *_settings(options)])


def _batch_hints(outcomes: Sequence[Outcome], options: OptimizeOptions) -> list[Text]:
    """What options would gain: by kind for all models together, and for each where all is asked for."""
    hints = [(item.task.source, hint) for item in outcomes for hint in item.report.hints or ()]
    if options.verbose:
        return [plain(f"{source}: {line}") for source, hint in hints for line in hint_lines(hint, hint.options)]
    lines = []
    for kind in ("math", "dims", "opset"):
        own = [hint for _, hint in hints if next(iter(hint.arguments)) == kind]
        if own:
            name = {"math": "--math relaxed", "dims": "--dim", "opset": "--opset"}[kind]
            gained = counted(sum(hint.nodes for hint in own), "more node")
            detail = "" if kind == "math" else " (-v says how)"
            lines.append(plain(f"{name} would remove {gained} of {counted(len(own), 'model')}{detail}"))
    return lines


def _figures(reports: Sequence[Report], seconds: float, sign: str) -> list[str]:
    before, after = sum(report.nodes_before for report in reports), sum(report.nodes_after for report in reports)
    sizes = [report for report in reports if report.input_bytes is not None and report.output_bytes is not None]
    read, left = sum(report.input_bytes or 0 for report in sizes), sum(report.output_bytes or 0 for report in sizes)
    return [
        f"{before:,}", sign, f"{after:,}", change_text(before, after),
        bytes_text(left), change_text(read, left), seconds_text(seconds),
    ]  # fmt: skip


def _batch_ending(outcomes: Sequence[Outcome], options: OptimizeOptions) -> str:
    written = sum(outcome.written for outcome in outcomes)
    changed = sum(outcome.report.changed for outcome in outcomes)
    if options.writes:
        where = f" in {options.out_dir}" if options.out_dir else ""
        return f"wrote {counted(written, 'model')}{where}"
    option = "--check" if options.check else "--dry-run"
    if options.is_conversion:
        return f"nothing written ({option}): {counted(len(outcomes), 'model')} can be converted"
    return f"nothing written ({option}): {changed:,} of {counted(len(outcomes), 'model')} would change"
