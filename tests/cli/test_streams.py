"""Standard input and output."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import onnx
import pytest

from tests.cli.models import SETTLED, SHRINKING, content, operators, write, write_external
from tests.cli.shell import COMMAND, error_of, fails, maxfold, process


def test_from_standard_input_to_standard_output(folder: Path) -> None:
    run = maxfold("optimize", "-", "-o", "-", stdin=content())
    assert run.status == 0
    assert [node.op_type for node in onnx.load_model_from_string(run.stdout_bytes).graph.node] == ["Max"]
    assert "wrote standard output in " in run.stderr
    assert list(folder.iterdir()) == []


def test_streams_give_the_bytes_that_files_give(folder: Path) -> None:
    write(folder / "m.onnx")
    maxfold("optimize", "m.onnx", "-o", "out.onnx")
    expected = (folder / "out.onnx").read_bytes()
    assert maxfold("optimize", "-", "-o", "-", stdin=content()).stdout_bytes == expected
    assert maxfold("optimize", "m.onnx", "-o", "-", "--from", "onnx", "--to", "onnx").stdout_bytes == expected


def test_check_of_standard_input(folder: Path) -> None:
    assert maxfold("optimize", "-", "--check", "-q", stdin=content()).status == 1
    assert maxfold("optimize", "-", "--check", "-q", stdin=content(SETTLED)).status == 0


@pytest.mark.parametrize("option", ["--from", "--to"])
def test_other_formats(folder: Path, option: str) -> None:
    message = fails("optimize", "-", "-o", "-", option, "tflite", stdin=content())
    assert message == f"{option} must be onnx, not 'tflite'; try 'maxfold optimize --help'"


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "standard input: is empty"), (b"no model", "standard input: is not an ONNX model, or is cut short")],
)
def test_standard_input_that_is_no_model(folder: Path, data: bytes, message: str) -> None:
    assert fails("optimize", "-", "-o", "out.onnx", stdin=data).startswith(message)
    assert fails("inspect", "-", stdin=data).startswith(message)
    assert list(folder.iterdir()) == []


def test_weights_beside_standard_input(folder: Path) -> None:
    data = write_external(folder / "m.onnx").read_bytes()
    message = fails("optimize", "-", "-o", "out.onnx", stdin=data)
    assert message.startswith(
        "standard input: tensor 'weight' has its data in 'm.onnx.data', but there is no such file"
    )


def test_a_redirected_file_is_read_where_it_lies(folder: Path) -> None:
    write_external(folder / "m.onnx")
    with (folder / "m.onnx").open("rb") as stdin:
        done = process("optimize", "-", "-o", "out.onnx", cwd=folder, stdin=stdin)
    assert done.returncode == 0, done.stderr
    assert operators(folder / "out.onnx") == ["Max"]
    with (folder / "m.onnx").open("rb") as stdin:
        done = process("optimize", "-", "-o", "m.onnx", cwd=folder, stdin=stdin)
    assert done.returncode == 2
    assert done.stderr.startswith(b"maxfold: error: m.onnx: is the input itself; write elsewhere")


def test_a_redirected_file_that_is_half_read(folder: Path) -> None:
    (folder / "two").write_bytes(b"12345678" + content())
    with (folder / "two").open("rb", buffering=0) as stdin:
        stdin.seek(8)
        done = process("optimize", "-", "-o", "-", cwd=folder, stdin=stdin)
    assert done.returncode == 0, done.stderr
    assert [node.op_type for node in onnx.load_model_from_string(done.stdout).graph.node] == ["Max"]


def test_closed_streams(folder: Path) -> None:
    write(folder / "m.onnx")
    shell = f"cd {folder} && exec {' '.join(COMMAND)}"
    for redirection, arguments, status, message in [
        ("<&-", "optimize - -o out.onnx", 2, "maxfold: error: standard input is closed; "),
        (">&-", "optimize m.onnx -o -", 2, "maxfold: error: -o - writes to standard output, which is closed; "),
        (">&-", "passes", 2, "maxfold: error: standard output is closed; "),
        ("2>&-", "optimize m.onnx -o out.onnx", 0, ""),
    ]:
        command = f"{shell} {arguments} {redirection}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (status, ""), done.stderr
        assert done.stderr.startswith(message)


def test_a_reader_that_has_enough(folder: Path) -> None:
    write(folder / "m.onnx")
    for arguments in ("passes", "--help", "inspect m.onnx --json"):
        command = f"{' '.join(COMMAND)} {arguments} | true; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_standard_output_on_a_full_disk(folder: Path) -> None:
    write(folder / "m.onnx")
    for arguments in ("passes", "optimize m.onnx -o -"):
        command = f"{' '.join(COMMAND)} {arguments} >/dev/full"
        done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith("maxfold: error: ")
        assert "No space left on device" in done.stderr
        assert "Traceback" not in done.stderr
        assert "Exception" not in done.stderr


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs pseudo-terminals")
def test_terminals_are_no_place_for_models(folder: Path) -> None:
    write(folder / "m.onnx", SHRINKING)
    controller, terminal = os.openpty()
    try:
        run = subprocess.run(
            [*COMMAND, "optimize", "m.onnx", "-o", "-"],
            cwd=folder,
            stdout=terminal,
            stderr=subprocess.PIPE,
            check=False,
        )
        assert run.returncode == 2
        assert run.stderr.startswith(b"maxfold: error: -o - would write a binary file to the terminal; ")
        done = process("optimize", "-", "-o", "out.onnx", cwd=folder, stdin=terminal)
        assert done.returncode == 2
        assert done.stderr.startswith(b"maxfold: error: standard input is a terminal; ")
    finally:
        os.close(controller)
        os.close(terminal)


def test_nothing_is_told_on_standard_output(folder: Path) -> None:
    run = maxfold("optimize", "-", "--dry-run", "-v", "--explain", stdin=content())
    assert run.stdout == ""
    assert run.stderr
    assert error_of(maxfold("optimize", "-", stdin=content()))
