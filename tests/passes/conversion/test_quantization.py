"""Rows of QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, on their way to OpenVINO."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from maxfold.optimizer import load
from maxfold.optimizer.api import convert
from tests.passes.conversion import harness, judged

_OPERATORS = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")
# OpenVINO's CPU multiplies by the reciprocal of a divisor: a quotient becomes -127.5, which is -127.49999.
_BEYOND = "test_dynamicquantizelinear"
_INTEGERS = (np.uint8, np.int8, np.uint16, np.int16)
_OPSET = 21


def _operations(model: onnx.ModelProto) -> list[str]:
    return [node.op for node in convert(load(model.SerializeToString()), to="openvino").graph.nodes]


@pytest.mark.parametrize(
    "case", [case for operator in _OPERATORS for case in harness.cases_of(operator)], ids=lambda case: case.name
)
def test_node_tests(case: harness.Case, tmp_path: Path) -> None:
    outputs = harness.to_openvino(case, tmp_path)
    if case.name == _BEYOND:
        assert np.abs(outputs[0].astype(int) - case.outputs[0]).max() == 1
        return
    harness.assert_close(outputs, case.outputs, rtol=1e-6, atol=0)


def _parameters(kind: str, dtype: Any, shape: tuple[int, ...], axis: int) -> tuple[Any, Any, dict[str, int]]:
    """A scale of powers of 2, a zero point and attributes."""
    sizes = {"tensor": (), "one": (1,), "axis": (shape[axis],)}.get(kind)
    attributes = {} if kind in ("tensor", "one") else {"axis": axis}
    if kind.startswith("blocks"):
        block = int(kind.removeprefix("blocks"))
        sizes = tuple(-(-size // block) if place == axis % len(shape) else size for place, size in enumerate(shape))
        attributes["block_size"] = block
    drawn = np.random.default_rng(len(shape))
    info = np.iinfo(dtype)
    scale = 2.0 ** drawn.integers(-3, 3, sizes)
    return scale.astype(np.float32), drawn.integers(info.min, info.max + 1, sizes).astype(dtype), attributes


@pytest.mark.parametrize("dtype", _INTEGERS)
@pytest.mark.parametrize("kind", ["tensor", "one", "axis", "blocks2", "blocks3"])
@pytest.mark.parametrize(("constants", "dynamic"), [((), ()), (("s", "z"), ("x",))])
@pytest.mark.parametrize("shape", [(2, 6, 3, 5), (6, 4)])
def test_both_steps(
    dtype: Any, kind: str, constants: tuple[str, ...], dynamic: tuple[str, ...], shape: tuple[int, ...], tmp_path: Path
) -> None:
    """Exact where the scale is a power of 2, ties included."""
    scale, zero_point, attributes = _parameters(kind, dtype, shape, 1 if len(shape) > 2 else -2)
    x = (np.random.default_rng(1).integers(-999, 999, shape) * 0.25).astype(np.float32)
    operands = {"x": x, "s": scale, "z": zero_point}
    settings: dict[str, Any] = {"opset": _OPSET, "constants": constants, "dynamic": dynamic}
    model, inputs = judged.one_node("QuantizeLinear", operands, **settings, **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)
    info = np.iinfo(dtype)
    operands["x"] = np.random.default_rng(2).integers(info.min, info.max + 1, shape).astype(dtype)
    model, inputs = judged.one_node("DequantizeLinear", operands, **settings, **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=1e-6, atol=1e-2 if info.bits == 16 else 1e-4)


@pytest.mark.parametrize(("zero_point", "is_faked"), [(128, True), (0, True), (7, False)])
def test_ties_decide(zero_point: int, is_faked: bool, tmp_path: Path) -> None:
    """FakeQuantize rounds after the zero point is added, which is another integer half-way between two."""
    x = np.arange(-300, 300, dtype=np.float32) * 0.25
    operands = {"x": x, "s": np.float32(0.5), "z": np.uint8(zero_point)}
    model, inputs = judged.one_node("QuantizeLinear", operands, opset=13, constants=("s", "z"))
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)
    assert ("FakeQuantize" in _operations(model)) is is_faked
    operands["s"] = np.float32(0.3)
    assert "FakeQuantize" in _operations(judged.one_node("QuantizeLinear", operands, opset=13, constants=("s", "z"))[0])


@pytest.mark.parametrize("scale", [0.0, -0.25, 1e-38, 1e38, np.inf])
def test_unusual_scales(scale: float, tmp_path: Path) -> None:
    operands = {"x": np.array([3, -2, 1e3], np.float32), "s": np.float32(scale), "z": np.int8(4)}
    model, inputs = judged.one_node("QuantizeLinear", operands, opset=13, constants=("s", "z"))
    assert "FakeQuantize" not in _operations(model)
    if 0 < abs(scale) < 1:
        judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


def test_what_low_precision_transformations_look_for(tmp_path: Path) -> None:
    """Integers stay integers: weights, and what stands between the two steps."""
    weight = numpy_helper.from_array(np.arange(-6, 6, dtype=np.int8).reshape(2, 2, 3, 1), "w")
    scales = [numpy_helper.from_array(np.array(value, np.float32), name) for name, value in (("s", 0.3), ("t", 0.07))]
    zero = numpy_helper.from_array(np.uint8(7), "z")
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["r"]),
        helper.make_node("DequantizeLinear", ["w", "t"], ["v"]),
        helper.make_node("Conv", ["r", "v"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2, 5, "W"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "graph", [x], [y], [weight, zero, *scales])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    assert _operations(model) == ["FakeQuantize", "Convert", "Multiply", "Convolution"]
    constants = convert(load(model.SerializeToString()), to="openvino").graph.constants
    assert {constant.name for constant in constants if constant.data.dtype.name == "INT8"} == {"w"}  # type: ignore[union-attr]
    judged.assert_same_in_openvino(model, [judged.floats(2, 2, 5, 4)], tmp_path, rtol=0, atol=1e-4)


_SPREAD = np.array([0.3, 0.07, 1.9], np.float32)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize(
    ("scale", "other", "attributes", "is_one"),
    [
        (np.float32(0.3), np.float32(0.3), {}, True),
        (np.array([0.3], np.float32), np.array([0.3], np.float32), {}, True),
        (np.float32(0.3), np.float32(0.3), {"axis": 0}, True),
        (np.array([0.3], np.float32), np.array([0.3], np.float32), {"axis": -1}, True),
        (_SPREAD, _SPREAD, {"axis": 1}, True),
        (np.float32(0.3), np.float32(0.4), {}, False),
        (_SPREAD, _SPREAD[::-1].copy(), {"axis": 1}, False),
        (np.float32(0.25), np.float32(0.25), {}, False),
    ],
)
def test_both_steps_as_one(
    scale: Any, other: Any, attributes: dict[str, int], is_one: bool, dtype: Any, tmp_path: Path
) -> None:
    """One FakeQuantize, but for other constants, and for a scale of which halves are rounded otherwise."""
    zero_point = np.full(np.shape(scale), 7 if dtype is np.uint8 else -7, dtype)
    constants = [numpy_helper.from_array(np.asarray(value), name)
                 for name, value in (("s", scale), ("t", other), ("z", zero_point))]  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], **attributes),
        helper.make_node("DequantizeLinear", ["q", "t", "z"], ["y"], **attributes),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, "H", 5])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "graph", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    operations = _operations(model)
    assert (operations == ["FakeQuantize"]) == is_one, operations
    judged.assert_same_in_openvino(model, [100 * judged.floats(2, 3, 4, 5)], tmp_path, rtol=1e-6, atol=1e-5)


def test_integers_that_are_read_elsewhere_stay(tmp_path: Path) -> None:
    scale, zero = numpy_helper.from_array(np.float32(0.3), "s"), numpy_helper.from_array(np.uint8(7), "z")
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 5])
    results = [helper.make_tensor_value_info(name, kind, [2, 5])
               for name, kind in (("y", TensorProto.FLOAT), ("q", TensorProto.UINT8))]  # fmt: skip
    graph = helper.make_graph(nodes, "graph", [x], results, [scale, zero])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    assert _operations(model) == ["FakeQuantize", "Convert", "FakeQuantize"]
    judged.assert_same_in_openvino(model, [100 * judged.floats(2, 5)], tmp_path, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize(("name", "least"), [("float8_e4m3fn", 448), ("float8_e5m2", 57344)])
@pytest.mark.parametrize("block", [0, 2])
def test_narrow_floats(name: str, least: int, block: int, tmp_path: Path) -> None:
    """Saturated; there and back, since OpenVINO shows no such tensors to numpy."""
    scale = np.full((2, 2) if block else (), 0.5, np.float32)
    x = np.array([[1, -0.3, 7.7, 1e6], [-1e6, 0, np.inf, 3e-3]], np.float32)
    attributes = {"axis": 1, "block_size": 2} if block else {}
    dtype = np.dtype(getattr(ml_dtypes, name))
    to = helper.np_dtype_to_tensor_dtype(dtype)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s"], ["q"], output_dtype=to, **attributes),
        helper.make_node("DequantizeLinear", ["q", "s"], ["y"], **attributes),
    ]
    infos = [helper.make_tensor_value_info(key, TensorProto.FLOAT, x.shape) for key in "xy"]
    graph = helper.make_graph(nodes, "graph", infos[:1], infos[1:], [numpy_helper.from_array(scale, "s")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    held = np.clip(x / 0.5, -least, least).astype(dtype).astype(np.float32) * np.float32(0.5)
    judged.assert_same_in_openvino(model, [x], tmp_path, expected=[held], rtol=0, atol=0)


@pytest.mark.parametrize("scale", [np.float16(0.5), ml_dtypes.bfloat16(0.5)])
def test_types_of_results(scale: Any, tmp_path: Path) -> None:
    """The type of the scale, or the one that is named, computed so that only the product is rounded."""
    operands = {"x": np.array([-32768, 32767, 4097], np.int16), "s": scale}
    model, inputs = judged.one_node(
        "DequantizeLinear", operands, opset=23, constants=("s",), output_dtype=TensorProto.FLOAT
    )
    expected = operands["x"] * np.float32(0.5)
    judged.assert_same_in_openvino(model, inputs, tmp_path, expected=[expected], rtol=0, atol=0)


def test_large_integers(tmp_path: Path) -> None:
    operands = {"x": np.array([-(2**31), 2**31 - 1, 16777217], np.int32), "s": np.float32(0.5)}
    model, inputs = judged.one_node("DequantizeLinear", operands, opset=13)
    judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize(("operator", "dtype"), [("QuantizeLinear", np.float32), ("DequantizeLinear", np.uint8)])
def test_empty_and_scalar(operator: str, dtype: Any, tmp_path: Path) -> None:
    for x in (np.zeros((0, 3), dtype), dtype(5)):
        model, inputs = judged.one_node(operator, {"x": x, "s": np.float32(0.5), "z": np.uint8(3)}, opset=13)
        judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("shape", [(), (4,), (2, 3, 4)])
@pytest.mark.parametrize("sign", [1, -1, 0])
@pytest.mark.parametrize("dynamic", [(), ("x",)])
def test_dynamic(shape: tuple[int, ...], sign: int, dynamic: tuple[str, ...], tmp_path: Path) -> None:
    """All above or below 0, and of several signs; an exact scale."""
    x = np.random.default_rng(0).integers(-255, 256, shape).astype(np.float32)
    x = x if sign == 0 else sign * np.abs(x)
    if shape:
        x.flat[0] = 255 * (sign or 1)
        x.flat[1] = 0
    model, inputs = judged.one_node("DynamicQuantizeLinear", {"x": x}, opset=11, outputs=3, dynamic=dynamic)
    if shape:
        judged.assert_same_in_openvino(model, inputs, tmp_path, rtol=1e-6, atol=0)
        return
    path = judged.converted_to_openvino(model, tmp_path)
    numbers, scale, zero_point = harness.run_openvino(path, inputs)
    assert (numbers.astype(int) - int(zero_point)) * scale == pytest.approx(x)


def test_steps_are_rounded_once(tmp_path: Path) -> None:
    """The last bit of a scale decides to which integers numbers of the whole tensor go."""
    model, _ = judged.one_node("DynamicQuantizeLinear", {"x": judged.floats(9)}, opset=11, outputs=3)
    path = judged.converted_to_openvino(model, tmp_path)
    for seed in range(20):
        x = judged.floats(9, seed=seed)
        scale = harness.run_openvino(path, [x])[1]
        assert scale == (max(x.max(), np.float32(0)) - min(x.min(), np.float32(0))) / np.float32(255)


def test_zeros_are_zeros(tmp_path: Path) -> None:
    model, inputs = judged.one_node("DynamicQuantizeLinear", {"x": np.zeros((2, 3), np.float32)}, opset=11, outputs=3)
    numbers, scale, zero_point = harness.run_openvino(judged.converted_to_openvino(model, tmp_path), inputs)
    assert not numbers.any()
    assert zero_point == scale == 0


def test_refused(tmp_path: Path) -> None:
    x = np.zeros((2, 4), np.float32)
    operands = {"x": x, "s": np.ones((2, 2), np.float32), "z": np.zeros((2, 2), np.uint8)}
    model, _ = judged.one_node("QuantizeLinear", operands, opset=_OPSET, axis=1, block_size=1)
    judged.assert_refused_in_openvino(model, tmp_path, "2 blocks of 1 are not 4 elements")
    to = TensorProto.FLOAT8E4M3FN
    model, _ = judged.one_node("QuantizeLinear", {"x": x, "s": np.float32(1)}, opset=23, output_dtype=to, saturate=0)
    judged.assert_refused_in_openvino(model, tmp_path, "its attribute 'saturate' is 0")
