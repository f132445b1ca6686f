"""Rows of products of quantized operands, on their way to OpenVINO."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from maxfold.optimizer import load
from maxfold.optimizer.api import convert
from tests.passes.conversion import harness, judged

_OPERATORS = ("MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv")
_OPSET = 13


def _integers(dtype: Any, *shape: int, seed: int = 0) -> Any:
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(dtype)


def _operations(model: onnx.ModelProto) -> list[str]:
    return [node.op for node in convert(load(model.SerializeToString()), to="openvino").graph.nodes]


@pytest.mark.parametrize(
    "case", [case for operator in _OPERATORS for case in harness.cases_of(operator)], ids=lambda case: case.name
)
def test_node_tests(case: harness.Case, tmp_path: Path) -> None:
    harness.assert_close(harness.to_openvino(case, tmp_path), case.outputs, rtol=0, atol=0)


@pytest.mark.parametrize(("left", "right"), [(np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8)])
@pytest.mark.parametrize(
    ("a_shape", "b_shape", "a_zero", "b_zero"),
    [
        ((5, 64), (64, 7), (), ()),
        ((5, 64), (64, 7), (1,), (7,)),
        ((2, 3, 5, 64), (64, 7), (), (7,)),
        ((3, 5, 64), (3, 64, 7), (), (3, 1, 7)),
        ((64,), (64, 7), (), None),
        ((5, 64), (64, 7), None, None),
        ((0, 64), (64, 7), (), ()),
    ],
)
@pytest.mark.parametrize(("constants", "dynamic"), [((), ()), (("b", "y", "z"), ("a",))])
def test_matmul_integer(
    left: Any, right: Any, a_shape: Any, b_shape: Any, a_zero: Any, b_zero: Any, constants: Any, dynamic: Any,
    tmp_path: Path,
) -> None:  # fmt: skip
    operands = {
        "a": _integers(left, *a_shape), "b": _integers(right, *b_shape, seed=1),
        "y": "" if a_zero is None else _integers(left, *a_zero, seed=2),
        "z": "" if b_zero is None else _integers(right, *b_zero, seed=3),
    }  # fmt: skip
    known = [name for name in constants if not isinstance(operands[name], str)]
    model, inputs = judged.one_node("MatMulInteger", operands, opset=_OPSET, constants=known, dynamic=dynamic)
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


def test_rows_of_their_own_zero_points(tmp_path: Path) -> None:
    """What ONNX Runtime does not have."""
    a, b, zero = _integers(np.uint8, 4, 3), _integers(np.int8, 3, 2), np.arange(4, dtype=np.uint8)
    model, inputs = judged.one_node("MatMulInteger", {"a": a, "b": b, "y": zero}, opset=_OPSET)
    expected = (a.astype(np.int32) - zero[:, None]) @ b.astype(np.int32)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[expected], rtol=0, atol=0)


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("dynamic", [(), ("x",)])
@pytest.mark.parametrize("spatial", [(6,), (6, 5)])
def test_conv_integer(group: int, dynamic: Any, spatial: Any, tmp_path: Path) -> None:
    rank = len(spatial)
    operands = {
        "x": _integers(np.uint8, 2, 4, *spatial), "w": _integers(np.uint8, 6, 4 // group, *[3] * rank, seed=1),
        "y": np.uint8(17), "z": np.uint8(100),
    }  # fmt: skip
    attributes = {"group": group, "pads": [1, 0] * rank, "strides": [2] * rank}
    model, inputs = judged.one_node("ConvInteger", operands, opset=_OPSET, dynamic=dynamic, **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


def _assert_within_a_step(model: onnx.ModelProto, inputs: list[Any], folder: Path) -> None:
    """Few results may be the next integer."""
    path = judged.converted_to_openvino(model, folder)
    (expected,), (actual,) = harness.run_onnx(folder / "made.onnx", inputs), harness.run_openvino(path, inputs)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    steps = np.abs(actual.astype(int) - expected)
    assert steps.max(initial=0) <= 1
    assert np.count_nonzero(steps) <= 0.01 * steps.size


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("columns", [(), (7,)])
@pytest.mark.parametrize(("constants", "dynamic"), [((), ()), (("b", "bs", "bz", "as", "az", "ys", "yz"), ("a",))])
@pytest.mark.parametrize("scale", [0.25, 3.71])
def test_qlinear_matmul(dtype: Any, columns: Any, constants: Any, dynamic: Any, scale: float, tmp_path: Path) -> None:
    operands = {
        "a": _integers(dtype, 3, 5, 24), "as": np.float32(0.013), "az": dtype(3),
        "b": _integers(np.int8, 24, 7, seed=1),
        "bs": np.random.default_rng(2).uniform(0.01, 0.1, columns).astype(np.float32), "bz": np.zeros(columns, np.int8),
        "ys": np.float32(scale), "yz": dtype(11),
    }  # fmt: skip
    model, inputs = judged.one_node("QLinearMatMul", operands, opset=_OPSET, constants=constants, dynamic=dynamic)
    # The zero point is odd: ties of a scale of few bits would be rounded otherwise.
    may_fake = bool(constants) and (scale != 0.25 or dtype is np.int8)
    if dtype is np.uint8:
        assert ("FakeQuantize" in _operations(model)) is may_fake
    _assert_within_a_step(model, inputs, tmp_path)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize(("constants", "dynamic"), [((), ()), (("w", "ws", "wz", "xs", "xz", "ys", "yz"), ("x",))])
@pytest.mark.parametrize("is_per_channel", [True, False])
def test_qlinear_conv(
    dtype: Any, group: int, has_bias: bool, constants: Any, dynamic: Any, is_per_channel: bool, tmp_path: Path
) -> None:
    channels = (6,) if is_per_channel else ()
    operands = {
        "x": _integers(dtype, 2, 4, 7, 6), "xs": np.float32(0.021), "xz": dtype(9),
        "w": _integers(np.int8, 6, 4 // group, 3, 2, seed=1),
        "ws": np.random.default_rng(2).uniform(0.01, 0.1, channels).astype(np.float32),
        "wz": np.zeros(channels, np.int8), "ys": np.float32(1.37), "yz": dtype(23),
    }  # fmt: skip
    if has_bias:
        operands["bias"] = np.arange(-3000, 3000, 1000, dtype=np.int32)
    options = {"group": group, "pads": [1, 0, 1, 1], "kernel_shape": [3, 2]}
    model, inputs = judged.one_node("QLinearConv", operands, opset=10, constants=constants, dynamic=dynamic, **options)
    assert ("FakeQuantize" in _operations(model)) is bool(constants)
    _assert_within_a_step(model, inputs, tmp_path)
