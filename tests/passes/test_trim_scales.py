"""trim-scales: constants of normalizations that become vectors, and those that stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from tests.passes.normalizations import MINUS, ROOT, normalization
from tests.passes.outcome import Outcome, outcome
from tests.run import assert_equal, in_onnxruntime

BODY = MINUS + ROOT + "n = Div(d, r)\n g = Mul(n, gamma)\n y = Add(beta, g)"
GAMMA, BETA = np.linspace(0.5, 2, 4, dtype=np.float32), np.linspace(-1, 1, 4, dtype=np.float32)


def trimmed(source: ModelProto, **options: Any) -> Outcome:
    return outcome("trim-scales", source, **options)


def shapes(result: Outcome) -> list[list[int]]:
    constants = {tensor.name: list(tensor.dims) for tensor in result.after.graph.initializer}
    return [constants[name] for node in result.after.graph.node[-2:] for name in node.input if name in constants]


@pytest.mark.parametrize("opset", [11, 17, 20])
@pytest.mark.parametrize("shape", [(1, 4), (1, 1, 4)])
def test_vectors(opset: int, shape: tuple[int, ...]) -> None:
    source = normalization(BODY, opset=opset, gamma=GAMMA.reshape(shape), beta=BETA.reshape(shape))
    result = trimmed(source)
    assert (result.changes, shapes(result)) == (2, [[4], [4]])
    feeds = {"x": np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)}
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)


@pytest.mark.parametrize(
    ("body", "shape", "changes"),
    [
        (BODY, (4,), 0),
        (BODY, (1, 1, 1), 0),
        (BODY, (1, 3, 4), 0),
        # The first constant makes the result's rank, the second one finds it.
        (BODY, (1, 1, 1, 4), 1),
        ("g = Mul(x, gamma)\n y = Add(g, beta)", (1, 1, 4), 0),
    ],
)
def test_what_stays(body: str, shape: tuple[int, ...], changes: int) -> None:
    constants = {name: np.resize(array, shape) for name, array in (("gamma", GAMMA), ("beta", BETA))}
    head = "(float[N,3,4] x) => (float[A,B,C,D] y)" if len(shape) == 4 else "(float[N,3,4] x) => (float[A,B,C] y)"
    assert trimmed(normalization(body, head=head, **constants)).changes == changes


def test_constants_and_nodes_to_keep() -> None:
    source = normalization(BODY, gamma=GAMMA.reshape(1, 1, 4), beta=BETA.reshape(1, 1, 4))
    assert trimmed(source, keep=["gamma", "y"]).reasons == ["'gamma' is to be kept", "it is to be kept"]
