"""Runs a tool as a whole process: wall seconds, CPU seconds, peak memory."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# VmHWM belongs to the running program alone; ru_maxrss would also carry what the parent used before the exec.
_RUNNER = """
import sys
SOURCE, TARGET, DATA, NOTES = sys.argv[1:5]
try:
{body}
finally:
    import json
    status = dict(line.split(':', 1) for line in open('/proc/self/status'))
    peak_bytes = int(status['VmHWM'].split()[0]) * 1024
    modules = [name for name in sys.modules if name != '__main__']
    with open(NOTES, 'w') as notes:
        json.dump({{'peak_bytes': peak_bytes, 'modules': modules}}, notes)
"""

# Submodules made by extension modules cannot be imported by name; they came with their parent.
_IMPORT_ALL = """
import importlib, json
for name in json.load(open(SOURCE)):
    try:
        importlib.import_module(name)
    except Exception:
        pass
"""

_ERROR_CHARACTERS = 4000
_TURN_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Run:
    """One finished process. `peak_bytes` is VmHWM at its end; `error` is None when it ended with status 0."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int | None
    modules: tuple[str, ...]
    error: str | None


def tool_environment() -> dict[str, str]:
    """The variables that tools see. They may keep what they compile: who installs a package has it compiled."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run_process(command: list[str], folder: Path, timeout_seconds: float) -> tuple[float, float, str | None]:
    """Wall seconds, user + system CPU seconds (children included), and an error text or None."""
    log = folder / "log.txt"
    timed_out = threading.Event()
    with log.open("wb") as stream:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=tool_environment(),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )

        def stop() -> None:
            timed_out.set()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(timeout_seconds, stop)
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            timer.cancel()
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code
    cpu_seconds = usage.ru_utime + usage.ru_stime
    if timed_out.is_set():
        return seconds, cpu_seconds, f"timed out after {timeout_seconds:g} s"
    if code == 0:
        return seconds, cpu_seconds, None
    cause = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    tail = log.read_text(encoding="utf-8", errors="replace")[-_ERROR_CHARACTERS:].strip()
    return seconds, cpu_seconds, f"{cause}: {tail}" if tail else cause


def run_python(
    python: str, body: str, source: Path, target: Path, data: str, folder: Path, timeout_seconds: float
) -> Run:
    """Runs the statements `body` with SOURCE, TARGET and DATA set, in a fresh interpreter in `folder`."""
    notes = folder / "notes.json"
    notes.unlink(missing_ok=True)
    program = _RUNNER.format(body=textwrap.indent(body, "    "))
    command = [python, "-c", program, str(source), str(target), data, str(notes)]
    seconds, cpu_seconds, error = run_process(command, folder, timeout_seconds)
    if not notes.exists():
        return Run(seconds, cpu_seconds, None, (), error)
    read = json.loads(notes.read_text(encoding="utf-8"))
    return Run(seconds, cpu_seconds, read["peak_bytes"], tuple(read["modules"]), error)


class Baselines:
    """Peak memory of processes that only import: what a tool had loaded by its end, and nothing else."""

    def __init__(self, folder: Path) -> None:
        """`folder` takes the scratch files."""
        self._folder = folder
        self._known: dict[tuple[str, frozenset[str]], int | None] = {}

    def peak_bytes(self, python: str, modules: tuple[str, ...]) -> int | None:
        """VmHWM after importing `modules` in order; measured once for each set of modules."""
        key = (python, frozenset(modules))
        if key not in self._known:
            names = self._folder / "modules.json"
            names.write_text(json.dumps(modules), encoding="utf-8")
            peaks = [
                run_python(python, _IMPORT_ALL, names, names, "", self._folder, 120.0).peak_bytes for _ in range(3)
            ]
            measured = sorted(peak for peak in peaks if peak is not None)
            self._known[key] = measured[len(measured) // 2] if measured else None
        return self._known[key]


def warm(*paths: Path) -> None:
    """Reads files once, so that the first tool does not pay for the disk."""
    for path in paths:
        with path.open("rb") as stream:
            while stream.read(1 << 24):
                pass


def turn_seconds(run: Callable[[], object]) -> float:
    """Seconds of one `run`: the mean over a turn, which lasts 0.05 s and one run at least."""
    count, started = 0, time.perf_counter()
    while not count or time.perf_counter() - started < _TURN_SECONDS:
        run()
        count += 1
    return (time.perf_counter() - started) / count
