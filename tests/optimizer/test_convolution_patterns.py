"""Convolutions and what stands behind them: what ONNX Runtime fuses, it still fuses in our results."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto

from tests.optimizer.fusing import assert_no_worse
from tests.text import Array, model

OPSETS = (11, 14, 18)
# A block of NCHWc kernels.
CHANNELS = 16
STATISTICS = "m = ReduceMean<axes>(x<input>)\n d = Sub(x, m)\n s = Pow(d, two)\n v = ReduceMean<axes>(s<input>)\n "
ROOT = "e = Add(v, eps)\n r = Sqrt(e)\n n = Div(d, r)\n "
FORMS = {
    "Relu": "y = Relu(x)",
    "Clip": "y = Clip(x, zero, six)",
    "Max": "y = Max(x, zero)",
    "LeakyRelu": "y = LeakyRelu(x)",
    "PRelu": "y = PRelu(x, slope)",
    "normalization": "y = BatchNormalization(x, gain, shift, shift, variance)",
    "normalization and Relu": "b = BatchNormalization(x, gain, shift, shift, variance)\n y = Relu(b)",
    "scale, shift and Relu": "b = Mul(x, gain3)\n c = Add(b, shift3)\n y = Relu(c)",
    "instance normalization": "y = InstanceNormalization(x, gain, shift)",
    "group normalization": "b = Reshape(x, groups)\n c = InstanceNormalization(b, ones, zeros)\n "
    "d = Reshape(c, shape)\n e = Mul(d, gain3)\n y = Add(e, shift3)",
    "hard swish": "p = Add(x, three)\n c = Clip(p, zero, six)\n q = Mul(x, c)\n y = Div(q, six)",
    "hard swish, gate first": "p = Add(x, three)\n c = Clip(p, zero, six)\n q = Div(c, six)\n y = Mul(x, q)",
    "hard sigmoid": "p = Add(x, three)\n c = Clip(p, zero, six)\n y = Div(c, six)",
    "HardSigmoid": "c = HardSigmoid<alpha = 0.2, beta = 0.5>(x)\n y = Mul(x, c)",
    "silu": "c = Sigmoid(x)\n y = Mul(x, c)",
    "mish": "p = Softplus(x)\n c = Tanh(p)\n y = Mul(x, c)",
    "gelu": "t = Div(x, root)\n e = Erf(t)\n f = Add(e, one)\n p = Mul(x, f)\n y = Mul(p, half)",
    "norm of channels": STATISTICS + ROOT + "g = Mul(n, gain3)\n y = Add(g, shift3)",
    "root mean square of channels": "s = Pow(x, two)\n v = ReduceMean<axes>(s<input>)\n "
    + ROOT.replace("d,", "x,") + "y = Mul(n, gain3)",
    "norm of the last axis": "t = Transpose<perm = [0, 2, 3, 1]>(x)\n "
    + re.sub(r"\bx\b", "t", STATISTICS.replace("<axes>", "<last>").replace("<input>", "<last input>"))
    + ROOT + "g = Mul(n, gain)\n h = Add(g, shift)\n y = Transpose<perm = [0, 3, 1, 2]>(h)",
    "mean": "y = GlobalAveragePool(x)",
}  # fmt: skip
AROUND = {
    "nothing": "{body}\n out = Identity(y)",
    "convolutions": "x1 = Conv<pads = [1, 1, 1, 1]>(x, w, offset)\n {inner}\n out = Conv(y1, u, offset)",
    "no bias": "x1 = Conv<pads = [1, 1, 1, 1]>(x, w)\n {inner}\n out = Conv(y1, u)",
    "normalized": "x0 = Conv<pads = [1, 1, 1, 1]>(x, w, offset)\n "
    "x1 = BatchNormalization(x0, gain, shift, shift, variance)\n {inner}\n "
    "y2 = Conv(y1, u, offset)\n out = BatchNormalization(y2, gain, shift, shift, variance)",
    "residual": "x1 = Conv<pads = [1, 1, 1, 1]>(x, w, offset)\n {inner}\n y2 = Conv(y1, u, offset)\n "
    "y3 = Add(y2, x1)\n out = Relu(y3)",
    "factors": "x0 = Conv<pads = [1, 1, 1, 1]>(x, w, offset)\n x1 = Mul(x0, half)\n {inner}\n y2 = Mul(y1, half)\n "
    "out = Conv(y2, u, offset)",
    "channels last": "x0 = Transpose<perm = [0, 2, 3, 1]>(x)\n xr = Mul(x0, gain)\n "
    "x1 = Transpose<perm = [0, 3, 1, 2]>(xr)\n {inner}\n out = Transpose<perm = [0, 2, 3, 1]>(y1)",
}


def build(body: str, opset: int, around: str, *, neutral: bool) -> ModelProto:
    """The pattern by itself, or between other nodes."""
    random = np.random.default_rng(0)
    inner = re.sub(r"\bx\b", "x1", re.sub(r"\by\b", "y1", body))
    text = AROUND[around].format(body=body, inner=inner)
    is_input = opset >= 18
    for name, places in (("axes", "[1]"), ("last", "[-1]")):
        text = text.replace(f"<{name}>", "" if is_input else f"<axes = {places}>")
    text = text.replace("<input>", ", axes" * is_input).replace("<last input>", ", last" * is_input)
    gain, shift = (np.ones(CHANNELS), np.zeros(CHANNELS)) if neutral else random.uniform(0.5, 2, (2, CHANNELS))
    floats: dict[str, object] = {
        "two": 2, "eps": 1e-5, "one": 1, "half": 0.5, "root": 1.4142135, "three": 3, "zero": 0, "six": 6,
        "slope": np.full((CHANNELS, 1, 1), 0.1), "gain": gain, "shift": shift, "gain3": gain.reshape(-1, 1, 1),
        "shift3": shift.reshape(1, -1, 1, 1), "variance": random.uniform(0.5, 2, CHANNELS), "ones": [1, 1],
        "zeros": [0, 0], "w": random.standard_normal((CHANNELS, CHANNELS, 3, 3)),
        "u": random.standard_normal((CHANNELS, CHANNELS, 1, 1)), "offset": random.standard_normal(CHANNELS),
    }  # fmt: skip
    constants: dict[str, Array] = {name: np.array(value, np.float32) for name, value in floats.items()}
    constants |= {"axes": np.array([1]), "last": np.array([-1]), "groups": np.array([0, 2, -1])}
    constants |= {"shape": np.array([2, CHANNELS, 6, 6])}
    used = {name: array for name, array in constants.items() if re.search(rf"[( ]{name}[,)]", text)}
    proto = model(f"g (float[2,{CHANNELS},6,6] x) => (float out) {{ {text} }}", opset=opset, constants=used)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    return proto


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("neutral", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_convolutions(form: str, opset: int, neutral: bool, tmp_path: Path) -> None:
    for around in AROUND:
        assert_no_worse(build(FORMS[form], opset, around, neutral=neutral), tmp_path)
