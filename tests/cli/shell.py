"""Running the command line in the test's own process."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from maxfold.cli import app

# Some releases of what is below Typer mix standard error into standard output unless told not to.
_SEPARATE: dict[str, Any] = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}
RUNNER = CliRunner(**_SEPARATE)

COMMAND = [sys.executable, "-m", "maxfold.cli"]


@dataclass(frozen=True)
class Run:
    """What a run of the command line left: exit status and what it wrote."""

    status: int
    stdout: str
    stderr: str
    stdout_bytes: bytes


def maxfold(*arguments: object, stdin: bytes | None = None, **environment: str) -> Run:
    """Runs `maxfold` with these arguments."""
    result = RUNNER.invoke(app, [str(item) for item in arguments], input=stdin, env=environment)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return Run(result.exit_code, result.stdout_bytes.decode("utf-8", "replace"), result.stderr, result.stdout_bytes)


def fails(*arguments: object, **settings: Any) -> str:
    """Runs `maxfold` with what must be an error; returns what the line says behind `maxfold: error: `."""
    run = maxfold(*arguments, **settings)
    return error_of(run)


def error_of(run: Run) -> str:
    """The error of a run that has exit status 2, wrote nothing to standard output and one line to standard error."""
    assert run.status == 2, run
    assert run.stdout == ""
    assert run.stderr.startswith("maxfold: error: ")
    assert run.stderr.endswith("\n")
    assert run.stderr.count("\n") == 1
    assert "Traceback" not in run.stderr
    assert run.stderr[:-1].isprintable()
    return run.stderr.removeprefix("maxfold: error: ").rstrip("\n")


def process(*arguments: object, cwd: Path, **settings: Any) -> subprocess.CompletedProcess[bytes]:
    """Runs `maxfold` in a process of its own, for what only that shows."""
    environment = {**os.environ, "PYTHONWARNINGS": "error", **settings.pop("env", {})}
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], cwd=cwd, env=environment, capture_output=True, check=False, **settings
    )
