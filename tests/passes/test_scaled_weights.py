"""Weights that take in a factor: computed in pieces when they are written, with the bits of a whole one."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from maxfold.model import read_onnx
from maxfold.model.data import ArrayData, StoredData, TensorData
from maxfold.model.equality import equal_groups
from maxfold.model.storage import ComputedSource
from maxfold.optimizer import load, optimize, save
from maxfold.passes.affine import scaled
from tests.text import Array

_SHAPES = ((300, 1000), (1000, 300), (3, 200_000), (1, 300_000), (300_000, 1), (64, 64, 3, 3), (300_000,), (70, 130))


def _stored(array: Array, folder: Path) -> TensorData:
    """The constant of a file."""
    graph = helper.make_graph([], "g", [], [], [numpy_helper.from_array(array, "w")])
    folder.mkdir(exist_ok=True)
    path = folder / "w.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    (constant,) = read_onnx(path).constants()
    return constant.data


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", _SHAPES)
def test_pieces_have_the_bits_of_the_whole(shape: tuple[int, ...], dtype: type, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    weight = (rng.random(shape) + 0.5).astype(dtype)
    data = _stored(weight, tmp_path)
    factor = (rng.random((shape[0], *[1] * (len(shape) - 1))) + 0.5) * 1.25
    expected = (weight.astype(np.float64) * factor).astype(dtype)
    once = scaled(data, lambda part: factor[part])
    assert once is not None
    assert isinstance(once, StoredData)
    assert isinstance(once.region.source, ComputedSource)
    assert once.array().tobytes() == expected.tobytes()
    assert b"".join(once.region.chunks()) == expected.tobytes()
    for first in (0, shape[0] // 2, shape[0] - 1):
        assert once.array()[first].tobytes() == expected[first].tobytes()
    for _ in range(5):
        again = scaled(once, lambda part: factor[part])
        expected = (expected.astype(np.float64) * factor).astype(dtype)
        assert again is not None
        assert again.array().tobytes() == expected.tobytes()
        once = again


def test_a_small_weight_is_kept() -> None:
    weight = np.ones((10, 10), np.float32)
    assert isinstance(scaled(ArrayData(weight), lambda _: np.full((1, 1), 2.0)), ArrayData)


@pytest.mark.parametrize("summed", [(), (0,), (1,)])
@pytest.mark.parametrize("place", [(0, 0), (999, 999), (500, 3)])
def test_a_number_anywhere_may_be_too_large_or_too_small(place: tuple[int, int], summed: tuple[int, ...]) -> None:
    weight = np.ones((1000, 1000), np.float32)
    weight[place] = 3e38
    assert scaled(ArrayData(weight), lambda _: np.full((1, 1), 2.0), summed) is None
    weight[place] = np.nan
    assert scaled(ArrayData(weight), lambda _: np.full((1, 1), 2.0), summed) is None
    weight[place] = 1e-38
    is_lost = scaled(ArrayData(weight), lambda _: np.full((1, 1), 1e-4), summed) is None
    # Beside ones, in a sum, what becomes of it does not matter.
    assert is_lost == (summed == ())


def test_equal_ones_are_found(tmp_path: Path) -> None:
    weight = np.random.default_rng(2).random((400, 500), np.float32)
    data = _stored(weight, tmp_path)
    double, also, other = (scaled(data, lambda _, by=by: np.full((1, 1), by)) for by in (2.0, 2.0, 3.0))  # type: ignore[misc]
    assert double is not None
    assert also is not None
    assert other is not None
    kept = ArrayData(weight * np.float32(2))
    nearly = weight * np.float32(2)
    nearly[17, 23] = 0
    items = [double, other, also, kept, ArrayData(nearly), _stored(weight * np.float32(2), tmp_path / "double")]
    assert equal_groups([item.contents() for item in items]) == [[0, 2, 3, 5]]


def _block(x: str, y: str, index: int, shape: tuple[int, ...]) -> tuple[list[onnx.NodeProto], list[TensorProto]]:
    rng = np.random.default_rng(3)
    tensors = [
        numpy_helper.from_array(rng.random(shape).astype(np.float32), f"w{index}"),
        numpy_helper.from_array((rng.random((1, shape[0], 1, 1)) + 0.5).astype(np.float32), f"s{index}"),
    ]
    nodes = [
        helper.make_node("Conv", [x, f"w{index}"], [f"c{index}"], pads=[1, 1, 1, 1]),
        helper.make_node("Mul", [f"c{index}", f"s{index}"], [y]),
    ]
    return nodes, tensors


def _two_equal_convolutions() -> ModelProto:
    shape = (64, 64, 3, 3)
    first, second = _block("x", "a", 0, shape), _block("a", "y", 1, shape)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 64, 8, 8]) for name in "xy")
    graph = helper.make_graph([*first[0], *second[0]], "g", [x], [y], [*first[1], *second[1]])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_equal_weights_of_a_file_are_written_once(tmp_path: Path) -> None:
    source = _two_equal_convolutions()
    path, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    onnx.save(source, path)
    loaded = load(str(path))
    optimize(loaded, math="relaxed")
    save(loaded, target)
    after = onnx.load(target)
    assert [node.op_type for node in after.graph.node] == ["Conv", "Conv"]
    (written,) = [numpy_helper.to_array(tensor) for tensor in after.graph.initializer]
    weight, scale = (numpy_helper.to_array(tensor) for tensor in source.graph.initializer[:2])
    expected = weight.astype(np.float64) * scale.astype(np.float64).reshape(-1, 1, 1, 1)
    assert written.tobytes() == expected.astype(np.float32).tobytes()
