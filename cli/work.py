"""The work on one input: read, optimize, verify, write. It runs in the process of the command or in a worker."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from maxfold.cli.collector import without_collector
from maxfold.cli.endpoints import Task, opened
from maxfold.cli.errors import CommandError, describe, is_model_error, is_unfit, one_line, show_traceback
from maxfold.cli.formats import IR, STREAM, suffix_of
from maxfold.cli.options import OptimizeOptions
from maxfold.cli.progress import Progress

if TYPE_CHECKING:
    from maxfold.cli.conversion import Conversion
    from maxfold.optimizer import Model, Report
    from maxfold.optimizer.inspection import Inspection
    from maxfold.optimizer.verification import Verification
    from maxfold.passes.conversion import Refusal

# `--math relaxed` may change rounding: how much outputs may differ then, relative to the larger of 1 and the value.
RELAXED_TOLERANCE = 1e-3
LAST_PLACE_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an input.

    `written` tells whether a result was written; the report's `output_bytes` is the size that it has or would have.
    `failure` says why the verification stopped the result: the outputs differ, or the result does not run.
    `conversion` says from what to what, where it was one; the report's figures are those of input and result then.
    """

    task: Task
    report: Report
    written: bool
    elapsed_seconds: float
    verification: Verification | None = None
    failure: str | None = None
    conversion: Conversion | None = None

    def to_dict(self) -> dict[str, Any]:
        """The report with what the command line knows beside it, schema "maxfold.report/1" or "maxfold.conversion/1"
        (docs/json.md)."""
        report = self.report.to_dict()
        schema = report.pop("schema")
        return {
            "schema": schema if self.conversion is None else self.conversion.schema,
            "input": self.task.source,
            "output": self.task.target,
            "written": self.written,
            **({} if self.conversion is None else self.conversion.to_dict()),
            **report,
            "verification": None if self.verification is None else self.verification.to_dict(),
            "failure": self.failure,
        }


@dataclass(frozen=True, slots=True)
class Failure:
    """An input that could not be worked on, and the line that says why; where it is what cannot be converted,
    `refusals` lists that and `label` names the input."""

    task: Task
    message: str
    refusals: tuple[Refusal, ...] = ()
    label: str = ""


class RefusedError(CommandError):
    """A model that cannot be converted; `refusals` are the reasons."""

    def __init__(self, message: str, label: str, refusals: tuple[Refusal, ...]) -> None:
        super().__init__(message)
        self.label = label
        self.refusals = refusals


Result = Outcome | Failure


def attempt(task: Task, options: OptimizeOptions, progress: Progress) -> Result:
    """Works on one input; whatever is wrong with it becomes a line."""
    try:
        with without_collector(), opened(task.source) as (path, label):
            return _kind(options)(task, options, progress, path, label).run()
    except RefusedError as error:
        return Failure(task, describe(error), error.refusals, error.label)
    except Exception as error:
        show_traceback(error)
        return Failure(task, describe(error))


def _kind(options: OptimizeOptions) -> type[Work]:
    if not options.is_conversion:
        return Work
    from maxfold.cli.conversion import ConversionWork

    return ConversionWork


