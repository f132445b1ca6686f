"""Several inputs side by side, and being stopped meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from maxfold.cli import pool
from maxfold.cli.endpoints import Task
from maxfold.cli.options import OptimizeOptions
from maxfold.cli.progress import Progress
from maxfold.cli.work import Failure, Outcome, Result
from tests.cli.models import SETTLED, chain, operators, write
from tests.cli.shell import maxfold


def test_jobs(folder: Path) -> None:
    write(folder / "a.onnx")
    (folder / "bad.onnx").write_bytes(b"no model")
    write(folder / "b.onnx", SETTLED)
    write(folder / "c.onnx")
    names = ["a.onnx", "bad.onnx", "b.onnx", "c.onnx"]
    run = maxfold("optimize", *names, "--out-dir", "out", "--jobs", "2")
    assert run.status == 2
    lines = run.stderr.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["a.onnx", "b.onnx", "c.onnx"]
    assert lines[-1].startswith("maxfold: error: bad.onnx: is not an ONNX model")
    assert operators(folder / "out" / "a.onnx") == ["Max"]
    maxfold("optimize", *names, "--out-dir", "one_by_one")
    for name in ("a.onnx", "b.onnx", "c.onnx"):
        assert (folder / "out" / name).read_bytes() == (folder / "one_by_one" / name).read_bytes()


def test_a_worker_that_dies_takes_only_its_own_input_with_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_attempt", dying_attempt)
    tasks = [Task(name, None) for name in ("a.onnx", "deadly.onnx", "b.onnx")]
    for task in tasks:
        write(Path(task.source))
    results = pool.run_in_workers(tasks, OptimizeOptions(dry_run=True), 2, Progress())
    assert [type(result) for result in results] == [Outcome, Failure, Outcome]
    assert isinstance(results[1], Failure)
    assert results[1].message.startswith("deadly.onnx: its worker process died")


def dying_attempt(task: Task, options: OptimizeOptions) -> Result:
    """In a worker: what the operating system does to a process that takes too much memory."""
    from maxfold.cli.work import attempt

    if task.source == "deadly.onnx":
        os.kill(os.getpid(), signal.SIGKILL)
    return attempt(task, options, Progress())


# What runs in the background of a shell without job control is started with interrupts ignored.
STARTER = """
import pathlib, signal, time
from maxfold.cli import app, work

signal.signal(signal.SIGINT, signal.default_int_handler)

def wait(self):
    pathlib.Path("working").touch()
    with open("out.onnx.part", "wb"):
        try:
            time.sleep(60)
        finally:
            pathlib.Path("out.onnx.part").unlink()

if __name__ == "__main__":
    {before}
    pathlib.Path("started").touch()
    app()
"""


def start(folder: Path, arguments: list[str], before: str = "") -> subprocess.Popen[bytes]:
    """Starts `maxfold` in a process group of its own; `before` is Python that runs first."""
    script = folder / "start.py"
    script.write_text(STARTER.format(before=before))
    command = [sys.executable, str(script), *arguments]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, start_new_session=True)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_being_stopped(folder: Path, number: int, status: int) -> None:
    run = start(folder, ["optimize", "m.onnx", "-o", "out.onnx"], "work.Work._run = wait")
    wait_for(folder / "working")
    run.send_signal(number)
    _, stderr = run.communicate(timeout=60)
    assert (run.returncode, stderr) == (status, b"")
    assert not (folder / "out.onnx.part").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("seconds", [0.0, 0.3, 1.5])
def test_workers_being_stopped(folder: Path, seconds: float) -> None:
    names = [f"m{index}.onnx" for index in range(3)]
    for name in names:
        chain(folder / name, 30_000)
    run = start(folder, ["optimize", *names, "--out-dir", "out", "--jobs", "2"])
    wait_for(folder / "started")
    time.sleep(seconds)
    # As a terminal does it: the workers get it too.
    os.killpg(run.pid, signal.SIGINT)
    _, stderr = run.communicate(timeout=60)
    assert (run.returncode, stderr) == (130, b"")
    assert not list(folder.rglob("*.part"))
