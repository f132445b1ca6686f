"""Numbers and columns as people read them, and the frame around a result."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from maxfold.cli.errors import printable
from maxfold.cli.output import print_to

if TYPE_CHECKING:
    from rich.console import Console

_GAP = "  "


def bytes_text(nbytes: int | None) -> str:
    """A size in decimal units with three digits: "812 B", "5.11 MB"."""
    if nbytes is None:
        return "?"
    value, units = float(nbytes), ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop(0)
    if units[0] == "B":
        return f"{nbytes} B"
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} {units[0]}"


def seconds_text(seconds: float) -> str:
    """A time: "<1 ms", "4 ms", "0.52 s", "12.3 s", "3 min 20 s"."""
    if seconds < 0.0005:
        return "<1 ms"
    if seconds < 0.0995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 119.5:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def change_text(before: int, after: int) -> str:
    """How much more or less: "-12.3%", "same"; a change is never called 0%."""
    if before == after:
        return "same"
    if not before:
        return "new"
    percent = 100 * (after - before) / before
    if abs(percent) < 0.05:
        return "-<0.1%" if percent < 0 else "+<0.1%"
    return f"{percent:+.1f}%"


def counted(count: int, noun: str) -> str:
    """A count with its noun: "1 node", "1,234 nodes"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


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
