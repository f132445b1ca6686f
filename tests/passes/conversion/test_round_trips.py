"""Models that have been converted there and back: a second round gives the same bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper, numpy_helper

from maxfold.model.wished_names import settle
from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert
from tests.random_models.bridge import assert_settled

_WAYS = pytest.mark.parametrize("is_optimized", [False, True], ids=["plain", "optimized"])


def parsed(text: str, **constants: object) -> onnx.ModelProto:
    """A model from text and constants."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}')
    for name, values in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(values), name))
    onnx.checker.check_model(model, full_check=True)
    return model


@_WAYS
@pytest.mark.parametrize(
    ("kind", "gates", "attributes"),
    [
        ("LSTM", 4, {}), ("GRU", 3, {}), ("GRU", 3, {"linear_before_reset": 1}), ("RNN", 1, {}),
    ],
    ids=["lstm", "gru", "gru that resets later", "rnn"],
)  # fmt: skip
def test_weights_of_run_time(
    kind: str, gates: int, attributes: dict[str, int], is_optimized: bool, tmp_path: Path
) -> None:
    """Their gates change places, and their biases become one and two again, without operators that stay."""
    hidden, size = 5, 3
    shapes = {"w": (1, gates * hidden, size), "r": (1, gates * hidden, hidden), "b": (1, 2 * gates * hidden)}
    inputs = [helper.make_tensor_value_info("x", 1, ["length", "batch", size])]
    inputs += [helper.make_tensor_value_info(name, 1, shape) for name, shape in shapes.items()]
    node = helper.make_node(kind, ["x", "w", "r", "b"], ["y"], "recurrent", hidden_size=hidden, **attributes)
    outputs = [helper.make_tensor_value_info("y", 1, ["length", 1, "batch", hidden])]
    graph = helper.make_graph([node], "g", inputs, outputs)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    assert_settled(model, tmp_path, is_optimized=is_optimized)


@_WAYS
def test_a_count_of_run_time(is_optimized: bool, tmp_path: Path) -> None:
    model = parsed("""g (float[2] x, int64 n) => (float[2] y) {
        more = Constant <value: tensor = bool {1}> ()
        y = Loop (n, more, x) <body: graph = b (int64 i, bool before, float[2] state)
            => (bool after, float[2] next) { after = Identity (before) next = Add (state, x) }>
    }""")
    assert_settled(model, tmp_path, is_optimized=is_optimized)


@_WAYS
def test_indices_and_counts_of_run_time(is_optimized: bool, tmp_path: Path) -> None:
    model = parsed(
        """g (float[8] x, int64 k, int64[3] places) => (float[n] best, float[3, 9] hot, float[m] cut) {
            counts = Unsqueeze (k, zero)
            best, where = TopK (x, counts)
            hot = OneHot (places, depth, values)
            cut = Slice (x, zero, counts)
        }""",
        zero=np.array([0]), depth=np.array(9), values=np.array([0, 1], np.float32),
    )  # fmt: skip
    assert_settled(model, tmp_path, is_optimized=is_optimized)


@_WAYS
def test_repeats_of_run_time(is_optimized: bool, tmp_path: Path) -> None:
    model = parsed("g (float[1, 2, a, 3] x, int64[4] repeats) => (float[b, c, d, e] y) { y = Tile (x, repeats) }")
    assert_settled(model, tmp_path, is_optimized=is_optimized)


@_WAYS
@pytest.mark.parametrize("scale", [0.003751923, 0.0478315, 1.7])
def test_scales(scale: float, is_optimized: bool, tmp_path: Path) -> None:
    """The range of a FakeQuantize is rounded, and the scale is found again."""
    model = parsed(
        """g (float[2, 3] x) => (float[2, 3] y) {
            q = QuantizeLinear (x, s, z)
            y = DequantizeLinear (q, s, z)
        }""",
        s=np.float32(scale), z=np.uint8(117),
    )  # fmt: skip
    assert_settled(model, tmp_path, is_optimized=is_optimized)


_BRANCHES = """g (bool c, float[700] x) => (float[700] y) {
    y = If (c) <
        then_branch = t () => (float[700] a) { b = Add (x, weights) a = Mul (b, two) },
        else_branch = e () => (float[700] d) { f = Sub (x, weights) d = Add (f, two) }>
}"""


@_WAYS
def test_constants_that_bodies_share(is_optimized: bool, tmp_path: Path) -> None:
    """Large ones stay one, small ones become the bodies' own."""
    model = parsed(_BRANCHES, weights=np.arange(700, dtype=np.float32), two=np.float32(2))
    assert_settled(model, tmp_path, is_optimized=is_optimized)


def test_large_constants_that_bodies_share_stay_one(tmp_path: Path) -> None:
    model = parsed(_BRANCHES, weights=np.arange(700, dtype=np.float32), two=np.float32(2))
    save(convert(load(model), to="openvino"), tmp_path / "m.xml")
    save(convert(load(tmp_path / "m.xml"), to="onnx"), tmp_path / "m.onnx")
    back = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(back, full_check=True)
    assert [item.name for item in back.graph.initializer] == ["weights"]
    (node,) = back.graph.node
    assert sorted([*map(str, ([item.name for item in attribute.g.initializer] for attribute in node.attribute))]) == [
        "['two']",
        "['two_1']",
    ]


@_WAYS
def test_names_of_constants_that_go(is_optimized: bool, tmp_path: Path) -> None:
    """A name that something had which no longer stands there is free."""
    model = parsed(
        """g (float[2, a] x) => (float[2, 1] y, float[2, a] z) {
            y = ReduceMean <axes = [1]> (x)
            s = Shape (x)
            e = ConstantOfShape (s)
            z = Add (x, e)
        }"""
    )
    assert_settled(model, tmp_path, is_optimized=is_optimized)


def test_a_name_that_somebody_gave_stays(tmp_path: Path) -> None:
    model = parsed("g (float[2] x) => (float[2] y) { a = Neg (x) b = Identity (a) y = Abs (b) }")
    save(convert(load(model), to="openvino"), tmp_path / "m.xml")
    back = convert(load(tmp_path / "m.xml"), to="onnx")
    node = next(node for node in back.graph.nodes if node.op == "Neg")
    node.name, node.outputs[0].name = "mine", "my result"
    settle(back)
    assert (node.name, node.outputs[0].name) == ("mine", "my result")
