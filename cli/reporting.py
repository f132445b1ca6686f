"""What `maxfold optimize` and `maxfold convert` have in common: results are shown, reported, and given a status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from maxfold.cli.errors import CommandError, one_line
from maxfold.cli.output import write_error, write_stderr
from maxfold.cli.shell import DONE, ERROR, NO

if TYPE_CHECKING:
    from maxfold.cli.endpoints import Task
    from maxfold.cli.options import OptimizeOptions
    from maxfold.cli.work import Failure, Outcome, Result

REPORTS_SCHEMA = "maxfold.reports/1"


def run(tasks: Sequence[Task], options: OptimizeOptions) -> int:
    """Carries the tasks out; returns the exit status."""
    from maxfold.cli.jobs import run_tasks
    from maxfold.cli.progress import progress_for

    if options.verify:
        _require_runtimes(tasks, options)
    with progress_for(options.quiet) as progress:
        results = run_tasks(tasks, options, progress)
    _show(results, options)
    _write_reports(results, options)
    return _status(results, options)


def _require_runtimes(tasks: Sequence[Task], options: OptimizeOptions) -> None:
    """Says at once what `--verify` lacks, not after all the work."""
    from maxfold.cli.formats import converted_name
    from maxfold.optimizer.runtimes import missing_runtime

    places = [task.source for task in tasks]
    if options.command == "convert":
        places = [*places, *[converted_name(place) for place in places]]
    missing = missing_runtime(places)
    if missing is not None:
        raise CommandError(missing)


def _show(results: Sequence[Result], options: OptimizeOptions) -> None:
    """Everything for people goes to standard error."""
    from maxfold.cli.work import Failure, Outcome

    outcomes = [result for result in results if isinstance(result, Outcome)]
    if not options.quiet or options.explain:
        _show_outcomes(outcomes, len(results), options)
    for result in results:
        if isinstance(result, Failure):
            _show_failure(result, options)
        elif result.failure is not None and options.quiet:
            write_stderr(f"maxfold: {one_line(result.task.source)}: nothing written: {one_line(result.failure)}\n")


def _show_failure(failure: Failure, options: OptimizeOptions) -> None:
    if not failure.refusals or options.quiet:
        write_error(failure.message)
        return
    from maxfold.cli.output import stderr_console
    from maxfold.cli.refusal_view import show_refusals, summary

    show_refusals(stderr_console(), failure.refusals)
    write_error(f"{failure.label}: {summary(failure)}")


def _show_outcomes(outcomes: Sequence[Outcome], inputs: int, options: OptimizeOptions) -> None:
    from maxfold.cli.output import stderr_console
    from maxfold.cli.report_view import show_batch, show_outcome

    console = stderr_console()
    if not options.quiet and inputs > 1:
        show_batch(console, outcomes, options)
    elif not options.quiet and outcomes:
        show_outcome(console, outcomes[0], options)
    if options.explain and outcomes:
        from maxfold.cli.decline_view import show_declines

        show_declines(console, outcomes, is_full=options.verbose)


def _write_reports(results: Sequence[Result], options: OptimizeOptions) -> None:
    if options.report is None and not options.json:
        return
    from maxfold.cli.output import to_json, write_stdout

    content = _reports(results)
    if content is None:
        return
    text = to_json(content)
    if options.report is not None:
        _write_file(options.report, text)
    if options.json:
        write_stdout(text)


def _reports(results: Sequence[Result]) -> dict[str, Any] | None:
    """The report of the only input, or all reports of several; None where the only input failed."""
    from maxfold.cli.work import Failure, Outcome

    reports = [result.to_dict() for result in results if isinstance(result, Outcome)]
    if len(results) == 1:
        return reports[0] if reports else None
    errors = [
        {"input": result.task.source, "error": result.message} for result in results if isinstance(result, Failure)
    ]
    return {"schema": REPORTS_SCHEMA, "reports": reports, "errors": errors}


def _write_file(path: str, text: str) -> None:
    from pathlib import Path

    from maxfold.model.output import write_files

    write_files([(Path(path), lambda file: _write_bytes(file, text))])


def _write_bytes(file: Any, text: str) -> None:
    file.write(text.encode("ascii"))


def _status(results: Sequence[Result], options: OptimizeOptions) -> int:
    from maxfold.cli.work import Outcome

    outcomes = [result for result in results if isinstance(result, Outcome)]
    if len(outcomes) < len(results):
        return ERROR
    if any(outcome.failure is not None for outcome in outcomes):
        return NO
    if options.check and any(outcome.report.changed for outcome in outcomes):
        return NO
    return DONE
