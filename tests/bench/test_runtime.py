"""What runtimes make of results: counted after their own fusions, and told where it is worse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from bench import runtime
from bench.runtime import Loaded, Row
from tests.text import model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "models"
    made.mkdir()
    body = "h = Mul(x, half)\n t = Div(x, root)\n e = Erf(t)\n f = Add(e, one)\n p = Mul(h, f)\n y = Identity(p)"
    constants = {name: np.array(value, np.float32) for name, value in (("half", 0.5), ("root", 1.4142135), ("one", 1))}
    onnx.save(model(f"g (float[2,8] x) => (float[2,8] y) {{ {body} }}", constants=constants), made / "gelu.onnx")
    return made


def test_a_pattern_that_stays_whole(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = tmp_path / "answer.json"
    arguments = [str(folder), "--tools", "maxfold,maxfold-relaxed", "--repeat", "1", "--json", str(answer)]
    assert runtime.main(arguments) == 0
    assert "Nodes in OpenVINO" in capsys.readouterr().out
    (row,) = json.loads(answer.read_text(encoding="utf-8"))["results"]
    assert [item["name"] for item in row["variants"]] == ["original", "maxfold", "maxfold-relaxed"]
    assert [item["fused"] for item in row["variants"]] == [{"Gelu": 1}] * 3
    assert all(item["run_seconds"] and item["openvino_nodes"] for item in row["variants"])


@pytest.mark.parametrize(
    ("variant", "worse"),
    [
        (Loaded("maxfold", nodes=3, openvino_nodes=4), False),
        (Loaded("maxfold", nodes=4, openvino_nodes=4), True),
        (Loaded("maxfold", nodes=3, openvino_nodes=5), True),
        (Loaded("maxfold", nodes=3), False),
        (Loaded("maxfold", error="ONNX Runtime: refused"), True),
    ],
)
def test_what_is_worse(variant: Loaded, worse: bool) -> None:
    assert runtime._is_worse(Row("m", [Loaded("original", nodes=3, openvino_nodes=4), variant]), variant) == worse
