"""DynamicQuantizeLSTM of ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from tests.passes.conversion import harness
from tests.passes.conversion.judged import converted_to_openvino, floats

HIDDEN, WIDTH, LENGTH = 4, 5, 6
ALL = ("b", "lengths", "h", "c", "p")
# A quotient next to half-way between two steps may become the other one.
STEP = 2e-3


def quantized(
    *,
    direction: str = "forward",
    given: Sequence[str] = ALL,
    batch: int = 3,
    weights: Any = np.uint8,
    by_column: bool = False,
    without_zero_points: bool = False,
    dynamic: bool = False,
    **attributes: Any,
) -> tuple[onnx.ModelProto, list[Any]]:
    """A model of one node and values for its inputs."""
    rng, directions = np.random.default_rng(0), 2 if direction == "bidirectional" else 1
    info = np.iinfo(weights)
    scale_shape = (directions, 4 * HIDDEN) if by_column else (directions,)
    constants: dict[str, Any] = {
        "w": rng.integers(info.min, info.max, (directions, WIDTH, 4 * HIDDEN), weights),
        "r": rng.integers(info.min, info.max, (directions, HIDDEN, 4 * HIDDEN), weights),
        "b": floats(directions, 8 * HIDDEN, seed=3) / 4,
        "p": floats(directions, 3 * HIDDEN, seed=9) / 2,
        "ws": rng.uniform(0.002, 0.006, scale_shape).astype(np.float32),
        "rs": rng.uniform(0.002, 0.006, scale_shape).astype(np.float32),
        "wz": rng.integers(info.min // 2 + 20, info.max // 2 + 20, scale_shape).astype(weights),
        "rz": rng.integers(info.min // 2 + 20, info.max // 2 + 20, scale_shape).astype(weights),
    }
    values = {
        "x": floats(LENGTH, batch, WIDTH),
        "lengths": np.asarray([2, LENGTH, 1][:batch], np.int32),
        "h": floats(directions, batch, HIDDEN, seed=4),
        "c": floats(directions, batch, HIDDEN, seed=5),
    }
    names = ["x", "w", "r", "b", "lengths", "h", "c", "p", "ws", "wz", "rs", "rz"]
    if without_zero_points:
        constants["wz"], constants["rz"] = (np.zeros(scale_shape, weights) for _ in range(2))
    present = [name if name not in ALL or name in given else "" for name in names]
    inputs = {name: value for name, value in values.items() if name in present}
    node = helper.make_node(
        "DynamicQuantizeLSTM", present, ["y", "yh", "yc"], domain="com.microsoft", direction=direction,
        hidden_size=HIDDEN, **attributes,
    )  # fmt: skip
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype),
            [f"{name}{axis}" for axis in range(value.ndim - 1)] + [value.shape[-1]] if dynamic else value.shape,
        )
        for name, value in inputs.items()
    ]  # fmt: skip
    results = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in node.output]
    graph = helper.make_graph(
        [node], "graph", infos, results,
        [numpy_helper.from_array(value, name) for name, value in constants.items() if name in present],
    )  # fmt: skip
    imports = [helper.make_opsetid("", 14), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8), list(inputs.values())


def assert_same(model: onnx.ModelProto, inputs: list[Any], folder: Path) -> None:
    """OpenVINO gives for the IR what ONNX Runtime gives with one thread, which takes all rows together."""
    path = converted_to_openvino(model, folder)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "made.onnx"), options, providers=["CPUExecutionProvider"])
    feeds = {declared.name: value for declared, value in zip(session.get_inputs(), inputs, strict=True)}
    harness.assert_close(harness.run_openvino(path, inputs), list(session.run(None, feeds)), rtol=0, atol=STEP)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("given", [(), ("b",), ("b", "h", "c"), ("b", "p")])
@pytest.mark.parametrize("dynamic", [False, True])
def test_inputs(direction: str, given: Sequence[str], dynamic: bool, tmp_path: Path) -> None:
    assert_same(*quantized(direction=direction, given=given, dynamic=dynamic), tmp_path)


@pytest.mark.parametrize("weights", [np.int8, np.uint8])
@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize("without_zero_points", [False, True])
@pytest.mark.parametrize("batch", [1, 3])
def test_weights(weights: Any, by_column: bool, without_zero_points: bool, batch: int, tmp_path: Path) -> None:
    if by_column and not without_zero_points:
        # ONNX Runtime does not run it.
        return
    model, inputs = quantized(
        weights=weights, by_column=by_column, without_zero_points=without_zero_points, batch=batch, given=("b",)
    )
    assert_same(model, inputs, tmp_path)


@pytest.mark.parametrize(
    "attributes", [{"clip": 0.5}, {"input_forget": 1}, {"activations": ["Sigmoid", "Tanh", "Elu"]}]
)
def test_attributes(attributes: dict[str, Any], tmp_path: Path) -> None:
    assert_same(*quantized(given=("b",), **attributes), tmp_path)
