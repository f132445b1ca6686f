"""Rows of normalization."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset1 as ov1
import openvino.opset2 as ov2
import openvino.opset12 as ov
import pytest

from tests.passes.conversion import harness, judged

_TRAINING = "it is in training mode"
OPERATORS = (
    "BatchNormalization", "GroupNormalization", "InstanceNormalization", "LRN", "LayerNormalization", "LpNormalization",
    "MeanVarianceNormalization",
)  # fmt: skip


@pytest.mark.parametrize(("way", "case"), judged.parameters(*OPERATORS, share=4))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    judged.judge(way, case, tmp_path, refused={}, limited={}, rtol=1e-3, atol=1e-4, opset=18)


def _statistics(*shape: int, dtype: type = np.float32) -> dict[str, Any]:
    names = ("scale", "shift", "mean", "variance")
    return {
        name: (np.abs(judged.floats(*shape, seed=seed)) + 0.5).astype(dtype) for seed, name in enumerate(names, start=1)
    }


@pytest.mark.parametrize("opset", [7, 9, 14, 15])
def test_batch_normalization_versions(opset: int, tmp_path: Path) -> None:
    inputs = {"x": judged.floats(2, 3, 4, 5), **_statistics(3)}
    model, values = judged.one_node("BatchNormalization", inputs, opset=opset, epsilon=0.01, dynamic=["x"])
    judged.assert_same_in_openvino(model, values, tmp_path)


@pytest.mark.parametrize("opset", [1, 6])
def test_batch_normalization_before_modes(opset: int, tmp_path: Path) -> None:
    inputs = {"x": judged.floats(2, 3, 4), **_statistics(3)}
    x, scale, shift, mean, variance = inputs.values()
    columns = [item[:, None] for item in (scale, shift, mean, variance)]
    wanted = (x - columns[2]) / np.sqrt(columns[3] + np.float32(1e-5)) * columns[0] + columns[1]
    model, values = judged.one_node("BatchNormalization", inputs, opset=opset, is_test=1)
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[wanted])
    model, _ = judged.one_node("BatchNormalization", inputs, opset=opset)
    judged.assert_refused_in_openvino(model, tmp_path, _TRAINING)


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 4), (2, 3, 4, 5)])
def test_batch_normalization_in_training(shape: tuple[int, ...], tmp_path: Path) -> None:
    inputs = {"x": judged.floats(*shape), **_statistics(3)}
    model, values = judged.one_node(
        "BatchNormalization", inputs, opset=15, training_mode=1, momentum=0.7, outputs=3, dynamic=["x"]
    )  # fmt: skip
    judged.assert_same_in_openvino(model, values, tmp_path, expected=_trained(inputs))


def _trained(inputs: dict[str, Any]) -> list[Any]:
    x, scale, shift, mean, variance = (np.asarray(item, np.float32) for item in inputs.values())
    axes = tuple(axis for axis in range(x.ndim) if axis != 1)
    column = [1, -1, *[1] * (x.ndim - 2)]
    normalized = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + np.float32(1e-5))
    moved = [old * 0.7 + new * 0.3 for old, new in ((mean, x.mean(axes)), (variance, x.var(axes)))]
    return [normalized * scale.reshape(column) + shift.reshape(column), *moved]


def test_batch_normalization_in_training_of_several_types(tmp_path: Path) -> None:
    inputs = {"x": judged.floats(2, 3, 4).astype(np.float16), **_statistics(3)}
    model, values = judged.one_node("BatchNormalization", inputs, opset=15, training_mode=1, momentum=0.7, outputs=3)
    first, *others = _trained(inputs)
    expected = [first.astype(np.float16), *others]
    judged.assert_same_in_openvino(model, values, tmp_path, expected=expected, rtol=1e-2, atol=1e-2)


def test_batch_normalization_of_elements(tmp_path: Path) -> None:
    inputs = {"x": judged.floats(2, 3, 4), **_statistics(3, 4)}
    x, scale, shift, mean, variance = inputs.values()
    wanted = (x - mean) / np.sqrt(variance + np.float32(1e-5)) * scale + shift
    model, values = judged.one_node("BatchNormalization", inputs, opset=7, spatial=0)
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[wanted])


def test_batch_normalization_of_several_types(tmp_path: Path) -> None:
    inputs = {"x": judged.floats(2, 3, 4).astype(np.float16), **_statistics(3)}
    model, values = judged.one_node("BatchNormalization", inputs, opset=15)
    x, scale, shift, mean, variance = [np.asarray(item, np.float32) for item in inputs.values()]
    columns = [item[:, None] for item in (scale, shift, mean, variance)]
    wanted = (x - columns[2]) / np.sqrt(columns[3] + np.float32(1e-5)) * columns[0] + columns[1]
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[wanted], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("version", [1, 5])
def test_batch_normalization_of_openvino(version: int, tmp_path: Path) -> None:
    x = ov.parameter([2, 3, 4, 5], np.float32)
    scale, shift, mean, variance = (ov.constant(item) for item in _statistics(3).values())
    if version == 1:
        result = ov1.batch_norm_inference(x, scale, shift, mean, variance, 0.01)
    else:
        result = ov.batch_norm_inference(x, scale, shift, mean, variance, 0.01)
    judged.assert_same_in_onnx([result], [x], [judged.floats(2, 3, 4, 5)], tmp_path, opset=13)


def test_layer_normalization_in_half_precision(tmp_path: Path) -> None:
    inputs = {"x": judged.floats(2, 3, 4), "scale": judged.floats(4, seed=1), "shift": judged.floats(4, seed=2)}
    halves = {name: value.astype(np.float16) for name, value in inputs.items()}
    model, values = judged.one_node("LayerNormalization", halves, opset=17)
    judged.assert_same_in_openvino(model, values, tmp_path, rtol=1e-2, atol=1e-2)
    model, _ = judged.one_node("LayerNormalization", halves, opset=17, stash_type=10)
    judged.assert_refused_in_openvino(model, tmp_path, "it computes in a type other than float")


def test_group_normalization_by_groups(tmp_path: Path) -> None:
    """In operator set 18 scale and shift are of groups."""
    x, scale, shift = judged.floats(2, 4, 3, 3), judged.floats(2, seed=1), judged.floats(2, seed=2)
    groups = x.reshape(2, 2, -1)
    centred = groups - groups.mean(-1, keepdims=True)
    normalized = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    wanted = (normalized * scale[:, None] + shift[:, None]).reshape(x.shape).astype(np.float32)
    model, values = judged.one_node(
        "GroupNormalization", {"x": x, "scale": scale, "shift": shift}, opset=18, num_groups=2
    )
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[wanted])


@pytest.mark.parametrize("opset", [17, 21])
def test_group_normalization_of_openvino(opset: int, tmp_path: Path) -> None:
    x = ov.parameter([2, 4, -1, 3], np.float32)
    scale, shift = ov.constant(judged.floats(4, seed=1)), ov.constant(judged.floats(4, seed=2))
    result = ov.group_normalization(x, scale, shift, 2, 0.01)
    judged.assert_same_in_onnx([result], [x], [judged.floats(2, 4, 3, 3)], tmp_path, opset=opset)


@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("mode", ["inside_sqrt", "outside_sqrt"])
@pytest.mark.parametrize("variance", [False, True])
def test_mean_variance_of_openvino(variance: bool, mode: str, opset: int, tmp_path: Path) -> None:
    x = ov.parameter([2, 3, 4, 5], np.float32)
    result = ov.mvn(x, ov.constant(np.array([1, -1])), variance, 0.1, mode)
    judged.assert_same_in_onnx([result], [x], [judged.floats(2, 3, 4, 5)], tmp_path, opset=opset)


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("variance", [False, True])
def test_first_mean_variance_of_openvino(across: bool, variance: bool, tmp_path: Path) -> None:
    x = ov.parameter([2, 3, 4, 5], np.float32)
    result = ov2.mvn(x, across, variance, 0.1)
    judged.assert_same_in_onnx([result], [x], [judged.floats(2, 3, 4, 5)], tmp_path)


@pytest.mark.parametrize("mode", ["add", "max"])
@pytest.mark.parametrize("opset", [13, 18])
def test_division_by_the_norm(mode: str, opset: int, tmp_path: Path) -> None:
    values = np.array([[0.3, 0.4], [3, 4], [0, 0]], np.float32)
    x = ov.parameter([3, 2], np.float32)
    result = ov.normalize_l2(x, ov.constant(np.array([1])), 1.0, mode)
    judged.assert_same_in_onnx([result], [x], [values], tmp_path, opset=opset)


def test_half_precision_of_openvino(tmp_path: Path) -> None:
    """A small epsilon would be 0 in f16."""
    x = ov.parameter([2, 4], np.float16)
    axes = ov.constant(np.array([1]))
    results = [ov.mvn(x, axes, True, 1e-9, "inside_sqrt"), ov.normalize_l2(x, axes, 1e-9, "add")]
    values = np.zeros((2, 4), np.float16)
    judged.assert_same_in_onnx(results, [x], [values], tmp_path, expected=[values, values])


def test_norm_of_zero(tmp_path: Path) -> None:
    values = np.array([[3, 4], [0, 0]], np.float32)
    model, inputs = judged.one_node("LpNormalization", {"x": values}, opset=11, axis=1)
    wanted = np.array([[0.6, 0.8], [0, 0]], np.float32)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[wanted])


def test_neighbouring_channels(tmp_path: Path) -> None:
    x = ov.parameter([1, 6, 2, 2], np.float32)
    result = ov.lrn(x, ov.constant(np.array([1])), 0.1, 0.5, 2.0, 5)
    judged.assert_same_in_onnx([result], [x], [judged.floats(1, 6, 2, 2)], tmp_path)
    judged.assert_refused_in_onnx(
        [ov.lrn(x, ov.constant(np.array([2, 3])), 0.1, 0.5, 2.0, 5)], [x], tmp_path, "are not the channels alone"
    )
    model, _ = judged.one_node("LRN", {"x": judged.floats(1, 6, 2)}, opset=13, size=4)
    judged.assert_refused_in_openvino(model, tmp_path, "its size 4 is even")


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("shape", [[2, 6, 5], [-1, -1, -1]])
@pytest.mark.parametrize("size", [1, 3, 7])
def test_neighbours_along_one_axis(axis: int, shape: list[int], size: int, tmp_path: Path) -> None:
    x = ov.parameter(shape, np.float32)
    result = ov.lrn(x, ov.constant(np.array([axis])), 0.5, 0.75, 2.0, size)
    judged.assert_same_in_onnx([result], [x], [judged.floats(2, 6, 5)], tmp_path)


def test_neighbours_along_the_batch(tmp_path: Path) -> None:
    x = ov.parameter([4, 6, 5], np.float32)
    result = ov.lrn(x, ov.constant(np.array([0])), 0.1, 0.5, 2.0, 3)
    judged.assert_refused_in_onnx([result], [x], tmp_path, "nor one axis after them")


def test_neighbours_of_more_dimensions_than_onnx_runtime_takes(tmp_path: Path) -> None:
    x = ov.parameter([1, 6, 2, 2, 2], np.float32)
    result = ov.lrn(x, ov.constant(np.array([1])), 0.1, 0.5, 2.0, 3)
    judged.assert_refused_in_onnx([result], [x], tmp_path, "takes no 5 dimensions")
