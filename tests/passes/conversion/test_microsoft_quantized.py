"""Rows of ONNX Runtime's quantized operators, on their way to OpenVINO, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.passes.conversion import harness, judged
from tests.passes.conversion.microsoft import one_node

_PARAMETERS = ("xs", "xz", "ys", "yz", "cs", "cz")


def _integers(dtype: Any, *shape: int, seed: int = 0) -> Any:
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(dtype)


def _assert_close(model: onnx.ModelProto, inputs: list[Any], folder: Path, share: float = 0.01) -> None:
    """Few results may be the next integer."""
    path = judged.converted_to_openvino(model, folder)
    (expected,), (actual,) = harness.run_onnx(folder / "made.onnx", inputs), harness.run_openvino(path, inputs)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    steps = np.abs(actual.astype(int) - expected)
    assert steps.max(initial=0) <= 1
    assert np.count_nonzero(steps) <= share * steps.size


def _quantized(dtype: Any, shape: tuple[int, ...], seed: int = 0) -> dict[str, Any]:
    return {"x": _integers(dtype, *shape, seed=seed), "xs": np.float32(0.043), "xz": dtype(5)}


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize(("constants", "dynamic"), [((), ()), (_PARAMETERS, ("x", "y"))])
@pytest.mark.parametrize("operator", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("scale", [0.0625, 0.0713])
def test_add_and_mul(operator: str, dtype: Any, constants: Any, dynamic: Any, scale: float, tmp_path: Path) -> None:
    """Ties too, which are rounded after an odd zero point is added."""
    step = np.float32(scale * (1 if operator == "QLinearAdd" else 8))
    operands = {
        "x": _integers(dtype, 5, 1, 97), "xs": step if scale == 0.0625 else np.float32(0.05), "xz": dtype(5),
        "y": _integers(dtype, 7, 97, seed=1), "ys": np.float32(0.03125), "yz": dtype(2),
        "cs": np.float32(scale * 2), "cz": dtype(7),
    }  # fmt: skip
    model, inputs = one_node(operator, operands, constants=constants, dynamic=dynamic)
    _assert_close(model, inputs, tmp_path, share=0 if scale == 0.0625 else 0.01)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize(("constants", "dynamic"), [((), ()), (_PARAMETERS, ("x",))])
@pytest.mark.parametrize(
    ("operator", "attributes", "shape"),
    [
        ("QLinearSigmoid", {}, (5, 300)), ("QLinearLeakyRelu", {"alpha": 0.2}, (5, 300)),
        ("QLinearLeakyRelu", {}, (5, 300)), ("QLinearGlobalAveragePool", {}, (2, 3, 4, 5)),
        ("QLinearGlobalAveragePool", {"channels_last": 1}, (2, 3, 4, 5)), ("QLinearGlobalAveragePool", {}, (2, 3, 4)),
        ("QLinearAveragePool", {"kernel_shape": [3, 2]}, (2, 3, 6, 5)),
        ("QLinearAveragePool", {"kernel_shape": [3, 3], "pads": [1] * 4, "strides": [2, 1]}, (2, 3, 7, 5)),
    ],
)  # fmt: skip
def test_of_one_tensor(
    operator: str, attributes: Any, shape: Any, dtype: Any, constants: Any, dynamic: Any, tmp_path: Path
) -> None:
    operands = {**_quantized(dtype, shape), "ys": np.float32(0.0131), "yz": dtype(9)}
    model, inputs = one_node(operator, operands, constants=constants, dynamic=dynamic, **attributes)
    _assert_close(model, inputs, tmp_path, share=0.02)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("scale", [1 / 256, 1 / 255, 0.013])
@pytest.mark.parametrize("axis", [-1, 1])
def test_softmax(dtype: Any, scale: float, axis: int, tmp_path: Path) -> None:
    operands = {**_quantized(dtype, (3, 6, 7)), "ys": np.float32(scale), "yz": dtype(np.iinfo(dtype).min)}
    settings: dict[str, Any] = {"constants": _PARAMETERS, "dynamic": ("x",)}
    model, inputs = one_node("QLinearSoftmax", operands, axis=axis, opset=13, **settings)
    _assert_close(model, inputs, tmp_path, share=0)
    if axis == 1:
        model, _ = one_node("QLinearSoftmax", operands, axis=1, opset=12, **settings)
        judged.assert_refused_in_openvino(model, tmp_path, "before operator set 13")


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("constants", [(), ("cs", "cz", "xs", "xz", "ys", "yz")])
def test_concat(dtype: Any, constants: Any, tmp_path: Path) -> None:
    operands = {
        "cs": np.float32(0.061), "cz": dtype(3), **_quantized(dtype, (2, 3, 50)),
        "y": _integers(dtype, 2, 5, 50, seed=1), "ys": np.float32(0.03), "yz": dtype(2),
    }  # fmt: skip
    model, inputs = one_node("QLinearConcat", operands, constants=constants, outputs={"r": dtype}, axis=1)
    _assert_close(model, inputs, tmp_path)


@pytest.mark.parametrize("is_transposed", [0, 1])
@pytest.mark.parametrize("columns", [(), (7,)])
@pytest.mark.parametrize("is_float", [True, False])
@pytest.mark.parametrize("constants", [(), ("b", "bs", "bz", "as", "az", "ys", "yz", "c")])
def test_gemm(is_transposed: int, columns: Any, is_float: bool, constants: Any, tmp_path: Path) -> None:
    b = _integers(np.int8, 24, 7, seed=1)
    operands: dict[str, Any] = {
        "a": _integers(np.uint8, 5, 24), "as": np.float32(0.013), "az": np.uint8(3),
        "b": b.T.copy() if is_transposed else b,
        "bs": np.random.default_rng(2).uniform(0.01, 0.1, columns).astype(np.float32),
        "bz": _integers(np.int8, *columns, seed=3), "c": np.arange(-3000, 4000, 1000, dtype=np.int32),
    }  # fmt: skip
    if not is_float:
        operands.update(ys=np.float32(1.371), yz=np.uint8(100))
    outputs = {"r": np.float32 if is_float else np.uint8}
    settings: dict[str, Any] = {"constants": constants, "dynamic": ("a",), "outputs": outputs, "transB": is_transposed}
    model, inputs = one_node("QGemm", operands, alpha=0.7, **settings)
    if is_float:
        judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=1e-5)
    else:
        _assert_close(model, inputs, tmp_path)


@pytest.mark.parametrize("columns", [(), (7,)])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("constants", [(), ("b", "bs", "bz", "bias")])
def test_float_results(columns: Any, has_bias: bool, constants: Any, tmp_path: Path) -> None:
    weights = {
        "b": _integers(np.int8, 24, 7, seed=1),
        "bs": np.random.default_rng(2).uniform(0.01, 0.1, columns).astype(np.float32),
        "bz": _integers(np.int8, *columns, seed=3),
    }  # fmt: skip
    bias = judged.floats(7) if has_bias else None
    settings: dict[str, Any] = {"constants": constants, "dynamic": ("a",), "outputs": {"r": np.float32}}
    operands = {
        "a": _integers(np.uint8, 2, 5, 24), "b": weights["b"], "as": np.float32(0.013), "bs": weights["bs"],
        "az": np.uint8(3), "bz": weights["bz"], "bias": bias,
    }  # fmt: skip
    model, inputs = one_node("MatMulIntegerToFloat", operands, **settings)
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=1e-5)
    # Multiples of the scale, so that no quotient is near half-way.
    a = (np.random.default_rng(5).integers(-100, 156, (2, 5, 24)) * 0.125).astype(np.float32)
    a.flat[:2] = -100 * 0.125, 155 * 0.125
    model, inputs = one_node("DynamicQuantizeMatMul", {"a": a, **weights, "bias": bias}, **settings)
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
@pytest.mark.parametrize(("sizes", "attributes"), [((), {}), ((3,), {}), ((4,), {"axis": -1}), ((1,), {})])
def test_quantize_and_dequantize(dtype: Any, sizes: Any, attributes: Any, tmp_path: Path) -> None:
    scale = 2.0 ** np.random.default_rng(0).integers(-3, 2, sizes)
    operands = {
        "x": (np.random.default_rng(1).integers(-999, 999, (2, 3, 4)) * 0.25).astype(np.float32),
        "s": scale.astype(np.float32), "z": _integers(dtype, *sizes),
    }  # fmt: skip
    settings: dict[str, Any] = {"constants": ("s", "z"), "dynamic": ("x",), **attributes}
    model, inputs = one_node("QuantizeLinear", operands, outputs={"r": dtype}, **settings)
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)
    operands["x"] = _integers(dtype, 2, 3, 4)
    model, inputs = one_node("DequantizeLinear", operands, outputs={"r": np.float32}, **settings)
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=1e-6, atol=1e-2)
