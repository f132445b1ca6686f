"""The row of MatMulNBits, on its way to OpenVINO, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import pytest

from maxfold.optimizer import load
from maxfold.optimizer.api import convert
from tests.passes.conversion import harness, judged
from tests.passes.conversion.microsoft import one_node


def _operands(depth: int, rows: int, bits: int, size: int, kind: str, dtype: Any = np.float32) -> dict[str, Any]:
    """Kinds of zero points: none, packed, numbers."""
    drawn, count = np.random.default_rng(depth), -(-depth // size)
    zero_points = {
        "none": None,
        "packed": drawn.integers(0, 256, (rows, -(-count * bits // 8))).astype(np.uint8),
        "numbers": drawn.uniform(0, 15, (rows, count)).astype(dtype),
    }[kind]
    return {
        "a": judged.floats(2, 3, depth).astype(dtype),
        "b": drawn.integers(0, 256, (rows, count, size * bits // 8)).astype(np.uint8),
        "s": drawn.uniform(0.01, 0.1, (rows, count)).astype(dtype), "z": zero_points,
    }  # fmt: skip


def _assert_same(model: onnx.ModelProto, inputs: list[Any], folder: Path) -> None:
    """Unless told otherwise OpenVINO's CPU rounds the other factor to 8 bits, which its own conversion gets too."""
    path = judged.converted_to_openvino(model, folder)
    core = openvino.Core()
    core.set_property("CPU", {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"})
    (actual,) = core.compile_model(path, "CPU")(inputs).values()
    harness.assert_close([actual], harness.run_onnx(folder / "made.onnx", inputs), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dynamic", [(), ("a",)])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize(
    ("depth", "size", "bits", "kind"),
    [
        (64, 16, 4, "none"), (64, 32, 4, "packed"), (96, 32, 4, "packed"), (80, 32, 4, "packed"),
        (64, 32, 4, "numbers"), (64, 32, 8, "none"), (96, 32, 8, "packed"), (40, 32, 8, "none"),
    ],
)  # fmt: skip
def test_matmul(depth: int, size: int, bits: int, kind: str, has_bias: bool, dynamic: Any, tmp_path: Path) -> None:
    operands = _operands(depth, 7, bits, size, kind)
    if has_bias:
        operands.update(g=None, bias=judged.floats(7, seed=9))
    attributes = {"K": depth, "N": 7, "bits": bits, "block_size": size}
    constants = ("b", "s", "z", "bias")
    model, inputs = one_node("MatMulNBits", operands, constants=constants, dynamic=dynamic, **attributes)
    _assert_same(model, inputs, tmp_path)


def test_weights_stay_stored(tmp_path: Path) -> None:
    """Also those that are views of a file."""
    operands = _operands(2048, 64, 4, 32, "packed")
    attributes = {"K": 2048, "N": 64, "block_size": 32}
    model, inputs = one_node("MatMulNBits", operands, constants=("b", "s", "z"), **attributes)
    onnx.save(model, tmp_path / "m.onnx")
    graph = convert(load(tmp_path / "m.onnx"), to="openvino").graph
    types = {str(constant.data.dtype): constant.data.nbytes for constant in graph.constants}
    assert types["uint4"] in (64 * 1024, 64 * 32)
    assert sum(constant.data.nbytes for constant in graph.constants) < 64 * 2048
    _assert_same(model, inputs, tmp_path)


def test_refused(tmp_path: Path) -> None:
    operands = _operands(64, 7, 4, 32, "none")
    attributes = {"K": 64, "N": 7, "block_size": 32}
    model, _ = one_node("MatMulNBits", operands, constants=("s",), **attributes)
    judged.assert_refused_in_openvino(model, tmp_path, "its input 1 is no constant of bytes")
    model, _ = one_node("MatMulNBits", operands, constants=("b", "s"), bits=2, **attributes)
    judged.assert_refused_in_openvino(model, tmp_path, "weights of 2 bits are not covered")
    order = {**operands, "g": np.arange(64, dtype=np.int32) // 32}
    model, _ = one_node("MatMulNBits", order, constants=("b", "s", "g"), **attributes)
    judged.assert_refused_in_openvino(model, tmp_path, "an order of groups is not covered")
