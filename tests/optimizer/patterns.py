"""Patterns that runtimes fuse, in the forms that exporters write, by themselves and between other nodes."""

from __future__ import annotations

import re

import numpy as np
from onnx import ModelProto

from tests.text import Array, model

VARIANCE = "m = ReduceMean<axes>(x<input>)\n d = Sub(x, m)\n s = Pow(d, two)\n v = ReduceMean<axes>(s<input>)\n "
ROOT = "e = Add(v, eps)\n r = Sqrt(e)\n n = Div(d, r)\n "
TANH = "a = Add(x, z)\n t = Mul(a, tanhs)\n e = Tanh(t)\n f = Add(e, one)\n "
NORMALIZATIONS = {
    "layer": VARIANCE + ROOT + "g = Mul(n, gamma)\n y = Add(g, beta)",
    "layer, operands exchanged": VARIANCE
    + "e = Add(eps, v)\n r = Sqrt(e)\n n = Div(d, r)\n g = Mul(gamma, n)\n y = Add(beta, g)",
    "layer, two differences": "m = ReduceMean<axes>(x<input>)\n d = Sub(x, m)\n c = Sub(x, m)\n s = Pow(c, two)\n "
    "v = ReduceMean<axes>(s<input>)\n e = Add(v, eps)\n r = Sqrt(e)\n n = Div(d, r)\n g = Mul(n, gamma)\n "
    "y = Add(g, beta)",
    "layer of the square": VARIANCE.replace("Pow(d, two)", "Mul(d, d)") + ROOT + "g = Mul(n, gamma)\n y = Add(g, beta)",
    "layer, constants of rank 3": VARIANCE + ROOT + "g = Mul(n, gamma3)\n y = Add(g, beta3)",
    "layer, scalar constants": VARIANCE + ROOT + "g = Mul(n, half)\n y = Add(g, eps)",
    "layer without constants": VARIANCE + ROOT + "y = Identity(n)",
    "layer without a shift": VARIANCE + ROOT + "y = Mul(n, gamma)",
    "layer, returned beside what it is of": VARIANCE + ROOT + "g = Mul(n, gamma)\n l = Add(g, beta)\n y = Add(l, x)",
    "root mean square": "s = Pow(x, two)\n v = ReduceMean<axes>(s<input>)\n e = Add(v, eps)\n r = Sqrt(e)\n "
    "n = Div(x, r)\n y = Mul(n, gamma)",
    "root mean square, reciprocal": "s = Mul(x, x)\n v = ReduceMean<axes>(s<input>)\n e = Add(v, eps)\n r = Sqrt(e)\n "
    "i = Reciprocal(r)\n n = Mul(x, i)\n y = Mul(gamma, n)",
    "layer, root as a power": VARIANCE
    + ROOT.replace("Sqrt(e)", "Pow(e, half)")
    + "g = Mul(n, gamma)\n y = Add(g, beta)",
    "root mean square, inverse": "s = Pow(x, two)\n v = ReduceMean<axes>(s<input>)\n e = Add(v, eps)\n r = Sqrt(e)\n "
    "i = Div(one, r)\n n = Mul(x, i)\n y = Mul(gamma, n)",
    "softmax": "m = ReduceMax<axes>(x<input>)\n d = Sub(x, m)\n e = Exp(d)\n s = ReduceSum<sum_axes>(e<sum_input>)\n "
    "y = Div(e, s)",
    "logarithm of softmax": "m = ReduceMax<axes>(x<input>)\n d = Sub(x, m)\n e = Exp(d)\n "
    "s = ReduceSum<sum_axes>(e<sum_input>)\n l = Log(s)\n y = Sub(d, l)",
}
GATES = {
    "gelu, half last": "t = Div(x, root)\n e = Erf(t)\n f = Add(e, one)\n p = Mul(x, f)\n y = Mul(p, half)",
    "gelu, half first": "h = Mul(x, half)\n t = Div(x, root)\n e = Erf(t)\n f = Add(one, e)\n y = Mul(h, f)",
    "tanh, power": "h = Mul(x, half)\n c = Pow(x, three)\n z = Mul(c, cubic)\n a = Add(x, z)\n t = Mul(a, tanhs)\n "
    "e = Tanh(t)\n f = Add(e, one)\n y = Mul(h, f)",
    "tanh, squares": "h = Mul(x, half)\n l = Mul(x, tanhs)\n q = Mul(x, cubic)\n z = Mul(q, x)\n a = Add(z, one)\n "
    "t = Mul(l, a)\n e = Tanh(t)\n f = Add(e, one)\n y = Mul(h, f)",
    "gelu, half at the gate": "t = Div(x, root)\n e = Erf(t)\n f = Add(e, one)\n h = Mul(half, f)\n y = Mul(x, h)",
    "gelu behind a shift": "q = Add(x, beta)\n t = Div(q, root)\n e = Erf(t)\n f = Add(e, one)\n p = Mul(q, f)\n "
    "y = Mul(p, half)",
    "tanh, products": "h = Mul(x, half)\n q = Mul(x, x)\n c = Mul(x, q)\n z = Mul(c, cubic)\n "
    + TANH
    + "y = Mul(h, f)",
    "tanh, factors in a row": "q = Mul(cubic, x)\n c = Mul(x, q)\n z = Mul(x, c)\n " + TANH + "h = Mul(half, f)\n "
    "y = Mul(x, h)",
    "tanh, half at the gate": "c = Pow(x, three)\n z = Mul(c, cubic)\n " + TANH + "h = Mul(half, f)\n y = Mul(x, h)",
    "gelu, a factor for the root": "t = Mul(x, inverse)\n e = Erf(t)\n f = Add(e, one)\n h = Mul(x, half)\n "
    "y = Mul(h, f)",
    "tanh, half last": "c = Pow(x, three)\n z = Mul(c, cubic)\n " + TANH + "h = Mul(x, f)\n y = Mul(h, half)",
    "tanh, x outside": "q = Mul(x, x)\n z = Mul(q, cubic)\n p = Add(z, one)\n a = Mul(x, p)\n t = Mul(a, tanhs)\n "
    "e = Tanh(t)\n f = Add(e, one)\n h = Div(x, two)\n y = Mul(h, f)",
    "hard swish": "p = Add(x, three)\n c = Clip(p, zero, six)\n q = Mul(x, c)\n y = Div(q, six)",
    "hard swish, gate first": "p = Add(x, three)\n c = Clip(p, zero, six)\n q = Div(c, six)\n y = Mul(x, q)",
    "hard swish of a hard sigmoid": "c = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x)\n y = Mul(x, c)",
    "hard sigmoid": "p = Add(x, three)\n c = Clip(p, zero, six)\n y = Div(c, six)",
    "mish": "p = Softplus(x)\n c = Tanh(p)\n y = Mul(x, c)",
    "silu": "g = Sigmoid(x)\n y = Mul(x, g)",
    "quick gelu": "k = Mul(x, quick)\n g = Sigmoid(k)\n y = Mul(x, g)",
}
SCALARS = {
    "two": 2, "eps": 1e-5, "one": 1, "root": 1.4142135, "half": 0.5, "three": 3, "cubic": 0.044715,
    "tanhs": 0.7978846, "inverse": 0.70710677, "quick": 1.702, "zero": 0, "six": 6,
}  # fmt: skip


