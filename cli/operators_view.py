"""How the conversion table is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from maxfold.cli.layout import columns, counted, plain, print_lines
from maxfold.cli.operators_markdown import arrow_text, versions_text

if TYPE_CHECKING:
    from rich.console import Console

    from maxfold.optimizer.operator_table import OperatorPair

_ASCII = {"\u2194": "<->", "\u2192": "->", "\u2190": "<-"}
_HEADINGS = ("ONNX", "versions", "", "OpenVINO", "versions", "exactness")
_STYLES = ("bold", "dim", "", "bold", "dim", "")


def show_operators(console: Console, pairs: Sequence[OperatorPair], *, is_full: bool) -> None:
    """A line for each pair; with `is_full` form, exactness and limits below it."""
    rows = [_cells(console, pair) for pair in pairs]
    if is_full:
        lines = []
        for line, pair in zip(columns([row[:-1] for row in rows], "lllll", _STYLES), pairs, strict=True):
            lines += [line, *_details(console, pair)]
        print_lines(console, lines)
        return
    lines = columns([_HEADINGS, *rows], "llllll", _STYLES)
    if console.is_terminal:
        lines = [_fitting(line, console.width) for line in lines]
    lines[0].stylize("dim")
    print_lines(console, lines)
    print_lines(console, [Text(), plain(f"{counted(len(pairs), 'pair')}; 'maxfold ops NAME' shows limits", "dim")])


def _cells(console: Console, pair: OperatorPair) -> tuple[str, ...]:
    arrow = arrow_text(pair)
    return (
        pair.onnx, versions_text(pair.onnx_versions), _ASCII[arrow] if console.options.ascii_only else arrow,
        pair.openvino, f"opset{versions_text(pair.openvino_versions)}", pair.tolerance,
    )  # fmt: skip


def _details(console: Console, pair: OperatorPair) -> list[Text]:
    rows = [("form", pair.form), ("exactness", pair.tolerance), ("limits", pair.limits or "none known")]
    width = console.width if console.is_terminal else 1 << 16
    lines: list[Text] = []
    for name, text in rows:
        wrapped = plain(text).wrap(console, max(width - 15, 20))
        for index, part in enumerate(wrapped):
            lines.append(Text(f"    {name if not index else '':<11}", "dim").append_text(part))
    return lines


def _fitting(line: Text, width: int) -> Text:
    if line.cell_len <= width:
        return line
    fitted = line.copy()
    fitted.truncate(width, overflow="ellipsis")
    return fitted
