"""A process that is killed while it writes leaves nothing, or what the next write to that target removes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from maxfold.model import staging, system
from maxfold.model.output import write_files
from maxfold.model.staging import Staged, sweep
from maxfold.optimizer import convert, load, save

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL and locks")

_PART = ".m.onnx.0a1b2c3d.part"
_BACKUP = ".m.onnx.0a1b2c3d.old"

# Stops when everything is written and nothing in its place, says so, and waits to be killed.
_WRITER = """
import sys, time
from maxfold.model import output, staging
from maxfold.optimizer import convert, load, save
source, target, external_data, way = sys.argv[1:]
if way == "named":
    staging._open_unnamed = lambda name: None
def stop(staged):
    assert all(made.file.closed for made in staged)
    print("written", flush=True)
    time.sleep(60)
output._publish = stop
model = load(source)
save(convert(model, to="openvino") if target.endswith(".xml") else model, target, external_data=external_data)
"""

TARGETS = (("m.onnx", "never"), ("m.onnx", "always"), ("m.xml", "auto"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A model with a weight of 4 MiB."""
    weight = numpy_helper.from_array(np.arange(1 << 20, dtype=np.float32).reshape(1024, 1024), "w")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 1024]) for name in "xy")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [weight])
    path = tmp_path / "in.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
    )
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An empty directory for output."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def killed_write(source: Path, target: Path, external_data: str, way: str) -> None:
    command = [sys.executable, "-c", _WRITER, str(source), str(target), external_data, way]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"written\n"
        finally:
            process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL


def write(source: Path, target: Path, external_data: str) -> None:
    model = load(str(source))
    save(convert(model, to="openvino") if target.suffix == ".xml" else model, target, external_data=external_data)  # type: ignore[arg-type]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs files without names")
@pytest.mark.parametrize(("name", "external_data"), TARGETS)
@pytest.mark.parametrize("existed", [True, False])
def test_nothing_is_left(source: Path, out: Path, name: str, external_data: str, existed: bool) -> None:
    if staging._open_unnamed(out / _PART) is None:
        pytest.skip("needs a file system that has files without names")
    if existed:
        (out / name).write_bytes(b"what was there before")
    killed_write(source, out / name, external_data, "unnamed")
    assert names(out) == ([name] if existed else [])
    if existed:
        assert (out / name).read_bytes() == b"what was there before"


@pytest.mark.parametrize(("name", "external_data"), TARGETS)
def test_the_next_write_removes_what_is_left(source: Path, out: Path, name: str, external_data: str) -> None:
    killed_write(source, out / name, external_data, "named")
    assert any(path.stat().st_size >= 1 << 22 for path in out.iterdir())
    write(source, out / name, external_data)
    left = names(out)
    assert not [item for item in left if item.startswith(".")]
    assert len(left) == (1 if external_data == "never" else 2)


@pytest.mark.parametrize("is_named", [True, False])
def test_what_another_process_writes_stays(out: Path, is_named: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_named:
        monkeypatch.setattr(staging, "_open_unnamed", lambda name: None)
    other = Staged(out / "m.onnx")
    with other.file as file:
        file.write(b"theirs")
    sweep(out / "m.onnx")
    write_files([(out / "m.onnx", lambda file: file.write(b"ours") and None)])
    other.publish()
    other.close()
    assert names(out) == ["m.onnx"]
    assert (out / "m.onnx").read_bytes() == b"theirs"


def test_a_file_that_is_swept_before_it_is_locked_is_made_again(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = system.lock

    def swept_once(descriptor: int) -> None:
        monkeypatch.setattr(system, "lock", lock)
        sweep(out / "m.onnx")
        lock(descriptor)

    monkeypatch.setattr(staging, "_open_unnamed", lambda name: None)
    monkeypatch.setattr(system, "lock", swept_once)
    made = Staged(out / "m.onnx")
    assert names(out) == [made.name.name]
    made.close()
    assert names(out) == []


def test_only_leftovers_are_swept(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [
        ".m.onnx.part", ".m.onnx.0a1b2c3d.txt", ".m.onnx.0A1B2C3D.part", "m.onnx.0a1b2c3d.part",
        ".mxonnx.0a1b2c3d.part", ".m.onnx.data.0a1b2c3d.part", ".m.onnx.0a1b2c3d4.part",
    ]  # fmt: skip
    for name in [*others, _PART, _BACKUP]:
        (out / name).write_bytes(b"data")
    sweep(out / "m.onnx")
    # What a target was before is put back by the process that made it, and is all there is where the target is missing.
    assert names(out) == sorted([*others, _BACKUP])
    monkeypatch.setattr(staging, "_BACKUP_SECONDS", -1.0)
    sweep(out / "m.onnx")
    assert names(out) == sorted([*others, _BACKUP])
    (out / "m.onnx").write_bytes(b"new")
    sweep(out / "m.onnx")
    assert names(out) == sorted([*others, "m.onnx"])


def test_a_leftover_that_is_a_link_or_a_pipe_stays(out: Path) -> None:
    (out / _PART).symlink_to("elsewhere")
    os.mkfifo(out / ".m.onnx.0000ffff.part")
    (out / ".m.onnx.1111ffff.part").mkdir()
    write_files([(out / "m.onnx", lambda file: file.write(b"ours") and None)])
    assert "m.onnx" in names(out)
    assert (out / _PART).is_symlink()
    assert (out / ".m.onnx.1111ffff.part").is_dir()


@pytest.mark.parametrize("name", ["ä" * 120, "n" * 250])
def test_long_names(source: Path, out: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "_open_unnamed", lambda name: None)
    write(source, out / name, "never")
    assert names(out) == [name]


def test_the_mode_is_that_of_a_new_file(source: Path, out: Path) -> None:
    mask = os.umask(0o027)
    try:
        write(source, out / "m.onnx", "never")
    finally:
        os.umask(mask)
    assert (out / "m.onnx").stat().st_mode & 0o777 == 0o640
