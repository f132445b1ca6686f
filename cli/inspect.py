"""`maxfold inspect`: what a model holds, and what could be done to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxfold.cli import parameters as given

if TYPE_CHECKING:
    from maxfold.cli.work import Possible
    from maxfold.optimizer.inspection import Inspection


def inspect(model: given.Input, json: given.Json = None, version: given.Version = None) -> None:
    """Shows what a model holds and what could be done to it."""
    from maxfold.cli.output import write_json
    from maxfold.cli.progress import progress_for
    from maxfold.cli.work import look

    with progress_for(quiet=False) as progress:
        label, inspection, possible = look(model, progress)
    if json:
        write_json(_to_dict(model, inspection, possible))
        return
    from maxfold.cli.inspection_view import show_inspection
    from maxfold.cli.output import stdout_console

    show_inspection(stdout_console(), label, inspection, possible)


def _to_dict(source: str, inspection: Inspection, possible: Possible) -> dict[str, Any]:
    """Schema "maxfold.inspection/1" (docs/json.md): the inspection, and what each mode would come to."""
    content = inspection.to_dict()
    modes = {}
    for mode, report in possible.items():
        modes[mode] = {
            "nodes": report.nodes_after,
            "constants": report.constants_after,
            "constant_bytes": report.constant_bytes_after,
            "passes": {entry.name: entry.changes for entry in report.passes},
        }
    return {"schema": content.pop("schema"), "input": source, **content, "possible": modes}