class Work:
    """Optimizing one input; `label` is what messages call it, `path` where it lies."""

    def __init__(self, task: Task, options: OptimizeOptions, progress: Progress, path: Path, label: str) -> None:
        self._task = task
        self._options = options
        self._progress = progress
        self._path = path
        self._label = label

    def run(self) -> Outcome:
        """Raises what the optimizer raises, with the input named in its messages."""
        try:
            return self._run()
        except Exception as error:
            if not is_model_error(error):
                raise
            target = self._task.target or self._label
            raise type(error)(_with_place(str(error), self._path, self._label, target)) from error

    def _run(self) -> Outcome:
        from maxfold.optimizer import load

        started = time.perf_counter()
        options = self._options
        self._progress.stage("reading")
        model = load(self._path)
        result, report, conversion = self._rewrite(model)
        if options.check and options.passes:
            self._check_end(result)
        verification, failure = self._verify(result, report) if options.verify else (None, None)
        is_written = failure is None and self._is_to_write(report)
        output_bytes = self._save(result) if is_written else self._size(result, report)
        return Outcome(
            task=self._task,
            report=report.with_sizes(model.file_bytes, output_bytes),
            written=is_written,
            elapsed_seconds=time.perf_counter() - started,
            verification=verification,
            failure=failure,
            conversion=conversion,
        )

    def _rewrite(self, model: Model) -> tuple[Model, Report, Conversion | None]:
        """The model to write, what was done, and between which formats where that is more than one."""
        return model, self._optimize(model), None

    def _optimize(self, model: Model) -> Report:
        from maxfold.optimizer import optimize

        options = self._options
        # Left out where nothing was asked for, so that the defaults stand in one place.
        chosen: dict[str, Any] = {}
        if options.max_growth_bytes is not None:
            chosen["max_growth_bytes"] = options.max_growth_bytes
        if options.opset is not None:
            chosen["opset"] = options.opset
        return optimize(
            model,
            math=cast("Any", options.math),
            passes=options.passes,
            skip=options.skip,
            keep=options.keep,
            dims=dict(options.dims),
            input_shapes=dict(options.input_shapes),
            fold_quantized=options.fold_quantized,
            inline_functions=options.inline_functions,
            expand=options.expand,
            target=cast("Any", options.target),
            hints=options.shows_hints,
            progress=self._progress.step,
            **chosen,
        )

    def _check_end(self, result: Model) -> None:
        """Passes of one's own, which no test of maxfold knows, are run once more."""
        from maxfold.optimizer.own_passes import has_own

        if not has_own(self._options.passes):
            return
        from maxfold.optimizer.idempotence import check_end

        check_end(result, self._optimize)

    def _is_to_write(self, report: Report) -> bool:
        """A file that would only be written over itself is left alone."""
        options = self._options
        is_same = options.in_place and not report.changed and options.external_data == "auto"
        return options.writes and self._task.target is not None and not is_same

    def _save(self, model: Model) -> int:
        from maxfold.optimizer import save

        target = self._task.target
        assert target is not None
        self._progress.stage("writing")
        if target == STREAM:
            return save(model, sys.stdout.buffer)
        if self._options.out_dir:
            Path(self._options.out_dir).mkdir(parents=True, exist_ok=True)
        return save(model, target, external_data=cast("Any", self._options.external_data))

    def _size(self, model: Model, report: Report) -> int | None:
        """The bytes that the result would have; None where only a file of its own could hold it."""
        from maxfold.optimizer import ModelError, save

        if not report.changed and not self._options.is_conversion:
            return model.file_bytes
        if model.format == IR:
            return _ir_size(model)
        try:
            with Path(os.devnull).open("wb") as nowhere:
                return save(model, nowhere)
        except ModelError:
            return None

    def _verify(self, model: Model, report: Report) -> tuple[Verification | None, str | None]:
        """Runs the input and the result, which lies in a directory of its own for that time."""
        from maxfold.optimizer import ModelError, save, verify

        target = self._task.target
        is_beside = self._options.writes and target not in (None, STREAM)
        beside = Path(str(target)).absolute().parent if is_beside else None
        if beside is not None and not beside.is_dir():
            beside = None
        with tempfile.TemporaryDirectory(prefix=".maxfold-", dir=beside) as folder:
            result = Path(folder) / Path(target if is_beside and target else f"result{suffix_of(model.format)}").name
            self._progress.stage("verifying")
            save(model, result, external_data=cast("Any", self._options.external_data))
            try:
                original, dims = self._original(Path(folder)), dict(self._options.verify_dims)
                verification = verify(original, result, tolerance=self._tolerance(report), dims=dims)
            except ModelError as error:
                message = str(error).replace(str(result), "the result")
                message += "; --verify-dim gives an open dimension its size" if is_unfit(error) else ""
                if not message.startswith("the result"):
                    raise ModelError(f"{message}; leave out --verify to have the result unverified") from None
                return None, message
        return verification, None if verification.is_equal else _difference(verification)

    def _original(self, folder: Path) -> Path:
        """What the result is compared with."""
        return self._path

    def _tolerance(self, report: Report) -> float | None:
        if report.math == "relaxed":
            return RELAXED_TOLERANCE
        # What was folded may differ in the last place from what a runtime computes.
        return LAST_PLACE_TOLERANCE if report.notes else 0.0


def _ir_size(model: Model) -> int | None:
    """The bytes of the two files that an IR would be; the second one, which may be large, is not kept."""
    from maxfold.optimizer import ModelError, save

    with tempfile.TemporaryDirectory(prefix="maxfold-") as folder:
        try:
            (Path(folder) / "result.bin").symlink_to(os.devnull)
            return save(model, Path(folder) / "result.xml")
        except (ModelError, OSError):
            return None


def _with_place(message: str, path: Path, label: str, *others: str) -> str:
    """The message with the input's name in it, if it names no file yet."""
    # Messages are one line, and so are the paths in them.
    named = message.replace(one_line(str(path)), label)
    is_named = any(one_line(place) in one_line(named) for place in (label, *others))
    return named if is_named else f"{label}: {named}"


def _difference(verification: Verification) -> str:
    worst = max(
        (output for output in verification.outputs if not output.is_bit_equal), key=lambda output: output.max_rel
    )
    if worst.mismatch:
        said = f"output {worst.name!r} differs: {worst.mismatch}"
    else:
        said = f"output {worst.name!r} differs by {worst.max_abs:.3g} ({worst.max_rel:.3g} relative)"
    return "; ".join((said, *verification.notes))


Possible = dict[str, "Report"]
"""What optimizing would come to, by `--math` mode."""


def look(source: str, progress: Progress) -> tuple[str, Inspection, Possible]:
    """What to call a model, what it holds, and what optimizing would come to. Nothing is written."""
    from maxfold.optimizer import inspect, load, optimize

    with opened(source) as (path, label):
        try:
            progress.stage("reading")
            model = load(path)
            inspection = inspect(model)
            possible = {"exact": optimize(model, math="exact", progress=progress.step)}
            possible["relaxed"] = optimize(load(path), math="relaxed", progress=progress.step)
        except Exception as error:
            if not is_model_error(error):
                raise
            raise type(error)(_with_place(str(error), path, label)) from error
        return label, inspection, possible
