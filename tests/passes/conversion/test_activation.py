"""Rows of activation functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset2 as ov2
import openvino.opset15 as ov
import pytest

from tests.passes.conversion import elementwise, harness, judged

EXACT = ("Relu", "ThresholdedRelu", "Shrink")
ROUNDED = (
    "Sigmoid", "Tanh", "Softplus", "Softsign", "Elu", "Selu", "HardSigmoid", "HardSwish", "Swish", "Mish", "Gelu",
    "Celu",
)  # fmt: skip
# What the node tests of the same operators are made of once their functions are expanded.
EXPANDED = (
    *EXACT, *ROUNDED, "Abs", "Add", "And", "Cast", "CastLike", "Clip", "Div", "Equal", "Erf", "Exp", "Greater",
    "GreaterOrEqual", "Identity", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Mean", "Min", "Mul", "Neg", "Not",
    "Or", "PRelu", "Pow", "Sqrt", "Sub", "Sum", "Where",
)  # fmt: skip
_BFLOAT16 = "its values cannot be handed to the judges"
LIMITED = {
    ("onnx", "celu_float16"): "OpenVINO does not read Celu of float16",
    **elementwise.every(("openvino", "round"), ("celu_bfloat16", "celu_bfloat16_expanded"), _BFLOAT16),
    ("onnx", "celu_bfloat16"): "OpenVINO does not read Celu of bfloat16",
    ("onnx", "celu_bfloat16_expanded"): _BFLOAT16,
}
X = np.array([[-4.5, -3, -1, -0.3, -0.0], [0.2, 0.9, 1, 2.5, 7]], np.float32)


def _expanded() -> list[Any]:
    return [
        pytest.param(way, case, id=f"{way}-{case.name}")
        for case in harness.cases_of(*EXPANDED)
        if len(case.operators - {"Constant"}) > 1
        for way in judged.WAYS
    ]


@pytest.mark.parametrize(("way", "case"), judged.parameters(*EXACT))
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    elementwise.judge(way, case, tmp_path)


@pytest.mark.parametrize(("way", "case"), judged.parameters(*ROUNDED))
def test_node_cases_of_rounded_ones(way: str, case: harness.Case, tmp_path: Path) -> None:
    elementwise.judge(way, case, tmp_path, limited=LIMITED, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("way", "case"), _expanded())
def test_expanded_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    elementwise.judge(way, case, tmp_path, limited=LIMITED, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", ["Relu", "Sigmoid", "Tanh", "Elu", "Selu", "HardSigmoid"])
def test_the_hint_of_the_first_operator_set(op: str, tmp_path: Path) -> None:
    x = X.astype(np.float64)
    expected = {
        "Relu": np.maximum(x, 0),
        "Sigmoid": 1 / (1 + np.exp(-x)),
        "Tanh": np.tanh(x),
        "Elu": np.where(x < 0, np.expm1(x), x),
        "Selu": 1.0507 * np.where(x <= 0, 1.6732 * np.expm1(x), x),
        "HardSigmoid": np.clip(0.2 * x + 0.5, 0, 1),
    }[op]
    model, inputs = judged.one_node(op, {"x": X}, opset=1, consumed_inputs=[0])
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[expected])


def test_the_hint_that_two_never_had(tmp_path: Path) -> None:
    for op in ("Softplus", "Softsign"):
        model, _ = judged.one_node(op, {"x": X}, opset=1, consumed_inputs=[0])
        judged.assert_refused_in_openvino(model, tmp_path, "its attribute 'consumed_inputs' is not covered")


def test_selu_before_its_defaults_were_longer(tmp_path: Path) -> None:
    values = {}
    for opset in (1, 6):
        model, inputs = judged.one_node("Selu", {"x": X}, opset=opset)
        path = judged.converted_to_openvino(model, tmp_path)
        values[opset] = harness.run_openvino(path, inputs)[0]
    assert values[1][1, 4] == np.float32(7) * np.float32(1.0507)
    assert values[6][1, 4] == np.float32(7) * np.float32(1.05070102214813232421875)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize(
    ("op", "attributes"),
    [("Elu", {"alpha": 0.3}), ("Selu", {"alpha": 1.5}), ("HardSigmoid", {"beta": 0.25}), ("ThresholdedRelu", {})],
)
def test_other_types(op: str, attributes: dict[str, float], dtype: Any, tmp_path: Path) -> None:
    single, inputs = judged.one_node(op, {"x": X}, opset=17, **attributes)
    judged.assert_same_in_openvino(single, inputs, tmp_path)
    expected = [value.astype(dtype) for value in harness.run_openvino(tmp_path / "made.xml", inputs)]
    model, inputs = judged.one_node(op, {"x": X.astype(dtype)}, opset=17, **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=expected, rtol=4e-3, atol=1e-3)


def _constant(value: float) -> Any:
    return ov.constant(np.float32(value))


def _gelu(x: Any) -> Any:
    from math import erf

    return x / 2 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


SIGMOID = 1 / (1 + np.exp(-X.astype(np.float64)))
H_SIGMOID = np.clip(X / 6 + 0.5, 0, 1)
TANH_GELU = X / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3)))


@pytest.mark.parametrize(
    ("operation", "opset", "operators", "expected"),
    [
        (ov.hswish, 13, ["HardSigmoid", "Mul"], X * H_SIGMOID),
        (ov.hswish, 14, ["HardSwish"], X * H_SIGMOID),
        (ov.hsigmoid, 13, ["HardSigmoid"], H_SIGMOID),
        (ov.swish, 13, ["Sigmoid", "Mul"], X * SIGMOID),
        (lambda x: ov.swish(x, _constant(1)), 13, ["Sigmoid", "Mul"], X * SIGMOID),
        (lambda x: ov.swish(x, _constant(-1)), 13, ["Mul", "Sigmoid", "Mul"], X * (1 - SIGMOID)),
        (ov.mish, 17, ["Softplus", "Tanh", "Mul"], X * np.tanh(np.log1p(np.exp(X)))),
        (ov.mish, 18, ["Mish"], X * np.tanh(np.log1p(np.exp(X)))),
        (ov2.gelu, 13, ["Div", "Erf", "Add", "Mul", "Mul"], _gelu(X)),
        (ov2.gelu, 20, ["Gelu"], _gelu(X)),
        (lambda x: ov.gelu(x, "erf"), 20, ["Gelu"], _gelu(X)),
        (lambda x: ov.gelu(x, "tanh"), 13, ["Mul"] * 3 + ["Add"] + ["Mul", "Tanh", "Add", "Mul", "Mul"], TANH_GELU),
        (lambda x: ov.gelu(x, "tanh"), 20, ["Gelu"], TANH_GELU),
        (lambda x: ov.selu(x, _constant(2), _constant(3)), 13, ["Selu"], 3 * np.where(X <= 0, 2 * np.expm1(X), X)),
        (lambda x: ov.hard_sigmoid(x, _constant(0.5), _constant(0.1)), 13, ["HardSigmoid"], np.clip(X / 2 + 0.1, 0, 1)),
        (lambda x: ov.elu(x, 0.25), 13, ["Elu"], np.where(X < 0, 0.25 * np.expm1(X), X)),
        (ov.softsign, 13, ["Softsign"], X / (1 + np.abs(X))),
    ],
)
def test_to_onnx(operation: Any, opset: int, operators: list[str], expected: Any, tmp_path: Path) -> None:
    x = ov.parameter(openvino.PartialShape([-1, 5]), np.float32)
    made, actual = elementwise.run_in_onnx([operation(x)], [x], [X], tmp_path, opset=opset)
    harness.assert_close(actual, [expected], rtol=1e-5, atol=2e-6)
    assert made == operators


def test_swish_with_a_beta_of_the_run(tmp_path: Path) -> None:
    x, beta = ov.parameter([2, 5], np.float32), ov.parameter([], np.float32)
    values = [X, np.array(2, np.float32)]
    _, actual = elementwise.run_in_onnx([ov.swish(x, beta)], [x, beta], values, tmp_path)
    harness.assert_close(actual, [X / (1 + np.exp(-2 * X))], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("operation", [ov.selu, ov.hard_sigmoid])
def test_parameters_of_the_run(operation: Any, tmp_path: Path) -> None:
    x, alpha, other = ov.parameter([3], np.float32), ov.parameter([], np.float32), _constant(1)
    judged.assert_refused_in_onnx([operation(x, alpha, other)], [x, alpha], tmp_path, "alpha is computed at run time")
    x, alpha = ov.parameter([3], np.float32), ov.constant(np.ones(3, np.float32))
    if operation is ov.selu:
        judged.assert_refused_in_onnx([operation(x, alpha, other)], [x], tmp_path, "alpha has 3 elements, not one")


def test_an_elu_without_alpha(tmp_path: Path) -> None:
    x = ov.parameter([2, 5], np.float32)
    _, actual = elementwise.run_in_onnx([ov.elu(x, 1.0)], [x], [X], tmp_path, edits={'<data alpha="1" />': "<data />"})
    harness.assert_close(actual, [np.maximum(X, 0)], rtol=0, atol=0)


def test_modes_of_gelu_that_do_not_exist(tmp_path: Path) -> None:
    model, _ = judged.one_node("Gelu", {"x": X}, opset=20, approximate="fast")
    judged.assert_refused_in_openvino(model, tmp_path, "its approximate 'fast' is neither none nor tanh")
    x = ov.parameter([2, 5], np.float32)
    with pytest.raises(judged.ModelError, match="its approximation_mode 'fast' is not covered"):
        elementwise.run_in_onnx([ov.gelu(x, "erf")], [x], [], tmp_path, edits={'"ERF"': '"fast"'})


def test_thresholded_relu_keeps_infinities_out(tmp_path: Path) -> None:
    x = np.array([-np.inf, np.inf, np.nan, 2, 1], np.float32)
    model, inputs = judged.one_node("ThresholdedRelu", {"x": x}, opset=10)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[np.array([0, np.inf, 0, 2, 0])], rtol=0, atol=0)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_celu(alpha: float, tmp_path: Path) -> None:
    x = np.concatenate([X.reshape(-1), np.array([100, -100, np.inf, -np.inf], np.float32)])
    model, inputs = judged.one_node("Celu", {"x": x}, opset=12, alpha=alpha)
    below = alpha * np.expm1(np.minimum(x, 0) / alpha)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[np.where(x > 0, x, below)])


def test_celu_of_no_positive_alpha(tmp_path: Path) -> None:
    model, _ = judged.one_node("Celu", {"x": X}, opset=12, alpha=-1.0)
    judged.assert_refused_in_openvino(model, tmp_path, "its alpha -1.0 is not positive")


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float16, np.float32])
@pytest.mark.parametrize(("lambd", "bias"), [(1.5, 1.0), (2.0, 0.0), (0.0, -3.0)])
def test_shrink(dtype: Any, lambd: float, bias: float, tmp_path: Path) -> None:
    x = np.array([-5, -2, -1, 0, 1, 2, 5], dtype)
    expected = np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0)).astype(dtype)
    model, inputs = judged.one_node("Shrink", {"x": x}, opset=9, lambd=lambd, bias=bias)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[expected], rtol=0, atol=0)


@pytest.mark.parametrize(
    ("dtype", "attributes"), [(np.int32, {"bias": 0.5}), (np.uint8, {}), (np.int8, {"lambd": 200.0})]
)
def test_shrink_of_integers_that_is_refused(dtype: Any, attributes: dict[str, float], tmp_path: Path) -> None:
    model, _ = judged.one_node("Shrink", {"x": np.ones(2, dtype)}, opset=9, **attributes)
    judged.assert_refused_in_openvino(model, tmp_path, "cannot be computed with in")


@pytest.mark.parametrize(("dtype", "expected"), [(np.int32, "Max"), (np.int64, "Max"), (np.int8, "Relu")])
def test_relu_of_integers_is_what_onnxruntime_has(dtype: Any, expected: str, tmp_path: Path) -> None:
    x, values = ov.parameter([4], dtype), np.array([-5, -1, 0, 7], dtype)
    operators, (result,) = elementwise.run_in_onnx([ov.relu(x)], [x], [values], tmp_path, opset=17)
    np.testing.assert_array_equal(result, np.maximum(values, 0))
    assert (operators, result.dtype) == ([expected], values.dtype)


def test_hard_functions_in_float64(tmp_path: Path) -> None:
    """ONNX Runtime has no kernels for them."""
    x, values = ov.parameter([5], np.float64), np.array([-4, -1, 0, 2.5, 4])
    results = [ov.hsigmoid(x), ov.hard_sigmoid(x, np.float64(0.25), np.float64(0.5)), ov.hswish(x)]
    operators, found = elementwise.run_in_onnx(results, [x], [values], tmp_path, opset=17)
    sixth, quarter = np.clip(values / 6 + 0.5, 0, 1), np.clip(values / 4 + 0.5, 0, 1)
    for result, expected in zip(found, [sixth, quarter, values * sixth], strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-6)
    assert "HardSigmoid" not in operators


@pytest.mark.parametrize("attributes", [{"alpha": 0.0}, {"beta": 0.0}])
def test_hard_sigmoid_with_a_zero_is_spelled_out(attributes: dict[str, float], tmp_path: Path) -> None:
    model, inputs = judged.one_node("HardSigmoid", {"x": X}, opset=17, **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path)


@pytest.mark.parametrize("attributes", [{"alpha": 0.0}, {"gamma": 0.0}])
def test_selu_with_a_zero_is_refused(attributes: dict[str, float], tmp_path: Path) -> None:
    model, _ = judged.one_node("Selu", {"x": X}, opset=17, **attributes)
    judged.assert_refused_in_openvino(model, tmp_path, "for which OpenVINO's CPU takes the default")
