"""Steps that change nothing, of operators whose node tests do not fit: results, or the node where nothing runs it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.passes.upgrades.running import (
    NEWEST,
    assert_exact,
    newest_runnable,
    node_model,
    random_array,
    upgraded,
)
from tests.run import Array, in_onnxruntime

IMAGE = random_array(1, 2, 6, 7)

POOLS: list[dict[str, Any]] = [
    {"kernel_shape": [3, 3]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    {"kernel_shape": [2, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
    {"kernel_shape": [3, 2], "strides": [2, 1], "auto_pad": "SAME_LOWER"},
    {"kernel_shape": [2, 2], "strides": [3, 2], "auto_pad": "VALID"},
]
CEILED: list[dict[str, Any]] = [
    {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1},
]


@pytest.mark.parametrize("attributes", POOLS)
@pytest.mark.parametrize("operator", ["MaxPool", "LpPool"])
def test_pools(operator: str, attributes: dict[str, Any]) -> None:
    source = node_model(operator, {"x": IMAGE}, 7, **attributes)
    assert_exact(source, {"x": IMAGE}, (8, 10, 11, 12, 18, 22, newest_runnable()))


@pytest.mark.parametrize("attributes", [*POOLS, *CEILED, {**POOLS[1], "count_include_pad": 1}])
def test_average_pools(attributes: dict[str, Any]) -> None:
    """ONNX Runtime has another kernel from 19 on, which rounds differently."""
    source = node_model("AveragePool", {"x": IMAGE}, 10 if "ceil_mode" in attributes else 7, **attributes)
    assert_exact(source, {"x": IMAGE}, (11, 18))
    (before,) = in_onnxruntime(source, {"x": IMAGE})
    for target in (19, 22, newest_runnable()):
        (after,) = in_onnxruntime(upgraded(source, target), {"x": IMAGE})
        np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("attributes", CEILED)
def test_ceiled_pools(attributes: dict[str, Any]) -> None:
    source = node_model("MaxPool", {"x": IMAGE}, 10, **attributes)
    assert_exact(source, {"x": IMAGE}, (11, 12, 22, newest_runnable()))


ODD = np.array([np.inf, -np.inf, np.nan, -0.0, 1.5, -2.5, 300.7, 1e-8], np.float32)


@pytest.mark.parametrize(
    ("data", "to"),
    [
        (ODD, np.float16),
        (ODD, np.float64),
        (ODD, np.bool_),
        (ODD[3:], np.int8),
        (np.array([200, -1, 7], np.int16), np.int8),
        (np.array([True, False]), np.float32),
    ],
)
def test_casts(data: Array, to: type) -> None:
    element_type = helper.np_dtype_to_tensor_dtype(np.dtype(to))
    cast = node_model("Cast", {"x": data}, 7, types=(to,), to=int(element_type))
    assert_exact(cast, {"x": data}, (9, 13, 19, 21, 23, 24, 25, newest_runnable()))
    like = node_model("CastLike", {"x": data, "t": np.zeros(1, to)}, 15, constants="t", types=(to,))
    assert_exact(like, {"x": data}, (19, 21, 23, 24, 25))


def test_mean_variance_normalization() -> None:
    """onnx 1.23 cannot infer the function body of version 13, so its checker is left out."""
    source = node_model("MeanVarianceNormalization", {"x": IMAGE}, 9)
    (before,) = in_onnxruntime(source, {"x": IMAGE})
    for target in (13, 18):
        (after,) = in_onnxruntime(upgraded(source, target, check=False), {"x": IMAGE})
        np.testing.assert_array_equal(after, before)


def test_global_pools() -> None:
    for operator, targets in (("GlobalLpPool", (21,)), ("GlobalMaxPool", (21, 22)), ("GlobalAveragePool", (21, 22))):
        assert_exact(node_model(operator, {"x": IMAGE}, 7), {"x": IMAGE}, targets)


def test_max_roi_pool() -> None:
    boxes = np.array([[0, 0, 0, 4, 4], [0, 1, 2, 5, 5]], np.float32)
    source = node_model("MaxRoiPool", {"x": IMAGE, "r": boxes}, 7, constants="r", pooled_shape=[2, 2])
    assert_exact(source, {"x": IMAGE}, (21,))
    assert upgraded(source, 22, changes=1).graph.node == source.graph.node


@pytest.mark.parametrize(("operator", "gates"), [("GRU", 3), ("LSTM", 4), ("RNN", 1)])
def test_recurrent_layers(operator: str, gates: int) -> None:
    data = random_array(3, 2, 4)
    weights = {"w": random_array(1, gates * 5, 4, seed=1), "r": random_array(1, gates * 5, 5, seed=2)}
    source = node_model(
        operator, {"x": data, **weights}, 7, constants="wr", outputs=("y", "h"), hidden_size=5, direction="reverse"
    )
    assert_exact(source, {"x": data}, (14, 22, newest_runnable()))


@pytest.mark.parametrize(
    ("operator", "opset", "attributes"),
    [
        ("Bernoulli", 15, {"seed": 1.0}),
        ("Multinomial", 7, {"sample_size": 2}),
        ("RandomNormalLike", 7, {"seed": 2.0}),
        ("RandomUniformLike", 7, {"low": 2.0}),
        ("RoiAlign", 16, {"mode": "max"}),
        ("GlobalLpPool", 21, {}),
        ("Resize", 18, {"antialias": 1}),
    ],
)
def test_nodes_that_nothing_runs_stay_as_they_are(operator: str, opset: int, attributes: dict[str, Any]) -> None:
    source = node_model(operator, {"x": IMAGE}, opset, **attributes)
    assert upgraded(source, NEWEST, check=False, changes=1).graph.node == source.graph.node


def test_random_nodes_without_inputs_stay_as_they_are() -> None:
    for operator in ("RandomNormal", "RandomUniform"):
        source = node_model("Identity", {"x": IMAGE}, 7)
        source.graph.node.append(helper.make_node(operator, [], ["r"], shape=[2], dtype=TensorProto.FLOAT))
        assert upgraded(source, NEWEST, changes=1).graph.node == source.graph.node


def test_optional_values() -> None:
    nodes = [
        helper.make_node("Optional", ["x"], ["o"]),
        helper.make_node("OptionalHasElement", ["o"], ["h"]),
        helper.make_node("OptionalGetElement", ["o"], ["e"]),
    ]
    source = node_model("Identity", {"x": IMAGE}, 15)
    source.graph.node.extend(nodes)
    for target in (16, 18, NEWEST):
        assert upgraded(source, target, changes=1).graph.node == source.graph.node
