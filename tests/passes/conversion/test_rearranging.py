"""Rows of CumSum, ReverseSequence, Reverse, DepthToSpace, SpaceToDepth and Einsum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset1 as ov1
import openvino.opset3 as ov3
import openvino.opset7 as ov7
import pytest

from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert
from tests.passes.conversion import bound, built, harness, judged

_BFLOAT16 = {
    "reversesequence_bfloat16", "einsum_batch_matmul_bfloat16", "einsum_sum_bfloat16", "einsum_transpose_bfloat16",
}  # fmt: skip
_LIMITED = bound.both(
    {
        **{(way, case): "no judge takes bfloat16 from Python" for way in judged.WAYS for case in _BFLOAT16},
        ("onnx", "spacetodepth_crd_mode_example"): "OpenVINO's own conversion ignores the mode",
    }
)


@pytest.mark.parametrize(
    ("way", "case"), bound.parameters("CumSum", "ReverseSequence", "DepthToSpace", "SpaceToDepth", "Einsum")
)
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    rtol = 1e-5 if case.operators & {"Einsum", "CumSum"} else 0
    bound.judge(way, case, tmp_path, limited=_LIMITED, rtol=rtol, atol=rtol, opset=13)


@pytest.mark.parametrize("opset", [1, 11])
def test_depth_to_space_without_a_mode(opset: int, tmp_path: Path) -> None:
    model, inputs = judged.one_node("DepthToSpace", {"x": judged.floats(1, 8, 2, 3)}, opset=opset, blocksize=2)
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("mode", ["blocks_first", "depth_first"])
def test_blocks_to_onnx(mode: str, tmp_path: Path) -> None:
    x = ov1.parameter([1, 12, 4, 2], np.float32)
    results = [ov1.depth_to_space(x, mode, 2), ov1.space_to_depth(x, mode, 2)]
    judged.assert_same_in_onnx(results, [x], [judged.floats(1, 12, 4, 2)], tmp_path, opset=13, rtol=0, atol=0)


def test_blocks_of_other_ranks_are_refused(tmp_path: Path) -> None:
    x = ov1.parameter([1, 8, 2], np.float32)
    judged.assert_refused_in_onnx(
        [ov1.depth_to_space(x, "blocks_first", 2)], [x], tmp_path, "3 dimensions instead of 4"
    )
    x = ov1.parameter(openvino.PartialShape([1, -1, 2, 2]), np.float32)
    node = ov1.space_to_depth(x, "depth_first", 2)
    judged.assert_refused_in_onnx([node], [x], tmp_path, "needs a known number of channels")


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("reverse", [True, False])
def test_cum_sum_to_onnx(exclusive: bool, reverse: bool, tmp_path: Path) -> None:
    x = ov3.parameter([2, 3], np.float32)
    node = ov3.cum_sum(x, np.array(-1, np.int32), exclusive, reverse)
    judged.assert_same_in_onnx([node], [x], [judged.floats(2, 3)], tmp_path, rtol=1e-6)


@pytest.mark.parametrize(("batch", "time"), [(0, 1), (1, 0), (-3, 1)])
def test_reverse_sequence_to_onnx(batch: int, time: int, tmp_path: Path) -> None:
    x, lengths = ov1.parameter([2, 2, 3], np.float32), ov1.parameter([2], np.int32)
    values = [judged.floats(2, 2, 3), np.array([1, 2], np.int32)]
    node = ov1.reverse_sequence(x, lengths, batch, time)
    judged.assert_same_in_onnx([node], [x, lengths], values, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize(("batch", "time"), [(0, 2), (2, 0), (1, 2), (2, 1), (-1, 0), (0, -1)])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_])
def test_other_axes_of_sequences(dtype: Any, batch: int, time: int, is_dynamic: bool, tmp_path: Path) -> None:
    data = np.random.default_rng(0).integers(0, 2, (2, 3, 4)).astype(dtype)
    lengths = np.random.default_rng(1).integers(1, data.shape[time] + 1, data.shape[batch]).astype(np.int32)
    built.assert_converts(
        lambda x, y: ov1.reverse_sequence(x, y, batch, time), [data, lengths], tmp_path, is_dynamic=is_dynamic
    )


def test_one_axis_for_batch_and_sequence_is_refused(tmp_path: Path) -> None:
    x = ov1.parameter([2, 2, 3], np.float32)
    node = ov1.reverse_sequence(x, np.array([1, 2]), 1, 1)
    judged.assert_refused_in_onnx([node], [x], tmp_path, "its batch_axis and its seq_axis are both 1")


_REVERSE = """<?xml version="1.0"?>
<net name="reverse" version="11">
  <layers>
    <layer id="0" name="x" type="Parameter" version="opset1">
      <data shape="2,3" element_type="f32"/>
      <output><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></output>
    </layer>
    <layer id="1" name="axes" type="Const" version="opset1">
      <data element_type="{dtype}" shape="{count}" offset="0" size="{size}"/>
      <output><port id="0" precision="I32"><dim>{count}</dim></port></output>
    </layer>
    <layer id="2" name="y" type="Reverse" version="opset1">
      <data mode="{mode}"/>
      <input><port id="0"><dim>2</dim><dim>3</dim></port><port id="1"><dim>{count}</dim></port></input>
      <output><port id="2" precision="FP32" names="y"><dim>2</dim><dim>3</dim></port></output>
    </layer>
    <layer id="3" name="result" type="Result" version="opset1">
      <input><port id="0"><dim>2</dim><dim>3</dim></port></input>
    </layer>
  </layers>
  <edges>
    <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
    <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
    <edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
  </edges>
