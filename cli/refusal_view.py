"""How a refused conversion is explained: every operator, with the reason, how many nodes, and one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from maxfold.cli.errors import printable
from maxfold.cli.layout import columns, counted, print_lines
from maxfold.cli.output import print_to

if TYPE_CHECKING:
    from rich.console import Console

    from maxfold.cli.work import Failure
    from maxfold.passes.conversion import Refusal

_HEADINGS = ("operator", "count", "reason", "example")


def show_refusals(console: Console, refusals: Sequence[Refusal]) -> None:
    """One row a refusal: its words wrapped on a terminal, else in one line, so that lines can be searched."""
    rows = [(item.operator, f"{item.count:,}", item.reason, item.example) for item in refusals]
    if not console.is_terminal:
        print_lines(console, columns([_HEADINGS, *rows], "lrll"))
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column(_HEADINGS[0], no_wrap=True, style="bold")
    table.add_column(_HEADINGS[1], justify="right", no_wrap=True)
    table.add_column(_HEADINGS[2], ratio=3)
    table.add_column(_HEADINGS[3], ratio=2, overflow="fold", style="dim")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    print_to(console, table)


def summary(failure: Failure) -> str:
    """What stands in the error line below the table."""
    nodes = counted(sum(item.count for item in failure.refusals), "obstacle")
    return f"cannot be converted: {nodes}, listed above; nothing was written, 'maxfold ops' shows what can be converted"
