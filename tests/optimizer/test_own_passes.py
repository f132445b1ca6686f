"""Passes of one's own: found by name, run with what the driver does for all, and named where they go wrong."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import maxfold
from maxfold.optimizer import own_passes
from maxfold.passes import driver
from maxfold.passes.own import STABLE_EDIT, STABLE_VIEW, Edit, View
from tests.cli.shell import maxfold as run
from tests.run import in_onnxruntime
from tests.text import model


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with the passes above, where Python finds it."""
    folder = tmp_path / "packages"
    (folder / "mypkg").mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("own_package.py"), folder / "mypkg" / "__init__.py")
    (folder / "mypkg" / "broken.py").write_text("1 / 0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.delitem(sys.modules, "mypkg", raising=False)
    own_passes.own_pass.cache_clear()
    return folder


def proto() -> onnx.ModelProto:
    return model("g (float[4] x) => (float[4] z, float[4] v) { y = Neg(x) z = Abs(y) w = Neg(x) v = Abs(w) }")


def path(folder: Path) -> str:
    onnx.save(proto(), folder / "m.onnx")
    return str(folder / "m.onnx")


def test_a_pass_is_run_by_name() -> None:
    source = proto()
    report = maxfold.optimize(source, passes="mypkg:Negate")
    assert report.changes == {"abs-of-neg": 2}
    x = np.array([-1, 0, 2, np.nan], np.float32)
    for made in in_onnxruntime(source, {"x": x}):
        np.testing.assert_array_equal(made, np.abs(x))


def test_it_runs_behind_those_of_the_catalogue() -> None:
    report = maxfold.optimize(proto(), passes=["mypkg:Negate", "all", "mypkg:Whole", "mypkg:Negate"])
    names = [entry.name for entry in report.passes]
    assert names == [*(entry.name for entry in maxfold.catalogue()), "abs-of-neg", "whole"]


def test_without_being_named_it_does_not_run() -> None:
    assert "abs-of-neg" not in maxfold.optimize(proto()).changes


def test_it_is_left_out_like_all_others() -> None:
    report = maxfold.optimize(proto(), passes="all,mypkg:Negate", skip="mypkg:Negate,fuse-max")
    assert not {"abs-of-neg", "fuse-max"} & set(report.changes)


def test_what_it_declines_is_reported() -> None:
    source = proto()
    source.graph.node[3].input[0] = "y"
    report = maxfold.optimize(source, passes="mypkg:Negate")
    assert {(entry.rule, entry.reason) for entry in report.declines} == {("abs-of-neg", "'y' is used elsewhere")}


def test_what_a_model_error_says_is_a_decline() -> None:
    report = maxfold.optimize(proto(), passes="mypkg:Refusing")
    assert {entry.reason for entry in report.declines} == {"its constant cannot be decoded"}


def test_what_is_kept_is_left_alone() -> None:
    report = maxfold.optimize(proto(), passes="mypkg:Negate", keep="z")
    assert report.changes == {"abs-of-neg": 1}
    assert ("z", "it is to be kept") in {(entry.node, entry.reason) for entry in report.declines}


def test_its_options_are_those_of_that_name() -> None:
    report = maxfold.optimize(proto(), passes="mypkg:Sized", max_growth_bytes=17)
    assert {entry.reason for entry in report.declines} == {"17 and 3"}


def test_its_time_is_measured_by_the_driver() -> None:
    report = maxfold.optimize(proto(), passes="mypkg:Whole,mypkg:Negate")
    assert [entry.name for entry in report.passes] == ["whole", "abs-of-neg"]
    assert all(0 < entry.elapsed_seconds < 1e6 for entry in report.passes)


FAILURES = {
    "mypkg:Raising": "the pass 'raising' failed at Abs 'z': ",
    "mypkg:RaisingLater": "the pass 'raising-later' failed at Abs 'z': AttributeError: ",
    "mypkg:WholeRaising": "the pass 'whole-raising' failed: KeyError: 'gone'; ",
    "mypkg:WholeRestless": "the pass 'whole-restless' does not come to an end: 2 changes, ",
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_it_raises_names_it(name: str) -> None:
    with pytest.raises(maxfold.ModelError) as caught:
        maxfold.optimize(proto(), passes=name)
    assert str(caught.value).startswith(FAILURES[name])
    assert str(caught.value).endswith("; it is none of maxfold's own: mend it, or leave it out")
    assert caught.value.__cause__ is not None or name == "mypkg:WholeRestless"


def test_one_that_does_not_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_VISITS_PER_NODE", 1)
    with pytest.raises(maxfold.ModelError, match=r"^the pass 'restless' does not come to an end: [0-9,]+ changes"):
        maxfold.optimize(proto(), passes="all,mypkg:Restless")


UNUSABLE = {
    "mypkg:Nothing": "cannot be imported: AttributeError: module 'mypkg' has no attribute 'Nothing'",
    "mypkg.nothing:Pass": "cannot be imported: ModuleNotFoundError: No module named 'mypkg.nothing'",
    "mypkg.broken:Pass": "cannot be imported: ZeroDivisionError: division by zero",
    ":Pass": "cannot be imported: ValueError: Empty module name",
    "mypkg:": "cannot be imported: AttributeError: ",
    "mypkg:DONE": "cannot be used: it is no subclass of maxfold.passes.own.Pass",
    "mypkg:Renamed": "cannot be used: it is no subclass of maxfold.passes.own.Pass",
    "mypkg:Unfinished": "cannot be used: it does not define match",
    "mypkg:Nameless": "cannot be used: its name is 'Not A Name', not small letters and digits with hyphens between",
    "mypkg:Taken": "cannot be used: the catalogue has a pass 'fuse-max' already; give it another name",
    "mypkg:Silent": "cannot be used: its summary is not one line of text",
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_cannot_be_used_is_said_in_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(maxfold.ModelError) as caught:
        maxfold.optimize(proto(), passes=name)
    assert str(caught.value).startswith(f"the pass {name!r} {UNUSABLE[name]}")
    done = run("optimize", path(tmp_path), "--dry-run", "--passes", name)
    assert done.status == 2
    assert done.stderr.startswith(f"maxfold: error: --passes: the pass {name!r} {UNUSABLE[name]}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("mypkg:Aimless", "the pass 'aimless' has a rule without operators, pairs of domain and name"),
        ("mypkg:Needy", "the pass 'needy' cannot be made without arguments: TypeError: "),
        ("mypkg:Negate,mypkg:Double", "two passes have the name 'abs-of-neg'; leave one out"),
    ],
)
def test_what_cannot_be_run_is_said_before_it_runs(name: str, reason: str) -> None:
    with pytest.raises(maxfold.ModelError) as caught:
        maxfold.optimize(proto(), passes=name)
    assert str(caught.value).startswith(reason)


def test_all_is_no_pass_to_skip(tmp_path: Path) -> None:
    done = run("optimize", path(tmp_path), "--dry-run", "--skip", "all")
    assert (done.status, done.stderr) == (
        2,
        "maxfold: error: --skip: 'all' is not a pass; 'maxfold passes' lists them\n",
    )


def test_the_command_line_runs_it(tmp_path: Path) -> None:
    passes = "remove-dead-nodes,mypkg:Negate"
    done = run("optimize", path(tmp_path), "-o", str(tmp_path / "o.onnx"), "--passes", passes, "--json")
    assert done.status == 0, done.stderr
    found = {entry["name"]: entry["changes"] for entry in json.loads(done.stdout)["passes"]}
    assert found == {"remove-dead-nodes": 2, "abs-of-neg": 2}
    assert [node.op_type for node in onnx.load(tmp_path / "o.onnx").graph.node] == ["Abs"] * 2


@pytest.mark.parametrize("name", ["Raising", "RaisingLater", "WholeRaising", "Restless"])
def test_what_fails_is_one_line_and_writes_nothing(name: str, tmp_path: Path) -> None:
    source = path(tmp_path)
    done = run("optimize", source, "-o", str(tmp_path / "o.onnx"), "--passes", f"mypkg:{name}")
    assert done.status == 2
    assert done.stderr.startswith(f"maxfold: error: {source}: the pass ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "o.onnx").exists()


def test_check_runs_it_again(tmp_path: Path) -> None:
    done = run("optimize", path(tmp_path), "--check", "--passes", "mypkg:Negate", "-q")
    assert (done.status, done.stderr) == (1, "")
    done = run("optimize", path(tmp_path), "--check", "--passes", "mypkg:Forgetful")
    assert done.status == 2
    assert done.stderr.endswith(
        "m.onnx: the result is changed again by a second run: forgetful (1); passes have to come to an end\n"
    )


def test_check_reads_what_it_has_made(tmp_path: Path) -> None:
    done = run("optimize", path(tmp_path), "--check", "--passes", "mypkg:Breaking")
    assert done.status == 2
    assert "'z' in graph 'g' is made twice" in done.stderr
    assert done.stderr.endswith("; a pass of one's own must have made it so\n")


def installed(folder: Path, *lines: str) -> None:
    """A distribution with entry points, as pip would have installed it."""
    information = folder / "mypkg-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: mypkg\nVersion: 1.0\n", encoding="utf-8")
    entries = "\n".join(["[maxfold.passes]", *lines])
    (information / "entry_points.txt").write_text(entries + "\n", encoding="utf-8")
    importlib.invalidate_caches()


def test_a_package_gives_it_a_name(package: Path, tmp_path: Path) -> None:
    installed(package, "abs-of-neg = mypkg:Negate", "wrong = mypkg:Whole", "broken = mypkg.broken:Pass")
    report = maxfold.optimize(proto(), passes="abs-of-neg")
    assert report.changes == {"abs-of-neg": 2}
    assert "abs-of-neg" not in maxfold.optimize(proto()).changes
    with pytest.raises(maxfold.ModelError, match=r"^'abs-of-nec' is not a pass; did you mean 'abs-of-neg'\?$"):
        maxfold.optimize(proto(), passes="abs-of-nec")
    with pytest.raises(maxfold.ModelError, match=r"^the pass 'wrong' cannot be used: its class has the name 'whole'"):
        maxfold.optimize(proto(), passes="wrong")
    done = run("optimize", path(tmp_path), "--dry-run", "--passes", "all,abs-of-neg", "--skip", "abs-of-neg", "-q")
    assert (done.status, done.stderr) == (0, "")


def test_it_is_listed(package: Path) -> None:
    installed(package, "abs-of-neg = mypkg:Negate", "sized = mypkg:Sized", "broken = mypkg.broken:Pass")
    found = {entry["name"]: entry for entry in json.loads(run("passes", "--json").stdout)["passes"]}
    assert found["abs-of-neg"]["summary"] == "let Abs read what Neg does"
    assert found["sized"]["options"] == {"max_growth_bytes": 1, "limit": 3}
    assert found["broken"]["mode"] == "unusable"
    assert "ZeroDivisionError" in found["broken"]["summary"]
    assert "abs-of-neg" in run("passes").stdout
    assert "abs-of-neg" not in run("passes", "--markdown").stdout


@pytest.mark.parametrize(("owner", "names"), [(View, STABLE_VIEW), (Edit, STABLE_EDIT)])
def test_what_is_named_stable_is_there_and_described(owner: Any, names: tuple[str, ...]) -> None:
    assert len(set(names)) == len(names)
    for name in names:
        assert getattr(owner, name).__doc__, name
