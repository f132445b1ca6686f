"""What other options would gain, as the command line says it."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from tests.cli.shell import maxfold
from tests.optimizer.test_hints import GAMMA, NORMALIZED, PARTS, SHAPES
from tests.text import model


@pytest.fixture
def models(folder: Path) -> list[str]:
    onnx.save(model(NORMALIZED, opset=13, constants=GAMMA), folder / "norm.onnx")
    onnx.save(model(SHAPES, opset=13, constants=PARTS), folder / "shapes.onnx")
    return ["norm.onnx", "shapes.onnx"]


def test_one_model(models: list[str]) -> None:
    text = maxfold("optimize", "norm.onnx", "--dry-run").stderr
    assert "  --opset 20 --math relaxed would remove 12 more nodes:\n" in text
    assert "    1 Gelu and 1 LayerNormalization would become one node each\n" in text
    assert "  --dim B=1 --dim L=16 would remove " in maxfold("optimize", "shapes.onnx", "--dry-run").stderr


def test_what_is_said_is_what_comes_of_it(models: list[str]) -> None:
    report = json.loads(maxfold("optimize", "norm.onnx", "--dry-run", "--json", "-q").stdout)
    for hint in report["hints"]:
        options = hint["options"].split()
        after = json.loads(maxfold("optimize", "norm.onnx", "--dry-run", "--json", "-q", *options).stdout)
        assert report["nodes_after"] - after["nodes_after"] == hint["nodes"]


def test_several_models(models: list[str]) -> None:
    text = maxfold("optimize", *models, "--dry-run").stderr
    assert "\n--dim would remove " in text
    assert "\n--opset would remove 12 more nodes of 1 model (-v says how)\n" in text
    text = maxfold("optimize", *models, "--dry-run", "-v", "--jobs", "2").stderr
    assert "\nnorm.onnx: --opset 20 --math relaxed would remove 12 more nodes:\n" in text
    assert "\nshapes.onnx: --dim B=1 --dim L=16 would remove " in text


def test_they_can_be_left_out(models: list[str], folder: Path) -> None:
    assert "would remove" not in maxfold("optimize", *models, "--dry-run", "--no-hints").stderr
    run = maxfold("optimize", "norm.onnx", "--dry-run", "--no-hints", "--json")
    assert "would remove" not in run.stderr
    report = json.loads(run.stdout)
    assert (report["hints"], report["relaxed_gain"]) == (None, None)
    (folder / "maxfold.toml").write_text("hints = false\n")
    assert "would remove" not in maxfold("optimize", "norm.onnx", "--dry-run").stderr
    assert "would remove" in maxfold("optimize", "norm.onnx", "--dry-run", "--hints").stderr


def test_a_quiet_run_works_none_out(models: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise AssertionError

    monkeypatch.setattr("maxfold.optimizer.hints.find_hints", fail)
    assert maxfold("optimize", "norm.onnx", "-o", "out.onnx", "-q").status == 0
    assert maxfold("convert", "norm.onnx", "-o", "out.xml", "--json").status == 0
    assert maxfold("optimize", "norm.onnx", "--dry-run").status != 0


def test_steps_behind_relaxed_rewrites(folder: Path) -> None:
    text = """g (float[4] x) => (int64 y) <float k = {1.5}, float l = {2}> {
        a = Add(x, k)  n = Add(a, l)  r = Neg(n)  y = ArgMax<keepdims = 0>(r) }"""
    onnx.save(model(text), folder / "m.onnx")
    line = "small differences may grow in 1 ArgMax, which depend on what may be rounded differently"
    assert line in maxfold("optimize", "m.onnx", "--dry-run", "--math", "relaxed").stderr
    report = json.loads(maxfold("optimize", "m.onnx", "--dry-run", "--math", "relaxed", "--json", "-q").stdout)
    assert report["warnings"] == [line]
