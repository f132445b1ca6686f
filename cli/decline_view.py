"""How declined rewrites are explained: by reason, with counts and examples."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.text import Text

from maxfold.cli.layout import counted, plain, print_lines

if TYPE_CHECKING:
    from rich.console import Console

    from maxfold.cli.work import Outcome
    from maxfold.passes import DeclineRecord

_EXAMPLES = 3

# Names, shapes and numbers differ from node to node where the reason is the same.
_PARTICULARS = re.compile(r"'[^']*'|\[[^\]]*\]|\d[\d.,]*")


def show_declines(console: Console, outcomes: Iterable[Outcome], *, is_full: bool) -> None:
    """All declines of all inputs, the most frequent reason of each pass first; all their nodes where asked for."""
    groups: dict[tuple[str, str], list[DeclineRecord]] = {}
    for outcome in outcomes:
        for decline in outcome.report.declines:
            groups.setdefault((decline.rule, _PARTICULARS.sub("#", decline.reason)), []).append(decline)
    total = sum(map(len, groups.values()))
    if not total:
        print_lines(console, [Text(), plain("no rewrite was declined")])
        return
    lines = [Text(), plain(f"{counted(total, 'rewrite')} declined", "bold")]
    rules = list(dict.fromkeys(rule for rule, _ in groups))
    width = len(f"{max(map(len, groups.values())):,}")
    for rule in rules:
        lines.append(plain(f"  {rule}", "bold"))
        own = [group for key, group in groups.items() if key[0] == rule]
        for group in sorted(own, key=lambda group: -len(group)):
            lines += _group(group, width, is_full)
    print_lines(console, lines)


def _group(group: list[DeclineRecord], width: int, is_full: bool) -> list[Text]:
    reasons = list(dict.fromkeys(decline.reason for decline in group))
    reason = reasons[0] if len(reasons) == 1 else f"{reasons[0]} (and the like)"
    names = list(dict.fromkeys(_name(decline) for decline in group))
    shown = names if is_full else names[:_EXAMPLES]
    more = f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
    indent = " " * (width + 7)
    return [
        plain(f"    {len(group):>{width},} x {reason}"),
        plain(f"{indent}{', '.join(shown)}{more}", "dim"),
    ]


def _name(decline: DeclineRecord) -> str:
    return f"{decline.node} ({decline.operator})" if decline.node else f"a nameless {decline.operator}"
