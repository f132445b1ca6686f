"""What runtimes make of a model with all their optimizations, and whether ONNX Runtime makes as much of our results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import onnx
import onnxruntime
import openvino
from onnx import ModelProto

from maxfold.optimizer import optimize
from tests.random_models.checking import MODES

FUSED = {
    "LayerNormalization", "SimplifiedLayerNormalization", "SkipLayerNormalization", "RMSNormalization",
    "Gelu", "BiasGelu", "FastGelu", "QuickGelu", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QLinearConv",
    "QLinearMatMul", "QLinearAdd", "Softmax", "LogSoftmax",
}  # fmt: skip


def after_fusions(proto: ModelProto, path: Path) -> Counter[str]:
    """The operators that ONNX Runtime runs, all its optimizations on."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return Counter(node.op_type for node in onnx.load(path).graph.node if node.op_type != "Constant")


def openvino_operations(proto: ModelProto) -> list[str]:
    """What OpenVINO's CPU runs, without what it does once to constants."""
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(proto.SerializeToString()), "CPU")
    kinds = [node.get_rt_info()["layerType"].astype(str) for node in compiled.get_runtime_model().get_ops()]
    return [kind for kind in kinds if kind not in ("Const", "Input", "Output", "Reorder", "Transpose")]


def assert_no_worse(source: ModelProto, folder: Path) -> None:
    """No more operators after its fusions, and no fewer fused ones, in either mode."""
    before = after_fusions(source, folder / "before.onnx")
    for math in MODES:
        proto = ModelProto()
        proto.CopyFrom(source)
        optimize(proto, math=math)
        after = after_fusions(proto, folder / f"{math}.onnx")
        told = f"{math}: {dict(before)} became {dict(after)}"
        assert _total(after) <= _total(before), told
        assert _count(after) >= _count(before), told


def _total(operators: Counter[str]) -> int:
    """How many operators run; the kernel of a skipped normalization is slower than its two parts."""
    return operators.total() + operators["SkipLayerNormalization"]


def _count(operators: Counter[str]) -> int:
    return sum(count for name, count in operators.items() if name in FUSED)
