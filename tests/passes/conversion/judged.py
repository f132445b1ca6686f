"""What the tests of rows share: a way through the table on a node test, and on models made for one question.

`refused` and `limited` list the cases that a row refuses, and those that a judge gets wrong without our help.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import pytest
from onnx import helper, numpy_helper

from maxfold.model import ModelError
from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert
from tests.passes.conversion import harness

WAYS = ("openvino", "onnx", "round")
Key = tuple[str, str]


def parameters(*operators: str, share: int = 1) -> list[Any]:
    """Node tests of operators, each on every way; one of `share`, chosen alike in every run, or all of them where the
    environment says MAXFOLD_ALL_CASES=1."""
    found = [
        pytest.param(way, case, id=f"{way}-{case.name}")
        for operator in operators
        for case in harness.cases_of(operator)
        for way in WAYS
    ]
    if share == 1 or os.environ.get("MAXFOLD_ALL_CASES") == "1":
        return found
    return random.Random(0).sample(found, len(found) // share)


def judge(
    way: str,
    case: harness.Case,
    folder: Path,
    *,
    refused: Mapping[Key, str],
    limited: Mapping[Key, str],
    rtol: float,
    atol: float,
    opset: int = 21,
) -> None:
    """One node test on one way: right, refused for the listed reason, or converted and beyond the judge as listed."""
    key = (way, case.name.removeprefix("test_"))
    if key in refused:
        with pytest.raises(ModelError, match=re.escape(refused[key])):
            _run(way, case, folder, opset)
        return
    if key in limited:
        harness.assert_converts(way, case, folder, opset=opset)
        with pytest.raises((AssertionError, RuntimeError, onnx.checker.ValidationError)):
            harness.assert_close(_run_original(way, case, folder), case.outputs, rtol=rtol, atol=atol)
        return
    outputs = _run(way, case, folder, opset)
    if way == "openvino":
        harness.assert_right_in_openvino(outputs, case, folder, rtol=rtol, atol=atol)
    else:
        harness.assert_close(outputs, case.outputs, rtol=rtol, atol=atol)


def _run(way: str, case: harness.Case, folder: Path, opset: int) -> harness.Arrays:
    if way == "openvino":
        return harness.to_openvino(case, folder)
    if way == "onnx":
        return harness.to_onnx(case, folder, opset=opset)
    return harness.round_trip(case, folder, opset=opset)


def _run_original(way: str, case: harness.Case, folder: Path) -> harness.Arrays:
    """The judge of a way on the original: OpenVINO reads the ONNX file by itself, ONNX Runtime runs it."""
    if way == "round":
        onnx.save(case.model, folder / "original.onnx")
        return harness.run_onnx(folder / "original.onnx", case.inputs)
    harness.write_by_openvino(case.model, folder / "original.xml")
    return harness.run_openvino(folder / "original.xml", case.inputs)


def one_node(
    op: str,
    inputs: Mapping[str, Any],
    *,
    opset: int,
    constants: Sequence[str] = (),
    outputs: int = 1,
    dynamic: Sequence[str] = (),
    **attributes: Any,
) -> tuple[onnx.ModelProto, list[Any]]:
    """A model of one node and the values for its inputs; "" as an input's value leaves it out.

    The inputs in `constants` are initializers, the dimensions of those in `dynamic` are symbols.
    """
    arrays = {name: np.asarray(value) for name, value in inputs.items() if not isinstance(value, str)}
    node = helper.make_node(
        op, [name if name in arrays else "" for name in inputs], [f"y{index}" for index in range(outputs)], **attributes
    )
    infos = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(value.dtype),
            [f"{name}{axis}" for axis in range(value.ndim)] if name in dynamic else value.shape,
        )
        for name, value in arrays.items()
        if name not in constants
    ]
    graph = helper.make_graph(
        [node], "graph", infos, [onnx.ValueInfoProto(name=name) for name in node.output],
        [numpy_helper.from_array(arrays[name], name) for name in constants],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    model = onnx.shape_inference.infer_shapes(model)
    return model, [value for name, value in arrays.items() if name not in constants]


def converted_to_openvino(model: onnx.ModelProto, folder: Path) -> Path:
    """The IR that the table makes of a model."""
    onnx.save(model, folder / "made.onnx")
    save(convert(load(folder / "made.onnx"), to="openvino"), folder / "made.xml")
    return folder / "made.xml"


def assert_same_in_openvino(
    model: onnx.ModelProto,
    inputs: Sequence[Any],
    folder: Path,
    *,
    expected: Sequence[Any] | None = None,
    rtol: float = 1e-4,
    atol: float = 1e-5,
) -> None:
    """The IR gives in OpenVINO what the model gives in ONNX Runtime, or what is expected."""
    path = converted_to_openvino(model, folder)
    wanted = harness.run_onnx(folder / "made.onnx", list(inputs)) if expected is None else list(expected)
    case = harness.Case("made", model, list(inputs), wanted)
    harness.assert_right_in_openvino(harness.run_openvino(path, case.inputs), case, folder, rtol=rtol, atol=atol)


def assert_refused_in_openvino(model: onnx.ModelProto, folder: Path, reason: str) -> None:
    """The table refuses the model on the way to OpenVINO."""
    with pytest.raises(ModelError, match=re.escape(reason)):
        converted_to_openvino(model, folder)


def converted_to_onnx(results: Sequence[Any], parameters: Sequence[Any], folder: Path, opset: int) -> Path:
    """The ONNX model that the table makes of an OpenVINO model."""
    outputs = [result.output(0) if isinstance(result, openvino.Node) else result for result in results]
    openvino.serialize(openvino.Model(outputs, list(parameters)), folder / "made.xml")
    save(convert(load(folder / "made.xml"), to="onnx", opset=opset), folder / "made.onnx")
    onnx.checker.check_model(folder / "made.onnx", full_check=True)
    return folder / "made.onnx"


def assert_same_in_onnx(
    results: Sequence[Any],
    parameters: Sequence[Any],
    inputs: Sequence[Any],
    folder: Path,
    *,
    opset: int = 17,
    expected: Sequence[Any] | None = None,
    rtol: float = 1e-4,
    atol: float = 1e-5,
) -> onnx.ModelProto:
    """The ONNX model gives in ONNX Runtime what the OpenVINO model gives in OpenVINO, or what is expected."""
    path = converted_to_onnx(results, parameters, folder, opset)
    wanted = harness.run_openvino(folder / "made.xml", list(inputs)) if expected is None else list(expected)
    harness.assert_close(harness.run_onnx(path, list(inputs)), wanted, rtol=rtol, atol=atol)
    return onnx.load(path)


def assert_refused_in_onnx(
    results: Sequence[Any], parameters: Sequence[Any], folder: Path, reason: str, *, opset: int = 17
) -> None:
    """The table refuses the OpenVINO model on the way to ONNX."""
    with pytest.raises(ModelError, match=re.escape(reason)):
        converted_to_onnx(results, parameters, folder, opset)


def floats(*shape: int, seed: int = 0) -> Any:
    """Random float32 values."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
