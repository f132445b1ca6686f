"""The two files of an IR: written together or not at all, over themselves or others."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from maxfold.model import Model, ModelError, read_openvino, write_openvino
from maxfold.model.data import StoredData
from tests.model.openvino.accepted_weights import several
from tests.model.openvino.document import file_differences
from tests.model.openvino.ir_text import ADDED, WEIGHTS, unary
from tests.model.openvino.rewriting import both_files, rewrite

OLD = b"what was there before"
MANY_BYTES = 50_000


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A model whose `.bin` is larger than its `.xml`."""
    folder = tmp_path / "source"
    folder.mkdir()
    return several(("u8", str(MANY_BYTES), 0, MANY_BYTES), weights=bytes(range(250)) * 200).write(folder)


@pytest.fixture
def model(source: Path) -> Model:
    """The model, read."""
    return read_openvino(source)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An empty directory for output."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def differences(original: Path, rewritten: Path) -> list[str]:
    # Dims and precisions of ports are left out in the models here.
    return file_differences(original, rewritten, ports=False)


def fails(model: Model, target: Path, match: str = "") -> None:
    with pytest.raises(ModelError, match=match) as caught:
        write_openvino(model, target)
    assert str(caught.value).isprintable(), repr(caught.value)


@pytest.mark.parametrize("name", ["m.xml", "a.b.c.xml", "größe 1.xml", "-.xml"])
def test_names_of_files(name: str, source: Path, out: Path) -> None:
    rewrite(source, out / name)
    assert sorted(contents(out)) == sorted([name, f"{name.removesuffix('.xml')}.bin"])
    assert differences(source, out / name) == []
    rewrite(out / name, out / "again.xml")


@pytest.mark.parametrize("target", ["missing/m.xml", "file/m.xml", "folder", "n" * 300 + ".xml", "nul\0l.xml"])
def test_a_target_that_cannot_be(model: Model, out: Path, target: str) -> None:
    (out / "folder").mkdir()
    (out / "file").write_bytes(OLD)
    fails(model, out / target, re.escape(target[:3]))
    assert sorted(path.name for path in out.rglob("*")) == ["file", "folder"]
    assert contents(out) == {"file": OLD}


def test_a_target_named_like_weights(model: Model, out: Path) -> None:
    fails(model, out / "m.bin", r"m\.bin")
    assert contents(out) == {}


@pytest.mark.parametrize(("folder", "file"), [("m.xml", "m.bin"), ("m.bin", "m.xml")])
def test_a_directory_in_the_place_of_one_file(model: Model, out: Path, folder: str, file: str) -> None:
    (out / folder).mkdir()
    (out / file).write_bytes(OLD)
    fails(model, out / "m.xml", re.escape(folder))
    assert contents(out) == {file: OLD}
    assert sorted(path.name for path in out.iterdir()) == ["m.bin", "m.xml"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="needs permissions that hold")
def test_a_directory_without_permission(model: Model, out: Path) -> None:
    out.chmod(0o500)
    fails(model, out / "m.xml", r"m\.xml|m\.bin")
    assert contents(out) == {}


