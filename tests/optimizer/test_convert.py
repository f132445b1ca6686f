"""`convert`: what it takes, what it gives, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import parser

from maxfold.model import ModelError
from maxfold.optimizer import Model, convert, load, optimize, save

CHAIN = """
<ir_version: 8, opset_import: ["" : 13]>
g (float[N, 3] x, float[3] z) => (float[N, 3] y) <float[3] a = {1, 2, 3}> { [only] y = Max(x, a, z) }
"""


@pytest.fixture
def model() -> Model:
    return load(parser.parse_model(CHAIN))


def test_there_and_back(model: Model, tmp_path: Path) -> None:
    ir = convert(model, to="openvino")
    assert (ir.format, model.format) == ("openvino", "onnx")
    assert [node.op for node in ir.graph.nodes] == ["Maximum", "Maximum"]
    assert [node.op for node in model.graph.nodes] == ["Max"]
    save(ir, tmp_path / "m.xml")
    back = convert(load(tmp_path / "m.xml"), to="onnx", opset=15)
    optimize(back)
    assert [node.op for node in back.graph.nodes] == ["Max"]
    save(back, tmp_path / "m.onnx")
    written = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(written, full_check=True)
    assert written.opset_import[0].version == 15
    assert written.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"


def test_what_cannot_be_asked_for(model: Model, tmp_path: Path) -> None:
    for wanted, message in (("onnx", "is onnx already"), ("tflite", "'onnx' or 'openvino', not 'tflite'")):
        with pytest.raises(ModelError, match=message):
            convert(model, to=wanted)
    with pytest.raises(ModelError, match="versions 10 and 11 can be written, not 12"):
        convert(model, to="openvino", ir_version=12)
    with pytest.raises(ModelError, match="operator sets 13 to 21 can be written, not 5"):
        convert(convert(model, to="openvino"), to="onnx", opset=5)
    with pytest.raises(ModelError, match="convert it first"):
        save(model, tmp_path / "m.xml")