</net>
"""


@pytest.mark.parametrize(
    ("mode", "values"),
    [
        ("index", np.array([1], np.int32)),
        ("index", np.array([0, -1], np.int32)),
        ("mask", np.array([False, True])),
        ("mask", np.array([False, False])),
    ],
)
def test_reverse_to_onnx(mode: str, values: np.ndarray, tmp_path: Path) -> None:
    (tmp_path / "reverse.bin").write_bytes(values.tobytes())
    dtype = "boolean" if mode == "mask" else "i32"
    text = _REVERSE.format(mode=mode, dtype=dtype, count=values.size, size=values.nbytes)
    (tmp_path / "reverse.xml").write_text(text)
    save(convert(load(tmp_path / "reverse.xml"), to="onnx"), tmp_path / "reverse.onnx")
    data = judged.floats(2, 3)
    axes = np.flatnonzero(values) if mode == "mask" else values
    expected = np.flip(data, tuple(int(axis) for axis in axes))
    harness.assert_close(harness.run_onnx(tmp_path / "reverse.onnx", [data]), [expected], rtol=0, atol=0)


@pytest.mark.parametrize("equation", ["ij,jk->ik", "ij,jk", "...j,jk->...k"])
def test_einsum_to_onnx(equation: str, tmp_path: Path) -> None:
    a, b = ov7.parameter([2, 3], np.float32), ov7.parameter([3, 4], np.float32)
    values = [judged.floats(2, 3), judged.floats(3, 4, seed=1)]
    judged.assert_same_in_onnx([ov7.einsum([a, b], equation)], [a, b], values, tmp_path, opset=13)


def test_blanks_in_an_equation(tmp_path: Path) -> None:
    operands = {"a": judged.floats(2, 3), "b": judged.floats(3, 4, seed=1)}
    model, inputs = judged.one_node("Einsum", operands, opset=12, equation="ij , jk -> ik")
    judged.assert_same_in_openvino(model, inputs, tmp_path)


@pytest.mark.parametrize("name", ["batch_axis", "time_axis"])
def test_axes_of_sequences_are_the_first_two(name: str, tmp_path: Path) -> None:
    inputs = {"x": judged.floats(2, 2, 3), "lengths": np.array([1, 2])}
    axes = {"batch_axis": 0, "time_axis": 1, name: -1}
    model, _ = judged.one_node("ReverseSequence", inputs, opset=10, **axes)
    judged.assert_refused_in_openvino(model, tmp_path, f"its {name} -1 is neither 0 nor 1")
