"""`maxfold --help` starts without the heavy imports: those belong to the commands that read a model.

And those import what they need of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from onnx import parser, save

HEAVY = ("numpy", "onnx", "onnx_graphsurgeon", "ml_dtypes", "onnxruntime", "openvino")


# onnx, numpy and typer bring what they bring: tarfile, email, socket, ctypes, platform and others.
NEEDED_BY_FEW = (
    "decimal",
    "fractions",
    "hmac",
    "lxml",
    "maxfold.model.inference.microsoft.table",
    "maxfold.model.interface",
    "maxfold.model.openvino",
    "maxfold.optimizer.advice",
    "maxfold.optimizer.difference",
    "maxfold.optimizer.growing",
    "maxfold.optimizer.hints",
    "maxfold.optimizer.inspection",
    "maxfold.optimizer.tailoring",
    "maxfold.optimizer.verification",
    "maxfold.passes.conversion",
    "maxfold.passes.kernels.reference",
    "maxfold.passes.kernels.shape",
    "maxfold.passes.upgrades",
    "rich",
    "secrets",
)


def imported_by(*arguments: str, module: str = "maxfold.cli") -> set[str]:
    """All modules imported by a run of the command line."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", module, *arguments],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    lines = [line for line in run.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip() for line in lines}


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("optimize", "--help")])
def test_start_up_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    imported = imported_by(*arguments)
    assert "maxfold" in imported
    assert not {name.split(".")[0] for name in imported} & set(HEAVY)


def test_start_up_of_the_package_imports_what_that_of_the_command_line_does() -> None:
    # What runs a module is imported before either.
    assert imported_by("--help", module="maxfold") <= imported_by("--help") | {"maxfold.__main__"}


def test_import_of_the_package_imports_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import maxfold; print(set(sys.modules) - before)\n"
        "maxfold.__version__, dir(maxfold); print({'onnx', 'numpy'} & set(sys.modules))\n"
        "maxfold.ModelError; print({'onnx', 'numpy'} - set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["{'maxfold'}", "set()", "set()"]


def test_optimize_imports_what_it_needs(tmp_path: Path) -> None:
    text = '<ir_version: 10, opset_import: ["": 20]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
    save(parser.parse_model(text), tmp_path / "a.onnx")
    imported = imported_by("optimize", str(tmp_path / "a.onnx"), "-o", str(tmp_path / "b.onnx"), "-q")
    assert "onnx" in imported
    assert not imported & set(NEEDED_BY_FEW)


def test_collector_works_once_all_is_imported() -> None:
    code = "import gc, maxfold.cli; raise SystemExit(not gc.isenabled())"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_linear_algebra_starts_no_threads() -> None:
    """They would take longer to start than all that a model is rewritten with."""
    code = (
        "import os, sys; from maxfold.cli import app; sys.argv = ['maxfold', '--version']\n"
        "try: app()\n"
        "finally: print(os.environ['OPENBLAS_NUM_THREADS'])"
    )
    for given in ("", "3"):
        environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
        environment |= {"OPENBLAS_NUM_THREADS": given} if given else {}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert run.stdout.split()[-1] == (given or "1")
