"""docs/own-passes.md shows the example that is run, and prints what happens."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.contract.repository import ROOT, fenced_blocks
from tests.contract.test_readme import comparable, run, transcript

BLOCKS = fenced_blocks(ROOT / "docs" / "own-passes.md")


def test_the_pass_that_is_shown_is_the_example() -> None:
    (block,) = [block for block in BLOCKS if block.language == "python"]
    example = (ROOT / "examples" / "own_pass.py").read_text(encoding="utf-8")
    imports, _, code = block.text.rstrip().partition("\n\n\n")
    assert f"{code}\n\n\n" in example
    assert set(imports.splitlines()) <= set(example.splitlines())


def test_commands_print_what_is_said(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.onnx"))
    run("python examples/own_pass.py examples/squares.onnx", tmp_path)
    (block,) = [block for block in BLOCKS if block.language == "console"]
    for line, status, output in transcript(block):
        assert comparable(run(line, tmp_path, status)) == comparable(output), line
