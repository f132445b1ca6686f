"""Which input is read from where and written to where, settled before anything is read.

A place is a path, or "-" for a standard stream.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from maxfold.cli.errors import CommandError
from maxfold.cli.formats import STREAM, check_formats, converted_name, files_of, names_of
from maxfold.cli.options import ConvertOptions, OptimizeOptions
from maxfold.cli.shell import usage_error

_Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Task:
    """One input and where its result goes; `target` is None where no result is written."""

    source: str
    target: str | None


_Options = TypeVar("_Options", bound=OptimizeOptions)


def with_folder(options: _Options) -> _Options:
    """The options with `-o DIR/` as --out-dir DIR."""
    if options.output is None or options.out_dir or not options.output.endswith(("/", os.sep)):
        return options
    return replace(options, output=None, out_dir=options.output)


def plan(sources: Sequence[str], options: OptimizeOptions) -> list[Task]:
    """The tasks, in the order of the inputs.

    Raises `CommandError` where the options contradict each other, or a result would overwrite an input unasked.
    """
    _check_sources(sources, options)
    _check_destination(sources, options)
    check_formats(sources, options)
    tasks = [Task(source, _target(source, options)) for source in sources]
    _check_names(tasks, options)
    if options.in_place:
        _check_twice(sources)
    else:
        _check_overwriting(tasks, options)
    if options.writes:
        _check_folders(tasks, options)
    _check_report(tasks, options)
    return tasks


def _check_sources(sources: Sequence[str], options: OptimizeOptions) -> None:
    if "" in sources:
        raise CommandError("an INPUT is empty; give the path of a model file")
    if STREAM not in sources:
        return
    if len(sources) > 1:
        raise CommandError("- (standard input) must be the only INPUT; give the others as paths")
    if options.in_place or options.out_dir:
        where = "--in-place" if options.in_place else "--out-dir"
        raise CommandError(f"{where} needs an input with a name, and - is standard input; use -o OUTPUT")


def _check_destination(sources: Sequence[str], options: OptimizeOptions) -> None:
    places = {"-o": options.output, "--in-place": options.in_place, "--out-dir": options.out_dir}
    named = [name for name, value in places.items() if value]
    if len(named) > 1:
        raise CommandError(f"{' and '.join(named)} contradict each other; choose one")
    if not named and options.writes and len(sources) == 2 and not Path(sources[1]).exists():
        first, second = sources
        message = f"{second}: does not exist; to write the result there: maxfold {options.command} {first} -o {second}"
        raise CommandError(message)
    if not named and options.writes:
        ways = "--out-dir DIR" if isinstance(options, ConvertOptions) else "--in-place, --out-dir DIR, --check"
        raise usage_error(f"nothing says where the result goes: give -o OUTPUT, {ways} or --dry-run", options.command)
    if options.output and len(sources) > 1:
        raise CommandError(f"-o is for one input, and there are {len(sources)}; use --out-dir DIR")
    if options.quiet and options.verbose:
        raise CommandError("-q and -v contradict each other; choose one")
    if options.output == STREAM:
        _check_stdout(options)


def _check_stdout(options: OptimizeOptions) -> None:
    if options.json:
        raise CommandError("-o - and --json would both write to standard output; use --report FILE.json")
    if options.external_data == "always":
        raise CommandError("--external-data always needs a file to put the data beside, not -o -; give a path")
    if sys.stdout is None:
        raise CommandError("-o - writes to standard output, which is closed; redirect it, or give a path")
    if options.writes and sys.stdout.isatty():
        raise CommandError("-o - would write a binary file to the terminal; redirect it, or give a path")


def _target(source: str, options: OptimizeOptions) -> str | None:
    if options.in_place:
        return source
    if not options.out_dir:
        return options.output
    name = Path(source).name
    return str(Path(options.out_dir) / (converted_name(name) if isinstance(options, ConvertOptions) else name))


def _check_names(tasks: Sequence[Task], options: OptimizeOptions) -> None:
    """Results, and the data files that may come with them, must not meet in the output directory."""
    if not options.out_dir:
        return
    owners: dict[str, str] = {}
    for task in tasks:
        name = Path(task.source).name
        if name in ("", ".."):
            raise CommandError(f"{task.source}: is a directory; give the path of a model file")
        for written in names_of(Path(str(task.target))):
            other = owners.setdefault(written, task.source)
            if other != task.source or _is_repeated(task, tasks):
                raise CommandError(
                    f"{other} and {task.source} would both write {Path(options.out_dir) / written}; "
                    "rename one, or use two output directories"
                )


def _is_repeated(task: Task, tasks: Sequence[Task]) -> bool:
    return sum(other.source == task.source for other in tasks) > 1


def _check_twice(sources: Sequence[str]) -> None:
    seen: dict[_Identity, str] = {}
    for source in sources:
        identity = _identity(source)
        if identity is None:
            continue
        other = seen.setdefault(identity, source)
        if other is not source or sources.count(source) > 1:
            raise CommandError(f"{other} and {source} are one file, which --in-place would write twice; give it once")


def _check_overwriting(tasks: Sequence[Task], options: OptimizeOptions) -> None:
    owners: dict[_Identity | None, str] = {}
    for task in tasks:
        for weights in files_of(task.source)[1:]:
            owners[_identity(weights)] = f"holds the weights of {task.source}"
    for task in tasks:
        owners[_identity(task.source)] = (
            "is the input itself" if task.source == STREAM else f"is the input {task.source}"
        )
    in_place = "" if isinstance(options, ConvertOptions) else ", or use --in-place to overwrite it"
    for task in tasks:
        for place in files_of(task.target or STREAM):
            identity = _identity(place)
            if identity is not None and identity in owners:
                what = "is the input itself" if place == task.source else owners[identity]
                raise CommandError(f"{place}: {what}; write elsewhere{in_place}")


def _check_folders(tasks: Sequence[Task], options: OptimizeOptions) -> None:
    if options.out_dir and Path(options.out_dir).exists() and not Path(options.out_dir).is_dir():
        raise CommandError(f"{options.out_dir}: is no directory; give another --out-dir")
    for task in tasks:
        if task.target is None or task.target == STREAM:
            continue
        target = Path(task.target)
        if target.is_dir() and not options.in_place:
            raise CommandError(f"{target}: is a directory; give the path of a file, or --out-dir {target}")
        if not options.out_dir and not target.parent.is_dir():
            raise CommandError(f"{target}: cannot be written: there is no directory {target.parent}; make it first")


def _check_report(tasks: Sequence[Task], options: OptimizeOptions) -> None:
    if options.report is None:
        return
    if options.report == STREAM:
        raise CommandError("--report - is --json; use that, or give the path of a file")
    report = Path(options.report)
    if report.is_dir():
        raise CommandError(f"{report}: is a directory; give --report the path of a file")
    if not report.parent.is_dir():
        raise CommandError(f"{report}: cannot be written: there is no directory {report.parent}; make it first")
    own = report.absolute()
    for place in [place for task in tasks for end in (task.source, task.target or STREAM) for place in files_of(end)]:
        same_file = _identity(place) == _identity(options.report) is not None
        if same_file or Path(place).absolute() == own:
            raise CommandError(f"{report}: is also a model of this run; give --report another path")


def _identity(place: str) -> _Identity | None:
    """What tells whether two paths are one file, whatever their spelling; None for a file that is not there."""
    try:
        status = os.fstat(sys.stdin.fileno()) if place == STREAM else Path(place).stat()
    except (OSError, ValueError, AttributeError, NotImplementedError):
        return None
    return (status.st_dev, status.st_ino)


@contextlib.contextmanager
def opened(source: str) -> Iterator[tuple[Path, str]]:
    """The path to read an input from, and what to call it in messages.

    Standard input is read where it lies if it is a file, else it is kept in a temporary file for the time of the block.
    """
    if source != STREAM:
        yield Path(source), source
        return
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise CommandError("standard input is closed; pipe a model into it, or give a path")
    if stream.isatty():
        raise CommandError("standard input is a terminal; pipe a model into it, or give a path")
    redirected = _redirected_file(stream)
    if redirected is not None:
        yield redirected, str(redirected)
        return
    # A directory of its own, so that no external data is found beside it.
    with tempfile.TemporaryDirectory(prefix="maxfold-") as folder:
        path = Path(folder) / "input.onnx"
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file, 1 << 20)
        yield path, "standard input"


def _redirected_file(stream: object) -> Path | None:
    """The path of the regular file that standard input is, if it stands at its beginning and still has that path."""
    try:
        descriptor = stream.fileno()  # type: ignore[attr-defined]
        status = os.fstat(descriptor)
        if os.lseek(descriptor, 0, os.SEEK_CUR) != 0:
            return None
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        return path if path.is_file() and os.path.samestat(path.stat(), status) else None
    except (OSError, ValueError, AttributeError, NotImplementedError):
        return None
