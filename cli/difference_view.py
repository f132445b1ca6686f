"""How a difference is shown, and tables that are wrapped on a terminal only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from maxfold.cli.errors import printable
from maxfold.cli.formats import FORMAT_NAMES
from maxfold.cli.layout import arrow, bytes_text, columns, counted, indented, plain, print_lines, shortened
from maxfold.cli.output import print_to

if TYPE_CHECKING:
    from rich.console import Console

    from maxfold.optimizer.difference import Change, Difference

_DOZEN = 12
_LONGEST_VALUE = 100
_STYLES = {"added": "green", "removed": "red", "changed": "yellow"}


def print_table(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    align: str,
    ratios: Sequence[int],
    styles: Sequence[str] = (),
) -> None:
    """One row after the other: on a terminal wrapped in columns, elsewhere each in one line, so that lines can be
    searched. `ratios` shares the width out; a column of ratio 0 is never wrapped. `styles` are those of the rows."""
    if not console.is_terminal:
        print_lines(console, indented(columns([headings, *rows], align)))
        return
    from rich.padding import Padding
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 0, 0, 2), collapse_padding=True)
    for heading, side, ratio in zip(headings, align, ratios, strict=True):
        justify: Any = "right" if side == "r" else "left"
        table.add_column(heading, justify=justify, no_wrap=not ratio, ratio=ratio or None, overflow="fold")
    for index, row in enumerate(rows):
        style = styles[index] if index < len(styles) else ""
        table.add_row(Text(printable(row[0]), style), *(Text(printable(cell)) for cell in row[1:]))
    print_to(console, Padding(table, (0, 0, 0, 2)))


def show_difference(console: Console, names: tuple[str, str], difference: Difference, *, is_full: bool) -> None:
    """Both models, what differs by sections (with `is_full` all of it), and the verdict; what does not differ is not
    mentioned."""
    print_lines(console, _heads(names, difference))
    view = _View(console, is_full)
    view.changes("interface", difference.interface, "type")
    view.changes("metadata", difference.metadata, "value")
    view.operators(difference)
    view.changes("nodes", difference.nodes, "operator")
    view.changes("constants", difference.constants, "type")
    print_lines(console, [Text(), *_notes(difference), _verdict(difference)])


def _heads(names: tuple[str, str], difference: Difference) -> list[Text]:
    figures = (
        (difference.nodes_before, difference.constants_before, difference.constant_bytes_before),
        (difference.nodes_after, difference.constants_after, difference.constant_bytes_after),
    )
    rows = [
        [name, FORMAT_NAMES[form], counted(nodes, "node"), counted(constants, "constant"), bytes_text(nbytes)]
        for name, form, (nodes, constants, nbytes) in zip(names, difference.formats, figures, strict=True)
    ]
    return columns(rows, "llrrr", ("bold", "dim", "", "", ""))


class _View:
    def __init__(self, console: Console, is_full: bool) -> None:
        self._console = console
        self._is_full = is_full
        self._arrow = arrow(console)

    def changes(self, title: str, changes: Sequence[Change], heading: str) -> None:
        """What was removed, then what changed, then what was added: a dozen of each, or all."""
        if not changes:
            return
        counts = Counter(change.change for change in changes)
        kinds = [kind for kind in ("removed", "changed", "added") if counts[kind]]
        summary = ", ".join(f"{counts[kind]:,} {kind}" for kind in kinds)
        print_lines(self._console, [Text(), plain(f"{title}: {summary}", "bold")])
        groups = [[change for change in changes if change.change == kind] for kind in kinds]
        shown = [change for group in groups for change in (group if self._is_full else group[:_DOZEN])]
        rows = [self._row(change) for change in shown]
        styles = [_STYLES[change.change] for change in shown]
        print_table(self._console, ("", "name", heading), rows, "lll", (0, 1, 1), styles)
        more = [f"{len(group) - _DOZEN:,} more {kind}" for kind, group in zip(kinds, groups, strict=True)
                if len(group) > _DOZEN and not self._is_full]  # fmt: skip
        if more:
            print_lines(self._console, indented([plain(f"and {', '.join(more)} (-v lists all)", "dim")]))

    def operators(self, difference: Difference) -> None:
        """Operators with their counts: those that differ, or all."""
        differing = [item for item in difference.operators if item["before"] != item["after"]]
        listed = list(difference.operators) if self._is_full and not difference.is_equal else differing
        if not listed:
            return
        shown = listed if self._is_full else listed[:_DOZEN]
        summary = counted(len(differing), "other count") if differing else "same counts"
        rows = []
        for item in shown:
            change = item["after"] - item["before"]
            name = f"{item['domain']}.{item['operator']}" if item["domain"] else item["operator"]
            rows.append([name, f"{item['before']:,}", f"{item['after']:,}", f"{change:+,}" if change else "same"])
        print_lines(self._console, [Text(), plain(f"operators: {summary}", "bold")])
        print_table(self._console, ("operator", "before", "after", "change"), rows, "lrrr", (1, 0, 0, 0))
        if len(listed) > len(shown):
            rest = f"and {len(listed) - len(shown):,} more (-v lists all)"
            print_lines(self._console, indented([plain(rest, "dim")]))

    def _row(self, change: Change) -> list[str]:
        name = f"{change.scope}: {change.name}" if change.scope else change.name
        if change.kind in ("input", "output", "inputs", "outputs"):
            name = " ".join(filter(None, (change.kind, change.name)))
        return [change.change, name, "; ".join(self._details(change))]

    def _details(self, change: Change) -> Iterable[str]:
        if change.before is None or change.after is None:
            yield self._value(_described(change.kind, change.after if change.before is None else change.before))
            return
        if change.kind == "metadata":
            yield self._turned(change.before, change.after)
            return
        before, after = (_facts(change.kind, facts) for facts in (change.before, change.after))
        fields = [field for field in change.fields if field != "domain"]
        if "domain" in change.fields and "operator" not in fields:
            fields.insert(0, "operator")
        if change.kind == "node" and "operator" not in fields:
            yield str(before["operator"])
        for field in fields:
            yield from self._field(field, before, after)

    def _field(self, field: str, before: dict[str, Any], after: dict[str, Any]) -> Iterable[str]:
        place, _, key = field.partition(".")
        if field == "contents":
            yield f"{before['type']}, other contents"
        elif field == "operator":
            yield self._turned(before[field], after[field])
        elif place == "attributes":
            yield f"{key}: {self._turned(before[place].get(key), after[place].get(key))}"
        elif field == "metadata":
            for name in {**before[field], **after[field]}:
                if before[field].get(name) != after[field].get(name):
                    yield f"{name}: {self._turned(before[field].get(name), after[field].get(name))}"
        else:
            yield f"{field}: {self._turned(before[field], after[field])}"

    def _turned(self, before: Any, after: Any) -> str:
        texts = [self._value(before), self._value(after)]
        return " ".join((texts[0], self._arrow, texts[1])) if texts[0] != texts[1] else f"{texts[0]} (other values)"

    def _value(self, value: Any) -> str:
        text = " ".join(_text(value).split())
        return text if self._is_full else shortened(text, _LONGEST_VALUE)


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join('?' if item is None else str(item) for item in value)}]"
    return str(value)


def _facts(kind: str, facts: dict[str, Any]) -> dict[str, Any]:
    """The facts with an operator that has its domain, and a constant's type and shape in one."""
    if kind == "node":
        return {**facts, "operator": _described(kind, facts)}
    return {**facts, "type": _described(kind, facts)} if kind == "constant" else facts


