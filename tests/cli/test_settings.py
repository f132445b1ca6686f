"""Settings files."""

from __future__ import annotations

from pathlib import Path

import pytest

from maxfold.cli.settings import find_settings
from tests.cli.models import RELAXED_ONLY, operators, write
from tests.cli.shell import fails, maxfold


def optimized(folder: Path, *flags: str) -> list[str]:
    """The operators left of a model with two nodes, of which exact mathematics keeps both and relaxed one."""
    write(folder / "m.onnx", RELAXED_ONLY)
    run = maxfold("optimize", "m.onnx", "-o", "out.onnx", *flags)
    assert run.status == 0, run.stderr
    return operators(folder / "out.onnx")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("maxfold.toml", 'math = "relaxed"'),
        ("pyproject.toml", '[tool.maxfold]\nmath = "relaxed"'),
        ("pyproject.toml", '[project]\nname = "x"\n[tool]\nmaxfold = {math = "relaxed"}'),
    ],
)
def test_both_files(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    assert optimized(folder) == ["Tanh"]


def test_a_flag_wins(folder: Path) -> None:
    (folder / "maxfold.toml").write_text('math = "relaxed"\nverbose = true\ndry-run = true\nkeep = "nothing"\n')
    assert optimized(folder, "--math", "exact", "-q", "--no-dry-run", "--keep", "adding") == ["Tanh", "Add"]


def test_a_flag_wins_over_what_contradicts_it(folder: Path) -> None:
    (folder / "maxfold.toml").write_text('in-place = true\nmath = "relaxed"\n')
    before = write(folder / "m.onnx", RELAXED_ONLY).read_bytes()
    assert optimized(folder) == ["Tanh"]
    assert (folder / "m.onnx").read_bytes() == before
    assert maxfold("optimize", "m.onnx").status == 0
    assert operators(folder / "m.onnx") == ["Tanh"]


def test_the_nearest_file_is_the_only_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert find_settings().path is None
    (folder / "maxfold.toml").write_text('math = "relaxed"')
    assert find_settings().path == folder / "maxfold.toml"
    (folder / "a" / "pyproject.toml").write_text('[tool.other]\nurl = "maxfold"')
    assert find_settings().path == folder / "maxfold.toml"
    (folder / "a" / "pyproject.toml").write_text("[tool.maxfold]\n")
    assert find_settings().path == folder / "a" / "pyproject.toml"
    assert find_settings().values == {}
    (folder / "a" / "maxfold.toml").write_text("jobs = 2")
    assert find_settings().path == folder / "a" / "maxfold.toml"
    assert find_settings().values == {"jobs": 2}


def test_a_broken_file_that_has_nothing_to_do_with_it(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.other")
    assert optimized(folder) == ["Tanh", "Add"]


def test_where_settings_came_from_is_told(folder: Path) -> None:
    (folder / "maxfold.toml").write_text("max_growth = '1MB'\n")
    write(folder / "m.onnx")
    run = maxfold("optimize", "m.onnx", "--dry-run")
    assert f"settings from {folder / 'maxfold.toml'}" in run.stderr
    run = maxfold("optimize", "m.onnx", "m.onnx", "--dry-run")
    assert f"settings from {folder / 'maxfold.toml'}" in run.stderr


def test_every_kind_of_value(folder: Path) -> None:
    (folder / "maxfold.toml").write_text(
        """
        output = "from_settings.onnx"
        passes = ["fuse-max", "fuse-add"]
        skip = "fuse-max"
        math = "relaxed"
        max_growth = 1000
        keep = ["t"]
        external_data = "never"
        from = "onnx"
        to = "onnx"
        jobs = 1
        report = "report.json"
        explain = false
        quiet = true
        """
    )
    write(folder / "m.onnx", RELAXED_ONLY)
    run = maxfold("optimize", "m.onnx")
    assert (run.status, run.stdout, run.stderr) == (0, "", "")
    assert (folder / "report.json").exists()
    assert (folder / "from_settings.onnx").exists()


PLACES = [("maxfold.toml", "", ":"), ("pyproject.toml", "[tool.maxfold]\n", ": [tool.maxfold]")]
BAD_SETTINGS = [
    ("mth = 'exact'", "has the unknown key 'mth'; did you mean 'math'?"),
    ("colour = true", "has the unknown key 'colour'; its keys are the long options of 'maxfold optimize'"),
    ("settings = 'x'", "has the unknown key 'settings'; its keys are the long options of 'maxfold optimize'"),
    ("math = 'fast'", "math must be exact or relaxed, not 'fast'; correct it there"),
    ("math = true", "math must be exact or relaxed, not True; correct it there"),
    ("jobs = '2'", "jobs must be a whole number of at least 1, not '2'; correct it there"),
    ("jobs = true", "jobs must be a whole number of at least 1, not True; correct it there"),
    ("opset = 1.5", "opset must be a whole number of at least 1, not 1.5; correct it there"),
    ("verify = 1", "verify must be true or false, not 1; correct it there"),
    ("check = 'yes'", "check must be true or false, not 'yes'; correct it there"),
    ("max-growth = 1.5", "max-growth must be a number of bytes such as 65536, 64KiB or 1MB, not 1.5; correct it there"),
    ("passes = [1]", "passes must be one name or more, separated by commas, not [1]; correct it there"),
    ("keep = 3", "keep must be a name or a list of names, not 3; correct it there"),
    ("report = ''", "report must be a path, not ''; correct it there"),
]


@pytest.mark.parametrize(("name", "section", "label"), PLACES, ids=["own", "project"])
@pytest.mark.parametrize(("text", "message"), BAD_SETTINGS)
def test_bad_settings(folder: Path, name: str, section: str, label: str, text: str, message: str) -> None:
    (folder / name).write_text(section + text)
    assert fails("optimize", "m.onnx", "--dry-run") == f"{folder / name}{label} {message}"


def test_a_pass_that_is_none(folder: Path) -> None:
    (folder / "maxfold.toml").write_text("skip = 'fuse-mx'")
    message = fails("optimize", "m.onnx", "--dry-run")
    assert message == f"{folder / 'maxfold.toml'}: skip: 'fuse-mx' is not a pass; did you mean 'fuse-max'?"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("maxfold.toml", b"math = ", "is not valid TOML"),
        ("maxfold.toml", b"\xff", "is not valid TOML"),
        ("maxfold.toml", b"a = " + b"[" * 10_000, "is not valid TOML"),
        ("pyproject.toml", b"[tool.maxfold", "is not valid TOML"),
        ("pyproject.toml", b"tool.maxfold = 3", "tool.maxfold must be a table"),
    ],
)
def test_files_that_are_no_settings(folder: Path, name: str, data: bytes, message: str) -> None:
    (folder / name).write_bytes(data)
    assert fails("optimize", "m.onnx", "--dry-run").startswith(f"{folder / name}: {message}")
