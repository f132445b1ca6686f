"""RandomUniform and Multinomial to ONNX: types, shapes, bounds and distribution, not the numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import openvino.opset13 as ov
import pytest
from openvino.op import Parameter, Result

from tests.passes.conversion import harness, judged

COUNT = 4000


def drawn(node: Any, parameters: list[Any], inputs: list[Any], folder: Path) -> tuple[Any, list[onnx.NodeProto]]:
    path = judged.converted_to_onnx([Result(node.output(0))], parameters, folder, 17)
    (result,) = harness.run_onnx(path, inputs)
    (like,) = harness.run_openvino(folder / "made.xml", inputs)
    assert (result.dtype, result.shape) == (like.dtype, like.shape)
    return result, list(onnx.load(path).graph.node)


def scalar(value: Any, dtype: Any) -> Any:
    return ov.constant(np.array(value, dtype))


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_uniform_numbers(dtype: Any, is_open: bool, tmp_path: Path) -> None:
    kind = str(openvino.Type(dtype).to_string())
    if is_open:
        shape, low, high = (
            Parameter(openvino.Type(kind), openvino.PartialShape(dims))
            for kind, dims in ((np.int64, [2]), (dtype, []), (dtype, []))
        )
        inputs = [np.array([COUNT, 2]), np.array(-2, dtype), np.array(6, dtype)]
        result, _ = drawn(ov.random_uniform(shape, low, high, kind), [shape, low, high], inputs, tmp_path)
    else:
        node = ov.random_uniform(ov.constant(np.array([COUNT, 2])), scalar(-2, dtype), scalar(6, dtype), kind)
        result, nodes = drawn(node, [], [], tmp_path)
        assert not [item for made in nodes for item in made.attribute if item.name == "seed"]
    assert -2 <= result.min() < -1.9
    assert 5.9 < result.max() <= 6
    assert abs(result.astype(np.float64).mean() - 2) < 0.2


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_uniform_integers(dtype: Any, tmp_path: Path) -> None:
    kind = str(openvino.Type(dtype).to_string())
    node = ov.random_uniform(
        ov.constant(np.array([COUNT])), scalar(-2, dtype), scalar(3, dtype), kind, global_seed=3, op_seed=4
    )
    result, nodes = drawn(node, [], [], tmp_path)
    values, counts = np.unique(result, return_counts=True)
    assert values.tolist() == [-2, -1, 0, 1, 2]
    assert (abs(counts - COUNT / 5) < COUNT / 25).all()
    assert [item.f for made in nodes for item in made.attribute if item.name == "seed"] == [7.0]


@pytest.mark.parametrize("is_logarithm", [False, True])
@pytest.mark.parametrize("kind", ["i32", "i64"])
def test_classes_with_replacement(kind: str, is_logarithm: bool, tmp_path: Path) -> None:
    odds = np.array([[0.1, 0, 0.6, 0.3], [0.25, 0.25, 0.25, 0.25]], np.float32)
    given = np.log(np.maximum(odds, 1e-30)) if is_logarithm else odds
    x = ov.parameter([2, 4], np.float32)
    node = ov.multinomial(x, scalar(COUNT, np.int64), kind, True, is_logarithm, 1, 2)
    result, _ = drawn(node, [x], [given], tmp_path)
    for row, wanted in zip(result, odds, strict=True):
        assert np.abs(np.bincount(row, minlength=4) / COUNT - wanted).max() < 0.05


def test_classes_without_replacement(tmp_path: Path) -> None:
    odds = np.tile(np.array([0.1, 0, 0.6, 0.3], np.float32), (COUNT, 1))
    x, count = ov.parameter([COUNT, 4], np.float32), ov.parameter([1], np.int64)
    node = ov.multinomial(x, ov.constant(np.array([3])), "i64", False, False, 0, 0)
    result, _ = drawn(node, [x], [odds], tmp_path)
    assert (np.sort(result, axis=1) == [0, 2, 3]).all()
    first = np.bincount(result[:, 0], minlength=4) / COUNT
    assert np.abs(first - odds[0]).max() < 0.05
    # After 2 is taken, 3 comes three times as often as 0.
    second = result[result[:, 0] == 2, 1]
    assert abs((second == 3).mean() - 0.75) < 0.05
    node = ov.multinomial(x, count, "i64", True, False, 0, 0)
    judged.assert_refused_in_onnx([node], [x, count], tmp_path, "its num_samples is computed at run time")
