"""Rows of matrix products."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino
import openvino.opset8 as ov
import pytest

from tests.passes.conversion import harness, judged


@pytest.mark.parametrize(("way", "case"), judged.parameters("MatMul", "Gemm"))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    judged.judge(way, case, tmp_path, refused={}, limited={}, rtol=1e-4, atol=1e-5, opset=17)


@pytest.mark.parametrize(
    ("a_shape", "b_shape", "transpose_a", "transpose_b"),
    [
        ([3], [3], True, True),
        ([3], [4, 3], False, True),
        ([3, 2], [3], True, False),
        ([3, 2], [4, 3], True, True),
        ([2, 3], [5, 3, 4], False, False),
        ([5, 3, 2], [1, 4, 3], True, True),
        ([2, 5, 3, 2], [4, 3], True, True),
    ],
)
def test_transposed_operands(
    a_shape: list[int], b_shape: list[int], transpose_a: bool, transpose_b: bool, tmp_path: Path
) -> None:
    a = ov.parameter(a_shape, np.float32)
    values, weights = judged.floats(*a_shape), judged.floats(*b_shape, seed=1)
    product = ov.matmul(a, ov.constant(weights), transpose_a, transpose_b)
    judged.assert_same_in_onnx([product], [a], [values], tmp_path, opset=13)


def test_unknown_rank_and_type(tmp_path: Path) -> None:
    a = ov.parameter(openvino.PartialShape.dynamic(), np.float32)
    b = ov.constant(judged.floats(3, 3))
    judged.assert_refused_in_onnx([ov.matmul(a, b, True, False)], [a], tmp_path, "rank of input 0 is not known")
    a = ov.parameter([2, 2], np.int8)
    product = ov.matmul(a, ov.constant(np.ones((2, 2), np.int8)), False, False)
    judged.assert_refused_in_onnx([product], [a], tmp_path, "int8")


@pytest.mark.parametrize("c_shape", [(2, 4), (4,), (2, 1), (1,), ()])
@pytest.mark.parametrize("opset", [7, 11, 13])
def test_gemm_factors(c_shape: tuple[int, ...], opset: int, tmp_path: Path) -> None:
    inputs = {"a": judged.floats(3, 2), "b": judged.floats(4, 3, seed=1), "c": judged.floats(*c_shape, seed=2)}
    model, values = judged.one_node(
        "Gemm", inputs, opset=opset, alpha=0.5, beta=2.0, transA=1, transB=1, constants=["b"], dynamic=["a"]
    )
    judged.assert_same_in_openvino(model, values, tmp_path)


@pytest.mark.parametrize("opset", [1, 6])
def test_gemm_before_broadcasting(opset: int, tmp_path: Path) -> None:
    a, b, c = judged.floats(2, 3), judged.floats(3, 4, seed=1), judged.floats(4, seed=2)
    model, values = judged.one_node("Gemm", {"a": a, "b": b, "c": c}, opset=opset, broadcast=1, alpha=2.0)
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[2 * (a @ b) + c])


def test_gemm_of_integers(tmp_path: Path) -> None:
    a, b = np.array([[1, 2], [3, 4]], np.int32), np.array([[5, 6], [7, 8]], np.int32)
    model, values = judged.one_node("Gemm", {"a": a, "b": b}, opset=13, alpha=3.0)
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[3 * (a @ b)], rtol=0, atol=0)
    model, _ = judged.one_node("Gemm", {"a": a, "b": b}, opset=13, alpha=0.5)
    judged.assert_refused_in_openvino(model, tmp_path, "a factor of 0.5 for integers is not covered")
