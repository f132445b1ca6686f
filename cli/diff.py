"""`maxfold diff`: what changed between two models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from maxfold.cli import parameters as given
from maxfold.cli.errors import CommandError
from maxfold.cli.shell import DONE, NO, usage_error

if TYPE_CHECKING:
    from maxfold.cli.progress import Progress
    from maxfold.optimizer import Model
    from maxfold.optimizer.difference import Difference


def diff(
    first: given.First,
    second: given.Second,
    json: given.Json = None,
    quiet: given.Quiet = None,
    verbose: given.Verbose = None,
    version: given.Version = None,
) -> None:
    """Shows what changed between two models.

    Compares interface, metadata, nodes and constants of ONNX files and OpenVINO IR, as in 'maxfold diff model.onnx
    smaller.onnx'. The exit status is 1 if anything differs. -v lists all of it.
    """
    if quiet and verbose:
        raise CommandError("-q and -v contradict each other; choose one")
    for place in (first, second):
        if place in ("", "-"):
            raise usage_error("diff compares two files; give the paths of both", "diff")
    from maxfold.cli.collector import without_collector
    from maxfold.cli.progress import progress_for

    with progress_for(bool(quiet)) as progress, without_collector():
        difference = _compare(first, second, progress)
    if json:
        from maxfold.cli.output import write_json

        content = difference.to_dict()
        write_json({"schema": content.pop("schema"), "first": first, "second": second, **content})
    elif not quiet:
        from maxfold.cli.difference_view import show_difference
        from maxfold.cli.output import stdout_console

        show_difference(stdout_console(), (first, second), difference, is_full=bool(verbose))
    raise typer.Exit(DONE if difference.is_equal else NO)


def _compare(first: str, second: str, progress: Progress) -> Difference:
    """Raises `ModelError` for a file that cannot be used, `CommandError` for two that cannot be compared."""
    from maxfold.optimizer import ModelError, diff, load

    models: list[Model] = []
    for place in (first, second):
        progress.stage(f"reading {place}")
        models.append(load(place))
    progress.stage("comparing")
    try:
        return diff(*models)
    except ModelError as error:
        raise CommandError(f"{first} and {second}: {error}") from error
