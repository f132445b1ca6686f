"""Runs ONNX's own node tests through the conversion table: there, back, and round.

Every case has inputs and expected outputs of its own; OpenVINO and ONNX Runtime run with their optimizations off.

What a processor decides is not asserted, such as what OpenVINO's CPU plugin gives for Greater(NaN, 1).
"""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino
import pytest

from maxfold.model import ModelError
from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert

Arrays = list[Any]


@dataclass(frozen=True)
class Case:
    """A node test: a model, its inputs, and the outputs that the specification gives."""

    name: str
    model: onnx.ModelProto
    inputs: Arrays
    outputs: Arrays

    @property
    def operators(self) -> set[str]:
        """The operators of its nodes."""
        return {node.op_type for node in self.model.graph.node}


@functools.cache
def all_cases() -> dict[str, Case]:
    """All node tests of the installed onnx whose values are plain tensors."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collected = collect_testcases("")
    found: dict[str, Case] = {}
    for case in collected:
        if case.model is None or not case.data_sets:
            continue
        inputs, outputs = case.data_sets[0]
        if all(isinstance(item, (np.ndarray, np.generic)) for item in (*inputs, *outputs)):
            found[case.name] = Case(case.name, case.model, [np.asarray(item) for item in inputs], list(outputs))
    return found


def cases_of(*operators: str) -> list[Case]:
    """The cases whose only operators (Constant aside) are among these."""
    return [
        case
        for case in all_cases().values()
        if case.operators - {"Constant"} and case.operators <= {*operators, "Constant"}
    ]


def run_onnx(path: Path, inputs: Arrays) -> Arrays:
    """Runs an ONNX file in ONNX Runtime; inputs by position."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feeds = {declared.name: value for declared, value in zip(session.get_inputs(), inputs, strict=True)}
    return list(session.run(None, feeds))


