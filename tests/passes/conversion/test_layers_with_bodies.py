"""If, Loop and TensorIterator on the way to ONNX: of maxfold's IR, and of OpenVINO's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import openvino.opset13 as ops
import pytest

from maxfold.model import ModelError
from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert
from tests.passes.conversion import harness
from tests.passes.conversion.judged import floats
from tests.passes.conversion.test_control_flow import IFS, LOOPS, SCANS, false, model_of, true, whole

CASES = ("test_if", "test_loop11", "test_scan9_sum", "test_scan9_scalar", "test_scan9_multi_state")
X = floats(2, 3)
OWNERS = ("maxfold", "OpenVINO")


def back(model: onnx.ModelProto, owner: str, folder: Path) -> Path:
    """The ONNX file made of an IR of a model."""
    onnx.save(model, folder / "made.onnx")
    if owner == "OpenVINO":
        harness.write_by_openvino(model, folder / "made.xml")
    else:
        save(convert(load(folder / "made.onnx"), to="openvino"), folder / "made.xml")
    save(convert(load(folder / "made.xml"), to="onnx"), folder / "back.onnx")
    onnx.checker.check_model(folder / "back.onnx", full_check=True)
    return folder / "back.onnx"


def assert_comes_back(text: str, runs: list[list[Any]], owner: str, folder: Path) -> None:
    path = back(model_of(text), owner, folder)
    for inputs in runs:
        expected = harness.run_onnx(folder / "made.onnx", inputs)
        harness.assert_close(harness.run_onnx(path, inputs), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("name", CASES)
def test_node_tests(name: str, owner: str, tmp_path: Path) -> None:
    case = harness.all_cases()[name]
    path = back(case.model, owner, tmp_path)
    harness.assert_close(harness.run_onnx(path, case.inputs), case.outputs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("text", IFS.values(), ids=IFS)
def test_if(text: str, tmp_path: Path) -> None:
    runs = [[condition, floats(2, 3)] for condition in (true(), false())]
    assert_comes_back(text, runs, "maxfold", tmp_path)


@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS)
def test_loop(text: str, tmp_path: Path) -> None:
    runs = [[whole(count), condition, floats(2)] for count in (3, 0, -2) for condition in (true(), false())]
    assert_comes_back(text, runs, "maxfold", tmp_path)


def test_loop_whose_conditions_are_lists_of_one(tmp_path: Path) -> None:
    x, carried = ops.parameter([2, 3], np.float32, name="x"), ops.parameter([2, 3], np.float32)
    one, yes = ops.constant([1.5], np.float32), ops.constant([True], bool)
    body = openvino.Model([ops.constant([True], bool).output(0), ops.add(carried, one).output(0)], [carried])
    loop = ops.loop(ops.constant(3, np.int64), yes)
    loop.set_function(body)
    loop.set_special_body_ports([-1, 0])
    loop.set_merged_input(carried, x.output(0), body.results[1].output(0))
    result = loop.get_iter_value(body.results[1].output(0), -1)
    openvino.serialize(openvino.Model([result], [x]), tmp_path / "made.xml")
    save(convert(load(tmp_path / "made.xml"), to="onnx"), tmp_path / "back.onnx")
    onnx.checker.check_model(tmp_path / "back.onnx", full_check=True)
    harness.assert_close(harness.run_onnx(tmp_path / "back.onnx", [X]), [X + 4.5], rtol=1e-6, atol=0)


@pytest.mark.parametrize("text", SCANS.values(), ids=SCANS)
def test_scan(text: str, tmp_path: Path) -> None:
    size = (2, 4) if "float[2,A]" in text else (4, 2)
    assert_comes_back(text, [[floats(2), floats(*size), floats(2, seed=1)]], "maxfold", tmp_path)


def test_slices_of_several_elements_are_refused(tmp_path: Path) -> None:
    onnx.save(model_of(SCANS["forward"]), tmp_path / "made.onnx")
    save(convert(load(tmp_path / "made.onnx"), to="openvino"), tmp_path / "made.xml")
    written = (tmp_path / "made.xml").read_text().replace('part_size="1"', 'part_size="2"')
    (tmp_path / "made.xml").write_text(written)
    with pytest.raises(ModelError, match="TensorIterator: its slices are not of one element each"):
        convert(load(tmp_path / "made.xml"), to="onnx")


def test_a_state_that_changes_otherwise_than_declared(tmp_path: Path) -> None:
    text = """g (int64 n, float[2] x) => (float[A] y) {
        y = Loop (n, , x) <body = b (int64 i, bool c0, float[P] s0) => (bool c, float[Q] s)
          { c = Identity(c0) s = Concat<axis=0>(s0, x) }> }"""
    onnx.save(model_of(text), tmp_path / "made.onnx")
    model = convert(load(tmp_path / "made.onnx"), to="openvino")
    (layer,) = [node for node in model.graph.nodes if node.op == "Loop"]
    layer.attrs["body"].inputs[1].__dict__["parameter"].data["shape"] = "2"
    with pytest.raises(ModelError, match="Loop: a state may change its shape otherwise than its Parameter says"):
        convert(model, to="onnx")
    layer.attrs["body"].inputs[1].__dict__["parameter"].data["shape"] = "?"
    save(convert(model, to="onnx"), tmp_path / "back.onnx")
    inputs = [whole(3), np.float32([1, 2])]
    expected = harness.run_onnx(tmp_path / "made.onnx", inputs)
    harness.assert_close(harness.run_onnx(tmp_path / "back.onnx", inputs), expected, rtol=0, atol=0)


@pytest.mark.parametrize("text", [IFS["results that are captured"], LOOPS["by both"]], ids=["If", "Loop"])
def test_a_parameter_without_a_port(text: str, tmp_path: Path) -> None:
    onnx.save(model_of(text), tmp_path / "made.onnx")
    model = convert(load(tmp_path / "made.onnx"), to="openvino")
    (layer,) = [node for node in model.graph.nodes if node.op in ("If", "Loop")]
    entries = layer.attrs["port_map" if layer.op == "Loop" else "else_port_map"]
    entries.remove([entry for entry in entries if entry.tag == "input"][-1])
    with pytest.raises(ModelError, match="no port is mapped to the Parameter"):
        convert(model, to="onnx")
