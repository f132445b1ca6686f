"""Rows of reductions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset8 as ov
import pytest

from tests.passes.conversion import harness, judged

REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
)  # fmt: skip
_DROPPED = "OpenVINO drops the input that holds no axes"
_RANK = "the rank of the result is not known, which OpenVINO's CPU does not run"
LIMITED = {
    ("openvino", "reduce_max_empty_set"): "OpenVINO's CPU gives the lowest number over nothing",
    **{("onnx", f"reduce_log_sum_{order}_axes"): _RANK for order in ("asc", "desc")},
    **{
        ("onnx", f"{name}_default_axes_keepdims_{kind}"): _DROPPED
        for name in ("reduce_sum", "reduce_mean", "reduce_l1", "reduce_l2", "reduce_log_sum_exp", "reduce_sum_square")
        for kind in ("example", "random")
    },
    ("onnx", "reduce_log_sum_default"): _DROPPED,
    ("onnx", "reduce_sum_empty_axes_input_noop"): _DROPPED,
    ("onnx", "reduce_sum_empty_axes_input_noop_example"): _DROPPED,
}


@pytest.mark.parametrize(("way", "case"), judged.parameters(*REDUCTIONS, "ArgMax", "ArgMin", share=6))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    judged.judge(way, case, tmp_path, refused={}, limited=LIMITED, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("op", REDUCTIONS)
def test_axes_as_an_attribute(op: str, keepdims: int, tmp_path: Path) -> None:
    model, inputs = judged.one_node(
        op, {"x": np.abs(judged.floats(2, 3, 4))}, opset=11, axes=[-1, 0], keepdims=keepdims, dynamic=["x"]
    )
    judged.assert_same_in_openvino(model, inputs, tmp_path)


@pytest.mark.parametrize("op", REDUCTIONS)
def test_all_axes_and_none(op: str, tmp_path: Path) -> None:
    data = np.abs(judged.floats(2, 3)) + 1
    model, inputs = judged.one_node(op, {"x": data}, opset=18, keepdims=0)
    judged.assert_same_in_openvino(model, inputs, tmp_path)
    model, inputs = judged.one_node(op, {"x": data}, opset=18, noop_with_empty_axes=1)
    single = {"ReduceLogSum": np.log, "ReduceSumSquare": np.square}.get(op, np.positive)(data)
    if op in ("ReduceLogSum", "ReduceSumSquare"):
        judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[single])


def test_infinities_of_log_sum_exp(tmp_path: Path) -> None:
    data = np.array([[-np.inf, -np.inf], [np.inf, 1], [1000, 1001], [-1000, -1000]], np.float32)
    model, inputs = judged.one_node("ReduceLogSumExp", {"x": data}, opset=13, axes=[1])
    wanted = np.array([[-np.inf], [np.inf], [1001.313262], [-999.306853]], np.float32)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[wanted])


def test_refused_forms(tmp_path: Path) -> None:
    model, _ = judged.one_node("ReduceSum", {"x": judged.floats(2), "axes": np.array([0])}, opset=13, dynamic=["axes"])
    judged.assert_refused_in_openvino(model, tmp_path, "how many axes it has is known at run time only")
    model, _ = judged.one_node("ReduceLogSum", {"x": np.array([1, 2])}, opset=13, axes=[0])
    judged.assert_refused_in_openvino(model, tmp_path, "type INT64 has gone")
    model, _ = judged.one_node("ArgMax", {"x": judged.floats(2, 3)}, opset=13, dynamic=["x"], select_last_index=1)
    judged.assert_refused_in_openvino(model, tmp_path, "select_last_index")
    data, axes = ov.parameter([2, 3], np.float32), ov.parameter([1], np.int64)
    judged.assert_refused_in_onnx([ov.reduce_max(data, axes)], [data, axes], tmp_path, "needs operator set 18")


@pytest.mark.parametrize("opset", [13, 18, 21])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("op", ["l1", "l2", "max", "mean", "min", "prod", "sum"])
def test_known_axes_of_openvino(op: str, keep: bool, opset: int, tmp_path: Path) -> None:
    data = ov.parameter([-1, 3, -1], np.float32)
    for axes in (np.array([-1, 0], np.int32), np.array(1, np.int64)):
        reduced = getattr(ov, f"reduce_{op}")(data, ov.constant(axes), keep)
        judged.assert_same_in_onnx([reduced], [data], [judged.floats(2, 3, 4)], tmp_path, opset=opset)


def test_no_axes_of_openvino_reduce_nothing(tmp_path: Path) -> None:
    data, values = ov.parameter([2, 3], np.float32), judged.floats(2, 3)
    none = openvino.op.Constant(openvino.Type.i64, openvino.Shape([0]), [])
    results = [ov.reduce_sum(data, none), ov.reduce_l2(data, none)]
    judged.assert_same_in_onnx(results, [data], [values], tmp_path, expected=[values, np.abs(values)])


@pytest.mark.parametrize("axes_shape", [[], [1]])
def test_axes_at_run_time(axes_shape: list[int], tmp_path: Path) -> None:
    data, axes = ov.parameter([2, 3], np.float32), ov.parameter(axes_shape, np.int32)
    inputs: list[Any] = [judged.floats(2, 3), np.full(axes_shape, 1, np.int32)]
    for result, opset in ((ov.reduce_sum(data, axes, True), 13), (ov.reduce_max(data, axes, True), 18)):
        judged.assert_same_in_onnx([result], [data, axes], inputs, tmp_path, opset=opset)


@pytest.mark.parametrize("opset", [17, 21])
def test_logical_reductions(opset: int, tmp_path: Path) -> None:
    data = ov.parameter([2, 3], np.bool_)
    values = np.array([[True, False, True], [True, True, True]])
    axes = ov.constant(np.array([1]))
    results = [ov.reduce_logical_and(data, axes), ov.reduce_logical_or(data, axes, True)]
    judged.assert_same_in_onnx(results, [data], [values], tmp_path, opset=opset, rtol=0, atol=0)


def test_axes_that_follow_from_a_known_rank(tmp_path: Path) -> None:
    """As OpenVINO itself writes global pooling: Range(2, rank)."""
    data = ov.parameter([1, 3, -1, -1], np.float32)
    rank = ov.squeeze(ov.shape_of(ov.shape_of(data)), ov.constant(np.array([0])))
    axes = ov.range(ov.constant(np.int64(2)), rank, ov.constant(np.int64(1)), "i64")
    judged.assert_same_in_onnx([ov.reduce_mean(data, axes, True)], [data], [judged.floats(1, 3, 4, 5)], tmp_path)
