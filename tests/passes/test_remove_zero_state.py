"""remove-zero-state: zeros are what an omitted state is."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

from tests.passes.outcome import outcome
from tests.run import in_onnxruntime
from tests.text import model

CONSTANTS = {
    "w": np.linspace(-1, 1, 1 * 16 * 3, dtype=np.float32).reshape(1, 16, 3),
    "r": np.linspace(1, -1, 1 * 16 * 4, dtype=np.float32).reshape(1, 16, 4),
    "zeros": np.zeros((1, 2, 4), np.float32),
    "minus": np.full((1, 2, 4), -0.0, np.float32),
    "ones": np.ones((1, 2, 4), np.float32),
    "five": np.array([1, 5, 4], np.int64),
    "shape": np.array([1, 2, 4], np.int64),
    "start": np.array([0], np.int64),
    "end": np.array([2], np.int64),
    "axis": np.array([1], np.int64),
}


def source(made: str, states: str) -> ModelProto:
    return model(
        f"g (float[5,2,3] x, float[1,2,4] s) => (float[A,1,2,4] y) {{ {made}\n"
        f"y = LSTM <hidden_size = 4> (x, w, r, , , {states}) }}",
        constants=CONSTANTS,
    )


@pytest.mark.parametrize(
    ("made", "states", "left"),
    [
        ("", "zeros, zeros", "x, w, r"),
        ("", "zeros, s", "x, w, r, , , , s"),
        ("", "s, zeros", "x, w, r, , , s"),
        ("z = ConstantOfShape(shape)", "z, zeros", "x, w, r"),
        ("z = ConstantOfShape(five)\n p = Slice(z, start, end, axis)", "p, p", "x, w, r"),
        ("z = ConstantOfShape <value = float[1] {0.0}> (shape)\n i = Identity(z)", "i, s", "x, w, r, , , , s"),
    ],
)
def test_zeros_go(made: str, states: str, left: str) -> None:
    result = outcome("remove-zero-state", source(made, states))
    assert f"y = LSTM<hidden_size=4>({left})" in result.text
    assert [node.op_type for node in result.after.graph.node] == ["LSTM"]
    rng = np.random.default_rng(0)
    feeds = {
        "x": rng.standard_normal((5, 2, 3)).astype(np.float32),
        "s": rng.standard_normal((1, 2, 4)).astype(np.float32),
    }
    after, before = in_onnxruntime(result.after, feeds)[0], in_onnxruntime(result.before, feeds)[0]
    assert after.tobytes() == before.tobytes()


@pytest.mark.parametrize(
    ("made", "states"),
    [
        ("", "s, s"),
        ("", "ones, minus"),
        ("z = ConstantOfShape <value = float[1] {1.0}> (shape)", "z, z"),
        ("z = Neg(zeros)", "z, z"),
    ],
)
def test_others_stay(made: str, states: str) -> None:
    assert outcome("remove-zero-state", source(made, states)).changes == 0


def test_zeros_that_a_caller_may_replace_stay() -> None:
    proto = source("", "zeros, s")
    proto.graph.input.add().CopyFrom(proto.graph.input[1])
    proto.graph.input[2].name = "zeros"
    assert outcome("remove-zero-state", proto).changes == 0
