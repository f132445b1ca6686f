"""ONNX's node tests through the conversion: what becomes of each, and what changed since a run that was kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

from bench import node_tests
from bench.node_runtimes import difference, openvino_core, run_onnxruntime, run_openvino
from bench.node_tables import Found
from bench.node_tests import Case, Task, check, run

ONE = np.array([-1.0, 2.0], np.float32)


def case(name: str, operator: str, *outputs: Any, value: Any = ONE, domain: str = "") -> Case:
    """A node test of one input."""
    element_type = helper.np_dtype_to_tensor_dtype(value.dtype)
    x, y = (helper.make_tensor_value_info(named, element_type, value.shape) for named in "xy")
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"], domain=domain)], "graph", [x], [y])
    imports = [helper.make_opsetid("", 17), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return Case(name, operator, helper.make_model(graph, opset_imports=imports, ir_version=8), [value], list(outputs))


RIGHT = case("test_relu", "Relu", np.array([0.0, 2.0], np.float32))
WRONG = case("test_relu_wrong", "Relu", np.array([0.0, 3.0], np.float32))
UNKNOWN = case("test_unknown", "Unknown", ONE, domain="example")


@pytest.mark.parametrize("way", ["ours to openvino", "ours to onnx", "openvino", "written", "onnxruntime"])
def test_each_way_tells_right_from_wrong(way: str, tmp_path: Path) -> None:
    assert check(Task(RIGHT, way, tmp_path)) == Found("right")
    assert check(Task(WRONG, way, tmp_path)) == Found("wrong", "output 0: 1 of 2 values, such as 2.0, not 3.0")


def test_what_is_not_taken_is_refused_by_its_operator_or_not_loaded(tmp_path: Path) -> None:
    ours = check(Task(UNKNOWN, "ours to openvino", tmp_path))
    assert ours.status == "refused"
    assert "Unknown: " in ours.reason
    assert check(Task(UNKNOWN, "openvino", tmp_path)).status == "refused"
    assert check(Task(UNKNOWN, "onnxruntime", tmp_path)).status == "not loaded"


def test_values_that_are_not_finite_have_two_answers_in_openvino(tmp_path: Path) -> None:
    value = np.array([np.nan, 1.0], np.float32)
    assert check(Task(case("test_relu_nan", "Relu", value, value=value), "openvino", tmp_path)) == Found("right")


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_types_that_numpy_lacks_pass_both_runtimes(dtype: Any, tmp_path: Path) -> None:
    made = case("test_identity", "Identity", value=ONE.astype(dtype))
    made.model.opset_import[0].version = 19
    onnx.save(made.model, tmp_path / "made.onnx")
    assert difference(run_onnxruntime(tmp_path / "made.onnx", made.inputs), made.inputs) == ""
    (outputs,) = run_openvino(openvino_core().read_model(tmp_path / "made.onnx"), made.inputs)
    assert difference(outputs, made.inputs) == ""


@pytest.mark.parametrize(
    ("left", "told"),
    [
        (ONE.astype(np.float64), "output 0: float64, not float32"),
        (ONE.reshape(1, 2), "output 0: shape [1, 2], not [2]"),
        (ONE * np.float32(1.0005), ""),
        (ONE * np.float32(1.002), "output 0: 2 of 2 values, such as -1.0019999742507935, not -1.0"),
    ],
)
def test_types_and_shapes_count(left: Any, told: str) -> None:
    assert difference([left], [ONE]) == told


def test_the_ir_that_openvino_does_not_run_right_is_not_converted() -> None:
    found = run([RIGHT, WRONG, UNKNOWN], to="onnx", jobs=1)
    assert list(found) == ["test_relu"]
    assert found["test_relu"].ours == found["test_relu"].theirs == Found("right")


def test_a_run_is_kept_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.json"
    monkeypatch.setattr(node_tests, "all_cases", lambda: {made.name: made for made in (RIGHT, WRONG, UNKNOWN)})
    common = ["--to", "openvino", "--jobs", "1", "--only", "*relu*"]
    assert node_tests.main([*common, "--list", "wrong", "--json", str(kept)]) == 0
    told = capsys.readouterr().out
    assert "maxfold: of 2 tests 1 right, 1 wrong, 0 refused" in told
    assert "test_relu_wrong: wrong; OpenVINO wrong; output 0" in told
    document = json.loads(kept.read_text())
    assert document["tests"]["test_relu"] == {"operator": "Relu", "ours": ["right", ""], "theirs": ["right", ""]}
    document["tests"]["test_relu_wrong"]["ours"] = ["right", ""]
    kept.write_text(json.dumps(document))
    assert node_tests.main([*common, "--against", str(kept)]) == 1
    assert "0 became right, 1 are right no more\n- test_relu_wrong: wrong" in capsys.readouterr().out
