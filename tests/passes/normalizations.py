"""Parts of normalizations in text, for the tests of the passes that fuse them."""

from __future__ import annotations

import re

import numpy as np
from onnx import ModelProto

from tests.text import Array, model

MINUS = "m = ReduceMean{axes}(x{input})\n d = Sub(x, m)\n "
ROOT = "s = Pow(d, two)\n v = ReduceMean{axes}(s{input})\n e = Add(v, eps)\n r = Sqrt(e)\n "
SQUARE = "s = Mul(d, d)\n v = ReduceMean{axes}(s{input})\n e = Add(eps, v)\n r = Sqrt(e)\n "


def normalization(
    body: str,
    *,
    opset: int = 17,
    axes: str = "-1",
    head: str = "(float[N,3,4] x) => (float[A,B,C] y)",
    size: int = 4,
    **more: Array,
) -> ModelProto:
    """A model of `body`, whose means are along `axes`: by attribute or by input, as the operator set has it."""
    dtype = np.float64 if "double" in head else np.float32
    constants: dict[str, Array] = {"two": np.array(2, dtype), "eps": np.array(1e-5, dtype), "one": np.array(1, dtype)}
    random = np.random.default_rng(0)
    constants |= {
        "gamma": random.uniform(0.5, 2, size).astype(dtype),
        "beta": random.uniform(-1, 1, size).astype(dtype),
    }
    constants |= {"axes": np.array([int(axis) for axis in axes.split(",")]), "w": np.ones((4, 5), dtype), **more}
    is_input = opset >= 18
    text = body.replace("{axes}", "" if is_input else f"<axes = [{axes}]>").replace("{input}", ", axes" * is_input)
    used = {name: array for name, array in constants.items() if re.search(rf"[( ]{name}[,)]", text)}
    return model(f"g {head} {{ {text} }}", opset=opset, constants=used, ir_version=10)
