"""What OpenVINO fuses of the ONNX file it fuses of the IR too."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import onnx
import openvino
import pytest

from maxfold.optimizer import load, optimize, save
from maxfold.optimizer.api import convert

ROTARY = """
<ir_version: 8, opset_import: ["" : 17]>
agraph (float[N,4,S,32] x, float[1,1,S,32] angle) => (float[N,4,S,32] y)
<int64[1] zero = {0}, int64[1] half = {16}, int64[1] end = {9223372036854775807}, int64[1] axis = {3}>
{
    cos = Cos(angle)
    sin = Sin(angle)
    left = Slice(x, zero, half, axis)
    right = Slice(x, half, end, axis)
    minus = Neg(right)
    rotated = Concat <axis = -1> (minus, left)
    a = Mul(x, cos)
    b = Mul(rotated, sin)
    y = Add(a, b)
}
"""
# Nodes that move data about, or run once.
PLAIN = {"Input", "Output", "Const", "Constant", "Reorder", "Transpose", "Parameter", "Result"}


@pytest.mark.parametrize("is_optimized", [False, True])
def test_rotary_embedding(is_optimized: bool, tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(ROTARY), tmp_path / "model.onnx")
    theirs = _layers(tmp_path / "model.onnx")
    model = load(tmp_path / "model.onnx")
    if is_optimized:
        optimize(model)
    save(convert(model, to="openvino"), tmp_path / "model.xml")
    ours = _layers(tmp_path / "model.xml")
    assert theirs["RoPE"] == ours["RoPE"] == 1
    assert sum(ours.values()) <= sum(theirs.values())


def _layers(path: Path) -> Counter[str]:
    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    kinds = (node.get_rt_info()["layerType"].astype(str) for node in compiled.get_runtime_model().get_ops())
    return Counter(kind for kind in kinds if kind not in PLAIN)
