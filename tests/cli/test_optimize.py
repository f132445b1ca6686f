"""What `maxfold optimize` rewrites, and what its options for that do."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from tests.cli.models import RELAXED_ONLY, SETTLED, SHRINKING, chain, operators, with_weight, write
from tests.cli.shell import fails, maxfold


def test_writes_the_result(folder: Path) -> None:
    write(folder / "m.onnx")
    run = maxfold("optimize", "m.onnx", "-o", "out.onnx")
    assert run.status == 0
    assert run.stdout == ""
    assert operators(folder / "out.onnx") == ["Max"]
    assert "wrote out.onnx in " in run.stderr


def test_output_is_written_where_nothing_changes(folder: Path) -> None:
    write(folder / "m.onnx", SETTLED)
    assert maxfold("optimize", "m.onnx", "--output", "out.onnx").status == 0
    assert operators(folder / "out.onnx") == ["Neg"]


def test_an_existing_output_is_replaced(folder: Path) -> None:
    write(folder / "m.onnx")
    (folder / "out.onnx").write_bytes(b"old")
    assert maxfold("optimize", "m.onnx", "-o", "out.onnx").status == 0
    assert operators(folder / "out.onnx") == ["Max"]


def test_the_same_input_gives_the_same_bytes(folder: Path) -> None:
    write(folder / "m.onnx")
    for name in ("a.onnx", "b.onnx"):
        maxfold("optimize", "m.onnx", "-o", name)
    assert (folder / "a.onnx").read_bytes() == (folder / "b.onnx").read_bytes()


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--passes", "fuse-add,share-constants"], 2),
        (["--passes", "fuse-max"], 1),
        (["--passes", " fuse-max , fuse-add "], 1),
        (["--skip", "fuse-max"], 2),
        (["--skip", "fuse-add"], 1),
        (["--passes", "fuse-max,fuse-add", "--skip", "fuse-max"], 2),
        (["--keep", "first"], 2),
        (["--keep", "t"], 2),
        (["--keep", "a", "--keep", "second"], 2),
    ],
)
def test_what_runs_can_be_chosen(folder: Path, options: list[str], left: int) -> None:
    write(folder / "m.onnx")
    assert maxfold("optimize", "m.onnx", "-o", "out.onnx", *options).status == 0
    assert len(operators(folder / "out.onnx")) == left


@pytest.mark.parametrize(("math", "left"), [("exact", 2), ("relaxed", 1)])
def test_math(folder: Path, math: str, left: int) -> None:
    write(folder / "m.onnx", RELAXED_ONLY)
    assert maxfold("optimize", "m.onnx", "-o", "out.onnx", "--math", math).status == 0
    assert len(operators(folder / "out.onnx")) == left


GROWING = """
<ir_version: 8, opset_import: ["" : 13]>
growing () => (float[900, 1000] y)
<float[900, 1] a = {{{}}}, float[1, 1000] b = {{{}}}>
{{ y = Add (a, b) }}
"""


@pytest.mark.parametrize(("size", "left"), [("0", 1), ("4000000", 0), ("2MiB", 1), ("4MB", 0), ("4MiB", 0)])
def test_max_growth(folder: Path, size: str, left: int) -> None:
    ones = ", ".join(["1"] * 900), ", ".join(["1"] * 1000)
    write(folder / "m.onnx", GROWING.format(*ones))
    assert maxfold("optimize", "m.onnx", "-o", "out.onnx", "--max-growth", size).status == 0
    assert operators(folder / "out.onnx").count("Add") == left


def test_opset(folder: Path) -> None:
    write(folder / "m.onnx", SETTLED)
    assert maxfold("optimize", "m.onnx", "-o", "out.onnx", "--opset", "18").status == 0
    assert onnx.load(folder / "out.onnx").opset_import[0].version == 18


def test_external_data(folder: Path) -> None:
    onnx.save(with_weight(SHRINKING, 5000), folder / "m.onnx")
    for when, is_outside in [("auto", False), ("always", True), ("never", False)]:
        assert maxfold("optimize", "m.onnx", "-o", f"{when}.onnx", "--external-data", when).status == 0
        assert (folder / f"{when}.onnx.data").exists() == is_outside
    assert maxfold("optimize", "always.onnx", "-o", "in.onnx", "--external-data", "never").status == 0
    assert not (folder / "in.onnx.data").exists()
    assert maxfold("optimize", "always.onnx", "-o", "out.onnx").status == 0
    assert (folder / "out.onnx.data").exists()


def test_check(folder: Path) -> None:
    write(folder / "m.onnx")
    write(folder / "settled.onnx", SETTLED)
    run = maxfold("optimize", "m.onnx", "--check")
    assert run.status == 1
    assert "nothing written (--check): the model would change" in run.stderr
    run = maxfold("optimize", "settled.onnx", "--check")
    assert run.status == 0
    assert "nothing written (--check): the model would not change" in run.stderr
    assert maxfold("optimize", "m.onnx", "settled.onnx", "--check", "-q").status == 1
    assert sorted(path.name for path in folder.iterdir()) == ["m.onnx", "settled.onnx"]


def test_a_result_passes_check(folder: Path) -> None:
    write(folder / "m.onnx")
    maxfold("optimize", "m.onnx", "-o", "out.onnx")
    assert maxfold("optimize", "out.onnx", "--check").status == 0


@pytest.mark.parametrize("destination", [[], ["-o", "out.onnx"], ["--in-place"], ["--out-dir", "out"], ["-o", "-"]])
def test_dry_run_writes_nothing(folder: Path, destination: list[str]) -> None:
    before = write(folder / "m.onnx").read_bytes()
    run = maxfold("optimize", "m.onnx", "--dry-run", *destination)
    assert run.status == 0
    assert run.stdout == ""
    assert "nothing written (--dry-run): the model would change" in run.stderr
    assert [path.name for path in folder.iterdir()] == ["m.onnx"]
    assert (folder / "m.onnx").read_bytes() == before


def test_dry_run_tells_the_size_that_the_result_would_have(folder: Path) -> None:
    write(folder / "m.onnx")
    dry = json.loads(maxfold("optimize", "m.onnx", "--dry-run", "--json").stdout)
    maxfold("optimize", "m.onnx", "-o", "out.onnx")
    assert dry["output_bytes"] == (folder / "out.onnx").stat().st_size


def test_many_nodes(folder: Path) -> None:
    chain(folder / "m.onnx", 3000)
    assert maxfold("optimize", "m.onnx", "-o", "out.onnx").status == 0
    assert len(operators(folder / "out.onnx")) == 3000


def test_names_that_do_not_exist(folder: Path) -> None:
    write(folder / "m.onnx")
    message = fails("optimize", "m.onnx", "-o", "out.onnx", "--keep", "nothing")
    assert message.startswith("m.onnx: ")
    assert "'nothing'" in message
    message = fails("optimize", "m.onnx", "-o", "out.onnx", "--passes", "fuse-mx")
    assert message == "--passes: 'fuse-mx' is not a pass; did you mean 'fuse-max'?"
    message = fails("optimize", "m.onnx", "-o", "out.onnx", "--skip", "nothing-alike")
    assert message == "--skip: 'nothing-alike' is not a pass; 'maxfold passes' lists them"
    message = fails("optimize", "m.onnx", "-o", "out.onnx", "--math", "relaxed", "--expand", "Celu,gelu")
    assert message == "--expand: 'gelu' is not an operator of ONNX's own; did you mean 'Gelu'?"
    assert not (folder / "out.onnx").exists()


def test_an_opset_that_does_not_exist(folder: Path) -> None:
    write(folder / "m.onnx")
    assert fails("optimize", "m.onnx", "-o", "out.onnx", "--opset", "9999").startswith("m.onnx: opset 9999 ")
