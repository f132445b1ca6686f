"""Where results go, and what is refused before anything is read."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
import pytest

from tests.cli.models import SETTLED, SHRINKING, operators, write, write_external
from tests.cli.shell import fails, maxfold


def test_in_place(folder: Path) -> None:
    write(folder / "m.onnx")
    assert maxfold("optimize", "m.onnx", "--in-place").status == 0
    assert operators(folder / "m.onnx") == ["Max"]
    assert [path.name for path in folder.iterdir()] == ["m.onnx"]


def test_in_place_leaves_alone_what_does_not_change(folder: Path) -> None:
    path = write(folder / "m.onnx", SETTLED)
    os.utime(path, (1, 1))
    run = maxfold("optimize", "m.onnx", "--in-place")
    assert run.status == 0
    assert "m.onnx: left as it is" in run.stderr
    assert path.stat().st_mtime == 1


def test_in_place_follows_links_and_keeps_the_mode(folder: Path) -> None:
    path = write(folder / "m.onnx")
    path.chmod(0o640)
    (folder / "link.onnx").symlink_to("m.onnx")
    assert maxfold("optimize", "link.onnx", "--in-place").status == 0
    assert (folder / "link.onnx").is_symlink()
    assert operators(path) == ["Max"]
    assert path.stat().st_mode & 0o777 == 0o640


def test_in_place_with_external_data(folder: Path) -> None:
    write_external(folder / "m.onnx")
    assert maxfold("optimize", "m.onnx", "--in-place").status == 0
    assert operators(folder / "m.onnx") == ["Max"]
    onnx.checker.check_model(folder / "m.onnx")
    assert sorted(path.name for path in folder.iterdir()) == ["m.onnx", "m.onnx.data"]


def test_out_dir(folder: Path) -> None:
    (folder / "in").mkdir()
    write(folder / "in" / "a.onnx")
    write(folder / "b.onnx", SETTLED)
    run = maxfold("optimize", "in/a.onnx", "b.onnx", "--out-dir", "deep/out")
    assert run.status == 0
    assert operators(folder / "deep" / "out" / "a.onnx") == ["Max"]
    assert operators(folder / "deep" / "out" / "b.onnx") == ["Neg"]
    assert "wrote 2 models in deep/out" in run.stderr


def test_one_bad_input_does_not_stop_the_others(folder: Path) -> None:
    write(folder / "a.onnx")
    (folder / "bad.onnx").write_bytes(b"no model")
    write(folder / "z.onnx")
    run = maxfold("optimize", "a.onnx", "bad.onnx", "missing.onnx", "z.onnx", "--out-dir", "out", "-q")
    assert run.status == 2
    lines = run.stderr.splitlines()
    assert [line.split(":")[2] for line in lines] == [" bad.onnx", " missing.onnx"]
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["a.onnx", "z.onnx"]


def test_nothing_is_made_where_all_inputs_are_bad(folder: Path) -> None:
    (folder / "bad.onnx").write_bytes(b"no model")
    assert maxfold("optimize", "bad.onnx", "--out-dir", "out").status == 2
    assert not (folder / "out").exists()


NO_DESTINATION = (
    "nothing says where the result goes: give -o OUTPUT, --in-place, --out-dir DIR, --check or --dry-run; "
    "try 'maxfold optimize --help'"
)
CONTRADICTIONS = [
    ([], NO_DESTINATION),
    (["-o", "x.onnx", "--in-place"], "-o and --in-place contradict each other; choose one"),
    (["-o", "x.onnx", "--out-dir", "d"], "-o and --out-dir contradict each other; choose one"),
    (["--in-place", "--out-dir", "d"], "--in-place and --out-dir contradict each other; choose one"),
    (["-o", "x.onnx", "-q", "-v"], "-q and -v contradict each other; choose one"),
    (["-o", "-", "--json"], "-o - and --json would both write to standard output; use --report FILE.json"),
    (["-o", "-", "--external-data", "always"],
     "--external-data always needs a file to put the data beside, not -o -; give a path"),
    (["-o", "m.onnx"], "m.onnx: is the input itself; write elsewhere, or use --in-place to overwrite it"),
    (["-o", "./m.onnx"], "./m.onnx: is the input m.onnx; write elsewhere, or use --in-place to overwrite it"),
    (["-o", "link.onnx"], "link.onnx: is the input m.onnx; write elsewhere, or use --in-place to overwrite it"),
    (["--out-dir", "."], "m.onnx: is the input itself; write elsewhere, or use --in-place to overwrite it"),
    (["-o", "sub"], "sub: is a directory; give the path of a file, or --out-dir sub"),
    (["-o", "no/x.onnx"], "no/x.onnx: cannot be written: there is no directory no; make it first"),
    (["-o", "m.onnx/x.onnx"], "m.onnx/x.onnx: cannot be written: there is no directory m.onnx; make it first"),
    (["--out-dir", "m.onnx"], "m.onnx: is no directory; give another --out-dir"),
    (["-o", "x.onnx", "--report", "-"], "--report - is --json; use that, or give the path of a file"),
    (["-o", "x.onnx", "--report", "sub"], "sub: is a directory; give --report the path of a file"),
    (["-o", "x.onnx", "--report", "no/r.json"],
     "no/r.json: cannot be written: there is no directory no; make it first"),
    (["-o", "x.onnx", "--report", "x.onnx"], "x.onnx: is also a model of this run; give --report another path"),
    (["-o", "x.onnx", "--report", "link.onnx"], "link.onnx: is also a model of this run; give --report another path"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"), CONTRADICTIONS, ids=[" ".join(options) or "none" for options, _ in CONTRADICTIONS]
)
def test_contradictions(folder: Path, options: list[str], message: str) -> None:
    before = write(folder / "m.onnx").read_bytes()
    (folder / "link.onnx").symlink_to("m.onnx")
    (folder / "sub").mkdir()
    assert fails("optimize", "m.onnx", *options) == message
    assert (folder / "m.onnx").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["link.onnx", "m.onnx", "sub"]


def test_a_hard_link_is_the_same_file(folder: Path) -> None:
    write(folder / "m.onnx")
    (folder / "other.onnx").hardlink_to(folder / "m.onnx")
    assert "other.onnx: is the input m.onnx" in fails("optimize", "m.onnx", "-o", "other.onnx")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.onnx", "b.onnx", "-o", "x.onnx"], "-o is for one input, and there are 2; use --out-dir DIR"),
        (["a.onnx", "", "--check"], "an INPUT is empty; give the path of a model file"),
        (["a.onnx", "-", "--check"], "- (standard input) must be the only INPUT; give the others as paths"),
        (["-", "--in-place"], "--in-place needs an input with a name, and - is standard input; use -o OUTPUT"),
        (["-", "--out-dir", "d"], "--out-dir needs an input with a name, and - is standard input; use -o OUTPUT"),
        (["/", "--out-dir", "d"], "/: is a directory; give the path of a model file"),
        (
            ["a.onnx", "sub/a.onnx", "--out-dir", "d"],
            "a.onnx and sub/a.onnx would both write d/a.onnx; rename one, or use two output directories",
        ),
        (
            ["a.onnx", "a.onnx", "--out-dir", "d"],
            "a.onnx and a.onnx would both write d/a.onnx; rename one, or use two output directories",
        ),
        (
            ["a.onnx", "sub/a.onnx.data", "--out-dir", "d"],
            "a.onnx and sub/a.onnx.data would both write d/a.onnx.data; rename one, or use two output directories",
        ),
        (
            ["a.onnx", "./a.onnx", "--in-place"],
            "a.onnx and ./a.onnx are one file, which --in-place would write twice; give it once",
        ),
        (
            ["a.onnx", "a.onnx", "--in-place"],
            "a.onnx and a.onnx are one file, which --in-place would write twice; give it once",
        ),
        (
            ["a.onnx", "sub/b.onnx", "--out-dir", "sub"],
            "sub/b.onnx: is the input itself; write elsewhere, or use --in-place to overwrite it",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else " ",
)
def test_several_inputs_that_do_not_go_together(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "sub").mkdir()
    for name in ("a.onnx", "b.onnx", "sub/a.onnx", "sub/b.onnx", "sub/a.onnx.data"):
        write(folder / name)
    assert fails("optimize", *arguments) == message
    assert not (folder / "d").exists()


def test_weights_of_the_input_are_not_overwritten(folder: Path) -> None:
    write_external(folder / "other.onnx")
    (folder / "other.onnx").rename(folder / "m.onnx")
    (folder / "link.onnx").symlink_to("other.onnx.data")
    before = (folder / "other.onnx.data").read_bytes()
    for target in ("other.onnx", "other.onnx.data", "link.onnx"):
        message = fails("optimize", "m.onnx", "-o", target)
        assert message.endswith("other.onnx.data: holds the weights of m.onnx, which it would destroy; write elsewhere")
    assert (folder / "other.onnx.data").read_bytes() == before
    assert maxfold("optimize", "m.onnx", "-o", "other.onnx", "--external-data", "never").status == 0
    assert (folder / "other.onnx.data").read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk(folder: Path) -> None:
    write(folder / "m.onnx")
    assert "/dev/full: cannot be written: No space left on device" in fails("optimize", "m.onnx", "-o", "/dev/full")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_directory_that_may_not_be_written(folder: Path) -> None:
    write(folder / "m.onnx")
    (folder / "closed").mkdir(mode=0o500)
    assert fails("optimize", "m.onnx", "-o", "closed/x.onnx").startswith("closed/x.onnx: cannot be written")


def test_check_does_not_ask_for_directories(folder: Path) -> None:
    write(folder / "m.onnx", SHRINKING)
    assert maxfold("optimize", "m.onnx", "--check", "-o", "no/x.onnx", "-q").status == 1


@pytest.mark.parametrize("command", ["optimize", "convert"])
def test_a_second_path_is_no_output(folder: Path, command: str) -> None:
    write(folder / "m.onnx")
    line = fails(command, "m.onnx", "out.onnx")
    assert line == f"out.onnx: does not exist; to write the result there: maxfold {command} m.onnx -o out.onnx"


@pytest.mark.parametrize(("command", "written"), [("optimize", ["m.onnx"]), ("convert", ["m.bin", "m.xml"])])
def test_an_output_with_a_slash_is_a_folder(folder: Path, command: str, written: list[str]) -> None:
    write(folder / "m.onnx")
    assert maxfold(command, "m.onnx", "-o", "made/").status == 0
    assert sorted(path.name for path in (folder / "made").iterdir()) == written
