"""remove-zero-state: zeros are what an omitted state is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from maxfold.model import read_onnx
from maxfold.model.edit import Edit
from maxfold.model.storage import CHUNK_BYTES, FileSource
from maxfold.passes.remove_zero_state import RemoveZeroState
from tests.passes.outcome import outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import Array, model

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


WRONG = "the state is not known to have the shape of one, and might make a run fail"


FILLED = "z = ConstantOfShape(n)"


@pytest.mark.parametrize(
    ("dims", "place", "sizes", "filled", "is_right"),
    [
        # A batch that a run decides, computed from the sequence as exporters do it.
        ("S,B,3", "axis", "axis, b, four", FILLED, True),
        ("S,B,3", "axis", "axis, b, four", "z = Expand(zero, n)", True),
        ("S,B,3", "axis", "axis, b, four", "k = ConstantOfShape<value = int64[1] {0}>(n)\n z = Cast<to = 1>(k)", True),
        ("S,B,3", "axis", "axis, b, axis", FILLED, False),
        ("S,B,3", "start", "axis, b, four", FILLED, False),
        ("S,B,3", "axis", "axis, b, four", "z = Identity(zeros)", False),
        ("5,3,3", "axis", "axis, b, four", "z = Identity(zeros)", False),
        ("5,2,3", "axis", "axis, b, four", "z = Identity(zeros)", True),
    ],
)
def test_a_state_must_have_the_shape_of_one(dims: str, place: str, sizes: str, filled: str, is_right: bool) -> None:
    """A state of another shape makes a run fail, and goes on to do so."""
    proto = shaped(dims, place, sizes, filled, "")
    result = outcome("remove-zero-state", proto)
    assert (result.changes, result.reasons) == ((1, []) if is_right else (0, [WRONG]))
    feeds = {"x": np.random.default_rng(0).standard_normal((5, 2, 3)).astype(np.float32)}
    if is_right:
        after, before = in_onnxruntime(result.after, feeds)[0], in_onnxruntime(result.before, feeds)[0]
        assert after.tobytes() == before.tobytes()


def test_the_batch_may_stand_first() -> None:
    for place, is_right in (("start", True), ("axis", False)):
        result = outcome("remove-zero-state", shaped("B,S,3", place, "b, axis, four", FILLED, "layout = 1, "))
        assert (result.changes, result.reasons) == ((1, []) if is_right else (0, [WRONG]))


def shaped(dims: str, place: str, sizes: str, filled: str, attributes: str) -> ModelProto:
    """An LSTM whose state has computed sizes, `b` among them: the size of the sequence at a place."""
    return model(
        f"g (float[{dims}] x) => (float[P,Q,R,U] y) {{\n"
        f"h = Shape(x)\n b = Gather(h, {place})\n n = Concat<axis = 0>({sizes})\n {filled}\n"
        f"y = LSTM <{attributes}hidden_size = 4> (x, w, r, , , z, z) }}",
        constants={**CONSTANTS, "four": np.array([4], np.int64), "zero": np.zeros(1, np.float32)},
    )


QUANTIZED = {
    "w": np.random.default_rng(1).integers(-128, 128, (2, 3, 16)).astype(np.int8),
    "r": np.random.default_rng(2).integers(-128, 128, (2, 4, 16)).astype(np.int8),
    "ws": np.full(2, 0.02, np.float32),
    "wz": np.zeros(2, np.int8),
    "rs": np.full(2, 0.03, np.float32),
    "rz": np.array([0, 3], np.int8),
    "zeros": np.zeros((2, 2, 4), np.float32),
    "lengths": np.array([5, 3], np.int32),
}


@pytest.mark.parametrize("value", [0.5, np.nan, np.inf, -0.0])
@pytest.mark.parametrize("lengths", ["", "lengths"])
def test_quantized(value: float, lengths: str) -> None:
    """The hidden state is quantized at each step, with zero in the range in any case."""
    proto = model(
        "g (float[5,2,3] x) => (float[A,2,2,4] y, float[2,2,4] h, float[2,2,4] c) {"
        'y, h, c = com.microsoft.DynamicQuantizeLSTM <hidden_size = 4, direction = "bidirectional">'
        f"(x, w, r, , {lengths}, zeros, zeros, , ws, wz, rs, rz) }}",
        constants=QUANTIZED,
        domains='"com.microsoft" : 1',
    )
    result = outcome("remove-zero-state", proto)
    assert list(result.after.graph.node[0].input) == ["x", "w", "r", "", lengths, "", "", "", "ws", "wz", "rs", "rz"]
    feeds = {"x": np.random.default_rng(0).standard_normal((5, 2, 3)).astype(np.float32)}
    feeds["x"][1, 0, 0] = value
    for after, before in zip(in_onnxruntime(result.after, feeds), in_onnxruntime(result.before, feeds), strict=True):
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


def simple(operator: str, weights: Array, kind: str = "float") -> ModelProto:
    """A node of 3 inputs and 4 units with a state of zeros, and recurrent weights as given."""
    gates = {"GRU": 3, "LSTM": 4, "RNN": 1}[operator]
    constants = {"w": CONSTANTS["w"][:, : 4 * gates], "zeros": CONSTANTS["zeros"], "r": np.tile(weights, (1, gates, 1))}
    constants = {
        name: array.astype(np.float16 if kind == "float16" else np.float32) for name, array in constants.items()
    }
    return model(
        f"g ({kind}[5,2,3] x) => ({kind}[A,1,2,4] y) {{ y = {operator} <hidden_size = 4> (x, w, r, , , zeros) }}",
        constants=constants,
    )


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1.0])
@pytest.mark.parametrize("operator", ["GRU", "LSTM", "RNN"])
def test_weights_that_are_not_finite(operator: str, value: float) -> None:
    weights = CONSTANTS["r"][:, :4].copy()
    weights[0, 3, 2] = value
    result = outcome("remove-zero-state", simple(operator, weights))
    reason = "the recurrent weights may be infinite or NaN, which times 0 is NaN"
    stays = operator == "RNN" and not np.isfinite(value)
    assert (result.changes, result.reasons) == ((0, [reason]) if stays else (1, []))
    feeds = {"x": np.random.default_rng(0).standard_normal((5, 2, 3)).astype(np.float32)}
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(result.before, feeds), zeros_differ=True)


def test_weights_of_half_precision_and_weights_that_a_run_decides() -> None:
    weights = CONSTANTS["r"][:, :4].copy()
    assert outcome("remove-zero-state", simple("RNN", weights, "float16")).changes == 1
    weights[0, 3, 2] = 1e6
    with np.errstate(over="ignore"):
        assert outcome("remove-zero-state", simple("RNN", weights, "float16")).changes == 0
    given = simple("RNN", weights)
    given.graph.initializer.remove(next(item for item in given.graph.initializer if item.name == "r"))
    given.graph.input.append(onnx.helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, (1, 4, 4)))
    assert outcome("remove-zero-state", given).changes == 0


def test_weights_in_a_file_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.zeros((1, 512, 512), np.float32)
    weights[0, -1, -1] = np.inf
    proto = model(
        "g (float[5,2,3] x) => (float[A,1,2,512] y) { y = RNN <hidden_size = 512> (x, w, r, , , zeros) }",
        constants={"w": np.zeros((1, 512, 3), np.float32), "r": weights, "zeros": np.zeros((1, 2, 512), np.float32)},
    )
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    loaded = read_onnx(path)
    view = FileSource.view

    def small(source: FileSource, offset: int, nbytes: int) -> memoryview:
        assert nbytes <= CHUNK_BYTES, "the weights are mapped"
        return view(source, offset, nbytes)

    monkeypatch.setattr(FileSource, "view", small)
    assert RemoveZeroState().run(Edit(loaded)).changes == 0
