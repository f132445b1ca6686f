"""Rows of Expand and Tile."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino
import openvino.opset1 as ov1
import openvino.opset3 as ov3
import pytest

from maxfold.optimizer import load
from maxfold.optimizer.api import convert
from tests.passes.conversion import bound, harness, judged


@pytest.mark.parametrize(("way", "case"), bound.parameters("Expand", "Tile"))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    bound.judge(way, case, tmp_path, opset=14)


@pytest.mark.parametrize("made", [ov1, ov3])
@pytest.mark.parametrize(
    ("mode", "shape", "target", "mapping"),
    [
        ("numpy", [3, 1], [2, 3, 4], None),
        ("explicit", [3], [3, 2], [0]),
        ("explicit", [2, 4], [2, 3, 4], [0, 2]),
        ("explicit", [2, 3], [2, 3], [0, 1]),
    ],
)
def test_broadcast_to_onnx(
    made: object, mode: str, shape: list[int], target: list[int], mapping: list[int] | None, tmp_path: Path
) -> None:
    factory = made.broadcast  # type: ignore[attr-defined]
    x = ov3.parameter(shape, np.float32)
    node = factory(x, np.array(target), np.array(mapping), mode) if mapping else factory(x, np.array(target))
    judged.assert_same_in_onnx([node], [x], [judged.floats(*shape)], tmp_path, opset=13, rtol=0, atol=0)


def test_bidirectional_broadcast_to_a_computed_shape(tmp_path: Path) -> None:
    x, target = ov3.parameter([3, 1], np.float32), ov3.parameter([2], np.int32)
    node = ov3.broadcast(x, target, broadcast_spec="BIDIRECTIONAL")
    values = [judged.floats(3, 1), np.array([1, 4], np.int32)]
    judged.assert_same_in_onnx([node], [x, target], values, tmp_path, rtol=0, atol=0)


def test_broadcast_refusals(tmp_path: Path) -> None:
    x, mapping = ov3.parameter([3], np.float32), ov3.parameter([1], np.int64)
    node = ov3.broadcast(x, np.array([3, 2]), mapping, "explicit")
    judged.assert_refused_in_onnx([node], [x, mapping], tmp_path, "its axes mapping is computed at run time")
    path = tmp_path / "pdpd.xml"
    openvino.serialize(openvino.Model([ov3.broadcast(x, np.array([2, 3]))], [x]), path)
    path.write_text(path.read_text().replace('mode="numpy"', 'mode="pdpd"'))
    with pytest.raises(harness.ModelError, match="its mode 'pdpd' is not covered"):
        convert(load(path), to="onnx")


@pytest.mark.parametrize("repeats", [[2, 1, 3], [3], [2, 1, 1, 2], [2, 2]])
@pytest.mark.parametrize("is_constant", [True, False])
def test_tile_to_onnx(repeats: list[int], is_constant: bool, tmp_path: Path) -> None:
    x, values = ov1.parameter([1, 2, 3], np.float32), judged.floats(1, 2, 3)
    array = np.array(repeats, np.int32)
    operand = array if is_constant else ov1.parameter([len(repeats)], np.int32)
    node = ov1.tile(x, operand)
    parameters, inputs = ([x], [values]) if is_constant else ([x, operand], [values, array])
    judged.assert_same_in_onnx(
        [node], parameters, inputs, tmp_path, expected=[np.tile(values, repeats)], rtol=0, atol=0
    )


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_tile_by_computed_repeats(rank: int, tmp_path: Path) -> None:
    values = judged.floats(*range(2, 2 + rank))
    repeats = np.arange(1, rank + 1)
    model, inputs = judged.one_node("Tile", {"x": values, "repeats": repeats}, opset=6, dynamic=["x"])
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


def test_tile_of_version_1(tmp_path: Path) -> None:
    values = judged.floats(2, 3)
    tiles = {"tiles": np.array([2], np.float32), "axis": np.array([1], np.float32)}
    model, inputs = judged.one_node("Tile", {"x": values, **tiles}, opset=1, constants=list(tiles))
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[np.tile(values, [1, 2])], rtol=0, atol=0)
