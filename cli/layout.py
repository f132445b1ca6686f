"""Columns as people read them, and the frame around a result."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from maxfold.cli.errors import printable
from maxfold.cli.output import print_to
from maxfold.optimizer.wording import bytes_text, change_text, counted, seconds_text

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "arrow",
    "bytes_text",
    "change_text",
    "columns",
    "counted",
    "indented",
    "plain",
    "print_framed",
    "print_lines",
    "seconds_text",
    "shortened",
    "wrapped",
]

_GAP = "  "


def shortened(text: str, width: int) -> str:
    """The text, its middle left out where it is wider than `width` columns."""
    if cell_len(text) <= width:
        return text
    head = max(width - 3, 2) // 2
    return f"{text[:head]}...{text[len(text) - max(width - 3 - head, 1) :]}"


def columns(rows: Sequence[Sequence[str]], align: str, styles: Sequence[str] = (), *, pad: bool = False) -> list[Text]:
    """Rows as lines with aligned columns; `align` has "l" or "r" for each column. Control characters are escaped.

    `pad` makes all lines as wide as the widest; otherwise they end where their text ends.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        line = Text()
        for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
            padding = " " * (width - cell_len(cell))
            style = styles[index] if index < len(styles) else ""
            line.append(_GAP if index else "")
            line.append(f"{padding}{cell}" if align[index] == "r" else f"{cell}{padding}", style)
        if not pad:
            line.rstrip()
        lines.append(line)
    return lines


def plain(text: str, style: str = "") -> Text:
    """A line; control characters are escaped."""
    return Text(printable(text), style)


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, broken between words only."""
    return textwrap.wrap(printable(text), max(width, 20), break_long_words=False, break_on_hyphens=False)


def indented(lines: Iterable[Text]) -> list[Text]:
    """The lines, two columns further right; empty ones stay empty."""
    return [Text("  ").append_text(line) if line.plain else line for line in lines]


def arrow(console: Console) -> str:
    """An arrow that the console can show."""
    return "->" if console.options.ascii_only else "\u2192"


def print_lines(console: Console, lines: Iterable[Text]) -> None:
    """Prints lines that nothing breaks or cuts but the terminal itself; so paths can be copied."""
    for line in lines:
        print_to(console, line, soft_wrap=True)


def print_framed(console: Console, title: str, lines: Sequence[Text]) -> None:
    """Prints lines below a title: in a frame on a terminal, else indented."""
    if not console.is_terminal:
        print_lines(console, [plain(title), *indented(lines)])
        return
    from rich.panel import Panel

    heading = Text(printable(title), "bold")
    heading.truncate(max(console.width - 6, 10), overflow="ellipsis")
    print_to(console, Panel(Text("\n").join(lines), title=heading, title_align="left", border_style="dim"))
