"""maxfold's conversion beside OpenVINO's own: what is told of each model, and what counts as a fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from bench import conversion
from bench.compare import ToolResult
from bench.conversion import MAXFOLD, OPENVINO, Row, Side, refusal
from bench.conversion_judge import Seen, Task, Times, difference, race, see
from bench.conversion_tables import totals
from bench.judge import Original, judge_original
from tests.text import model

ONE = np.array([-1.0, 1000.0], np.float32)


def _saved(folder: Path, name: str, body: str) -> Path:
    path = folder / f"{name}.onnx"
    onnx.save(model(f"g (float[n,2] x) => (float[n,2] y) {{ {body} }}"), path)
    return path


def _converted(path: Path) -> Path:
    import openvino

    target = path.with_suffix(".xml")
    openvino.save_model(openvino.convert_model(path), target, compress_to_fp16=False)
    return target


def test_a_folder_is_converted_both_ways(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _saved(tmp_path, "known", "y = Relu(x)")
    _saved(tmp_path, "unknown", "y = example.Unknown(x)")
    answer = tmp_path / "answer.json"
    assert conversion.main([str(tmp_path), "--repeat", "1", "--turns", "1", "--json", str(answer)]) == 0
    told = capsys.readouterr().out
    assert "maxfold: of 2 models 1 converted; 1 right, 0 wrong, 1 refused" in told
    assert "unknown, maxfold: refused: Unknown" in told
    known, unknown = json.loads(answer.read_text(encoding="utf-8"))["results"]
    for side in (known["ours"], known["theirs"]):
        assert side["status"] == "right"
        assert side["conversion"]["seconds"]
        assert side["times"]["load_seconds"]
        assert len(side["times"]["run_seconds"]) == 1
    assert known["ours"]["seen"]["nodes"] == known["theirs"]["seen"]["nodes"]
    assert len({tuple(dims.items()) for dims in known["original"]["dims"]}) == 2
    assert unknown["theirs"]["status"] == "refused"


def test_an_ir_of_another_model_is_wrong(tmp_path: Path) -> None:
    source, other = _saved(tmp_path, "source", "y = Relu(x)"), _saved(tmp_path, "other", "y = Neg(x)")
    plan = judge_original(source)
    assert see(Task(source, plan, {"made": _converted(source)})).status == "right"
    seen = see(Task(source, plan, {"made": _converted(other)}))
    assert seen.status == "wrong"
    assert seen.reason.startswith("y: off by ")
    unjudged = Original(not_judged="over 20000 nodes")
    assert see(Task(source, unjudged, {"made": _converted(other)})).status == "not judged"


def test_names_count(tmp_path: Path) -> None:
    source = _saved(tmp_path, "source", "y = Relu(x)")
    renamed = onnx.load(source)
    renamed.graph.node[0].output[0] = renamed.graph.output[0].name = "z"
    onnx.save(renamed, tmp_path / "renamed.onnx")
    seen = see(Task(source, judge_original(source), {"made": _converted(tmp_path / "renamed.onnx")}))
    assert (seen.status, seen.reason) == ("wrong", "y is missing")


def test_what_is_no_ir_is_not_loaded(tmp_path: Path) -> None:
    source = _saved(tmp_path, "source", "y = Relu(x)")
    (tmp_path / "broken.xml").write_text("<net/>")
    assert see(Task(source, judge_original(source), {"made": tmp_path / "broken.xml"})).status == "not loaded"


def test_files_take_turns(tmp_path: Path) -> None:
    source = _saved(tmp_path, "source", "y = Relu(x)")
    target = _converted(source)
    found = race(Task(source, judge_original(source), {"one": target, "other": target}, turns=2))
    assert [len(times.run_seconds) for times in found.values()] == [2, 2]


@pytest.mark.parametrize(
    ("found", "nudged", "is_unstable", "wrong"),
    [
        (ONE, ONE, False, ""),
        (ONE + np.float32(0.5), ONE, False, ""),
        (ONE + np.float32(1.5), ONE, False, "off by 1.5e+00"),
        (ONE + np.float32(1.5), ONE + np.float32(2), True, ""),
        (ONE * np.float32(np.nan), ONE, False, "off by inf"),
        (ONE.astype(np.float64), ONE, False, "dtype float32 became float64"),
        (ONE[:1], ONE, False, "shape [2] became [1]"),
        (ONE[:1], ONE[:1], True, ""),
    ],
)
def test_what_is_wrong(found: Any, nudged: Any, is_unstable: bool, wrong: str) -> None:
    _, said, reason = difference(ONE, found, nudged)
    assert said == is_unstable
    assert reason.startswith(wrong)
    assert bool(reason) == bool(wrong)


def test_integers_are_the_same_or_move_by_themselves() -> None:
    old, new = np.array([5, 100_000]), np.array([6, 100_000])
    assert difference(old, new, old)[2]
    assert difference(old, new, new)[1:] == (True, "")


def test_only_what_says_so_is_a_refusal() -> None:
    named = "maxfold: error: m.onnx: cannot be converted to OpenVINO IR: If: the operator is not covered (1 node)"
    assert refusal(MAXFOLD, f"exit status 2: {named}") == ("refused", "If: the operator is not covered (1 node)")
    assert refusal(MAXFOLD, "exit status 1: Traceback\nKeyError: 3") == ("crashed", "KeyError: 3")
    assert refusal(OPENVINO, "exit status 1: Traceback\nRuntimeError: no") == ("refused", "RuntimeError: no")
    assert refusal(OPENVINO, "killed by SIGSEGV") == ("crashed", "killed by SIGSEGV")


def _side(name: str, nodes: dict[str, int], seconds: float, run_seconds: list[float]) -> Side:
    cost = ToolResult(name, seconds=[seconds], growth_bytes=1000)
    return Side(cost, "right", seen=Seen("right", nodes=nodes), times=Times(run_seconds=run_seconds))


def _row(ours: dict[str, int], theirs: dict[str, int]) -> Row:
    sides = (_side("maxfold", ours, 1.0, [3.0, 1.1, 1.0]), _side("openvino", theirs, 4.0, [3.0, 1.0, 1.0]))
    return Row("m", Original(), *sides)


def test_totals_name_what_is_worse() -> None:
    lines = totals([_row({"Gather": 2, "Eltwise": 1}, {"Gather": 1, "Eltwise": 1})])
    assert "nodes: 3 over 2 on 1 models, more on 1" in lines
    assert "- m: 3 over 2 (Gather 2 over 1)" in lines
    assert any(line.startswith("time, ") and "median 0.250" in line and "0.5: none" in line for line in lines)
    assert any(line.startswith("memory, ") and line.endswith("above 0.5: m 1.000") for line in lines)
    assert any(line.startswith("latency, ") and "median 1.000" in line for line in lines)


@pytest.mark.parametrize(
    ("ours", "theirs", "is_fault"),
    [
        (("right", ""), ("wrong", "y: off by 3"), False),
        (("wrong", "y: off by 3"), ("right", ""), True),
        (("wrong", "y: off by 3"), ("wrong", "y: off by 3"), False),
        (("wrong", "y: off by 3"), ("wrong", "y: off by 4"), True),
        (("not loaded", "no"), ("refused", "no"), True),
        (("refused", "no"), ("right", ""), False),
    ],
)
def test_a_fault_is_ours_alone(ours: tuple[str, str], theirs: tuple[str, str], is_fault: bool) -> None:
    row = Row("m", Original(), Side(ToolResult("maxfold"), *ours), Side(ToolResult("openvino"), *theirs))
    assert row.has_fault() == is_fault
    assert f"faults of maxfold alone: {'m' if is_fault else 'none'}" in totals([row])


def test_nodes_with_graphs_inside_are_not_compared() -> None:
    assert not _row({"If": 1, "Gather": 2}, {"If": 1}).has_more_nodes()
