"""How declined rewrites are explained: by reason, or all nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from maxfold.cli.difference_view import print_table
from maxfold.cli.layout import columns, counted, indented, plain, print_lines, wrapped

if TYPE_CHECKING:
    from rich.console import Console

    from maxfold.cli.work import Outcome
    from maxfold.optimizer.report import DeclineGroup
    from maxfold.passes import DeclineRecord

# Below this many columns a table leaves too little room for reasons.
_WIDE = 120

# Names, shapes and numbers differ from node to node where the reason is the same.
_PARTICULARS = re.compile(r"'[^']*'|\[[^\]]*\]|\d[\d.,]*")


def show_declines(console: Console, outcomes: Iterable[Outcome], *, is_full: bool) -> None:
    """All declines of all inputs, grouped by reason, the most frequent first; all nodes by pass where asked for."""
    declines = [decline for outcome in outcomes for decline in outcome.report.declines]
    if not declines:
        print_lines(console, [Text(), plain("no rewrite was declined")])
        return
    print_lines(console, [Text(), plain(f"{counted(len(declines), 'rewrite')} declined", "bold")])
    show = _show_nodes if is_full else _show_groups
    show(console, declines)


def _show_groups(console: Console, declines: Sequence[DeclineRecord]) -> None:
    from maxfold.optimizer.report import group_declines

    groups = group_declines(declines)
    if console.is_terminal and console.width < _WIDE:
        _show_stacked(console, groups)
        return
    rows = [
        (group.rule, ", ".join(group.operators), _reason(group), f"{group.count:,}", group.example) for group in groups
    ]
    print_table(console, ("pass", "operator", "reason", "count", "example"), rows, "lllrl", (0, 1, 4, 0, 2))


def _reason(group: DeclineGroup) -> str:
    return f"{group.reason}: {group.advice}" if group.advice else group.reason


def _show_stacked(console: Console, groups: Sequence[DeclineGroup]) -> None:
    """Each group in lines of its own, where a column would be too narrow for a reason."""
    rows = [[f"{group.count:,}", group.rule, ", ".join(group.operators)] for group in groups]
    heads = columns(rows, "rll", ("bold", "", "dim"))
    lines = []
    for head, group in zip(heads, groups, strict=True):
        lines.append(head)
        lines += [plain(f"    {line}") for line in wrapped(_reason(group), console.width - 6)]
        lines += [plain(f"    {group.example}", "dim")] if group.example else []
    print_lines(console, indented(lines))


def _show_nodes(console: Console, declines: Iterable[DeclineRecord]) -> None:
    groups: dict[tuple[str, str], list[DeclineRecord]] = {}
    for decline in declines:
        groups.setdefault((decline.rule, _PARTICULARS.sub("#", decline.reason)), []).append(decline)
    lines = []
    rules = list(dict.fromkeys(rule for rule, _ in groups))
    width = len(f"{max(map(len, groups.values())):,}")
    for rule in rules:
        lines.append(plain(f"  {rule}", "bold"))
        own = [group for key, group in groups.items() if key[0] == rule]
        for group in sorted(own, key=lambda group: -len(group)):
            lines += _group(group, width)
    print_lines(console, lines)


def _group(group: list[DeclineRecord], width: int) -> list[Text]:
    reasons = list(dict.fromkeys(decline.reason for decline in group))
    from maxfold.optimizer.advice import with_advice

    reason = reasons[0] if len(reasons) == 1 else f"{reasons[0]} (and the like)"
    names = list(dict.fromkeys(_name(decline) for decline in group))
    indent = " " * (width + 7)
    return [
        plain(f"    {len(group):>{width},} x {with_advice(reason)}"),
        plain(f"{indent}{', '.join(names)}", "dim"),
    ]


def _name(decline: DeclineRecord) -> str:
    return f"{decline.node} ({decline.operator})" if decline.node else f"a nameless {decline.operator}"
