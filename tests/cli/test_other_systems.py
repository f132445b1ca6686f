"""The commands where the operating system has only what all have: no locks, links, reads at an offset or files without
a name, and no file that is open or mapped can be replaced, renamed or removed, as on Windows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from maxfold.model import system
from maxfold.model.storage import CHUNK_BYTES

pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="asks Linux which files are open")

# The test's own part of the process: it takes away what is missing elsewhere before maxfold is imported.
WITHOUT = """
import os, pathlib, signal, sys
for module, names in {
    os: "pread preadv fchmod posix_fallocate link O_TMPFILE O_CLOEXEC O_NOFOLLOW O_NONBLOCK sched_getaffinity getuid",
    signal: "pthread_sigmask SIGHUP SIGKILL SIGUSR1",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
sys.modules.update(dict.fromkeys(("fcntl", "resource", "pwd", "grp", "termios"), None))

def in_use(path):
    real = os.path.realpath(path)
    with open("/proc/self/maps") as maps:
        if any(line.rstrip().endswith(" " + real) for line in maps):
            return True
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.path.realpath("/proc/self/fd/" + name) == real:
                return True
        except OSError:
            pass
    return False

def refusing(method):
    def refuse(self, *arguments, **settings):
        for path in (self, *arguments):
            if os.path.isfile(path) and in_use(path):
                raise PermissionError(13, "Permission denied", str(path))
        return method(self, *arguments, **settings)
    return refuse

for name in ("replace", "rename", "unlink"):
    setattr(pathlib.Path, name, refusing(getattr(pathlib.Path, name)))
"""
COMMANDS = "from maxfold.cli import app\nsys.argv[0] = 'maxfold'\napp()\n"


def run(code: str, *arguments: object, cwd: Path) -> str:
    command = [sys.executable, "-c", WITHOUT + code, *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not [path.name for path in cwd.rglob(".*")], "a temporary file was left behind"
    return done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with `model.onnx`, whose weight is large enough to be mapped, and `apart.onnx`, which has it beside."""
    size = CHUNK_BYTES // 4 + 1
    weight = np.arange(size, dtype=np.float32) / size
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["m"]),
        helper.make_node("Identity", ["m"], ["i"]),
        helper.make_node("Relu", ["i"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [size]) for name in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(weight, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    onnx.save(model, tmp_path / "apart.onnx", save_as_external_data=True, location="apart.data")
    return tmp_path


def kinds(path: Path) -> list[str]:
    return [node.op_type for node in onnx.load(path).graph.node]


def weight_of(path: Path) -> bytes:
    return numpy_helper.to_array(onnx.load(path).graph.initializer[0]).tobytes()


def test_optimize(folder: Path) -> None:
    before = weight_of(folder / "model.onnx")
    run(COMMANDS, "optimize", "model.onnx", "-o", "out.onnx", "--verify", cwd=folder)
    assert kinds(folder / "out.onnx") == ["Mul", "Relu"]
    assert weight_of(folder / "out.onnx") == before


@pytest.mark.parametrize("name", ["model.onnx", "apart.onnx"])
def test_in_place(folder: Path, name: str) -> None:
    before = weight_of(folder / name)
    run(COMMANDS, "optimize", name, "--in-place", "--verify", cwd=folder)
    assert kinds(folder / name) == ["Mul", "Relu"]
    assert weight_of(folder / name) == before


def test_external_data(folder: Path) -> None:
    before = weight_of(folder / "apart.onnx")
    run(COMMANDS, "optimize", "apart.onnx", "-o", "out.onnx", "--external-data", "always", cwd=folder)
    assert (folder / "out.onnx.data").stat().st_size >= len(before)
    assert weight_of(folder / "out.onnx") == before


def test_convert_and_back(folder: Path) -> None:
    run(COMMANDS, "convert", "model.onnx", "-o", "out.xml", cwd=folder)
    run(COMMANDS, "optimize", "out.xml", "--in-place", cwd=folder)
    run(COMMANDS, "convert", "out.xml", "-o", "back.onnx", cwd=folder)
    assert kinds(folder / "back.onnx") == ["Mul", "Relu"]


def test_the_commands_that_only_read(folder: Path) -> None:
    run(COMMANDS, "optimize", "model.onnx", "-o", "out.onnx", cwd=folder)
    assert "Mul" in run(COMMANDS, "inspect", "model.onnx", cwd=folder)
    assert run(COMMANDS, "verify", "model.onnx", "out.onnx", cwd=folder)
    assert run(COMMANDS, "diff", "out.onnx", "out.onnx", cwd=folder)


def test_several_at_once(folder: Path) -> None:
    (folder / "second.onnx").write_bytes((folder / "model.onnx").read_bytes())
    run(COMMANDS, "optimize", "model.onnx", "second.onnx", "--out-dir", "made", "--jobs", 2, cwd=folder)
    assert kinds(folder / "made/second.onnx") == ["Mul", "Relu"]


def test_a_model_that_was_replaced_by_its_own_file_keeps_its_weights(folder: Path) -> None:
    code = """
from maxfold.optimizer import load, optimize, save
model = load("model.onnx")
optimize(model)
save(model, "model.onnx")
save(model, "again.onnx")
"""
    before = weight_of(folder / "model.onnx")
    run(code, cwd=folder)
    assert (folder / "again.onnx").read_bytes() == (folder / "model.onnx").read_bytes()
    assert weight_of(folder / "again.onnx") == before


def test_a_file_whose_values_are_still_looked_at_is_refused_in_one_line(folder: Path) -> None:
    code = """
from maxfold.model.storage import FileSource
from maxfold.optimizer import ModelError, load, save
file = FileSource(pathlib.Path("model.onnx"))
looked_at = file.view(0, 8)
try:
    save(load("again.onnx"), "model.onnx")
except ModelError as error:
    print(error)
"""
    (folder / "again.onnx").write_bytes(before := (folder / "model.onnx").read_bytes())
    said = run(code, cwd=folder)
    path, reason = folder / "model.onnx", "its contents are still in use; write to another path"
    assert said == f"{path}: cannot be written: {reason}; nothing was changed\n"
    assert (folder / "model.onnx").read_bytes() == before


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("C:\\" + "a" * 250, "\\\\?\\C:\\" + "a" * 250),
        ("C:/" + "a/" * 125 + "m.onnx", "\\\\?\\C:\\" + "a\\" * 125 + "m.onnx"),
        ("\\\\host\\share\\" + "a" * 250, "\\\\?\\UNC\\host\\share\\" + "a" * 250),
        ("\\\\?\\C:\\" + "a" * 250, "\\\\?\\C:\\" + "a" * 250),
        ("C:\\short.onnx", "C:\\short.onnx"),
    ],
)
def test_long_paths_of_windows(path: str, expected: str) -> None:
    assert system.without_limit(path, is_windows=True) == expected
    assert system.without_limit(path, is_windows=False) == path
