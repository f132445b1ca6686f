"""Operators that relaxed patterns write: a runtime that runs the parts runs them too."""

from __future__ import annotations

import numpy as np
import pytest

from tests.run import in_onnxruntime
from tests.text import model

# The newest operator set that the runtimes of the time implement in full.
NEWEST = 25
WRITTEN = {
    "HardSigmoid(x)": 6,
    "HardSwish(x)": 14,
    "LayerNormalization(x, s)": 17,
    "Mish(x)": 18,
    "Gelu(x)": 20,
    "RMSNormalization(x, s)": 23,
    "ReduceSumSquare<keepdims = 1>(x)": 7,
    "Gemm(x, w)": 11,
}


@pytest.mark.parametrize("opset", range(6, NEWEST + 1))
def test_float32_has_a_kernel_in_every_operator_set(opset: int) -> None:
    written = [call for call, since in WRITTEN.items() if since <= opset]
    body = "\n".join(f"y{place} = {call}" for place, call in enumerate(written))
    outputs = ", ".join(f"float[A{place},B{place}] y{place}" for place in range(len(written)))
    constants = {name: value for name, value in CONSTANTS.items() if f" {name})" in body}
    source = model(f"g (float[2,3] x) => ({outputs}) {{ {body} }}", opset=opset, constants=constants)
    results = in_onnxruntime(source, {"x": np.ones((2, 3), np.float32)})
    assert all(np.isfinite(result).all() for result in results)


CONSTANTS = {"s": np.ones(3, np.float32), "w": np.ones((3, 2), np.float32)}
