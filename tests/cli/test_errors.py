"""Whatever is wrong becomes one line and exit status 2, and nothing is written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from maxfold.cli import errors, work
from tests.cli.models import SETTLED, write
from tests.cli.shell import fails, maxfold
from tests.model.bad_files import BAD_FILES, BadFile

USAGE = [
    (["optimise"], "no such command 'optimise'"),
    (["--foo"], "no such option: --foo"),
    (["optimize"], "missing argument 'INPUT...'; try 'maxfold optimize --help'"),
    (["optimize", "m.onnx", "-o"], "option '-o' requires an argument; try 'maxfold optimize --help'"),
    (["optimize", "m.onnx", "--foo"], "no such option: --foo"),
    (["optimize", "m.onnx", "--check=1"], "option '--check' does not take a value; try 'maxfold optimize --help'"),
    (["inspect"], "missing argument 'MODEL'; try 'maxfold inspect --help'"),
    (["inspect", "a.onnx", "b.onnx"], "got unexpected extra argument"),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE, ids=lambda value: " ".join(value) if value else "")
def test_usage(arguments: list[str], message: str) -> None:
    line = fails(*arguments)
    assert line.startswith(message)
    command = f"maxfold {arguments[0]}" if arguments[0] in ("optimize", "inspect", "passes") else "maxfold"
    assert line.endswith(f" try '{command} --help'")


@pytest.mark.parametrize("bad", BAD_FILES, ids=lambda bad: bad.name)
def test_bad_inputs(folder: Path, bad: BadFile) -> None:
    path = bad.build(folder)
    if "\0" in str(path):
        pytest.skip("no argument of a process can hold it")
    before = sorted(folder.rglob("*"))
    line = fails("optimize", path, "-o", folder / "out.onnx")
    assert len(line) <= 2100
    assert path.name[:100] in line
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("bad", BAD_FILES[:20], ids=lambda bad: bad.name)
def test_bad_inputs_to_inspect(folder: Path, bad: BadFile) -> None:
    path = bad.build(folder)
    if "\0" not in str(path):
        assert path.name[:100] in fails("inspect", path)


@pytest.mark.parametrize("command", [("optimize", "--check"), ("inspect",)])
def test_a_missing_input(command: tuple[str, ...]) -> None:
    message = fails(*command, "missing.onnx")
    assert message == "missing.onnx: cannot be read: No such file or directory; give the path of a model file"


def raising(error: BaseException) -> Any:
    def run(*arguments: object) -> None:
        raise error

    return run


UNFORESEEN = [
    (MemoryError(), "there is not enough memory; free some, or use a machine that has more"),
    (
        RecursionError("maximum recursion depth exceeded"),
        "the model is nested too deeply; take some of its subgraphs out",
    ),
    (OSError(28, "No space left on device", "x.tmp"), "x.tmp: No space left on device; free some space"),
    (OSError(5, "Input/output error"), "Input/output error"),
    (KeyError("a\nb"), r"internal error: KeyError: 'a\\nb' in run, test_errors.py line "),
    (AssertionError(), "internal error: AssertionError in run, test_errors.py line "),
]


@pytest.mark.parametrize(("error", "message"), UNFORESEEN, ids=lambda value: type(value).__name__)
def test_what_nobody_foresaw(folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str) -> None:
    write(folder / "m.onnx")
    monkeypatch.setattr(work.Work, "_run", raising(error))
    line = fails("optimize", "m.onnx", "-o", "out.onnx")
    assert line.startswith(message.replace("\\\\n", "\\n"))
    assert ("this is a bug in maxfold, please report it" in line) == line.startswith("internal error")


def test_what_nobody_foresaw_in_the_command_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxfold.cli.endpoints.plan", raising(ZeroDivisionError("division by zero")))
    assert fails("optimize", "m.onnx", "--check").startswith(
        "internal error: ZeroDivisionError: division by zero in run"
    )


def test_the_traceback_is_there_for_developers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work.Work, "_run", raising(KeyError("x")))
    run = maxfold("optimize", "m.onnx", "--check", MAXFOLD_DEBUG="1")
    assert run.status == 2
    assert run.stderr.startswith("Traceback")
    assert run.stderr.splitlines()[-1].startswith("maxfold: error: internal error: KeyError")


def test_an_interrupt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "m.onnx")
    monkeypatch.setattr(work.Work, "_run", raising(KeyboardInterrupt()))
    run = maxfold("optimize", "m.onnx", "-o", "out.onnx")
    assert (run.status, run.stdout, run.stderr) == (130, "", "")
    assert not (folder / "out.onnx").exists()


def test_a_write_that_fails_halfway(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "m.onnx")
    monkeypatch.setattr("maxfold.model.output.os.replace", raising(OSError(5, "Input/output error")))
    assert "out.onnx: cannot be written: Input/output error" in fails("optimize", "m.onnx", "-o", "out.onnx")
    assert [path.name for path in folder.iterdir()] == ["m.onnx"]


def test_a_report_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "m.onnx", SETTLED)
    run = maxfold("optimize", "m.onnx", "--check", "--report", "/dev/full")
    if sys.platform == "linux":
        assert run.status == 2
        assert run.stderr.splitlines()[-1].startswith("maxfold: error: /dev/full: cannot be written")


def test_lines_are_lines() -> None:
    assert errors.one_line("a\nb\t c") == "a b c"
    assert errors.one_line("\x1b[31mred\x07 \u202e") == "\\x1b[31mred\\x07 \\u202e"
    long = errors.one_line("x" * 5000)
    assert len(long) == 2005
    assert " ... " in long
    assert errors.encodable("a\u2192", "ascii") == "a\\u2192"


def test_a_file_name_with_control_characters(folder: Path) -> None:
    assert fails("inspect", "a\nb\x1b[31m.onnx").startswith("a b\\x1b[31m.onnx: cannot be read")
