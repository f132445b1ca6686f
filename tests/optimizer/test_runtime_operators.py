"""What is computed from sizes behind ONNX Runtime's own operators, whose results nobody but a table knows."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

from tests.optimizer.optimized import optimized
from tests.run import in_onnxruntime
from tests.text import Array, model

HIDDEN, WIDTH = 8, 6
RNG = np.random.default_rng(0)
PARAMETERS = ", , , , , , ws, wz, rs, rz"
CONSTANTS: dict[str, Array] = {
    **{
        f"{name}{layer}": RNG.integers(-128, 128, (1, size, 4 * HIDDEN)).astype(np.int8)
        for layer in range(3)
        for name, size in (("w", HIDDEN if layer else WIDTH), ("r", HIDDEN))
    },
    "ws": np.array([0.01], np.float32), "wz": np.array([0], np.int8),
    "rs": np.array([0.01], np.float32), "rz": np.array([0], np.int8),
    "nought": np.array(0), "one": np.array([1]), "zero": np.array([0]), "two": np.array(2), "four": np.array([4]),
    "half": np.array([HIDDEN // 2]), "minus": np.array([-1]),
}  # fmt: skip


def layer(number: int, source: str) -> str:
    """An LSTM of quantized weights, whose directions an exporter takes away with computed sizes."""
    n = number
    return f"""
    y{n} = com.microsoft.DynamicQuantizeLSTM<hidden_size = {HIDDEN}>({source}, w{n}, r{n}{PARAMETERS})
    s{n} = Shape(y{n})
    t{n} = Gather(s{n}, nought)
    u{n} = Unsqueeze(t{n}, zero)
    b{n} = Gather(s{n}, two)
    v{n} = Unsqueeze(b{n}, zero)
    d{n} = Slice(s{n}, one, second)
    e{n} = Slice(s{n}, three, four)
    f{n} = Mul(d{n}, e{n})
    g{n} = Concat<axis = 0>(u{n}, v{n}, f{n})
    z{n} = Reshape(y{n}, g{n})
    """


def embedder(length: str, batch: str) -> ModelProto:
    """Three such layers, and the mean of the parts of a sequence behind them."""
    body = "x0 = Transpose<perm = [1,0,2]>(x)" + layer(0, "x0") + layer(1, "z0") + layer(2, "z1")
    tail = """
    sh = Shape(z2)
    h1 = Gather(sh, one0)
    h2 = Unsqueeze(h1, zero)
    h3 = Concat<axis = 0>(minus, h2, half2)
    p = Reshape(z2, h3)
    y = ReduceMean<axes = [0], keepdims = 0>(p)
    """
    more = {"second": np.array([2]), "three": np.array([3]), "one0": np.array(1), "half2": np.array([HIDDEN // 2])}
    return model(
        f"g (float[{batch},{length},{WIDTH}] x) => (float[{batch},H] y) {{ {body} {tail} }}",
        opset=13,
        domains='"com.microsoft" : 1',
        constants={**CONSTANTS, **more},
    )


@pytest.mark.parametrize(("length", "batch", "most"), [("5", "2", 9), ("T", "1", 9), ("T", "B", 19)])
def test_sizes_behind_quantized_lstms_fold(length: str, batch: str, most: int) -> None:
    before = embedder(length, batch)
    assert len(before.graph.node) == 40
    after, _ = optimized(before, check=False)
    assert len(after.graph.node) <= most, [node.op_type for node in after.graph.node]
    feeds = {"x": RNG.standard_normal((2 if batch != "1" else 1, 5, WIDTH)).astype(np.float32)}
    for own, right in zip(in_onnxruntime(after, feeds), in_onnxruntime(before, feeds), strict=True):
        assert own.tobytes() == right.tobytes()
