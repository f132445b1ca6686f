"""What an optimization did, as data: the report that the command line renders and writes as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from maxfold.passes import DeclineRecord

REPORT_SCHEMA = "maxfold.report/1"


@dataclass(frozen=True, slots=True)
class PassReport:
    """One pass, summed over all its runs; `elapsed_seconds` is wall time."""

    name: str
    changes: int
    elapsed_seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """What `optimize` did. Nodes are counted in all scopes, Constant nodes not; sizes are stored bytes.

    `declines` are the rewrites that were considered and not done, as they stood in the end. `relaxed_gain` is how many
    nodes `--math relaxed` would remove beyond that. `input_bytes` and `output_bytes` are file sizes, None where no
    file was read or written.
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
    relaxed_gain: int
    elapsed_seconds: float
    input_bytes: int | None = None
    output_bytes: int | None = None

    @property
    def changed(self) -> bool:
        """Whether anything was rewritten."""
        return any(entry.changes for entry in self.passes)

    def with_sizes(self, input_bytes: int | None, output_bytes: int | None) -> Report:
        """The report with the sizes of the files read and written."""
        return replace(self, input_bytes=input_bytes, output_bytes=output_bytes)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data of schema "maxfold.report/1" (see docs/json.md)."""
        return {"schema": REPORT_SCHEMA, "changed": self.changed, **asdict(self)}
