"""Constants on their way from one format to the other: what is stored otherwise there comes to the same values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.passes.conversion import harness, judged

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
