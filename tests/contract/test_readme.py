"""What README.md tells a reader to run, runs, and prints what README.md says it prints."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.repository import ROOT, Block, fenced_blocks

BLOCKS = fenced_blocks(ROOT / "README.md")
CONSOLE = [block for block in BLOCKS if block.language == "console"]
PYTHON = [block for block in BLOCKS if block.language == "python"]
SETUP = "python3 -m venv .venv && .venv/bin/pip install "


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of examples/, and in it the model that the README works on."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copytree(ROOT / "examples", folder, ignore=shutil.ignore_patterns("*.onnx"), dirs_exist_ok=True)
    run("python build_maxout.py maxout.onnx", folder)
    return folder


@pytest.fixture
def workplace(examples: Path, tmp_path: Path) -> Path:
    """A folder that holds nothing but such a copy."""
    shutil.copytree(examples, tmp_path / "examples")
    return tmp_path


def run(command: str, folder: Path, expected_status: int = 0) -> str:
    """Runs a line as a shell would, with this environment's commands first; stdout and stderr together."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == expected_status, f"{command}\n{done.stdout}"
    return done.stdout


def command(mark: str) -> str:
    (block,) = [block for block in BLOCKS if block.mark == f"command: {mark}"]
    (line,) = block.text.splitlines()
    return line


def transcript(block: Block) -> list[tuple[str, int, str]]:
    """A console block as (command, exit status, output); a last line `[exit status N]` states the status."""
    steps = []
    for step in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, output = step.partition("\n")
        stated = re.search(r"^\[exit status (\d+)\]\n", output, re.MULTILINE)
        steps.append((line, int(stated[1]) if stated else 0, output[: stated.start()] if stated else output))
    return steps


def comparable(output: str) -> str:
    """Output without what differs from run to run (durations) or is only layout (spaces, rules)."""
    output = re.sub(r"<?\d+(\.\d+)? ?(ms|s)\b", "TIME", output)
    return " ".join(re.sub(r"[─━]+", "─", output).split())


@pytest.mark.parametrize("mark", ["try", "test"])
def test_ci_runs_the_command_as_written(mark: str) -> None:
    assert command(mark).startswith(SETUP)
    assert f"run_readme_command {mark}" in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_the_first_command_works_from_an_installed_package(workplace: Path) -> None:
    _, _, after_installation = command("try").removeprefix(SETUP).partition(" && ")
    run(after_installation.replace(".venv/bin/", ""), workplace)
    assert (workplace / "examples" / "maxout.opt.onnx").is_file()


def test_there_are_blocks_to_check() -> None:
    assert CONSOLE
    assert PYTHON


@pytest.mark.parametrize("block", CONSOLE, ids=lambda block: block.text.partition("\n")[0])
def test_console_block_prints_what_it_says(block: Block, workplace: Path) -> None:
    for line, status, output in transcript(block):
        assert comparable(run(line, workplace, status)) == comparable(output), line


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.text.partition("\n")[0])
def test_python_block_runs(block: Block, workplace: Path) -> None:
    (workplace / "block.py").write_text(block.text, encoding="utf-8")
    run("python -W error block.py", workplace)


def test_settings_are_accepted(workplace: Path) -> None:
    (block,) = [block for block in BLOCKS if block.language == "toml"]
    (workplace / block.mark.removeprefix("file: ")).write_text(block.text, encoding="utf-8")
    run("maxfold optimize examples/maxout.onnx --dry-run", workplace)


def test_the_examples_run(workplace: Path) -> None:
    (block,) = [block for block in fenced_blocks(ROOT / "examples" / "README.md") if block.language == "sh"]
    for line in block.text.splitlines():
        run(line, workplace)


def test_links_lead_to_files() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
