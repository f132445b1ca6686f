"""How the benchmark runs a tool."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.measure import run_process, run_python


def test_tools_may_keep_what_they_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("KEPT_FOR_TOOLS", "yes")
    code = "import os, sys; sys.exit(sys.dont_write_bytecode or os.environ['KEPT_FOR_TOOLS'] != 'yes')"
    _, _, error = run_process([sys.executable, "-c", code], tmp_path, 60.0)
    assert error is None


def test_run_tells_time_memory_and_modules(tmp_path: Path) -> None:
    run = run_python(sys.executable, "import csv", tmp_path, tmp_path, "", tmp_path, 60.0)
    assert run.error is None
    assert "csv" in run.modules
    assert run.peak_bytes is not None
    assert run.seconds > 0
    assert run.cpu_seconds > 0


def test_error_is_what_the_tool_said_last(tmp_path: Path) -> None:
    run = run_python(sys.executable, "raise SystemExit('no such model')", tmp_path, tmp_path, "", tmp_path, 60.0)
    assert run.error == "exit status 1: no such model"
