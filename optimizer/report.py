"""What an optimization did, as data: the report that the command line renders and writes as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from maxfold.optimizer.report_table import to_html, to_text
from maxfold.passes import DeclineRecord
from maxfold.passes.rule import NoteRecord

REPORT_SCHEMA = "maxfold.report/1"

# What differs from node to node where the reason is the same: quoted names (no apostrophes), lists, numbers.
_PARTICULAR = re.compile(r"""((?<!\w)'[^']*'(?!\w)|"[^"]*"|\[[^\]]*\]|(?<!\w)\d+(?:[.,]\d+)*)""")


@dataclass(frozen=True, slots=True)
class PassReport:
    """One pass, summed over all its runs; `elapsed_seconds` is wall time."""

    name: str
    changes: int
    elapsed_seconds: float


@dataclass(frozen=True, slots=True)
class DeclineGroup:
    """Declines of one pass whose reasons differ in quoted names, lists and numbers only.

    `reason` has "..." where they differ. `operators` are those of the nodes, `example` is the first node by name.
    `advice` is what can be done about it, empty where the reason says it.
    """

    rule: str
    operators: tuple[str, ...]
    reason: str
    count: int
    example: str
    advice: str


def group_declines(declines: Iterable[DeclineRecord]) -> tuple[DeclineGroup, ...]:
    """Declines by pass and reason, the most frequent first."""
    groups: dict[tuple[str, str], list[DeclineRecord]] = {}
    for decline in declines:
        groups.setdefault((decline.rule, _PARTICULAR.sub("\0", decline.reason)), []).append(decline)
    listed = [_group(rule, members) for (rule, _), members in groups.items()]
    return tuple(sorted(listed, key=lambda group: (-group.count, group.reason, group.rule)))


def _group(rule: str, members: list[DeclineRecord]) -> DeclineGroup:
    from maxfold.optimizer.advice import advice

    operators = tuple(sorted({decline.operator for decline in members}))
    parts = [_PARTICULAR.split(reason) for reason in dict.fromkeys(decline.reason for decline in members)]
    reason = "".join(same[0] if len(set(same)) == 1 else "..." for same in zip(*parts, strict=True))
    example = min(filter(None, (decline.node for decline in members)), default="")
    return DeclineGroup(rule, operators, reason, len(members), example, advice(members[0].reason))


@dataclass(frozen=True, slots=True)
class Hint:
    """What other arguments of `optimize` would gain: `nodes` that would go beyond what was done.

    `operators` says by name how many there would be more, each in place of several nodes.
    """

    arguments: Mapping[str, Any]
    nodes: int
    operators: Mapping[str, int] = field(default_factory=dict)

    @property
    def options(self) -> str:
        """The arguments as options of the command line."""
        single = [f"--{name} {value}" for name, value in self.arguments.items() if name != "dims"]
        return " ".join([*single, *(f"--dim {name}={size}" for name, size in self.arguments.get("dims", {}).items())])


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What `optimize` did. Nodes are counted in all scopes, Constant nodes not; sizes are stored bytes.

    `declines` are the rewrites that were considered and not done, as they stood in the end; `notes` tell of rewrites
    that were done, where a result may differ in its last place from what a runtime would have computed. `hints` are
    what other arguments would gain, None where they were not asked for; `relaxed_gain` is how many nodes relaxed mode
    would remove beyond what was done, None where that was not asked for or is not known. `warnings` are lines on what
    may matter to who uses the result, as that small differences may grow. `dimensions_fixed` open dimensions of the
    inputs got a size. `input_bytes` and `output_bytes` are file sizes, None where no file was read or written.
    """

    math: str
    nodes_before: int
    nodes_after: int
    constants_before: int
    constants_after: int
    constant_bytes_before: int
    constant_bytes_after: int
    passes: tuple[PassReport, ...]
    declines: tuple[DeclineRecord, ...]
    notes: tuple[NoteRecord, ...]
    elapsed_seconds: float
    relaxed_gain: int | None = None
    hints: tuple[Hint, ...] | None = None
    warnings: tuple[str, ...] = ()
    dimensions_fixed: int = 0
    input_bytes: int | None = None
    output_bytes: int | None = None

    def __str__(self) -> str:
        """The table that the command line prints."""
        return to_text(self)

    def __repr__(self) -> str:
        """One line."""
        changes = sum(self.changes.values())
        return f"<Report: {self.nodes_before:,} -> {self.nodes_after:,} nodes, {changes:,} changes, math={self.math!r}>"

    def _repr_html_(self) -> str:
        """The table as notebooks show it."""
        return to_html(self)

    @property
    def changes(self) -> dict[str, int]:
        """How often each pass that was run changed something, by its name."""
        return {entry.name: entry.changes for entry in self.passes}

    @property
    def changed(self) -> bool:
        """Whether anything was rewritten."""
        return bool(self.dimensions_fixed) or any(entry.changes for entry in self.passes)

    def with_sizes(self, input_bytes: int | None, output_bytes: int | None) -> Report:
        """The report with the sizes of the files read and written."""
        return replace(self, input_bytes=input_bytes, output_bytes=output_bytes)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data of schema "maxfold.report/1" (see docs/json.md)."""
        groups = [
            {
                "pass": group.rule,
                "reason": group.reason,
                "advice": group.advice,
                "count": group.count,
                "example": group.example,
            }
            for group in group_declines(self.declines)
        ]
        hints = None if self.hints is None else [{"options": hint.options, **asdict(hint)} for hint in self.hints]
        return {
            "schema": REPORT_SCHEMA, "changed": self.changed, **asdict(self), "decline_groups": groups, "hints": hints,
        }  # fmt: skip

    def to_json(self) -> str:
        """The same as JSON text, as the command line writes it."""
        import json

        return json.dumps(self.to_dict(), indent=2, allow_nan=False)