def run_openvino(path: Path, inputs: Arrays) -> Arrays:
    """Runs an IR file in OpenVINO; inputs by position.

    On the CPU; where inputs are not finite, by the reference functions of its operations, of those that have one.
    """
    core = openvino.Core()
    model = core.read_model(path)
    tensors = [
        openvino.Tensor(np.ascontiguousarray(value).reshape(np.shape(value)), shared_memory=False) for value in inputs
    ]
    evaluated = None if are_finite(inputs) else _by_reference(model, tensors)
    if evaluated is not None:
        return evaluated
    core.set_property("CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    compiled = core.compile_model(model, "CPU")
    request = compiled.create_infer_request()
    for index, tensor in enumerate(tensors):
        request.set_input_tensor(index, tensor)
    request.infer()
    return [request.get_output_tensor(index).data.copy() for index in range(len(compiled.outputs))]


def are_finite(inputs: Arrays) -> bool:
    """Whether there is neither NaN nor an infinity."""
    arrays = map(np.asarray, inputs)
    return all(array.dtype.kind in "biuOSU" or np.isfinite(array.astype(np.float64)).all() for array in arrays)


def _by_reference(model: Any, tensors: Arrays) -> Arrays | None:
    """What OpenVINO's reference functions give, compiled alike for all processors; None where an operation has none."""
    results = [
        openvino.Tensor(port.element_type, [] if port.partial_shape.is_dynamic else port.shape)
        for port in model.outputs
    ]
    try:
        is_evaluated = model.evaluate(results, tensors)
    except RuntimeError:
        return None
    return [result.data.copy() for result in results] if is_evaluated else None


def write_by_openvino(model: onnx.ModelProto, path: Path) -> None:
    """Writes the IR that OpenVINO itself makes of an ONNX model."""
    source = path.with_suffix(".source.onnx")
    onnx.save(model, source)
    openvino.serialize(openvino.Core().read_model(source), path)


def converted(way: str, case: Case, folder: Path, *, opset: int = 17) -> Path:
    """What maxfold makes of a case: on the way "openvino" its IR, on "onnx" the ONNX model of the IR that OpenVINO
    makes, on "round" that of maxfold's IR, with names and order of inputs and outputs as before. ONNX models are
    checked. Raises `ModelError` where the table refuses, and `RuntimeError` where OpenVINO does not read the case."""
    if way == "onnx":
        write_by_openvino(case.model, folder / "theirs.xml")
        return _back(folder / "theirs.xml", folder / "back.onnx", opset)
    onnx.save(case.model, folder / "case.onnx")
    save(convert(load(folder / "case.onnx"), to="openvino"), folder / "case.xml")
    if way == "openvino":
        return folder / "case.xml"
    path = _back(folder / "case.xml", folder / "round.onnx", opset)
    back = onnx.load(path)
    assert [info.name for info in back.graph.input] == [info.name for info in case.model.graph.input]
    assert [info.name for info in back.graph.output] == [info.name for info in case.model.graph.output]
    return path


def _back(source: Path, target: Path, opset: int) -> Path:
    save(convert(load(source), to="onnx", opset=opset), target)
    onnx.checker.check_model(target, full_check=True)
    return target


def to_openvino(case: Case, folder: Path) -> Arrays:
    """ONNX -> IR by maxfold, run in OpenVINO."""
    return run_openvino(converted("openvino", case, folder), case.inputs)


def to_onnx(case: Case, folder: Path, *, opset: int = 17) -> Arrays:
    """The IR that OpenVINO makes -> ONNX by maxfold, run in ONNX Runtime."""
    return run_onnx(converted("onnx", case, folder, opset=opset), case.inputs)


def round_trip(case: Case, folder: Path, *, opset: int = 17) -> Arrays:
    """ONNX -> IR -> ONNX by maxfold, run in ONNX Runtime."""
    return run_onnx(converted("round", case, folder, opset=opset), case.inputs)


def assert_converts(way: str, case: Case, folder: Path, *, opset: int) -> None:
    """maxfold converts a case whose results no runtime can judge, unless OpenVINO reads no such model at all."""
    try:
        path = converted(way, case, folder, opset=opset)
    except RuntimeError:
        with pytest.raises(RuntimeError):
            write_by_openvino(case.model, folder / "unread.xml")
        return
    assert path.stat().st_size


def assert_right_in_openvino(actual: Arrays, case: Case, folder: Path, *, rtol: float, atol: float) -> None:
    """What OpenVINO gave for the IR of a case is what the case expects.

    Where inputs are not finite, it may also be what OpenVINO's own IR of the model gives on this processor.
    """
    try:
        assert_close(actual, case.outputs, rtol=rtol, atol=atol)
    except AssertionError:
        if are_finite(case.inputs):
            raise
        write_by_openvino(case.model, folder / "theirs.xml")
        assert_close(actual, run_openvino(folder / "theirs.xml", case.inputs), rtol=rtol, atol=atol)


def assert_close(actual: Arrays, expected: Arrays, *, rtol: float, atol: float) -> None:
    """Same shapes, same kinds of element types, values within the tolerance; 0 and 0 asks for equality."""
    assert len(actual) == len(expected)
    for left, right in zip(actual, expected, strict=True):
        assert np.shape(left) == np.shape(right)
        if rtol == atol == 0 or np.asarray(right).dtype.kind in "biuOUS":
            np.testing.assert_array_equal(left, right)
        else:
            np.testing.assert_allclose(
                np.asarray(left, np.float64), np.asarray(right, np.float64), rtol=rtol, atol=atol, equal_nan=True
            )


__all__ = [
    "Case", "ModelError", "all_cases", "are_finite", "assert_close", "assert_converts",
    "assert_right_in_openvino", "cases_of", "converted",
    "round_trip", "run_onnx", "run_openvino", "to_onnx", "to_openvino", "write_by_openvino",
]  # fmt: skip
