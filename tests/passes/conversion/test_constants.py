"""Constants on their way from one format to the other: what is stored otherwise there comes to the same values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import pytest
from onnx import TensorProto, helper, numpy_helper
from openvino import opset13

from maxfold.optimizer import convert, load, optimize, save
from tests.passes.conversion import harness, judged
from tests.passes.ir import types_of

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def _model(indices: Any, dims: list[int], *, is_node: bool) -> onnx.ModelProto:
    values = numpy_helper.from_array(np.array([10, 20, 30], np.float32), "s")
    sparse = helper.make_sparse_tensor(values, numpy_helper.from_array(np.array(indices, np.int64), "i"), dims)
    nodes = [helper.make_node("Add", ["x", "s"], ["y"])]
    if is_node:
        nodes.insert(0, helper.make_node("Constant", [], ["s"], sparse_value=sparse))
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, dims)], sparse_initializer=[] if is_node else [sparse],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("is_node", [False, True])
@pytest.mark.parametrize("indices", [[0, 2, 5], [[0, 0], [0, 2], [1, 2]]])
def test_sparse_constants_become_dense(indices: Any, is_node: bool, tmp_path: Path) -> None:
    expected = X + np.array([[10, 0, 20], [0, 0, 30]], np.float32)
    model = _model(indices, [2, 3], is_node=is_node)
    judged.assert_same_in_openvino(model, [X], tmp_path, expected=[expected], rtol=0, atol=0)
    assert (tmp_path / "made.bin").stat().st_size == X.nbytes
    case = harness.Case("sparse", model, [X], [expected])
    harness.assert_close(harness.round_trip(case, tmp_path), [expected], rtol=0, atol=0)


def test_sparse_constants_that_no_memory_holds(tmp_path: Path) -> None:
    reason = "constant: sparse tensor 's' of shape [1099511627776] would have 4398046511104 bytes as a dense one"
    judged.assert_refused_in_openvino(_model([0, 2, 5], [1 << 40], is_node=False), tmp_path, reason)


@pytest.mark.parametrize("order", [("flags", "none", "halves"), ("none", "flags", "halves"), ("none",)])
def test_empty_constants_behind_others(order: tuple[str, ...], tmp_path: Path) -> None:
    """The `.bin` ends where its last values do, which need not be where an empty constant would be aligned."""
    known = {"flags": np.array([True, False, True]), "none": np.zeros(0), "halves": np.zeros((2, 0), np.float16)}
    constants = [numpy_helper.from_array(known[name], name) for name in order]
    outputs = [helper.make_tensor_value_info(item.name, item.data_type, item.dims) for item in constants]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, X.shape) for name in "xy")
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [x], [y, *outputs], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    expected = [-X, *(known[name] for name in order)]
    judged.assert_same_in_openvino(model, [X], tmp_path, expected=expected, rtol=0, atol=0)
    case = harness.Case("empty", model, [X], expected)
    harness.assert_close(harness.round_trip(case, tmp_path), expected, rtol=0, atol=0)


def _of_half_precision(folder: Path) -> Path:
    """An IR whose floats OpenVINO has compressed: a Convert behind each of them."""
    random = np.random.default_rng(0)
    x = opset13.parameter([2, 3, 8, 8], np.float32)
    made = x
    for _ in range(4):
        weights = opset13.constant(random.standard_normal((3, 3, 3, 3)).astype(np.float16).astype(np.float32))
        made = opset13.convolution(made, weights, [1, 1], [1, 1], [1, 1], [1, 1])
        made = opset13.add(made, opset13.constant(random.standard_normal((1, 3, 8, 8)).astype(np.float32)))
    made = opset13.hard_sigmoid(made, opset13.constant(np.float32(0.25)), opset13.constant(np.float32(0.5)))
    openvino.save_model(openvino.Model([made], [x]), folder / "half.xml", compress_to_fp16=True)
    return folder / "half.xml"


def test_weights_of_half_precision_stay_so(tmp_path: Path) -> None:
    source = _of_half_precision(tmp_path)
    made = convert(load(source), to="onnx", opset=17)
    optimize(made)
    assert made.constant_bytes() <= source.with_suffix(".bin").stat().st_size
    save(made, tmp_path / "half.onnx")
    x = np.random.default_rng(1).standard_normal((2, 3, 8, 8)).astype(np.float32)
    expected = harness.run_openvino(source, [x])
    harness.assert_close(harness.run_onnx(tmp_path / "half.onnx", [x]), expected, rtol=1e-4, atol=1e-5)
    back = convert(load(tmp_path / "half.onnx"), to="openvino")
    optimize(back)
    save(back, tmp_path / "back.xml")
    # The two attributes come back as float32.
    assert (tmp_path / "back.bin").stat().st_size <= source.with_suffix(".bin").stat().st_size + 4
    harness.assert_close(harness.run_openvino(tmp_path / "back.xml", [x]), expected, rtol=1e-4, atol=1e-5)


def test_decompression_stays_in_ir(tmp_path: Path) -> None:
    source = _of_half_precision(tmp_path)
    model = load(source)
    optimize(model, math="relaxed")
    save(model, tmp_path / "optimized.xml")
    assert types_of(tmp_path / "optimized.xml").count("Convert") == types_of(source).count("Convert") > 0
    assert (tmp_path / "optimized.xml").read_text().count("decompression") == source.read_text().count("decompression")
    assert (tmp_path / "optimized.bin").read_bytes() == source.with_suffix(".bin").read_bytes()