AROUND = {
    "nothing": "{body}\n out = Identity(y)",
    "products": "x0 = MatMul(x, w)\n x1 = Add(x0, b)\n {inner}\n y = MatMul(y1, w2)\n out = Add(y, b2)",
    "two products each": "x0 = MatMul(x, w)\n xb = Add(x0, b)\n xc = MatMul(xb, w2)\n x1 = Add(xc, b2)\n {inner}\n "
    "y = MatMul(y1, w)\n yb = Add(y, b)\n yc = MatMul(yb, w2)\n out = Add(yc, b2)",
    "residual": "x0 = MatMul(x, w)\n x1 = Add(x0, x)\n {inner}\n y = MatMul(y1, w2)\n out = Add(x1, y)",
    "factors": "x1 = Mul(x, two)\n {inner}\n out = Mul(y1, half)",
    "vectors": "x1 = Add(x, beta)\n {inner}\n y2 = Mul(y1, gamma)\n out = MatMul(y2, w)",
    "transposes": "xt = Transpose<perm = [0, 2, 1]>(x)\n x0 = MatMul(xt, square)\n "
    "x1 = Transpose<perm = [0, 2, 1]>(x0)\n {inner}\n out = Transpose<perm = [0, 2, 1]>(y1)",
    "reshapes": "x0 = Reshape(x, flat)\n x1 = Reshape(x0, shape)\n {inner}\n out = Reshape(y1, flat)",
    "reshapes that do nothing": "x0 = Mul(x, gamma)\n x1 = Reshape(x0, shape)\n {inner}\n out = Reshape(y1, shape)",
}


def with_constants(text: str, head: str, opset: int, *, neutral: bool, is_half: bool = False) -> ModelProto:
    """A model of a text, `<axes>` and `<input>` as the operator set has them, and the constants that it names."""
    random = np.random.default_rng(0)
    is_input = opset >= 18
    text = text.replace("<sum_axes>", "" if opset >= 13 else "<axes = [-1]>")
    text = text.replace("<sum_input>", ", axes" * (opset >= 13))
    text = text.replace("<axes>", "" if is_input else "<axes = [-1]>").replace("<input>", ", axes" * is_input)
    floats: dict[str, Array] = {name: np.array(value) for name, value in SCALARS.items()}
    floats |= {name: random.standard_normal(8) for name in ("b", "b2")}
    floats |= {name: random.standard_normal((8, 8)) for name in ("w", "w2")}
    floats["square"] = random.standard_normal((5, 5))
    gamma, beta = (np.ones(8), np.zeros(8)) if neutral else random.uniform(0.5, 2, (2, 8))
    floats |= {"gamma": gamma, "beta": beta, "gamma3": gamma.reshape(1, 1, 8), "beta3": beta.reshape(1, 1, 8)}
    constants = {name: array.astype(np.float16 if is_half else np.float32) for name, array in floats.items()}
    constants |= {f"{name}16": constants[name].astype(np.float16) for name in ("gamma", "beta")}
    constants |= {"axes": np.array([-1]), "flat": np.array([-1]), "shape": np.array([2, 5, 8])}
    constants |= {"zero1": np.array([0]), "one1": np.array([1]), "eight1": np.array([8]), "rest": np.array([-1])}
    used = {name: array for name, array in constants.items() if re.search(rf"[( ]{name}[,)]", text)}
    return model(f"g {head} {{ {text} }}", opset=opset, constants=used, ir_version=10)


def build(body: str, opset: int, *, neutral: bool, around: str, is_half: bool = False) -> ModelProto:
    """The pattern by itself, or between other nodes."""
    inner = re.sub(r"\bx\b", "x1", re.sub(r"\by\b", "y1", body))
    text = AROUND[around].format(body=body, inner=inner)
    of = "float16" if is_half else "float"
    outputs = {"reshapes": "80", "transposes": "2,8,5"}.get(around, "2,5,8")
    head = f"({of}[2,5,8] x) => ({of}[{outputs}] out)"
    return with_constants(text, head, opset, neutral=neutral, is_half=is_half)
