"""What a node is said to be part of, where it stays because runtimes fuse it."""

from __future__ import annotations

import numpy as np
import pytest

from maxfold.model.view import View
from maxfold.optimizer import load, optimize
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


def test_axes_that_a_caller_may_override() -> None:
    """No pattern is found there; others are."""
    body = ROOT_MEAN_SQUARE.replace("<axes=[-1]>(s)", "(s, axes)").replace("y =", "z =")
    text = f"g (float[2,4] x, int64[1] axes) => (float[2,4] y) {{ {body}\n g = Sigmoid(z)\n y = Mul(z, g) }}"
    constants = {"axes": np.array([-1]), "eps": np.array(1e-5, np.float32)}
    proto = model(text, opset=18, constants=constants)
    view = View(load(proto))
    found = {node.op: why_protected(node, view) for node in view.nodes() if node.op in ("ReduceMean", "Sigmoid")}
    assert found == {"ReduceMean": None, "Sigmoid": "part of a Swish, left as runtimes fuse it"}
    for math in ("exact", "relaxed"):
        optimize(proto, math=math)