def _described(kind: str, facts: Any) -> str:
    """What stands for something that only one of the models has."""
    if kind == "metadata":
        return str(facts)
    if kind == "node":
        return f"{facts['domain']}.{facts['operator']}" if facts["domain"] else str(facts["operator"])
    shape = "" if facts["shape"] is None else _text(facts["shape"])
    words = [f"{facts['dtype'] or '?'}{shape}"]
    if facts.get("type", "tensor") != "tensor":
        words.insert(0, facts["type"])
    return f"{' '.join(words)}, {bytes_text(facts['nbytes'])}" if "nbytes" in facts else " ".join(words)


def _notes(difference: Difference) -> list[Text]:
    if difference.formats[0] == difference.formats[1]:
        return []
    return [plain("The formats differ: attributes, and what only one of them can say, are not compared.", "dim")]


def _verdict(difference: Difference) -> Text:
    if difference.is_equal:
        return plain("equal", "green")
    counts = (
        (len(difference.interface), "input or output", "inputs and outputs"),
        (len(difference.metadata), "piece of metadata", "pieces of metadata"),
        (len(difference.nodes), "node", "nodes"),
        (len(difference.constants), "constant", "constants"),
    )
    found = [f"{count:,} {one if count == 1 else many}" for count, one, many in counts if count]
    return plain(f"different: {', '.join(found)}", "yellow")
