"""What a node is said to be part of, where it stays because runtimes fuse it."""

from __future__ import annotations

import numpy as np
import pytest

from maxfold.model.view import View
from maxfold.optimizer import load
from maxfold.passes.runtime_patterns import why_protected
from tests.text import model

ROOT_MEAN_SQUARE = "s = Mul(x, x)\n v = ReduceMean<axes=[-1]>(s)\n e = Add(v, eps)\n r = Sqrt(e)\n y = Div(x, r)"
GATES = {
    "g = Sigmoid(x)\n y = Mul(x, g)": "a Swish",
    "k = Mul(x, quick)\n g = Sigmoid(k)\n y = Mul(x, g)": "a QuickGelu",
    "k = Softplus(x)\n g = Tanh(k)\n y = Mul(x, g)": "a Mish",
    ROOT_MEAN_SQUARE: "an RMSNormalization",
}


@pytest.mark.parametrize("body", GATES)
def test_names(body: str) -> None:
    constants = {"quick": np.array(1.702, np.float32), "eps": np.array(1e-5, np.float32)}
    used = {name: array for name, array in constants.items() if name in body}
    view = View(load(model(f"g (float[2,4] x) => (float[2,4] y) {{ {body} }}", opset=17, constants=used)))
    assert {why_protected(node, view) for node in view.nodes()} == {f"part of {GATES[body]}, left as runtimes fuse it"}
