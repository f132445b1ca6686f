"""docs/api.md is what the docstrings say, and what it shows is what happens."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path

import pytest

import maxfold
from tests.contract import api_page
from tests.contract.repository import ROOT, fenced_blocks
from tests.contract.test_readme import run


def test_the_page_is_current() -> None:
    assert api_page.PAGE.read_text(encoding="utf-8") == api_page.page(), "run: python -m tests.contract.api_page"


def test_the_page_has_every_name() -> None:
    page = api_page.page()
    for name in set(maxfold.__all__) - {"__version__"}:
        assert f"### `maxfold.{name}`\n" in page


def test_every_error_and_every_type_is_there() -> None:
    page = api_page.page()
    for name in api_page.FUNCTIONS:
        section = page.partition(f"### `maxfold.{name}`\n")[2].partition("\n### ")[0]
        assert "*Errors:* raises `" in section or name == "catalogue", name
    for name in re.findall(r"tuple\[(\w+), \.\.\.\]", page):
        assert name in ("str", "int", "Facts", "Dim", "Element") or f"### `{name}`\n" in page, name


def test_what_the_page_shows_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.onnx"))
    run("python examples/build_maxout.py examples/maxout.onnx", tmp_path)
    monkeypatch.chdir(tmp_path)
    (block,) = [block for block in fenced_blocks(api_page.PAGE) if ">>>" in block.text]
    example = doctest.DocTestParser().get_doctest(block.text, {}, "docs/api.md", str(api_page.PAGE), 0)
    assert doctest.DocTestRunner().run(example).failed == 0
