"""What ONNX Runtime makes of our results with all its optimizations: what it fuses itself, it still can fuse."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto

from maxfold.optimizer import optimize
from tests.random_models.checking import MODES
from tests.text import Array, model

OPSETS = (11, 13, 17, 20)
FUSED = {
    "LayerNormalization", "SimplifiedLayerNormalization", "SkipLayerNormalization", "Gelu", "BiasGelu", "FastGelu",
    "QuickGelu", "MatMulIntegerToFloat", "DynamicQuantizeMatMul",
}  # fmt: skip

VARIANCE = "m = ReduceMean{axes}(x{input})\n d = Sub(x, m)\n s = Pow(d, two)\n v = ReduceMean{axes}(s{input})\n "
NORMALIZATIONS = {
    "layer": VARIANCE + "e = Add(v, eps)\n r = Sqrt(e)\n n = Div(d, r)\n g = Mul(n, gamma)\n y = Add(g, beta)",
    "layer, operands exchanged": VARIANCE
    + "e = Add(eps, v)\n r = Sqrt(e)\n n = Div(d, r)\n g = Mul(gamma, n)\n y = Add(beta, g)",
    "layer, two differences": "m = ReduceMean{axes}(x{input})\n d = Sub(x, m)\n c = Sub(x, m)\n s = Pow(c, two)\n "
    "v = ReduceMean{axes}(s{input})\n e = Add(v, eps)\n r = Sqrt(e)\n n = Div(d, r)\n g = Mul(n, gamma)\n "
    "y = Add(g, beta)",
    "root mean square": "s = Pow(x, two)\n v = ReduceMean{axes}(s{input})\n e = Add(v, eps)\n r = Sqrt(e)\n "
    "n = Div(x, r)\n y = Mul(n, gamma)",
    "root mean square, inverse": "s = Pow(x, two)\n v = ReduceMean{axes}(s{input})\n e = Add(v, eps)\n r = Sqrt(e)\n "
    "i = Div(one, r)\n n = Mul(x, i)\n y = Mul(gamma, n)",
}
GATES = {
    "gelu, half last": "t = Div(x, root)\n e = Erf(t)\n f = Add(e, one)\n p = Mul(x, f)\n y = Mul(p, half)",
    "gelu, half first": "h = Mul(x, half)\n t = Div(x, root)\n e = Erf(t)\n f = Add(one, e)\n y = Mul(h, f)",
    "tanh, power": "h = Mul(x, half)\n c = Pow(x, three)\n z = Mul(c, cubic)\n a = Add(x, z)\n t = Mul(a, tanhs)\n "
    "e = Tanh(t)\n f = Add(e, one)\n y = Mul(h, f)",
    "tanh, squares": "h = Mul(x, half)\n l = Mul(x, tanhs)\n q = Mul(x, cubic)\n z = Mul(q, x)\n a = Add(z, one)\n "
    "t = Mul(l, a)\n e = Tanh(t)\n f = Add(e, one)\n y = Mul(h, f)",
    "silu": "g = Sigmoid(x)\n y = Mul(x, g)",
    "quick gelu": "k = Mul(x, quick)\n g = Sigmoid(k)\n y = Mul(x, g)",
}
SCALARS = {
    "two": 2, "eps": 1e-5, "one": 1, "root": 1.4142135, "half": 0.5, "three": 3, "cubic": 0.044715,
    "tanhs": 0.7978846, "quick": 1.702,
}  # fmt: skip


def build(body: str, opset: int, *, neutral: bool, around: str) -> ModelProto:
    """The pattern by itself, or between two products with weights."""
    random = np.random.default_rng(0)
    inner = re.sub(r"\bx\b", "x1", re.sub(r"\by\b", "y1", body))
    text = {
        "nothing": body + "\n out = Identity(y)",
        "products": f"x0 = MatMul(x, w)\n x1 = Add(x0, b)\n {inner}\n y = MatMul(y1, w2)\n out = Add(y, b2)",
        "factors": f"x1 = Mul(x, two)\n {inner}\n out = Mul(y1, half)",
    }[around]
    is_input = opset >= 18
    text = text.replace("{axes}", "" if is_input else "<axes = [-1]>").replace("{input}", ", axes" * is_input)
    constants: dict[str, Array] = {name: np.array(value, np.float32) for name, value in SCALARS.items()}
    constants |= {"axes": np.array([-1]), "b": random.standard_normal(8).astype(np.float32)}
    constants |= {"b2": random.standard_normal(8).astype(np.float32)}
    constants |= {name: random.standard_normal((8, 8)).astype(np.float32) for name in ("w", "w2")}
    gamma, beta = random.uniform(0.5, 2, (2, 8))
    constants |= {"gamma": (np.ones(8) if neutral else gamma).astype(np.float32)}
    constants |= {"beta": (np.zeros(8) if neutral else beta).astype(np.float32)}
    used = {name: array for name, array in constants.items() if re.search(rf"[( ]{name}[,)]", text)}
    return model(f"g (float[2,5,8] x) => (float[2,5,8] out) {{ {text} }}", opset=opset, constants=used)


def after_fusions(proto: ModelProto, path: Path) -> Counter[str]:
    """The operators that ONNX Runtime runs, all its optimizations on."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return Counter(node.op_type for node in onnx.load(path).graph.node if node.op_type != "Constant")


def assert_no_worse(source: ModelProto, folder: Path) -> None:
    before = after_fusions(source, folder / "before.onnx")
    for math in MODES:
        proto = ModelProto()
        proto.CopyFrom(source)
        optimize(proto, math=math)
        after = after_fusions(proto, folder / f"{math}.onnx")
        told = f"{math}: {dict(before)} became {dict(after)}"
        assert after.total() <= before.total(), told
        assert _count(after) >= _count(before), told


def _count(operators: Counter[str]) -> int:
    return sum(count for name, count in operators.items() if name in FUSED)


AROUND = ("nothing", "products", "factors")


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("neutral", [False, True])
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("form", NORMALIZATIONS)
def test_normalizations(form: str, opset: int, neutral: bool, around: str, tmp_path: Path) -> None:
    assert_no_worse(build(NORMALIZATIONS[form], opset, neutral=neutral, around=around), tmp_path)


@pytest.mark.parametrize("opset", OPSETS)
def test_scales_with_leading_axes(opset: int, tmp_path: Path) -> None:
    source = build(NORMALIZATIONS["layer"], opset, neutral=False, around="nothing")
    for tensor in source.graph.initializer:
        if tensor.name in ("gamma", "beta"):
            tensor.dims[:] = [1, 1, 8]
    assert not after_fusions(source, tmp_path / "before.onnx")["LayerNormalization"]
    optimize(source)
    assert after_fusions(source, tmp_path / "after.onnx") == {"LayerNormalization": 1}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("form", GATES)
def test_gates(form: str, opset: int, around: str, tmp_path: Path) -> None:
    assert_no_worse(build(GATES[form], opset, neutral=False, around=around), tmp_path)
