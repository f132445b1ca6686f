"""A model that cannot be written: one clear line, nothing left behind, nothing replaced."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from onnx import ModelProto

from maxfold.model import Model, ModelError, read_onnx, write_onnx
from tests.model.external import ExternalData, loaded, scattered_model, store
from tests.model.protobuf import assert_same

KINDS: tuple[ExternalData, ...] = ("auto", "always", "never")
OLD = b"what was there before"


@pytest.fixture(params=["inline", "external"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Model:
    """A model read from a file, its tensors inside that file or beside it."""
    folder = tmp_path / "source"
    folder.mkdir()
    path = folder / "in.onnx"
    if request.param == "external":
        store(scattered_model(), path)
    else:
        path.write_bytes(scattered_model().SerializeToString())
    return read_onnx(path)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An empty directory for output."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def assert_one_line(error: ModelError, name: str) -> None:
    assert str(error).isprintable(), repr(error)
    assert name in str(error)


@pytest.mark.parametrize("external_data", KINDS)
@pytest.mark.parametrize("target", ["missing/out.onnx", "file/out.onnx", "folder", "n" * 300, "nul\0l.onnx"])
def test_a_target_that_cannot_be(model: Model, out: Path, target: str, external_data: ExternalData) -> None:
    (out / "folder").mkdir()
    (out / "file").write_bytes(OLD)
    with pytest.raises(ModelError) as caught:
        write_onnx(model, out / target, external_data=external_data)
    assert_one_line(caught.value, target[:3])
    assert sorted(path.name for path in out.rglob("*")) == ["file", "folder"]
    assert (out / "file").read_bytes() == OLD


@pytest.mark.parametrize("external_data", KINDS)
def test_data_that_cannot_be_written_beside_the_model(model: Model, out: Path, external_data: ExternalData) -> None:
    (out / "m.onnx").write_bytes(OLD)
    (out / "m.onnx.data").mkdir()
    try:
        write_onnx(model, out / "m.onnx", external_data=external_data)
    except ModelError as error:
        assert_one_line(error, "m.onnx.data")
        assert (out / "m.onnx").read_bytes() == OLD
    assert sorted(path.name for path in out.iterdir()) == ["m.onnx", "m.onnx.data"]
    assert (out / "m.onnx.data").is_dir()


_WRITE_WITH_LIMIT = """
import resource, sys
from maxfold.model import ModelError, read_onnx, write_onnx
source, target, external_data, limit = sys.argv[1:]
model = read_onnx(source)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
try:
    write_onnx(model, target, external_data=external_data)
except ModelError as error:
    print(error)
    sys.exit(2)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit of file sizes")
@pytest.mark.parametrize("external_data", ["always", "never"])
@pytest.mark.parametrize("existed", [True, False])
def test_no_room_for_the_file(existed: bool, external_data: str, tmp_path: Path, out: Path) -> None:
    source = tmp_path / "in.onnx"
    source.write_bytes(scattered_model().SerializeToString())
    names = ("m.onnx", "m.onnx.data") if existed else ()
    for name in names:
        (out / name).write_bytes(OLD)
    for limit in (0, 2000, 15_000):
        arguments = [str(source), str(out / "m.onnx"), external_data, str(limit)]
        command = [sys.executable, "-c", _WRITE_WITH_LIMIT, *arguments]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode == 2, result.stderr
        assert len(result.stdout.splitlines()) == 1
        assert "m.onnx" in result.stdout
        assert {path.name: path.read_bytes() for path in out.iterdir()} == dict.fromkeys(names, OLD)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("buffering", [0, 8192])
def test_a_full_device_behind_a_stream(model: Model, buffering: int) -> None:
    stream = Path("/dev/full").open("wb", buffering=buffering)  # noqa: SIM115  # closing it fails, too
    with pytest.raises(ModelError) as caught:
        write_onnx(model, stream, external_data="never")
    assert_one_line(caught.value, "")
    with contextlib.suppress(OSError):
        stream.close()


class _Failing(io.RawIOBase):
    """A stream that takes some bytes and then fails."""

    def __init__(self, nbytes: int) -> None:
        self.left = nbytes

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        nbytes = memoryview(data).nbytes  # type: ignore[arg-type]
        if nbytes > self.left:
            raise OSError(28, "No space left on device")
        self.left -= nbytes
        return nbytes


@pytest.mark.parametrize("nbytes", [0, 100, 20_000])
def test_a_stream_that_fails(model: Model, nbytes: int) -> None:
    with pytest.raises(ModelError, match="No space left on device"):
        write_onnx(model, _Failing(nbytes), external_data="never")


class _Slow(io.RawIOBase):
    """A raw stream that takes at most 100 bytes at once, as a pipe may."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        part = bytes(memoryview(data).cast("B")[:100])  # type: ignore[arg-type]
        self.data += part
        return len(part)


def test_a_stream_that_takes_a_part_at_a_time(model: Model) -> None:
    stream = _Slow()
    count = write_onnx(model, stream, external_data="never")
    assert count == len(stream.data)
    assert_same(scattered_model(), ModelProto.FromString(bytes(stream.data)))


def test_a_stream_stays_open_and_is_written_from_where_it_is(model: Model, out: Path) -> None:
    with (out / "m.onnx").open("wb") as file:
        file.write(b"before")
        count = write_onnx(model, file, external_data="never")
        assert file.tell() == count + 6
        file.write(b"after")
    data = (out / "m.onnx").read_bytes()
    assert data[:6] == b"before"
    assert data[-5:] == b"after"
    assert_same(scattered_model(), ModelProto.FromString(data[6:-5]))


def test_a_stream_that_appends(model: Model, out: Path) -> None:
    (out / "m.onnx").write_bytes(b"before")
    with (out / "m.onnx").open("ab") as file:
        write_onnx(model, file, external_data="never")
    data = (out / "m.onnx").read_bytes()
    assert data[:6] == b"before"
    assert_same(scattered_model(), ModelProto.FromString(data[6:]))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_is_not_replaced_by_a_file(model: Model, out: Path) -> None:
    pipe = out / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        # A pipe holds 64 KiB, which the model does not fill.
        write_onnx(model, pipe, external_data="never")
        received = b"".join(iter(lambda: os.read(reader, 1 << 16), b""))
        assert_same(scattered_model(), ModelProto.FromString(received))
    except ModelError as error:
        assert_one_line(error, "pipe")
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [path.name for path in out.iterdir()] == ["pipe"]


@pytest.mark.parametrize("external_data", KINDS)
def test_an_interrupt_leaves_nothing_behind(
    model: Model, out: Path, external_data: ExternalData, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (out / "m.onnx").write_bytes(OLD)
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_onnx(model, out / "m.onnx", external_data=external_data)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == {"m.onnx": OLD}


def test_a_link_to_the_target_stays_a_link(model: Model, out: Path) -> None:
    (out / "real.onnx").write_bytes(OLD)
    (out / "link.onnx").symlink_to("real.onnx")
    write_onnx(model, out / "link.onnx", external_data="never")
    assert (out / "link.onnx").is_symlink()
    assert_same(scattered_model(), loaded(out / "real.onnx"))


def test_an_existing_target_keeps_its_permissions(model: Model, out: Path) -> None:
    target = out / "m.onnx"
    target.write_bytes(OLD)
    target.chmod(0o640)
    write_onnx(model, target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert_same(scattered_model(), loaded(target))


def test_an_unknown_way_to_store_data(model: Model, out: Path) -> None:
    with pytest.raises((ModelError, ValueError), match="sometimes"):
        write_onnx(model, out / "m.onnx", external_data="sometimes")
    assert list(out.iterdir()) == []
