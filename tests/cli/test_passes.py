"""`maxfold passes`, and `-V`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.shell import fails, maxfold


def test_one_pass(folder: Path) -> None:
    run = maxfold("passes", "fuse-max")
    assert run.stdout.startswith("fuse-max  exact  join chains and trees of Max into one variadic Max\n")
    assert run.stdout.count("\n") == 2


def test_named_passes_as_json(folder: Path) -> None:
    """They stand in the catalogue's order."""
    run = maxfold("passes", "fuse-max", "fold-constants", "--json")
    assert [entry["name"] for entry in json.loads(run.stdout)["passes"]] == ["fold-constants", "fuse-max"]


def test_a_pass_that_is_none(folder: Path) -> None:
    assert "'fuse-mox' is not the name of a pass; did you mean 'fuse-max'?" in fails("passes", "fuse-mox")
    assert "leave out the names" in fails("passes", "fuse-max", "--markdown")


def test_the_short_name_of_version(folder: Path) -> None:
    assert maxfold("-V").stdout == maxfold("--version").stdout
