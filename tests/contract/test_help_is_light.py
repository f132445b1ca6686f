"""`maxfold --help` starts without the heavy imports: those belong to the commands that read a model."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numpy", "onnx", "onnx_graphsurgeon", "ml_dtypes", "onnxruntime", "openvino")


def imported_by(*arguments: str) -> set[str]:
    """Top-level names of all modules imported by a run of the command line."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "maxfold.cli", *arguments],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    lines = [line for line in run.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip().split(".")[0] for line in lines}


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("optimize", "--help")])
def test_start_up_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    imported = imported_by(*arguments)
    assert "maxfold" in imported
    assert not imported & set(HEAVY)
