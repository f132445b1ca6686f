"""Help, version, completion: what the command line says about itself."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from maxfold.cli import verifying
from maxfold.cli.completion import complete_choice, complete_passes
from maxfold.cli.options import _CONVERT_KINDS, _KINDS
from maxfold.optimizer import catalogue
from tests.cli.shell import maxfold, process

DOCUMENT = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help(arguments: list[str]) -> None:
    run = maxfold(*arguments)
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout.startswith("Usage: maxfold [OPTIONS] COMMAND [ARGS]...\n")
    for word in (
        "optimize",
        "convert",
        "verify",
        "inspect",
        "passes",
        "ops",
        "--version",
        "--install-completion",
        "Exit status",
    ):
        assert word in run.stdout


@pytest.mark.parametrize(
    ("command", "usage"),
    [("optimize", "INPUT..."), ("convert", "INPUT..."), ("verify", "A B"), ("inspect", "MODEL"),
     ("passes", "[NAME]..."), ("ops", "[NAME]")],
    ids=lambda value: value,
)  # fmt: skip
def test_help_of_a_command(command: str, usage: str) -> None:
    run = maxfold(command, "--help")
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout.splitlines()[0] == f"Usage: maxfold {command} [OPTIONS] {usage}".rstrip()
    assert "\x1b" not in run.stdout
    assert maxfold(command, "-h").stdout == run.stdout


@pytest.mark.parametrize(
    ("command", "options"), [("optimize", _KINDS), ("convert", _CONVERT_KINDS), ("verify", verifying._KINDS)]
)
def test_every_option_is_in_the_help_and_the_document(command: str, options: dict[str, object]) -> None:
    text = maxfold(command, "--help").stdout
    document = DOCUMENT.read_text(encoding="utf-8")
    for name in options:
        assert re.search(rf"^  .*--{name}\b", text, re.MULTILINE), name
        assert f"--{name}" in document, name


def test_sections_of_the_help() -> None:
    text = maxfold("optimize", "--help").stdout
    headings = re.findall(r"^(\w.*):$", text, re.MULTILINE)
    assert headings == ["Arguments", "What is written", "What is rewritten", "What is told", "Options"]


@pytest.mark.parametrize("command", ["optimize", "convert", "verify", "diff", "inspect", "passes", "ops"])
def test_help_stands_beside_the_options(command: str, folder: Path) -> None:
    """A name too long for its column would drive the text of every option onto a line below it."""
    lines = process(command, "--help", cwd=folder, env={"COLUMNS": "80"}).stdout.decode().splitlines()
    options = [line for line in lines if re.match(r"  -", line)]
    assert options
    for line in options:
        assert re.match(r"  \S+( \S+)*  +\S", line), line


def test_help_on_a_narrow_terminal(folder: Path) -> None:
    run = process("optimize", "--help", cwd=folder, env={"COLUMNS": "60"})
    assert max(map(len, run.stdout.splitlines())) <= 60


@pytest.mark.parametrize("arguments", [["--version"], ["optimize", "--version"], ["inspect", "--version"]])
def test_version(arguments: list[str]) -> None:
    run = maxfold(*arguments)
    assert (run.status, run.stderr) == (0, "")
    assert re.fullmatch(r"maxfold \d+\.\d+\.\d+\S*\n", run.stdout)


def test_completion_of_words() -> None:
    assert complete_choice("exact", "relaxed")("re") == ["relaxed"]
    names = [entry.name for entry in catalogue()]
    assert complete_passes("") == names
    assert complete_passes("fuse-m") == ["fuse-max"]
    others = [name for name in names if name.startswith("fuse-") and name != "fuse-max"]
    assert "fuse-add" in others
    assert complete_passes("fuse-max,fuse-") == [f"fuse-max,{name}" for name in others]


def completed(line: str) -> list[str]:
    last = str(line.count(" "))
    return maxfold(_MAXFOLD_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=last).stdout.split()


def test_completion_in_a_shell() -> None:
    assert completed("maxfold op") == ["optimize", "ops"]
    assert completed("maxfold convert --to o") == ["onnx", "openvino"]
    assert completed("maxfold optimize --ma") == ["--math", "--max-growth"]
    assert completed("maxfold optimize --math r") == ["relaxed"]
    assert completed("maxfold optimize --skip fuse-m") == ["fuse-max"]


def test_the_completion_script(folder: Path) -> None:
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", "HOME": str(folder)}
    run = process("--show-completion", "bash", cwd=folder, env=environment)
    assert run.returncode == 0
    assert b"complete -o default -F _maxfold_completion maxfold" in run.stdout


def test_nothing_heavy_is_imported_for_help(folder: Path) -> None:
    run = process("optimize", "--help", cwd=folder, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert run.returncode == 0
    imported = set(re.findall(r"\| +([\w.]+)$", run.stderr.decode(), re.MULTILINE))
    assert "maxfold.cli.optimize" in imported
    assert not imported & {"numpy", "onnx", "onnx_graphsurgeon", "onnxruntime", "pydantic", "multiprocessing"}
