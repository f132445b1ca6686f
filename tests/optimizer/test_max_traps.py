"""Traps of Max, each as a test of the whole pipeline."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import ModelProto

from tests.optimizer.optimized import assert_same_in_onnxruntime, optimized, text
from tests.run import Array, by_specification
from tests.text import model

F32 = np.float32
NAN = float("nan")


def folded(after: ModelProto) -> Array:
    return onnx.numpy_helper.to_array(after.graph.initializer[-1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("operands", [[NAN, 1], [1, NAN], [NAN, NAN], [NAN, np.inf], [-np.inf, NAN]])
def test_nan_propagates_from_any_operand(dtype: type, operands: list[float]) -> None:
    name = {2: "float16", 4: "float", 8: "double"}[np.dtype(dtype).itemsize]
    name = "bfloat16" if dtype is ml_dtypes.bfloat16 else name
    a: Array
    b: Array
    a, b = (np.array([value, 2], dtype) for value in operands)
    source = model(
        f"g ({name}[2] x) => ({name}[2] y, {name}[2] z) {{ y = Max(a, b)\n p = Max(a, x)\n z = Max(p, b) }}",
        constants={"a": a, "b": b},
    )
    after, _ = optimized(source)
    values = {item.name: onnx.numpy_helper.to_array(item) for item in after.graph.initializer}
    assert np.isnan(values["y"].astype(F32)).tolist() == [True, False]
    (result,) = by_specification(after, {"x": np.zeros(2, dtype)})[1:]
    assert np.isnan(result.astype(F32)).tolist() == [True, False]


def test_nan_at_run_time_survives_a_fused_chain() -> None:
    source = model(
        "g (float[3] x, float[3] w) => (float[3] y) { p = Max(x, k)\n q = Max(w, p)\n y = Max(q, l) }",
        constants={"k": np.array([1, -np.inf, -np.inf], F32), "l": np.array(-np.inf, F32)},
    )
    feeds = {"x": np.array([NAN, 2, 3], F32), "w": np.array([5, NAN, 5], F32)}
    after = assert_same_in_onnxruntime(source, feeds, zeros_differ=False)
    assert len(after.graph.node) == 1


def test_the_order_of_operands_is_kept() -> None:
    source = model("""
        g (float a, float b, float c, float d, float e) => (float y) {
            p = Max(d, c)
            q = Max(e, p, a)
            y = Max(b, q)
        }""")
    assert text(source) == "y = Max(b, e, d, c, a)"


def test_zeros_of_either_sign() -> None:
    source = model(
        "g (float[2] x) => (float[2] y) { p = Max(a, x)\n y = Max(p, b) }",
        constants={"a": np.array([0.0, -0.0], F32), "b": np.array([-0.0, 0.0], F32)},
    )
    assert folded(optimized(source)[0]).tolist() == [0, 0]


@pytest.mark.parametrize("operator_set", [8, 11, 12, 13, 17, 22])
def test_a_rank_raising_bound_stays(operator_set: int) -> None:
    source = model(
        "g (float[3] x) => (float[N,M] y) { n = Neg(x)\n y = Max(n, low) }",
        opset=operator_set,
        constants={"low": np.full((1, 3), -np.inf, F32)},
    )
    assert_same_in_onnxruntime(source, {"x": np.array([NAN, -np.inf, 1], F32)}, zeros_differ=False)


@pytest.mark.parametrize(
    ("opset", "dtype", "folds"),
    [
        (6, np.float32, True), (8, np.float64, True), (11, np.int64, False), (12, np.int64, True),
        (12, np.uint8, True), (11, np.int8, False), (12, ml_dtypes.bfloat16, False), (13, ml_dtypes.bfloat16, True),
    ],
)  # fmt: skip
def test_types_by_operator_set(opset: int, dtype: type, folds: bool) -> None:
    name = onnx.TensorProto.DataType.Name(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))).lower()
    source = model(
        f"g ({name}[1] x) => ({name}[1] y) {{ y = Max(a, b) }}",
        opset=opset,
        constants={"a": np.array([1], dtype), "b": np.array([2], dtype)},
    )
    after, report = optimized(source, check=folds)
    assert report.changed is folds
    if folds:
        assert folded(after).tolist() == [2]


@pytest.mark.parametrize(("opset", "folds"), [(6, False), (7, False), (8, True)])
def test_broadcasting_by_operator_set(opset: int, folds: bool) -> None:
    source = model(
        "g (float[1] x) => (float[2] y) { y = Max(a, b) }",
        opset=opset,
        constants={"a": np.array([1], F32), "b": np.array([0, 2], F32)},
    )
    assert optimized(source, check=folds)[1].changed is folds


def test_shapes_before_broadcasting_do_not_merge() -> None:
    source = model(
        "g (float[2] x) => (float[2] y) { p = Max(x, a)\n y = Max(p, b) }",
        opset=6,
        ir_version=4,
        constants={"a": np.array([1], F32), "b": np.array([0, 2], F32)},
    )
    after, _ = optimized(source, check=False)
    assert sorted(name for name in after.graph.node[-1].input) == ["a", "b", "x"] or len(after.graph.node) == 2


def test_double_has_a_least_value_too() -> None:
    source = model(
        "g (double[2] x) => (double[2] y) { n = Neg(x)\n m = Max(n, low)\n y = Max(m, lowest) }",
        constants={"low": np.array(-np.inf), "lowest": np.array(np.finfo(np.float64).min)},
    )
    after, _ = optimized(source)
    assert [node.op_type for node in after.graph.node] == ["Neg", "Max"]
    (item,) = after.graph.initializer
    assert onnx.numpy_helper.to_array(item) == np.finfo(np.float64).min
