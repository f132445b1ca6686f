"""Rows of ONNX Runtime's fused operators, on their way to OpenVINO, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.passes.conversion import judged
from tests.passes.conversion.microsoft import one_node

_F32 = np.float32


@pytest.mark.parametrize("dynamic", [(), ("x",)])
@pytest.mark.parametrize(
    ("operator", "has_bias", "attributes"),
    [
        ("Gelu", False, {}), ("BiasGelu", True, {}), ("FastGelu", True, {}), ("FastGelu", False, {}),
        ("QuickGelu", False, {}), ("QuickGelu", False, {"alpha": 1.0}),
    ],
)  # fmt: skip
def test_gelu(operator: str, has_bias: bool, attributes: Any, dynamic: Any, tmp_path: Path) -> None:
    operands = {"x": judged.floats(2, 3, 8) * 4, **({"b": judged.floats(8, seed=1)} if has_bias else {})}
    model, inputs = one_node(operator, operands, dynamic=dynamic, constants=("b",), **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path, atol=1e-6)


@pytest.mark.parametrize("dynamic", [(), ("a", "b")])
@pytest.mark.parametrize(
    ("left", "right", "attributes"),
    [
        ((2, 3, 4), (2, 4, 5), {}),
        ((2, 4, 3), (2, 5, 4), {"transA": 1, "transB": 1, "alpha": 0.37}),
        ((3, 2, 4), (2, 4, 5), {"transBatchA": 1}),
        ((4, 2, 3), (5, 2, 4), {"transBatchA": 1, "transA": 1, "transBatchB": 1, "transB": 1, "alpha": 2.0}),
        ((4,), (4, 5), {"transA": 1}),
        ((3, 4), (2, 4, 5), {"transB": 0}),
    ],
)
def test_fused_matmul(left: Any, right: Any, attributes: Any, dynamic: Any, tmp_path: Path) -> None:
    operands = {"a": judged.floats(*left), "b": judged.floats(*right, seed=1)}
    model, inputs = one_node("FusedMatMul", operands, dynamic=dynamic, **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path)


def test_transpose_matmul(tmp_path: Path) -> None:
    operands = {"a": judged.floats(2, 4, 3), "b": judged.floats(2, 4, 5, seed=1)}
    model, inputs = one_node("TransposeMatMul", operands, transA=1, alpha=0.5)
    judged.assert_same_in_openvino(model, inputs, tmp_path)


_GEMM = [
    ("Relu", {}), ("Tanh", {}), ("Sigmoid", {}), ("Softplus", {}), ("Softsign", {}),
    ("LeakyRelu", {"activation_alpha": 0.3}), ("Elu", {"activation_alpha": 0.7}),
    ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}),
]  # fmt: skip


@pytest.mark.parametrize(("activation", "parameters"), _GEMM)
@pytest.mark.parametrize("c_shape", [None, (5,), (3, 1)])
def test_fused_gemm(activation: str, parameters: Any, c_shape: Any, tmp_path: Path) -> None:
    operands = {"a": judged.floats(4, 3), "b": judged.floats(4, 5, seed=1)}
    if c_shape is not None:
        operands["c"] = judged.floats(*c_shape, seed=2)
    attributes = {"transA": 1, "alpha": 0.5, "beta": 1.5, "activation": activation, **parameters}
    model, inputs = one_node("FusedGemm", operands, dynamic=("a",), **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path)


@pytest.mark.parametrize(
    ("activation", "parameters"),
    [
        ("Relu", None), ("Tanh", None), ("Sigmoid", None), ("HardSwish", None), ("LeakyRelu", [0.2]),
        ("Clip", [-0.5, 0.7]), ("HardSigmoid", [0.3, 0.4]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("has_sum", [True, False])
def test_fused_conv(activation: str, parameters: Any, group: int, has_sum: bool, tmp_path: Path) -> None:
    operands = {
        "x": judged.floats(2, 4, 6, 5), "w": judged.floats(6, 4 // group, 3, 3, seed=1), "b": judged.floats(6, seed=2),
        "z": judged.floats(2, 6, 6, 5, seed=3) if has_sum else None,
    }  # fmt: skip
    attributes = {"pads": [1] * 4, "group": group, "activation": activation}
    if parameters is not None:
        attributes["activation_params"] = parameters
    model, inputs = one_node("FusedConv", operands, constants=("w", "b"), dynamic=("x", "z"), **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path)


@pytest.mark.parametrize("dynamic", [(), ("x", "y")])
@pytest.mark.parametrize("skip", [(2, 3, 8), (1, 3, 8), (3, 8)])
@pytest.mark.parametrize(("beta", "bias"), [(True, True), (True, False), (False, True), (False, False)])
def test_skip_layer_normalization(beta: bool, bias: bool, skip: Any, dynamic: Any, tmp_path: Path) -> None:
    operands = {
        "x": judged.floats(2, 3, 8), "y": judged.floats(*skip, seed=1), "gamma": judged.floats(8, seed=2),
        "beta": judged.floats(8, seed=3) if beta else None, "bias": judged.floats(8, seed=4) if bias else None,
    }  # fmt: skip
    if not bias:
        del operands["bias"]
    outputs = {"result": _F32, "mean": _F32, "inverse": _F32, "total": _F32}
    settings: dict[str, Any] = {"constants": ("gamma", "beta", "bias"), "dynamic": dynamic}
    model, inputs = one_node("SkipLayerNormalization", operands, outputs=outputs, **settings)
    judged.assert_same_in_openvino(model, inputs, tmp_path)
    outputs = {"result": _F32, "_": _F32, "__": _F32, "total": _F32}
    model, inputs = one_node("SkipLayerNormalization", operands, outputs=outputs, epsilon=1e-3, **settings)
    judged.assert_same_in_openvino(model, inputs, tmp_path)


@pytest.mark.parametrize("dynamic", [(), ("x", "y")])
@pytest.mark.parametrize("has_bias", [True, False])
def test_skip_simplified(has_bias: bool, dynamic: Any, tmp_path: Path) -> None:
    operands = {"x": judged.floats(2, 3, 8), "y": judged.floats(2, 3, 8, seed=1), "gamma": judged.floats(8, seed=2)}
    if has_bias:
        operands["bias"] = judged.floats(8, seed=4)
    outputs = {"result": _F32, "_": _F32, "__": _F32, "total": _F32}
    settings: dict[str, Any] = {"constants": ("gamma", "bias"), "dynamic": dynamic, "outputs": outputs}
    model, inputs = one_node("SkipSimplifiedLayerNormalization", operands, epsilon=1e-5, **settings)
    judged.assert_same_in_openvino(model, inputs, tmp_path)


def test_refused(tmp_path: Path) -> None:
    a, b = judged.floats(2, 3), judged.floats(3, 2)
    model, _ = one_node("FusedGemm", {"a": a, "b": b}, activation="Selu", activation_alpha=1.0)
    judged.assert_refused_in_openvino(model, tmp_path, "its activation 'Selu' is not covered")
    model, _ = one_node("FusedGemm", {"a": a, "b": b}, activation="LeakyRelu")
    judged.assert_refused_in_openvino(model, tmp_path, "has 0 parameters instead of 1")
    model, _ = one_node("FusedMatMul", {"a": a, "b": b}, other=1)
    judged.assert_refused_in_openvino(model, tmp_path, "its attribute 'other' is not covered")
    model, _ = one_node("BiasGelu", {"a": a, "b": b})
    judged.assert_refused_in_openvino(model, tmp_path, "its operands do not fit together")
