"""Each target: what ONNX Runtime and OpenVINO run of our results is no more than what they run of the originals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, numpy_helper

from maxfold.optimizer import optimize
from maxfold.passes.targets import TARGETS, Target
from tests.optimizer.fusing import after_fusions, openvino_operations
from tests.passes.closeness import random_feeds
from tests.random_models.checking import MODES
from tests.run import assert_equal, in_onnxruntime
from tests.text import Array, model

_Layer = Callable[[str, str], str]


def quantized(name: str, source: str) -> str:
    """A value through eight bits."""
    return f"{name}q = QuantizeLinear({source}, s, z)\n {name} = DequantizeLinear({name}q, s, z)\n "


def padded(name: str, source: str) -> str:
    """A value that is padded by nothing, and through eight bits again."""
    return f"{name}p = Pad({source}, pads)\n " + quantized(name, f"{name}p")


LAYERS: dict[str, tuple[str, _Layer]] = {
    "MatMul": ("[N,8]", lambda result, x: f"{result} = MatMul({x}, w)\n "),
    "Gemm": ("[N,8]", lambda result, x: f"{result} = Gemm({x}, w, b)\n "),
    "Conv": ("[1,8,6,6]", lambda result, x: f"{result} = Conv({x}, w, b)\n "),
}
BLOCKS: dict[str, Callable[[_Layer], str]] = {
    "plain": lambda layer: quantized("a", "x") + layer("c", "a") + quantized("y", "c"),
    "pad before": lambda layer: quantized("a", "x") + padded("c", "a") + layer("d", "c") + quantized("y", "d"),
    "pad behind": lambda layer: quantized("a", "x") + layer("c", "a") + quantized("d", "c") + padded("y", "d"),
    "pad between": lambda layer: quantized("a", "x") + layer("c", "a") + quantized("d", "c") + padded("e", "d")
    + layer("f", "e") + quantized("y", "f"),
    "pad alone": lambda layer: quantized("a", "x") + layer("c", "a") + "p = Pad(c, pads)\n " + quantized("d", "p")
    + layer("e", "d") + quantized("y", "e"),
    "residual": lambda layer: quantized("a", "x") + layer("c", "a") + quantized("d", "c") + "r = Add(a, d)\n "
    + quantized("y", "r"),
    "residual of what is padded": lambda layer: quantized("a", "x") + padded("c", "a") + layer("d", "c")
    + quantized("e", "d") + "r = Add(a, e)\n " + quantized("y", "r"),
    "residual behind the pad": lambda layer: quantized("a", "x") + layer("c", "a") + quantized("d", "c")
    + padded("e", "d") + layer("f", "e") + quantized("h", "f") + "r = Add(e, h)\n " + quantized("y", "r"),
    "residual around": lambda layer: quantized("a", "x") + layer("c", "a") + quantized("d", "c") + padded("e", "d")
    + layer("f", "e") + quantized("h", "f") + "r = Add(a, h)\n " + quantized("y", "r"),
}  # fmt: skip


def build(layer: str, block: str, zero_point: Any) -> ModelProto:
    """A block of a quantized model; weights are INT8, the type of the zero point is that of all activations."""
    random = np.random.default_rng(0)
    shape, make = LAYERS[layer]
    weights = random.integers(-99, 99, (8, 8, 1, 1) if layer == "Conv" else (8, 8), np.int8)
    text = BLOCKS[block](make)
    text = ("b = DequantizeLinear(bq, bs)\n " if ", b)" in text else "") + text
    constants: dict[str, Array] = {
        "s": np.array(0.1, np.float32), "z": np.asarray(zero_point), "ws": np.array(0.05, np.float32),
        "wz": np.array(0, np.int8), "bs": np.array(0.005, np.float32), "wq": weights,
        "bq": random.integers(-99, 99, 8, np.int32), "pads": np.zeros(8 if layer == "Conv" else 4, np.int64),
    }  # fmt: skip
    text = "w = DequantizeLinear(wq, ws, wz)\n " + text
    used = {name: array for name, array in constants.items() if re.search(rf"[( ]{name}[,)]", text)}
    return model(f"g (float{shape} x) => (float{shape} y) {{ {text} }}", opset=13, constants=used)


def rewritten(source: ModelProto, math: Any, target: Target) -> ModelProto:
    proto = ModelProto.FromString(source.SerializeToString())
    optimize(proto, math=math, target=target)
    return proto


def on_eight_bits(operators: Counter[str]) -> int:
    return sum(count for name, count in operators.items() if name.startswith("QLinear") or name == "QGemm")


@pytest.mark.parametrize("zero_point", [np.int8(0), np.int8(3), np.uint8(131)])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("layer", LAYERS)
def test_quantized_blocks(layer: str, block: str, zero_point: Any, tmp_path: Path) -> None:
    source = build(layer, block, zero_point)
    feeds = random_feeds(source)
    before = after_fusions(source, tmp_path / "before.onnx")
    for target in TARGETS:
        for math in MODES:
            proto = rewritten(source, math, target)
            after = after_fusions(proto, tmp_path / "after.onnx")
            told = f"{target}, {math}: {dict(before)} became {dict(after)}"
            assert after.total() <= before.total(), told
            assert on_eight_bits(after) >= on_eight_bits(before), told
            assert_equal(in_onnxruntime(proto, feeds), in_onnxruntime(source, feeds), zeros_differ=True)


@pytest.mark.parametrize("block", [name for name in BLOCKS if "residual" in name])
@pytest.mark.parametrize("layer", LAYERS)
def test_signed_residuals_for_onnxruntime(layer: str, block: str, tmp_path: Path) -> None:
    """What is fused with UINT8 is fused with INT8 too."""
    signed, unsigned = (build(layer, block, zero) for zero in (np.int8(3), np.uint8(131)))
    wanted = after_fusions(rewritten(unsigned, "exact", "onnxruntime"), tmp_path / "unsigned.onnx")
    assert wanted["QLinearAdd"]
    assert after_fusions(rewritten(signed, "exact", "onnxruntime"), tmp_path / "signed.onnx") == wanted


@pytest.mark.parametrize("target", ["any", "openvino", "tensorrt"])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("layer", LAYERS)
def test_quantization_stays_symmetric_and_where_it_is(layer: str, block: str, target: Target) -> None:
    """TensorRT takes INT8 with zero points of 0 alone, and nodes for quantization where they stand."""
    source = build(layer, block, np.int8(0))
    for math in MODES:
        proto = rewritten(source, math, target)
        counts = [
            Counter(
                node.op_type for node in item.graph.node if "Quantize" in node.op_type or "quantize" in node.op_type
            )
            for item in (source, proto)
        ]
        assert counts[0] == counts[1]
        types = {tensor.name: tensor.data_type for tensor in proto.graph.initializer}
        points = [node.input[2] for node in proto.graph.node if "uantize" in node.op_type and len(node.input) > 2]
        assert {types[name] for name in points} == {TensorProto.INT8}


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("layer", LAYERS)
def test_unsigned_activations_become_symmetric_for_tensorrt(layer: str, block: str) -> None:
    source = build(layer, block, np.uint8(128))
    feeds = random_feeds(source)
    for math in MODES:
        proto = rewritten(source, math, "tensorrt")
        zero_points = {
            tensor.name: numpy_helper.to_array(tensor)
            for tensor in proto.graph.initializer
            if tensor.data_type in (TensorProto.INT8, TensorProto.UINT8) and not tensor.dims
        }
        points = [node.input[2] for node in proto.graph.node if "uantize" in node.op_type and len(node.input) > 2]
        assert [zero_points[name] for name in points] == [np.int8(0)] * len(points)
        assert {zero_points[name].dtype for name in points} == {np.dtype(np.int8)}
        assert_equal(in_onnxruntime(proto, feeds), in_onnxruntime(source, feeds), zeros_differ=True)


ACTIVATIONS = {
    "hard swish": "p = Add(a, three)\n k = Clip(p, zero, six)\n q = Mul(a, k)\n r = Div(q, six)",
    "hard swish, gate first": "p = Add(a, three)\n k = Clip(p, zero, six)\n q = Div(k, six)\n r = Mul(a, q)",
    "hard sigmoid": "p = Add(a, three)\n k = Clip(p, zero, six)\n r = Div(k, six)",
    "clip and a factor": "k = Clip(a, zero, six)\n r = Div(k, six)",
    "max": "r = Max(a, zero)",
    "min": "r = Min(a, six)",
    "min of max": "k = Max(a, zero)\n r = Min(k, six)",
    "min of relu": "k = Relu(a)\n r = Min(k, six)",
    "larger of two": "k = Mul(a, tenth)\n r = Max(a, k)",
    "slopes": "r = PRelu(a, slope)",
    "mean": "r = ReduceMean<axes = [2, 3]>(a)",
}


def activated(body: str, opset: int) -> ModelProto:
    """An activation between two convolutions."""
    floats: dict[str, Any] = {"zero": 0, "three": 3, "six": 6, "tenth": 0.1, "slope": np.full((16, 1, 1), 0.1)}
    constants: dict[str, Array] = {name: np.array(value, np.float32) for name, value in floats.items()}
    used = {name: array for name, array in constants.items() if re.search(rf"[( ]{name}[,)]", body)}
    used["w"] = np.random.default_rng(0).standard_normal((16, 16, 1, 1)).astype(np.float32)
    text = f"a = Conv(x, w)\n {body}\n y = Conv(r, w)"
    return model(f"g (float[1,16,9,9] x) => (float[1,16,H,W] y) {{ {text} }}", opset=opset, constants=used)


@pytest.mark.parametrize("opset", [11, 14])
@pytest.mark.parametrize("form", ACTIVATIONS)
def test_activations_in_openvino(form: str, opset: int) -> None:
    source = activated(ACTIVATIONS[form], opset)
    before = openvino_operations(source)
    for target in ("any", "openvino", "tensorrt"):
        for math in MODES:
            after = openvino_operations(rewritten(source, math, target))
            assert len(after) <= len(before), f"{target}, {math}: {before} became {after}"


@pytest.mark.parametrize("opset", [11, 14])
@pytest.mark.parametrize("form", ACTIVATIONS)
def test_activations_in_onnxruntime(form: str, opset: int, tmp_path: Path) -> None:
    source = activated(ACTIVATIONS[form], opset)
    before = after_fusions(source, tmp_path / "before.onnx")
    for target in TARGETS:
        for math in MODES:
            after = after_fusions(rewritten(source, math, target), tmp_path / "after.onnx")
            assert after.total() <= before.total(), f"{target}, {math}: {dict(before)} became {dict(after)}"
    # All but the mean end within the two convolutions, with the layout changed before and behind them.
    last = after_fusions(rewritten(source, "relaxed", "onnxruntime"), tmp_path / "last.onnx")
    assert last.total() == (5 if form == "mean" else 4)
