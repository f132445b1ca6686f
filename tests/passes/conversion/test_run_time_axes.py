"""Dimensions of one element at axes that are computed at run time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.passes.conversion import judged


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 4), (2, 3)])
@pytest.mark.parametrize("axes", [[0], [-1], [2, 0], [-1, 1, 0]])
def test_unsqueeze(axes: list[int], shape: tuple[int, ...], tmp_path: Path) -> None:
    if any(not -len(shape) - len(axes) <= axis < len(shape) + len(axes) for axis in axes):
        pytest.skip("the result has no such axis")
    x = judged.floats(*shape)
    model, inputs = judged.one_node("Unsqueeze", {"x": x, "axes": np.array(axes)}, opset=13, dynamic=["x"])
    expected = np.expand_dims(x, tuple(axes))
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[expected], rtol=0, atol=0)


@pytest.mark.parametrize(("shape", "axes"), [((1, 3, 1), [2, 0]), ((1, 1), [-1, 0]), ((1, 0, 1, 2), [-2, 0])])
def test_squeeze(shape: tuple[int, ...], axes: list[int], tmp_path: Path) -> None:
    x = judged.floats(*shape)
    model, inputs = judged.one_node("Squeeze", {"x": x, "axes": np.array(axes)}, opset=13, dynamic=["x"])
    expected = np.squeeze(x, tuple(axes))
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[expected], rtol=0, atol=0)


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceL2", "ReduceMax", "ReduceLogSumExp", "ReduceLogSum"])
@pytest.mark.parametrize("axes", [[1], [2, 0], [-1, 0, 1]])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions(op: str, axes: list[int], keepdims: int, tmp_path: Path) -> None:
    x = np.abs(judged.floats(2, 3, 4)) + 1
    model, inputs = judged.one_node(
        op, {"x": x, "axes": np.array(axes)}, opset=18, dynamic=["x"], keepdims=keepdims
    )  # fmt: skip
    judged.assert_same_in_openvino(model, inputs, tmp_path)


def test_reduction_of_booleans(tmp_path: Path) -> None:
    x = judged.floats(2, 3, 4) > 0
    model, inputs = judged.one_node("ReduceMax", {"x": x, "axes": np.array([0, 2])}, opset=20, keepdims=0)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[x.max((0, 2))], rtol=0, atol=0)
