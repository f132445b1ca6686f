"""Attributes that became inputs: the same bits before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from tests.passes.upgrades.running import (
    assert_exact,
    assert_gives,
    attributes_of,
    constants_of,
    newest_runnable,
    node_model,
    operators,
    random_array,
    refusal,
    upgraded,
)
from tests.run import Array, in_onnxruntime

X = random_array(2, 3, 4)
ODD = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, 1.5, -2.5, 3e38], np.float32)

REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
)  # fmt: skip


def one(operator: str, data: Array, opset: int, **attributes: Any) -> ModelProto:
    return node_model(operator, {"x": data}, opset, **attributes)


@pytest.mark.parametrize(
    ("operator", "data", "opset", "attributes"),
    [
        ("Squeeze", random_array(1, 3, 1), 7, {"axes": [0, 2]}),
        ("Squeeze", random_array(1, 3, 1), 11, {"axes": [-1]}),
        ("Squeeze", random_array(1, 3, 1), 11, {}),
        ("Unsqueeze", X, 7, {"axes": [3, 0]}),
        ("Unsqueeze", X, 11, {"axes": [-1, 1]}),
        ("Slice", X, 7, {"starts": [1, -2], "ends": [2**31 - 1, -1], "axes": [1, 2]}),
        ("Slice", X, 9, {"starts": [1], "ends": [9]}),
        ("Pad", X, 7, {"pads": [0, 1, 2, 0, 0, -1], "value": 2.5}),
        ("Pad", X, 10, {"pads": [0, 1, 2, 0, 0, 0], "value": -0.0}),
        ("Pad", X, 10, {"pads": [0, 1, 2, 0, 0, 0]}),
        ("Pad", X, 10, {"pads": [0, 1, 2, 0, 0, 0], "mode": "reflect", "value": 1.0}),
        ("Pad", X, 10, {"pads": [0, 1, 2, 0, 0, 0], "mode": "edge"}),
        ("Pad", X.astype(np.float64), 10, {"pads": [0, 1, 2, 0, 0, 0], "value": 0.1}),
        ("Clip", ODD, 7, {"min": -1.0, "max": 2.0}),
        ("Clip", ODD, 7, {"min": 0.0}),
        ("Clip", ODD, 10, {"max": 0.1}),
        ("Clip", ODD, 10, {}),
        ("Dropout", X, 7, {"ratio": 0.3}),
        ("Dropout", X, 10, {}),
    ],
)  # fmt: skip
def test_one_result(operator: str, data: Array, opset: int, attributes: dict[str, Any]) -> None:
    assert_exact(one(operator, data, opset, **attributes), {"x": data}, (11, 13, 18, 21, newest_runnable()))


@pytest.mark.parametrize("operator", REDUCTIONS)
@pytest.mark.parametrize("opset", [7, 11, 13])
@pytest.mark.parametrize("attributes", [{}, {"axes": [1], "keepdims": 0}, {"axes": [0, 2]}])
def test_reductions(operator: str, opset: int, attributes: dict[str, Any]) -> None:
    if operator == "ReduceSum" and opset == 13:
        return
    data = np.abs(X)
    targets = [target for target in (13, 18, 20, 21) if target > opset]
    assert_exact(one(operator, data, opset, **attributes), {"x": data}, targets)


def test_negative_axes_of_reductions() -> None:
    assert_exact(one("ReduceMax", X, 11, axes=[-1]), {"x": X}, (18, 21))


@pytest.mark.parametrize("opset", [7, 11])
def test_split(opset: int) -> None:
    lengths = node_model("Split", {"x": X}, opset, outputs=("y", "z"), axis=2, split=[1, 3])
    equal = node_model("Split", {"x": X}, opset, outputs=("y", "z"), axis=2)
    for source in (lengths, equal):
        assert_exact(source, {"x": X}, (13, 18, newest_runnable()))
    assert attributes_of(upgraded(equal, 18), "Split") == {"axis": 2, "num_outputs": 2}
    assert attributes_of(upgraded(lengths, 18), "Split") == {"axis": 2}


@pytest.mark.parametrize("opset", [7, 9])
def test_top_k(opset: int) -> None:
    data = np.array([[3, 1, 3, 2], [1, 1, 1, 1]], np.float32)
    source = node_model("TopK", {"x": data}, opset, outputs=("y", "i"), types=(np.float32, np.int64), k=2, axis=1)
    assert_exact(source, {"x": data}, (10, 11, newest_runnable()))


@pytest.mark.parametrize("attributes", [{}, {"axis": 2, "onesided": 1}, {"axis": -2, "inverse": 1}])
def test_dft(attributes: dict[str, Any]) -> None:
    data = random_array(2, 5, 6, 2 if attributes.get("inverse") else 1)
    assert_exact(one("DFT", data, 17, **attributes), {"x": data}, (20, newest_runnable()))


def test_dft_with_a_length() -> None:
    data = random_array(2, 5, 6, 1)
    source = node_model("DFT", {"x": data, "n": np.array(8, np.int64)}, 17, constants=["n"], axis=1)
    assert_exact(source, {"x": data}, (20,))


def test_axes_of_a_slice_are_those_of_its_starts() -> None:
    after = upgraded(one("Slice", X, 9, starts=[1], ends=[2]), 10)
    assert sorted(map(tuple, constants_of(after).values())) == [(0,), (1,), (2,)]


def test_limits_are_of_the_type_of_the_input() -> None:
    data = np.array([7e4, -7e4, 0.15, np.inf], np.float64)
    expected = np.array([3.4028234663852886e38, 1.0], np.float64)
    source = one("Clip", np.array([np.inf, 1.0], np.float64), 10)
    assert_gives(source, {"x": np.array([np.inf, 1.0], np.float64)}, 13, expected)
    clipped = np.clip(data, np.float64(np.float32(0.1)), np.float64(np.float32(0.7)))
    assert_gives(one("Clip", data, 10, min=0.1, max=0.7), {"x": data}, 13, clipped)
    half = np.array([6e4, -6e4, 0.25, np.inf], np.float16)
    assert_gives(one("Clip", half, 10, min=-1.0), {"x": half}, 13, np.array([6e4, -1, 0.25, np.inf], np.float16))


def test_a_clip_of_float32_gets_no_more_limits_than_it_had() -> None:
    assert list(upgraded(one("Clip", X, 10, max=1.0), 11).graph.node[0].input) == ["x", "", "y_constant"]
    assert list(upgraded(one("Clip", X, 10), 11).graph.node[0].input) == ["x"]


def test_the_ratio_of_a_dropout_is_kept() -> None:
    after = upgraded(one("Dropout", X, 10, ratio=0.25), 13)
    assert constants_of(after) == {"y_constant": np.float32(0.25)}


def test_reshape_1() -> None:
    source = one("Reshape", X, 4, consumed_inputs=[0])
    source.graph.node[0].attribute.append(helper.make_attribute("shape", [0, -1]))
    source.graph.output[0].type.CopyFrom(helper.make_tensor_type_proto(TensorProto.FLOAT, [2, 12]))
    for target in (5, 13):
        assert operators(upgraded(source, target)) == ["Reshape"]
    assert_gives(source, {"x": X}, 13, X.reshape(2, -1))


def test_constants_stand_in_the_graph_of_their_node() -> None:
    """A branch that squeezes; before IR version 4 its axes are a Constant node."""
    inner = helper.make_graph(
        [helper.make_node("Squeeze", ["x"], ["b"], axes=[0])], "b", [], [helper.make_tensor_value_info("b", 1, None)]
    )
    other = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["c"])], "c", [], [helper.make_tensor_value_info("c", 1, None)]
    )
    for ir_version, expected in ((3, ["Constant", "Squeeze"]), (8, ["Squeeze"])):
        source = node_model(
            "If", {"flag": np.array(True)}, 11, types=(np.float32,), then_branch=inner, else_branch=other,
            ir_version=ir_version,
        )  # fmt: skip
        source.graph.input.append(helper.make_tensor_value_info("x", 1, [1, 3]))
        feeds = {"flag": np.array(True), "x": random_array(1, 3)}
        assert_exact(source, feeds, (13, 21))
        branch = upgraded(source, 13).graph.node[0].attribute[0].g
        assert [node.op_type for node in branch.node] == expected
        assert len(branch.initializer) == (ir_version == 8)


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        (one("Squeeze", X, 11, axes=[]), 13, "an empty list"),
        (one("Slice", X, 9, starts=[0, 1], ends=[1], axes=[0]), 10, "of different lengths"),
        (one("Slice", X, 9, ends=[1], axes=[0]), 10, "'starts' and 'ends' are missing"),
        (node_model("TopK", {"x": X}, 9, outputs=("y", "i")), 10, "'k' is missing"),
        (one("Pad", X, 10), 11, "'pads' is missing"),
        (one("Reshape", X, 4), 5, "'shape' is missing"),
        (one("Pad", X, 1, paddings=[0, 1, 0, 0, 0, 0]), 2, "the order of its paddings was not clear"),
    ],
)
def test_refusals(source: ModelProto, target: int, reason: str) -> None:
    assert reason in refusal(source, target)


def test_a_used_mask_is_refused() -> None:
    for opset, target in ((7, 10), (10, 12)):
        mask_type = np.float32 if opset == 7 else np.bool_
        source = node_model("Dropout", {"x": X}, opset, outputs=("y", "mask"), types=(np.float32, mask_type))
        assert "its mask is used" in refusal(source, target)


def test_an_unused_mask_changes_its_type() -> None:
    source = node_model("Dropout", {"x": X}, 7, outputs=("y", "mask"))
    declared = source.graph.output.pop()
    source.graph.value_info.append(declared)
    assert_exact(source, {"x": X}, (10, 13, newest_runnable()))


def test_paddings_that_are_the_same_in_either_order() -> None:
    made = upgraded(node_model("Pad", {"x": X}, 1, shape=(3, 3, 6), paddings=[1, 0, 0, 0, 0, 2]), 2)
    assert attributes_of(made, "Pad") == {"pads": [1, 0, 0, 0, 0, 2]}


def test_tile_of_one_axis() -> None:
    inputs = {"x": X, "tiles": np.array(2, np.float32), "axis": np.array(1, np.float32)}
    source = node_model("Tile", inputs, 1, constants=["tiles", "axis"], shape=(2, 6, 4))
    made = upgraded(source, 13)
    np.testing.assert_array_equal(in_onnxruntime(made, {"x": X})[0], np.tile(X, (1, 2, 1)))
