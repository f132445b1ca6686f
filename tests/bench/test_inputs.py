"""How the benchmark draws inputs."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, parser

from bench.inputs import BATCH, CannotDrawError, InputSpec, draw_dims, draw_feed, input_specs, nudge


def _model(inputs: str, initializers: str = "") -> ModelProto:
    weights = f"<{initializers}>" if initializers else ""
    return parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17]> g ({inputs}) => (float[N] y) {weights} {{ y = Relu(x) }}'
    )


def test_initializers_are_not_fed() -> None:
    specs = input_specs(_model("float[N] x, float[1] w", "float[1] w = {1.0}"))
    assert [spec.name for spec in specs] == ["x"]


def test_a_symbol_has_one_value_and_sums_follow() -> None:
    specs = [
        InputSpec("a", TensorProto.FLOAT, ("N", "past"), False),
        InputSpec("b", TensorProto.INT64, ("N", "past + 1"), False),
    ]
    dims, feed = draw_feed(specs, seed=1, attempt=0)
    assert set(dims) == {"N", "past"}
    assert feed["a"].shape == (dims["N"], dims["past"])
    assert feed["b"].shape == (dims["N"], dims["past"] + 1)
    assert feed["b"].dtype == np.int64


def test_unnamed_batches_agree_and_other_unnamed_dims_are_their_own() -> None:
    specs = input_specs(_model("float[?, ?] x, float[2, ?, 8] state"))
    assert [spec.dims for spec in specs] == [(BATCH, "x[1]"), (2, BATCH, 8)]


def test_draws_depend_on_seed_and_attempt_only() -> None:
    specs = [InputSpec("x", TensorProto.FLOAT, ("N", 3, "H", "W"), False)]
    once, again = draw_feed(specs, 2, 3), draw_feed(specs, 2, 3)
    assert once[0] == again[0]
    assert np.array_equal(once[1]["x"], again[1]["x"])
    assert len({tuple(draw_dims(specs, 1, attempt).values()) for attempt in range(10)}) > 5


def test_masks_are_zero_or_one() -> None:
    specs = [InputSpec("attention_mask", TensorProto.INT64, (2, 50), False)]
    for attempt in range(4):
        values = draw_feed(specs, 1, attempt)[1]["attention_mask"]
        assert set(np.unique(values)) <= {0, 1}


def test_strings_and_sequences_are_drawn() -> None:
    specs = [InputSpec("s", TensorProto.STRING, (3,), False), InputSpec("q", TensorProto.FLOAT, (2,), True)]
    feed = draw_feed(specs, 1, 0)[1]
    assert all(isinstance(word, str) for word in feed["s"])
    assert [item.shape for item in feed["q"]] == [(2,)] * 3


def test_what_cannot_be_drawn_is_named() -> None:
    optional = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [1]))
    model = _model("float[N] x")
    model.graph.input.append(helper.make_value_info("maybe", optional))
    with pytest.raises(CannotDrawError, match="maybe"):
        input_specs(model)
    with pytest.raises(CannotDrawError, match="huge"):
        draw_feed([InputSpec("huge", TensorProto.FLOAT, (1 << 40, 1 << 40), False)], 1, 0)


def test_nudge_moves_floats_by_one_step_only() -> None:
    feed = {"x": np.array([1.0], np.float32), "i": np.array([5]), "q": [np.array([0.0], np.float32)]}
    moved = nudge(feed)
    assert moved["x"][0] == np.nextafter(np.float32(1), np.float32(2))
    assert moved["i"][0] == 5
    assert moved["q"][0][0] > 0
