"""A report as people read it: the cells of its table, and the table as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from maxfold.optimizer.wording import bytes_text, change_text, counted, listed, seconds_text

if TYPE_CHECKING:
    from maxfold.optimizer.report import Hint, Report

SIZE_ALIGNMENT = "lrlrr"
PASS_ALIGNMENT = "lrr"
_GAP = "  "


def size_cells(report: Report, sign: str) -> list[list[str]]:
    """Nodes, constants and bytes: what they are called, before, the sign, after, and how much that is."""
    rows = [
        ("nodes", report.nodes_before, report.nodes_after),
        ("constants", report.constants_before, report.constants_after),
    ]
    sizes = [("constant data", report.constant_bytes_before, report.constant_bytes_after)]
    if report.input_bytes is not None and report.output_bytes is not None:
        sizes.append(("file", report.input_bytes, report.output_bytes))
    cells = [[name, f"{before:,}", sign, f"{after:,}", change_text(before, after)] for name, before, after in rows]
    return cells + [
        [name, bytes_text(before), sign, bytes_text(after), change_text(before, after)] for name, before, after in sizes
    ]


def pass_cells(report: Report, *, is_full: bool = False) -> list[list[str]]:
    """The passes that changed something, or all of them: name, changes and time."""
    shown = [entry for entry in report.passes if entry.changes or is_full]
    return [
        [
            entry.name,
            f"{entry.changes:,} {'change ' if entry.changes == 1 else 'changes'}",
            seconds_text(entry.elapsed_seconds),
        ]
        for entry in shown
    ]


def below_passes(report: Report, shown: int) -> str:
    """The line below the passes that are shown, "" where all are."""
    if not report.passes:
        return "no passes were run"
    if not shown:
        return "nothing to do: no pass found anything to change"
    idle = len(report.passes) - shown
    return f"{idle} other {'pass' if idle == 1 else 'passes'} changed nothing" if idle else ""


def facts(report: Report) -> list[str]:
    """What else there is to know of the result."""
    found = []
    if report.dimensions_fixed:
        found.append(f"{counted(report.dimensions_fixed, 'dimension')} of the inputs fixed")
    if report.notes:
        found.append(f"{counted(len(report.notes), 'folded result')} may differ from a runtime's in the last place")
    return [*found, *report.warnings]


def hint_lines(hint: Hint, name: str) -> list[str]:
    """What a hint says, where the arguments are called `name`."""
    line = f"{name} would remove {counted(hint.nodes, 'more node')}"
    if not hint.operators:
        return [line]
    made = listed([f"{count:,} {operator}" for operator, count in hint.operators.items()])
    return [f"{line}:", f"  {made} would become one node each"]


def _arguments(hint: Hint) -> str:
    """As Python has them."""
    return ", ".join(
        f'{name}="{value}"' if isinstance(value, str) else f"{name}={value}" for name, value in hint.arguments.items()
    )


def to_text(report: Report) -> str:
    """The table in lines, as the command line prints it into a file."""
    passes = pass_cells(report)
    below = below_passes(report, len(passes))
    lines = _aligned(size_cells(report, "->"), SIZE_ALIGNMENT)
    lines += ["", *_aligned(passes, PASS_ALIGNMENT), *([below] if below else [])]
    notes = _notes(report)
    return "\n".join([*lines, *(["", *notes] if notes else [])])


def to_html(report: Report) -> str:
    """The table for notebooks."""
    from html import escape

    passes = pass_cells(report)
    below = below_passes(report, len(passes))
    paragraphs = [line for line in (below, *_notes(report)) if line]
    return "".join(
        [
            "<div>",
            _html_table(size_cells(report, "\N{RIGHTWARDS ARROW}"), SIZE_ALIGNMENT),
            _html_table(passes, PASS_ALIGNMENT),
            *(f"<p>{escape(line)}</p>" for line in paragraphs),
            "</div>",
        ]
    )


def _notes(report: Report) -> list[str]:
    notes = facts(report)
    if report.declines:
        notes.append(f"{counted(len(report.declines), 'rewrite')} declined (declines says why)")
    notes += [line for hint in report.hints or () for line in hint_lines(hint, _arguments(hint))]
    if report.math == "relaxed":
        notes.append('math="relaxed": results may be rounded differently')
    return notes


def _aligned(rows: Sequence[Sequence[str]], align: str) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        _GAP.join(
            cell.rjust(width) if side == "r" else cell.ljust(width)
            for cell, width, side in zip(row, widths, align, strict=True)
        ).rstrip()
        for row in rows
    ]


def _html_table(rows: Sequence[Sequence[str]], align: str) -> str:
    from html import escape

    if not rows:
        return ""
    sides = {"l": "left", "r": "right"}
    lines = [
        "".join(
            f'<td style="text-align: {sides[side]}">{escape(cell)}</td>' for cell, side in zip(row, align, strict=True)
        )
        for row in rows
    ]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
