"""`maxfold ops`: the conversion table."""

from __future__ import annotations

import json

from maxfold.optimizer.operator_table import operator_table
from tests.cli.shell import fails, maxfold


def test_the_whole_table() -> None:
    run = maxfold("ops")
    assert (run.status, run.stderr) == (0, "")
    heading, *lines = run.stdout.splitlines()
    assert heading.split() == ["ONNX", "versions", "OpenVINO", "versions", "exactness"]
    assert len(lines) == len(operator_table()) + 2
    assert next(line for line in lines if line.startswith("Max ")).split()[:5] == [
        "Max",
        "1+",
        "↔",
        "Maximum",
        "opset1+",
    ]


def test_a_part_of_a_name_in_any_case() -> None:
    run = maxfold("ops", "MAXI")
    assert run.status == 0
    lines = run.stdout.splitlines()
    assert lines[0].split() == ["Max", "1+", "↔", "Maximum", "opset1+"]
    assert [line.split()[0] for line in lines[1:4]] == ["form", "exactness", "limits"]
    assert len(lines) == 4


def test_a_direction_that_does_not_exist() -> None:
    pairs = {(pair.onnx, pair.openvino): pair for pair in operator_table("sum")}
    assert (pairs["Sum", "Add"].to_openvino, pairs["Sum", "Add"].to_onnx) == (True, False)
    line = next(line for line in maxfold("ops").stdout.splitlines() if line.startswith("Sum "))
    assert "→" in line


def test_limits_of_the_two_directions() -> None:
    """One direction's limits do not read as the other's."""
    (entry,) = json.loads(maxfold("ops", "LSTMSequence", "--json").stdout)["operators"]
    there, back = entry["limits"].removeprefix("From ONNX: ").split(" From OpenVINO: ")
    assert "a step at a time" in there
    assert "peepholes and coupled gates too" in back
    (entry,) = json.loads(maxfold("ops", "LogicalXor", "--json").stdout)["operators"]
    assert entry["limits"] == ""
    (entry,) = json.loads(maxfold("ops", "FloorMod", "--json").stdout)["operators"]
    assert entry["limits"].startswith("Floating-point numbers become Div")
    (entry,) = json.loads(maxfold("ops", "GatherND", "--json").stdout)["operators"]
    assert entry["limits"].startswith("An index out of range is an error in ONNX and gives 0 in OpenVINO")


def test_no_such_operator() -> None:
    run = maxfold("ops", "nothing\x1b")
    assert (run.status, run.stdout) == (1, "")
    assert run.stderr == "maxfold: no operator of the table has 'nothing\\\\x1b' in its name\n"


def test_json() -> None:
    content = json.loads(maxfold("ops", "maximum", "--json").stdout)
    assert content["schema"] == "maxfold.operators/1"
    (entry,) = content["operators"]
    assert (entry["onnx"], entry["openvino"], entry["onnx_versions"]) == ("Max", "Maximum", [1, None])
    run = maxfold("ops", "nothing", "--json")
    assert run.status == 1
    assert json.loads(run.stdout)["operators"] == []


def test_markdown() -> None:
    text = maxfold("ops", "maximum", "--markdown").stdout
    assert text.startswith("# Operators\n")
    assert "| `Max` | 1+ | ↔ | `Maximum` | 1+ | pair | exact |" in text
    assert fails("ops", "--markdown", "--json") == "--json and --markdown contradict each other; choose one"
