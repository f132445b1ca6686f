"""What type checkers make of the Python API, as a user of the installed package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.repository import FLOORS, PACKAGE, ROOT

RIGHT = """
import io
from pathlib import Path

import onnx
import onnx_graphsurgeon as gs

import maxfold

model = maxfold.load("x.onnx")
count: int = maxfold.optimize(model, passes="fuse-max", skip=["fold-constants"]).changes["fuse-max"]
maxfold.optimize(onnx.ModelProto(), math="relaxed", dims={"batch": 1})
maxfold.optimize(gs.Graph())
for source in (Path("x.onnx"), b"", bytearray(), io.BytesIO(), model, onnx.ModelProto()):
    maxfold.load(source)
with open("x.onnx", "rb") as file:
    maxfold.load(file)
written: int = maxfold.save(maxfold.convert("x.onnx", to="openvino"), Path("x.xml"))
equal: bool = maxfold.verify("x.onnx", onnx.ModelProto()).is_equal
nodes: int = maxfold.inspect("x.onnx").nodes
version: str = maxfold.__version__
proto: onnx.ModelProto = model.to_proto()
"""

WRONG = {
    'maxfold.optimize("x.onnx")': 'Argument 1 to "optimize" has incompatible type "str"',
    'maxfold.optimize(b"x")': 'Argument 1 to "optimize" has incompatible type "bytes"',
    'maxfold.optimize(Path("x.onnx"))': 'Argument 1 to "optimize" has incompatible type "Path"',
    'maxfold.optimize(maxfold.load("x.onnx"), math="fast")': 'Argument "math" to "optimize" has incompatible type',
    'maxfold.optimize(maxfold.load("x.onnx"), target="gpu")': 'Argument "target" to "optimize" has incompatible type',
    "maxfold.load(3)": 'Argument 1 to "load" has incompatible type "int"',
    'maxfold.load(open("x"))': 'Argument 1 to "load" has incompatible type "TextIOWrapper',
    'maxfold.convert("x.onnx", to="tensorrt")': 'Argument "to" to "convert" has incompatible type',
    'maxfold.save("x.onnx")': 'Missing positional argument "target"',
    'maxfold.optimize(maxfold.load("x")).nodes': '"Report" has no attribute "nodes"',
    "maxfold.optimise": 'Module has no attribute "optimise"',
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as a wheel installs it, since mypy does not follow an editable installation."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(ROOT / PACKAGE, folder / "maxfold", ignore=shutil.ignore_patterns("__pycache__"))
    for floor in FLOORS:
        shutil.copytree(ROOT / floor, folder / "maxfold" / floor, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_right_calls_are_accepted_and_wrong_ones_refused(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(RIGHT, encoding="utf-8")
    wrong = ["from pathlib import Path", "import maxfold", *WRONG]
    (tmp_path / "wrong.py").write_text("\n".join(wrong) + "\n", encoding="utf-8")
    run = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", os.devnull),
            *("--explicit-package-bases", "right.py", "wrong.py"),
        ],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    errors = re.findall(r"^(\w+\.py):(\d+): error: (.*)$", run.stdout, re.MULTILINE)
    assert [error for error in errors if error[0] == "right.py"] == [], run.stdout + run.stderr
    found = {int(line): text for _, line, text in errors}
    for line, (call, text) in enumerate(WRONG.items(), 3):
        assert text in found.get(line, "nothing"), call
