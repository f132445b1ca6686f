"""Quantized products and what stands behind them: what ONNX Runtime fuses, it still fuses in our results."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto

from tests.optimizer.fusing import assert_no_worse
from tests.text import Array, model

FIRST = (
    "q, sx, zx = DynamicQuantizeLinear(x)\n i1 = MatMulInteger(q, w1, zx, zero)\n c1 = Cast<to = 1>(i1)\n "
    "s1 = Mul(sx, scale1)\n "
)
SECOND = "i2 = MatMulInteger(q, w2, zx, zero)\n c2 = Cast<to = 1>(i2)\n s2 = Mul(sx, scale2)\n b = Mul(c2, s2)\n "
DYNAMIC = {
    "bias": FIRST + "m = Mul(c1, s1)\n y = Add(m, bias)",
    "bias, operands exchanged": FIRST + "m = Mul(s1, c1)\n y = Add(bias, m)",
    "no bias": FIRST + "y = Mul(c1, s1)",
    "scale of 1": FIRST.replace("scale1", "one") + "y = Mul(c1, s1)",
    "scale for each column": FIRST.replace("scale1", "scales") + "m = Mul(c1, s1)\n y = Add(m, bias)",
    "one scale after the other": FIRST.replace("s1 = Mul(sx, scale1)", "m = Mul(c1, sx)")
    + "n = Mul(m, scale1)\n y = Add(n, bias)",
    "factor behind it": FIRST + "m = Mul(c1, s1)\n y = Mul(m, half)",
    "bias and factor behind it": FIRST + "m = Mul(c1, s1)\n a = Add(m, bias)\n y = Mul(a, half)",
    "divided, then Softmax": FIRST + "m = Mul(c1, s1)\n a = Div(m, root)\n y = Softmax<axis = -1>(a)",
    "two biases": FIRST + "m = Mul(c1, s1)\n a = Add(m, bias)\n y = Add(a, bias2)",
    "two of one input": FIRST + "a = Mul(c1, s1)\n " + SECOND + "y = Mul(a, b)",
    "gelu": FIRST + "m = Mul(c1, s1)\n a = Add(m, bias)\n t = Div(a, root)\n e = Erf(t)\n f = Add(e, one)\n "
    "p = Mul(a, f)\n y = Mul(p, half)",
    "silu of one times the other": FIRST
    + "a = Mul(c1, s1)\n g = Sigmoid(a)\n s = Mul(a, g)\n "
    + SECOND
    + "y = Mul(s, b)",
    "tanh gelu of one times the other": FIRST + "a = Mul(c1, s1)\n h = Mul(a, half)\n c = Pow(a, three)\n "
    "z = Mul(c, cubic)\n k = Add(a, z)\n t = Mul(k, tanhs)\n e = Tanh(t)\n f = Add(e, one)\n g = Mul(h, f)\n "
    + SECOND
    + "y = Mul(g, b)",
}
QUANTIZED = "qx = QuantizeLinear(x, step, middle)\n d = DequantizeLinear(qx, step, middle)\n "
WEIGHT = "w = DequantizeLinear(w1, scale1, zero)\n "
BACK = "qy = QuantizeLinear(r, step, middle)\n y = DequantizeLinear(qy, step, middle)"
STATIC = {
    "product": QUANTIZED + WEIGHT + "r = MatMul(d, w)\n " + BACK,
    "product and bias": QUANTIZED + WEIGHT + "m = MatMul(d, w)\n r = Add(m, bias)\n " + BACK,
    "product and factor": QUANTIZED + WEIGHT + "m = MatMul(d, w)\n r = Mul(m, half)\n " + BACK,
    "twice quantized": QUANTIZED
    + "q2 = QuantizeLinear(d, step, middle)\n d2 = DequantizeLinear(q2, step, middle)\n "
    + WEIGHT
    + "r = MatMul(d2, w)\n "
    + BACK,
    "gelu": QUANTIZED + "t = Div(d, root)\n e = Erf(t)\n f = Add(e, one)\n p = Mul(d, f)\n r = Mul(p, half)\n " + BACK,
    "sum and Relu": QUANTIZED + "s = Add(d, x)\n r = Relu(s)\n " + BACK,
    "Softmax": QUANTIZED + "r = Softmax<axis = -1>(d)\n " + BACK,
    "there and back": QUANTIZED + "a = Reshape(d, split)\n qa = QuantizeLinear(a, step, middle)\n "
    "da = DequantizeLinear(qa, step, middle)\n b = Transpose<perm = [0, 2, 1, 3]>(da)\n "
    "qb = QuantizeLinear(b, step, middle)\n db = DequantizeLinear(qb, step, middle)\n r = Reshape(db, shape)\n " + BACK,
}
AROUND = {
    "nothing": "{body}\n out = Identity(y)",
    "products": "x0 = MatMul(x, v)\n x1 = Add(x0, bias)\n {inner}\n y2 = MatMul(y1, v)\n out = Add(y2, bias2)",
    "factors": "x1 = Mul(x, half)\n {inner}\n out = Mul(y1, half)",
    "reshapes": "x0 = Reshape(x, flat)\n x1 = Reshape(x0, shape)\n {inner}\n out = Reshape(y1, flat)",
}


def build(body: str, around: str, *, neutral: bool) -> ModelProto:
    """The pattern by itself, or between other nodes."""
    random = np.random.default_rng(0)
    inner = re.sub(r"\bx\b", "x1", re.sub(r"\by\b", "y1", body))
    text = AROUND[around].format(body=body, inner=inner)
    floats: dict[str, object] = {
        "one": 1, "half": 0.5, "root": 1.4142135, "three": 3, "cubic": 0.044715, "tanhs": 0.7978846, "scale1": 0.01,
        "scale2": 0.02, "step": 0.05, "scales": random.uniform(0.01, 0.02, 8), "v": random.standard_normal((8, 8)),
        "bias": np.zeros(8) if neutral else random.standard_normal(8), "bias2": random.standard_normal(8),
    }  # fmt: skip
    constants: dict[str, Array] = {name: np.array(value, np.float32) for name, value in floats.items()}
    constants |= {name: random.integers(-100, 100, (8, 8)).astype(np.int8) for name in ("w1", "w2")}
    constants |= {"zero": np.array(0, np.int8), "middle": np.array(128, np.uint8), "flat": np.array([-1])}
    constants |= {"shape": np.array([2, 5, 8]), "split": np.array([2, 5, 2, 4])}
    used = {name: array for name, array in constants.items() if re.search(rf"[( ]{name}[,)]", text)}
    return model(f"g (float[2,5,8] x) => (float out) {{ {text} }}", opset=13, constants=used)


@pytest.mark.parametrize("neutral", [False, True])
@pytest.mark.parametrize("form", DYNAMIC)
def test_dynamic(form: str, neutral: bool, tmp_path: Path) -> None:
    for around in AROUND:
        assert_no_worse(_open(build(DYNAMIC[form], around, neutral=neutral)), tmp_path)


@pytest.mark.parametrize("neutral", [False, True])
@pytest.mark.parametrize("form", STATIC)
def test_static(form: str, neutral: bool, tmp_path: Path) -> None:
    for around in AROUND:
        assert_no_worse(_open(build(STATIC[form], around, neutral=neutral)), tmp_path)


def _open(proto: ModelProto) -> ModelProto:
    """The model without a declared shape of its result."""
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    return proto
