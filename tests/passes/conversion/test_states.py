"""ReadValue and Assign to ONNX: what a model remembers is an input and an output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino
import openvino.opset3 as ov3
import openvino.opset6 as ov
import pytest
from openvino.op import Parameter, Result

from maxfold.model import ModelError
from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert
from maxfold.passes.conversion.rows.states import names_of


def written(folder: Path, *, initial: Any = None, version: int = 6, name: str = "memory") -> Path:
    """y = (x + memory) * 2; memory = x + memory"""
    x = Parameter(openvino.Type.f32, openvino.PartialShape([-1, 3]))
    x.set_friendly_name("x")
    x.output(0).set_names({"x"})
    if version == 3:
        read = ov3.read_value(initial, name)
    else:
        given = [] if initial is None else [initial]
        # What is open is nothing in OpenVINO's first run, where nothing else says it.
        shape = openvino.PartialShape([2 if initial is None else -1, 3])
        read = ov.read_value(*given, name, openvino.Type.f32, shape)
    total = ov.add(x, read)
    store = (ov3 if version == 3 else ov).assign(total, name)
    y = ov.multiply(total, ov.constant(np.float32(2)))
    y.output(0).set_names({"y"})
    model = openvino.Model([Result(y.output(0))], [store], [x], "g")
    openvino.serialize(model, folder / "m.xml")
    return folder / "m.xml"


def zeros() -> Any:
    return ov.constant(np.zeros((2, 3), np.float32))


@pytest.mark.parametrize(("version", "is_given"), [(6, True), (6, False), (3, True)])
def test_runs_in_a_row(version: int, is_given: bool, tmp_path: Path) -> None:
    path = written(tmp_path, initial=zeros() if is_given else None, version=version)
    made = convert(load(path), to="onnx")
    save(made, tmp_path / "m.onnx")
    onnx.checker.check_model(tmp_path / "m.onnx", full_check=True)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    assert [item.name for item in session.get_inputs()] == ["x", "memory"]
    assert [item.name for item in session.get_outputs()] == ["y", "memory_next"]
    request = openvino.Core().compile_model(path, "CPU").create_infer_request()
    memory = np.zeros((2, 3), np.float32)
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((2, 3)).astype(np.float32)
        result, memory = session.run(None, {"x": x, "memory": memory})
        np.testing.assert_allclose(result, next(iter(request.infer([x]).values())), rtol=1e-6)
    assert [(item.what, item.example) for item in made.lost] == [
        ("states from one run to the next, which are inputs and outputs instead", "memory"),
    ]


def test_what_is_to_be_fed_first(tmp_path: Path) -> None:
    """A first value that is not zero is told."""
    made = convert(load(written(tmp_path, initial=ov.constant(np.ones((2, 3), np.float32)))), to="onnx")
    assert ("first values of states, to be fed in the first run", "memory") in [
        (item.what, item.example) for item in made.lost
    ]


@pytest.mark.parametrize(
    ("variable", "names"),
    [
        ("memory", ("memory", "memory_next")),
        ("past_key_values.0.keypresent.0.key", ("past_key_values.0.key", "present.0.key")),
    ],
)
def test_names(variable: str, names: tuple[str, str]) -> None:
    assert names_of(variable) == names


def test_names_that_the_model_has_already(tmp_path: Path) -> None:
    made = convert(load(written(tmp_path, name="x")), to="onnx")
    assert [tensor.name for tensor in made.graph.inputs] == ["x", "x_1"]
    made = convert(load(written(tmp_path, name="y")), to="onnx")
    assert [tensor.name for tensor in made.graph.inputs] == ["x", "y_1"]


def test_an_unknown_number_of_dimensions(tmp_path: Path) -> None:
    text = written(tmp_path, initial=None).read_text(encoding="utf-8")
    assert 'variable_shape="2,3"' in text
    (tmp_path / "m.xml").write_text(text.replace('variable_shape="2,3"', 'variable_shape="..."'), encoding="utf-8")
    with pytest.raises(ModelError, match="the number of dimensions of its variable is not known"):
        convert(load(tmp_path / "m.xml"), to="onnx")
