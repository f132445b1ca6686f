"""fuse-activations: Gemm in the place of MatMul, where ONNX Runtime lets it take an activation in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from maxfold.optimizer import optimize
from tests.optimizer.fusing import after_fusions
from tests.passes.closeness import assert_close, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import Array, model

ACTIVATIONS = (
    "Elu", "HardSigmoid", "LeakyRelu", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Tanh", "ThresholdedRelu",
)  # fmt: skip
BODY = "p = MatMul(x, w)\n y = Relu(p)"


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-activations", source, **{"target": "onnxruntime", "math": "relaxed", **options})


def source_of(
    body: str,
    *,
    opset: int = 13,
    x: str = "[N,4]",
    y: str = "[A,B]",
    w: tuple[int, ...] = (4, 6),
    kind: Any = np.float32,
) -> ModelProto:
    random = np.random.default_rng(0)
    constants: dict[str, Array] = {
        "w": random.standard_normal(w).astype(kind), "half": np.array(0.5, kind), "scale": np.array(0.25, np.float32),
        "zero": np.array(0, np.uint8),
    }  # fmt: skip
    used = {name: array for name, array in constants.items() if f"{name})" in body or f"{name}," in body}
    dtype = "float" if kind is np.float32 else "double"
    return model(f"g ({dtype}{x} x) => ({dtype}{y} y) {{ {body} }}", opset=opset, constants=used)


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_what_onnxruntime_fuses(activation: str, opset: int, tmp_path: Path) -> None:
    source = source_of(BODY.replace("Relu", activation), opset=opset)
    assert after_fusions(source, tmp_path / "before.onnx").total() == 2
    result = fused(source)
    assert nodes(result).splitlines()[0] == "p = Gemm(x, w)"
    assert_close(result)
    optimize(source, math="relaxed", target="onnxruntime")
    assert after_fusions(source, tmp_path / "after.onnx") == {"FusedGemm": 1}


@pytest.mark.parametrize(
    ("source", "options", "reasons"),
    [
        (source_of(BODY), {"math": "exact"}, ["Gemm may round differently; only with --math relaxed"]),
        (source_of(BODY), {"target": "any"}, []),
        (source_of(BODY), {"target": "openvino"}, []),
        (source_of(BODY), {"target": "tensorrt"}, []),
        (source_of(BODY), {"keep": ["p"]}, ["it is to be kept"]),
        (source_of(BODY, opset=10), {}, []),
        (source_of(BODY, x="[N,M,4]", y="[A,B,C]"), {}, []),
        (source_of(BODY, x="[4]", y="[A]"), {}, []),
        (source_of(BODY, w=(4,), y="[A]"), {}, []),
        (source_of(BODY, x="[N,0]", w=(0, 6)), {}, []),
        (source_of(BODY, kind=np.float64), {}, []),
        (source_of("p = MatMul(x, w)\n y = Neg(p)"), {}, []),
        (source_of("p = MatMul(x, w)\n r = Relu(p)\n y = Add(p, r)"), {}, []),
        (source_of("p = MatMul(x, x)\n y = Relu(p)", x="[4,4]"), {}, []),
        (source_of("m = Mul(x, half)\n p = MatMul(m, w)\n y = Relu(p)"), {}, []),
        (source_of("q = QuantizeLinear(x, scale, zero)\n d = DequantizeLinear(q, scale, zero)\n p = MatMul(d, w)\n "
                   "y = Relu(p)"), {}, []),
    ],
)  # fmt: skip
def test_what_stays(source: ModelProto, options: dict[str, Any], reasons: list[str]) -> None:
    result = fused(source, **options)
    assert (result.changes, result.reasons) == (0, reasons)