_WRITE_WITH_LIMIT = """
import resource, sys
from maxfold.model import ModelError, read_openvino, write_openvino
source, target, limit = sys.argv[1:]
model = read_openvino(source)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
try:
    write_openvino(model, target)
except ModelError as error:
    print(error)
    sys.exit(2)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit of file sizes")
@pytest.mark.parametrize("existing", [(), ("m.xml", "m.bin"), ("m.xml",), ("m.bin",)])
def test_no_room_for_the_files(existing: tuple[str, ...], source: Path, out: Path) -> None:
    for name in existing:
        (out / name).write_bytes(OLD)
    for limit in (0, 500, 30_000):
        command = [sys.executable, "-c", _WRITE_WITH_LIMIT, str(source), str(out / "m.xml"), str(limit)]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert answer.returncode == 2, answer.stderr
        assert len(answer.stdout.splitlines()) == 1
        assert re.search(r"m\.(xml|bin)", answer.stdout)
        assert contents(out) == dict.fromkeys(existing, OLD)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit of file sizes")
def test_no_room_for_the_xml_alone(tmp_path: Path, out: Path) -> None:
    source = ADDED.but('name="n"', f'name="{"n" * 5000}"').write(tmp_path)
    command = [sys.executable, "-c", _WRITE_WITH_LIMIT, str(source), str(out / "m.xml"), "1000"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 2, answer.stderr
    assert contents(out) == {}


def _failing_at(monkeypatch: pytest.MonkeyPatch, failing: int, error: BaseException) -> None:
    """Makes the rename number `failing` fail, however it is called."""
    rename, count = os.replace, 0

    def replace(start: str | Path, end: str | Path) -> Path:
        nonlocal count
        count += 1
        if count == failing:
            raise error
        rename(start, end)
        return Path(end)

    for owner, name in ((os, "replace"), (os, "rename"), (Path, "replace"), (Path, "rename")):
        monkeypatch.setattr(owner, name, replace)


ERRORS: list[Callable[[], BaseException]] = [lambda: OSError(5, "Input/output error"), KeyboardInterrupt]


@pytest.mark.parametrize("existing", [(), ("m.xml", "m.bin"), ("m.bin",), ("m.xml",)])
@pytest.mark.parametrize("failing", [1, 2])
@pytest.mark.parametrize("error", ERRORS)
def test_a_rename_that_fails(
    error: Callable[[], BaseException],
    failing: int,
    existing: tuple[str, ...],
    model: Model,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in existing:
        (out / name).write_bytes(OLD)
    _failing_at(monkeypatch, failing, error())
    with pytest.raises((ModelError, KeyboardInterrupt)):
        write_openvino(model, out / "m.xml")
    assert contents(out) == dict.fromkeys(existing, OLD)


def test_over_itself(source: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.xml"
    rewrite(source, copy)
    rewrite(source, source)
    assert both_files(source) == both_files(copy)
    assert sorted(contents(source.parent)) == ["m.bin", "m.xml"]


def test_over_its_own_weights(source: Path, tmp_path: Path) -> None:
    """Another model whose `.bin` has the name of the one that is read."""
    other = unary("ReLU").holding(None).write(source.parent, "other")
    rewrite(other, source)
    assert differences(other, source) == []
    assert both_files(source)[1] == b""


def test_the_model_stays_usable_after_its_files_are_replaced(model: Model, source: Path, out: Path) -> None:
    write_openvino(model, out / "before.xml")
    write_openvino(model, source)
    write_openvino(model, out / "after.xml")
    assert both_files(out / "before.xml") == both_files(out / "after.xml")


def test_other_files_are_left_alone(model: Model, out: Path) -> None:
    names = ("m.mapping", "m.xml.old", "m.bin.part", "m.onnx", "other.bin")
    for name in names:
        (out / name).write_bytes(OLD)
    write_openvino(model, out / "m.xml")
    found = contents(out)
    assert {name: found.pop(name) for name in names} == dict.fromkeys(names, OLD)
    assert sorted(found) == ["m.bin", "m.xml"]


def test_an_existing_pair_is_replaced_and_keeps_its_permissions(model: Model, source: Path, out: Path) -> None:
    for name in ("m.xml", "m.bin"):
        (out / name).write_bytes(OLD * 10_000)
        (out / name).chmod(0o640)
    write_openvino(model, out / "m.xml")
    assert differences(source, out / "m.xml") == []
    assert {stat.S_IMODE((out / name).stat().st_mode) for name in ("m.xml", "m.bin")} == {0o640}


def test_old_weights_go_where_none_are_needed(tmp_path: Path, out: Path) -> None:
    (out / "m.bin").write_bytes(OLD)
    rewrite(unary("ReLU").write(tmp_path), out / "m.xml")
    assert contents(out)["m.bin"] == b""


def test_what_is_shared_is_written_once(tmp_path: Path) -> None:
    one, two = ("f32", "6", 0, 24), ("i32", "2, 3", 0, 24)
    target = tmp_path / "target.xml"
    rewrite(several(one, two, one, weights=WEIGHTS).write(tmp_path), target)
    assert both_files(target)[1] == WEIGHTS


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_what_is_shared_stands_where_every_type_may(order: tuple[int, ...], tmp_path: Path) -> None:
    odd, weights = ("u8", "3", 48, 3), WEIGHTS + WEIGHTS + b"abc"
    kinds = [("u8", "24", 0, 24), ("f32", "6", 24, 24), ("f64", "3", 0, 24)]
    target = tmp_path / "target.xml"
    rewrite(several(odd, *(kinds[index] for index in order), weights=weights).write(tmp_path), target)
    places = {
        (constant.data.dtype.name, constant.data.region.offset)
        for constant in read_openvino(target).constants()
        if isinstance(constant.data, StoredData) and constant.data.dtype is not None
    }
    assert places == {("UINT8", 0), ("UINT8", 8), ("FLOAT", 8), ("DOUBLE", 8)}
    assert target.with_suffix(".bin").stat().st_size == 8 + len(WEIGHTS)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"), (False, "false"), (np.bool_(True), "true"), (3, "3"), (np.int64(-3), "-3"), (0.5, "0.5"),
        (2.0, "2"), (np.float32(0.25), "0.25"), ([1, 2], "1, 2"), ([], ""), ((True, 0.5), "true, 0.5"),
        ("as is", "as is"),
    ],
)  # fmt: skip
def test_attributes_of_scripts_are_spelled(value: object, text: str, tmp_path: Path) -> None:
    source = read_openvino(unary("ReLU").write(tmp_path))
    next(source.nodes()).attrs["given"] = value
    write_openvino(source, tmp_path / "target.xml")
    assert next(read_openvino(tmp_path / "target.xml").nodes()).attrs == {"given": text}


@pytest.mark.parametrize("value", [None, b"bytes", [[1], [2]], {"a": 1}, object()])
def test_attributes_that_no_ir_holds(value: object, tmp_path: Path, out: Path) -> None:
    source = read_openvino(unary("ReLU").write(tmp_path))
    next(source.nodes()).attrs["given"] = value
    fails(source, out / "m.xml", r"attribute 'given' of layer '\S+' \(ReLU\): IR has no attributes of type")
    assert contents(out) == {}


def test_from_and_through_links(source: Path, out: Path) -> None:
    for name in ("m.xml", "m.bin"):
        (out / f"real_{name}").write_bytes(OLD)
    (out / "link.xml").symlink_to("real_m.xml")
    (out / "link.bin").symlink_to("real_m.bin")
    rewrite(source, out / "link.xml")
    assert differences(source, out / "link.xml") == []
    rewrite(out / "link.xml", out / "copy.xml")
    assert both_files(out / "copy.xml") == both_files(out / "link.xml")


@pytest.mark.parametrize(
    "name", ["m.bin", "missing.xml", "folder", "nul\0l.xml", "n" * 300, "folder/m.xml", "m.xml/m.xml"]
)
def test_a_source_that_is_none(name: str, source: Path) -> None:
    (source.parent / "folder").mkdir()
    with pytest.raises(ModelError, match=re.escape(name[:3])) as caught:
        read_openvino(source.parent / name)
    assert str(caught.value).isprintable()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("name", ["m.xml", "m.bin"])
def test_a_pipe_is_not_waited_for(name: str, source: Path) -> None:
    (source.parent / name).unlink()
    os.mkfifo(source.parent / name)
    with pytest.raises(ModelError, match=re.escape(name)):
        read_openvino(source)


def test_weights_in_a_directory_of_that_name(source: Path) -> None:
    source.with_suffix(".bin").unlink()
    source.with_suffix(".bin").mkdir()
    with pytest.raises(ModelError, match=r"m\.bin"):
        read_openvino(source)


def test_paths_may_be_text(source: Path, out: Path) -> None:
    write_openvino(read_openvino(str(source)), str(out / "m.xml"))
    assert differences(source, out / "m.xml") == []
