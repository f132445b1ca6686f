"""What became of ONNX's node tests: tables, lists, a file to keep, and what changed since such a file was written."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.table import plain_table

# More than other commands take, for the columns of two tools.
WIDTH = 110
OWN = "maxfold"
STATUSES = ("right", "wrong", "refused", "not loaded", "crashed")
# In a list: what the other tool gets right and maxfold does not.
MISSED = "missed"
_HEADINGS = ("right", "wrong", "re-\nfused", "not\nloaded", "crash")


@dataclass(frozen=True, slots=True)
class Found:
    """What became of a test in one tool: a status, and the reason of one that is not right."""

    status: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a test in maxfold and in the tool beside it. `operator` is what it tests."""

    name: str
    operator: str
    ours: Found
    theirs: Found

    @property
    def is_missed(self) -> bool:
        """Whether only the other tool is right."""
        return self.ours.status != "right" and self.theirs.status == "right"

    @property
    def is_failure(self) -> bool:
        """Whether maxfold has a fault, rather than a gap that it names: a crash, or a result that the other tool gets
        right."""
        return self.ours.status == "crashed" or (self.is_missed and self.ours.status != "refused")

    def has(self, status: str) -> bool:
        """Whether maxfold's status is that one, or the test is missed."""
        return self.is_missed if status == MISSED else self.ours.status == status


Results = Mapping[str, Result]


def operator_table(results: Iterable[Result], theirs: str) -> Table:
    """A line an operator: how many tests are right, wrong and so on in both tools. Zeros are left out."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[result.operator].append(result)
    caption = f"The columns after the bar are of {theirs}. missed: right there, and not in maxfold."
    columns = ["tests", *_HEADINGS, f"| {_HEADINGS[0]}", *_HEADINGS[1:], "missed"]
    table = plain_table("Operators, in tests", "operator", columns, caption)
    for operator, members in sorted(groups.items()):
        table.add_row(operator, *_counts(members))
    table.add_section()
    table.add_row("all", *_counts([member for members in groups.values() for member in members]), style="bold")
    return table


def _counts(results: list[Result]) -> list[str]:
    ours = Counter(result.ours.status for result in results)
    theirs = Counter(result.theirs.status for result in results)
    numbers = [len(results), *(ours[status] for status in STATUSES), *(theirs[status] for status in STATUSES)]
    return [str(number or "") for number in (*numbers, sum(result.is_missed for result in results))]


def reason_table(results: Iterable[Result], status: str) -> Table:
    """A line a reason of a status in maxfold: tests, those of them that the other tool gets right, and operators."""
    found: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        if result.ours.status == status:
            for reason in dict.fromkeys(result.ours.reason.splitlines()):
                found[reason].append(result)
    table = plain_table(f"Why {status}", "tests", ["missed"])
    table.columns[0].justify = "right"
    table.add_column("reason", overflow="fold")
    for reason, members in sorted(found.items(), key=lambda item: (-_missed(item[1]), -len(item[1]), item[0])):
        table.add_row(str(len(members)), str(_missed(members) or ""), reason)
    return table


def _missed(results: Iterable[Result]) -> int:
    return sum(result.is_missed for result in results)


def print_list(out: Console, results: Iterable[Result], status: str, theirs: str) -> None:
    """A line a test of a status."""
    for result in results:
        if result.has(status):
            reason = result.ours.reason.replace("\n", "; ")
            told = f"{result.name}: {result.ours.status}; {theirs} {result.theirs.status}; {reason}"
            out.print(told.removesuffix("; "), markup=False, soft_wrap=True)


def print_totals(out: Console, results: Results, theirs: str) -> None:
    """How many tests are right in each tool, and where only one is."""
    for tool, statuses in (
        (OWN, Counter(result.ours.status for result in results.values())),
        (theirs, Counter(result.theirs.status for result in results.values())),
    ):
        numbers = ", ".join(f"{statuses[status]} {status}" for status in STATUSES)
        out.print(f"{tool}: of {len(results)} tests {numbers}", soft_wrap=True)
    only_ours = sum(result.ours.status == "right" and result.theirs.status != "right" for result in results.values())
    out.print(f"right in {theirs} alone: {_missed(results.values())}, in {OWN} alone: {only_ours}", soft_wrap=True)


def print_changes(out: Console, before: Results, now: Results) -> list[str]:
    """What became right since `before`, and what is right no more, which is returned. Only tests of both count."""
    shared = [name for name in now if name in before]
    was = {name for name in shared if before[name].ours.status == "right"}
    became = [name for name in shared if now[name].ours.status == "right" and name not in was]
    lost = [name for name in shared if now[name].ours.status != "right" and name in was]
    out.print(f"since then: {len(became)} became right, {len(lost)} are right no more", soft_wrap=True)
    for name in became:
        out.print(f"+ {name}: was {before[name].ours.status}", markup=False, soft_wrap=True)
    for name in lost:
        ours = now[name].ours
        out.print(f"- {name}: {ours.status}; {ours.reason}", markup=False, soft_wrap=True)
    return lost


def write_json(path: Path, about: Mapping[str, Any], results: Results) -> None:
    """Keeps a run."""
    tests = {
        name: {
            "operator": result.operator,
            "ours": [result.ours.status, result.ours.reason],
            "theirs": [result.theirs.status, result.theirs.reason],
        }
        for name, result in results.items()
    }
    path.write_text(json.dumps({**about, "tests": tests}, indent=1) + "\n", encoding="utf-8")


def read_json(path: Path) -> tuple[dict[str, Any], Results]:
    """What a kept run is about, and its results."""
    about: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    tests = about.pop("tests")
    results = {
        name: Result(name, kept["operator"], Found(*kept["ours"]), Found(*kept["theirs"]))
        for name, kept in tests.items()
    }
    return about, results
