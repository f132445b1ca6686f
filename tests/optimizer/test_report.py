"""A report: what people, notebooks and programs see of it; and what a model shows of itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx_graphsurgeon as gs
import pytest

import maxfold
from tests.text import model

TIME = re.compile(r"<?\d+(\.\d+)? ?m?s\b")


def proto() -> onnx.ModelProto:
    text = """
        g (float[4] x, float[4] w) => (float[4] z, float[4] v) {
            y = Max(x, c)
            z = Max(y, d)
            v = Gemm(x, w)
        }"""
    return model(
        text.replace("v = Gemm(x, w)", "u = Max(x, w)\n v = Neg(u)"),
        constants={"c": np.array([1], np.float32), "d": np.array([2], np.float32)},
    )


def comparable(text: str) -> list[str]:
    return [re.sub(" +", " ", TIME.sub("TIME", line)).strip() for line in text.splitlines()]


def test_the_text_is_the_table_of_the_command_line(tmp_path: Path) -> None:
    onnx.save(proto(), tmp_path / "m.onnx")
    run = subprocess.run(
        [sys.executable, "-m", "maxfold", "optimize", str(tmp_path / "m.onnx"), "--dry-run"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "ascii"},
    )
    loaded = maxfold.load(tmp_path / "m.onnx")
    report = maxfold.optimize(loaded)
    shown = comparable(str(report.with_sizes(loaded.file_bytes, len(loaded.to_bytes()))))
    printed = comparable(run.stderr)
    assert printed[0] == "m.onnx"
    assert printed[1 : 1 + len(shown)] == shown
    assert shown[0] == "nodes 4 -> 3 -25.0%"
    assert "fuse-max 1 change TIME" in shown


def test_the_text_of_nothing_done() -> None:
    source = proto()
    maxfold.optimize(source)
    assert str(maxfold.optimize(source)).splitlines()[-1] == "nothing to do: no pass found anything to change"
    assert str(maxfold.optimize(source, passes=[])).splitlines()[-1] == "no passes were run"


def test_the_text_says_what_else_there_is_to_know() -> None:
    relaxed = str(maxfold.optimize(proto(), math="relaxed", keep="z"))
    assert 'math="relaxed": results may be rounded differently' in relaxed
    assert "1 rewrite declined (declines says why)" in relaxed


def test_notebooks_show_the_same_as_a_table() -> None:
    report = maxfold.optimize(proto())
    shown = report._repr_html_()
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", shown)
    assert cells[:5] == ["nodes", "4", "\N{RIGHTWARDS ARROW}", "3", "-25.0%"]
    assert "fuse-max" in cells
    assert shown.count("<table>") == shown.count("</table>") == 2


def test_one_line_in_the_interpreter() -> None:
    report = maxfold.optimize(proto())
    changes = sum(report.changes.values())
    assert repr(report) == f"<Report: 4 -> 3 nodes, {changes} changes, math='exact'>"


def test_changes_are_found_by_name() -> None:
    report = maxfold.optimize(proto())
    assert report.changes["fuse-max"] == 1
    assert list(report.changes) == [entry.name for entry in maxfold.catalogue()]
    with pytest.raises(KeyError):
        report.changes["no-pass"]


def test_json_is_what_the_dictionary_is() -> None:
    report = maxfold.optimize(proto())
    found = json.loads(report.to_json())
    assert found == json.loads(json.dumps(report.to_dict()))
    assert found["schema"] == "maxfold.report/1"
    assert found["nodes_after"] == 3


def test_a_model_shows_itself_in_one_line(tmp_path: Path) -> None:
    onnx.save(proto(), tmp_path / "m.onnx")
    assert repr(maxfold.load(proto())) == "<Model: ONNX 'g', 4 nodes, 2 constants>"
    assert repr(maxfold.load(tmp_path / "m.onnx")).endswith(f" from {str(tmp_path / 'm.onnx')!r}>")
    assert repr(maxfold.convert(proto(), to="openvino")).startswith("<Model: OpenVINO IR 'g', ")


def test_a_model_becomes_what_others_take() -> None:
    loaded = maxfold.load(proto())
    assert loaded.to_proto() == proto()
    assert onnx.ModelProto.FromString(loaded.to_bytes()) == proto()
    graph = loaded.to_graphsurgeon()
    assert type(graph) is gs.Graph
    assert [node.op for node in graph.nodes] == ["Max", "Max", "Max", "Neg"]
    graph.nodes.clear()
    assert loaded.node_count() == 4


@pytest.mark.parametrize("method", ["to_proto", "to_bytes", "to_graphsurgeon"])
def test_an_ir_becomes_none_of_them(method: str) -> None:
    converted = maxfold.convert(proto(), to="openvino")
    with pytest.raises(maxfold.ModelError, match=r"^the model is an OpenVINO IR; convert it to ONNX first$"):
        getattr(converted, method)()
