"""`optimize --verify`: the result is run before it is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

from maxfold.optimizer import Model, Report, runtimes, verification
from tests.cli.models import NOT_RUNNABLE, RELAXED_ONLY, content, operators, write, write_external
from tests.cli.shell import fails, maxfold

pytest.importorskip("onnxruntime")


def test_a_result_that_is_right(folder: Path) -> None:
    write(folder / "m.onnx")
    run = maxfold("optimize", "m.onnx", "-o", "out.onnx", "--verify")
    assert run.status == 0
    assert "verified: the same bits in 2 runs in ONNX Runtime" in run.stderr
    assert operators(folder / "out.onnx") == ["Max"]
    assert sorted(path.name for path in folder.iterdir()) == ["m.onnx", "out.onnx"]


@pytest.mark.parametrize("destination", [["--in-place"], ["-o", "-"], ["--dry-run"], ["--out-dir", "new"]])
def test_everywhere(folder: Path, destination: list[str]) -> None:
    write(folder / "m.onnx")
    run = maxfold("optimize", "m.onnx", "--verify", *destination)
    assert run.status == 0
    assert "verified: " in run.stderr
    assert {path.name for path in folder.iterdir()} <= {"m.onnx", "new"}


def test_standard_input_and_external_data(folder: Path) -> None:
    assert maxfold("optimize", "-", "-o", "out.onnx", "--verify", stdin=content()).status == 0
    write_external(folder / "m.onnx")
    assert maxfold("optimize", "m.onnx", "-o", "ext.onnx", "--verify").status == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "ext.onnx", "ext.onnx.data", "m.onnx", "m.onnx.data", "out.onnx",
    ]  # fmt: skip


def spoil(monkeypatch: pytest.MonkeyPatch, operator: str) -> None:
    """Makes optimizing wrong: the first node gets another operator."""
    from maxfold import optimizer

    right = optimizer.optimize

    def wrong(model: Model, **settings: Any) -> Report:
        report = right(model, **settings)
        model.graph.nodes[0].op = operator
        model.graph.nodes[0].proto = None
        return report

    monkeypatch.setattr(optimizer, "optimize", wrong)


@pytest.mark.parametrize("destination", [["-o", "out.onnx"], ["--in-place"], ["--dry-run"]])
def test_a_result_that_is_wrong(folder: Path, monkeypatch: pytest.MonkeyPatch, destination: list[str]) -> None:
    before = write(folder / "m.onnx").read_bytes()
    spoil(monkeypatch, "Min")
    run = maxfold("optimize", "m.onnx", "--verify", "--json", *destination)
    assert run.status == 1
    assert "nothing written: output 'y' differs by " in run.stderr
    report = json.loads(run.stdout)
    assert report["failure"].startswith("output 'y' differs by ")
    assert report["written"] is False
    assert report["verification"]["is_equal"] is False
    assert [path.name for path in folder.iterdir()] == ["m.onnx"]
    assert (folder / "m.onnx").read_bytes() == before


def test_a_result_that_does_not_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "m.onnx")
    spoil(monkeypatch, "NoSuchOperator")
    run = maxfold("optimize", "m.onnx", "-o", "out.onnx", "--verify", "-q")
    assert run.status == 1
    assert run.stderr.startswith("maxfold: m.onnx: nothing written: the result: ONNX Runtime cannot load it: ")
    assert run.stderr.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["m.onnx"]


def test_one_wrong_result_of_several(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "m.onnx")
    write(folder / "n.onnx", RELAXED_ONLY)
    spoil(monkeypatch, "Min")
    run = maxfold("optimize", "m.onnx", "--out-dir", "out", "--verify", "n.onnx")
    assert run.status == 1
    assert "m.onnx: nothing written: output 'y' differs by " in run.stderr


def test_relaxed_results_may_differ_a_little(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slightly_off(name: str, expected: Any, actual: Any, run: int) -> verification.OutputComparison:
        return verification.OutputComparison(name, False, 1e-4, 1e-4, run=run)

    monkeypatch.setattr(verification, "compare", slightly_off)
    write(folder / "m.onnx", RELAXED_ONLY)
    assert maxfold("optimize", "m.onnx", "-o", "out.onnx", "--verify", "--math", "exact").status == 1
    run = maxfold("optimize", "m.onnx", "-o", "out.onnx", "--verify", "--math", "relaxed")
    assert run.status == 0
    assert "verified: at most 0.0001 apart in 2 runs in ONNX Runtime" in run.stderr
    assert "--math relaxed: results may be rounded differently" in run.stderr


def test_an_input_that_does_not_run(folder: Path) -> None:
    write(folder / "m.onnx", NOT_RUNNABLE)
    assert fails("optimize", "m.onnx", "-o", "out.onnx", "--verify").startswith("m.onnx: ONNX Runtime cannot load it: ")
    assert not (folder / "out.onnx").exists()


def test_without_onnxruntime(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "find_spec", lambda name: None)
    write(folder / "m.onnx")
    message = fails("optimize", "m.onnx", "-o", "out.onnx", "--verify")
    assert message == (
        "verification runs ONNX models in ONNX Runtime, which is not here: pip install 'maxfold[verify]'"
    )


def test_the_verified_file_is_the_written_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    right = verification.verify

    def watched(first: Path, second: Path, **settings: Any) -> verification.Verification:
        seen.append(second.read_bytes())
        return right(first, second, **settings)

    monkeypatch.setattr("maxfold.optimizer.verify", watched)
    write_external(folder / "m.onnx")
    assert maxfold("optimize", "m.onnx", "-o", "out.onnx", "--verify").status == 0
    assert seen == [(folder / "out.onnx").read_bytes()]
    onnx.checker.check_model(folder / "out.onnx")
