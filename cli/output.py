"""Standard output and standard error: what is written where, and as what kind of text.

The answer of a command goes to standard output; everything that is told beside it goes to standard error.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from maxfold.cli.errors import CommandError, encodable, one_line

if TYPE_CHECKING:
    from rich.console import Console


def stderr_console() -> Console:
    """A console on standard error; colour and width are as the terminal and NO_COLOR ask for."""
    return _console(sys.stderr, is_stderr=True)


def stdout_console() -> Console:
    """A console on standard output, likewise."""
    return _console(sys.stdout, is_stderr=False)


def _console(stream: TextIO | None, *, is_stderr: bool) -> Console:
    from rich.console import Console

    file = io.StringIO() if stream is None else stream
    return Console(file=file, stderr=is_stderr, highlight=False, markup=False, emoji=False)


def print_to(console: Console, *renderables: Any, **settings: Any) -> None:
    """Lays out by Rich; `write_stdout` and `write_stderr`, which know what to do about errors, do the writing."""
    try:
        with console.capture() as captured:
            console.print(*renderables, **settings)
    except OSError as error:
        # Rich writes an empty text after capturing, and some files refuse even that.
        if not console.stderr:
            raise unwritable(error) from None
        _discard(sys.stderr)
        return
    write = write_stderr if console.stderr else write_stdout
    write(captured.get())


def write_stderr(text: str) -> None:
    """Writes to standard error. Where that is closed there is nobody to tell."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(encodable(text, sys.stderr.encoding))
        sys.stderr.flush()
    except (OSError, ValueError):
        _discard(sys.stderr)


def write_error(message: str) -> None:
    """Writes `maxfold: error: <message>`, one line, to standard error."""
    write_stderr(f"maxfold: error: {one_line(message)}\n")


def write_json(value: Mapping[str, Any]) -> None:
    """Writes one JSON object to standard output."""
    write_stdout(to_json(value))


def to_json(value: Mapping[str, Any]) -> str:
    """JSON, indented, in ASCII so that any encoding will do; infinities and NaN, which JSON lacks, become null."""
    return json.dumps(_finite(value), indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def write_stdout(text: str) -> None:
    """Writes to standard output. A reader that has closed it has what it wanted: that is no error.

    Raises `CommandError` where it cannot be written for another reason.
    """
    if sys.stdout is None:
        raise CommandError("standard output is closed; redirect it to a file")
    try:
        sys.stdout.write(encodable(text, sys.stdout.encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
    except OSError as error:
        raise unwritable(error) from None


def unwritable(error: OSError) -> CommandError:
    """What to raise where standard output cannot be written; nothing more is written to it."""
    discard_stdout()
    return CommandError(f"standard output cannot be written: {error.strerror or error}; send it elsewhere")


def discard_stdout() -> None:
    """What is still to be written to standard output goes nowhere, so that the interpreter can end in peace."""
    _discard(sys.stdout)


def _discard(stream: TextIO) -> None:
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError, AttributeError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
