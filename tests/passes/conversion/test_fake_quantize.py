"""FakeQuantize to ONNX: what OpenVINO's CPU computes without its low-precision transformations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import openvino.opset13 as ov
import pytest
from openvino.op import Parameter, Result

from maxfold.model import ModelError
from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert
from tests.passes.conversion import harness
from tests.passes.conversion.judged import assert_refused_in_onnx, assert_same_in_onnx, converted_to_onnx, floats

SHAPE = (2, 3, 4, 5)
QUANTIZED = ["QuantizeLinear", "DequantizeLinear"]


def parameter(*shape: int, kind: Any = openvino.Type.f32) -> Any:
    return Parameter(kind, openvino.PartialShape(list(shape)))


def in_openvino(path: Path, inputs: list[Any]) -> Any:
    """What OpenVINO gives without low-precision transformations."""
    settings = {"INFERENCE_PRECISION_HINT": "f32", "LP_TRANSFORMS_MODE": "NO"}
    return openvino.Core().compile_model(path, "CPU", settings)(inputs)[0]


def assert_same(
    made: Any, parameters: list[Any], inputs: list[Any], step: float, folder: Path, *, opset: int = 17
) -> list[str]:
    """Not a step away but for one element of a thousand, and apart from steps a thousandth of one, or the last bits,
    at most."""
    path = converted_to_onnx([Result(made.output(0))], parameters, folder, opset)
    wanted = in_openvino(folder / "made.xml", inputs)
    (actual,) = harness.run_onnx(path, inputs)
    assert actual.dtype == wanted.dtype
    assert actual.shape == wanted.shape
    away = np.abs(actual.astype(np.float64) - wanted) / step
    assert np.mean(away > max(1.1e-3, 3e-7 / step)) <= 1e-3
    assert away.max(initial=0) < 1.01
    return [node.op_type for node in onnx.load(path).graph.node]


def ends(*values: Any) -> list[Any]:
    return [ov.constant(np.asarray(value, np.float32)) for value in values]


def test_composed_everywhere(tmp_path: Path) -> None:
    """What OpenVINO's CPU computes of known shapes to the last step, next to half a step too; the other form says that
    it may not."""
    x = Parameter(openvino.Type.f32, openvino.PartialShape([1, 4096]))
    ends = [ov.constant(np.float32(value)) for value in (-1.27, 1.28)]
    node = ov.fake_quantize(x, *ends, *ends, 256)
    openvino.serialize(openvino.Model([node.output(0)], [x]), tmp_path / "m.xml")
    steps = (np.arange(4096) % 255 - 127 + 0.5).astype(np.float32) * np.float32(0.01)
    (expected,) = harness.run_openvino(tmp_path / "m.xml", [steps.reshape(1, -1)])
    made = convert(load(tmp_path / "m.xml"), to="onnx", fake_quantize="composed")
    save(made, tmp_path / "m.onnx")
    (found,) = harness.run_onnx(tmp_path / "m.onnx", [steps.reshape(1, -1)])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert not made.lost
    quantized = convert(load(tmp_path / "m.xml"), to="onnx")
    assert {node.op for node in quantized.graph.nodes} == {"QuantizeLinear", "DequantizeLinear"}
    assert [item.what for item in quantized.lost] == [
        "how FakeQuantize rounds next to half a step, a few of a million elements"
    ]
    with pytest.raises(ModelError, match="FakeQuantize becomes 'integers' or 'composed', not 'other'"):
        convert(load(tmp_path / "m.xml"), to="onnx", fake_quantize="other")


@pytest.mark.parametrize(
    ("low", "high", "is_quantized"),
    [(0, 2.55, True), (-1.28, 1.27, True), (-2.55, 0, True), (-1.0, 1.55, True), (-1.0, 1.0, False), (0.5, 1, False)],
)
@pytest.mark.parametrize("shape", [SHAPE, (-1, 3, -1, -1)], ids=["static", "dynamic"])
def test_256_levels(shape: tuple[int, ...], low: float, high: float, is_quantized: bool, tmp_path: Path) -> None:
    x = parameter(*shape)
    made = ov.fake_quantize(x, *ends(low, high, low, high), 256)
    kinds = assert_same(made, [x], [floats(*SHAPE)], (high - low) / 255, tmp_path)
    assert (kinds == QUANTIZED) is is_quantized


@pytest.mark.parametrize("levels", [2, 3, 16, 255, 1024])
def test_other_levels(levels: int, tmp_path: Path) -> None:
    x = parameter(*SHAPE)
    made = ov.fake_quantize(x, *ends(-1, 1, -1, 1), levels)
    assert_same(made, [x], [floats(*SHAPE)], 2 / (levels - 1), tmp_path)


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_ranges_of_channels(is_dynamic: bool, tmp_path: Path) -> None:
    x = parameter(*((-1,) * 4 if is_dynamic else SHAPE))
    high = np.asarray([1.27, 2.54, 0.635], np.float32).reshape(1, 3, 1, 1)
    low = -high / np.float32(127) * np.float32(128)
    made = ov.fake_quantize(x, *ends(low, high, low, high), 256)
    kinds = assert_same(made, [x], [floats(*SHAPE)], 0.005, tmp_path)
    assert (kinds == QUANTIZED) is not is_dynamic


def test_ranges_of_two_axes(tmp_path: Path) -> None:
    x = parameter(*SHAPE)
    high = np.arange(1, 13, dtype=np.float32).reshape(1, 3, 4, 1)
    made = ov.fake_quantize(x, *ends(0, high, 0, high), 256)
    assert assert_same(made, [x], [floats(*SHAPE) * 4], 1 / 255, tmp_path) != QUANTIZED


@pytest.mark.parametrize(("to_low", "to_high"), [(0, 1), (5, -5), (-3, 9)])
def test_what_comes_out_may_have_another_range(to_low: float, to_high: float, tmp_path: Path) -> None:
    x = parameter(*SHAPE)
    made = ov.fake_quantize(x, *ends(-1, 1, to_low, to_high), 256)
    assert_same(made, [x], [floats(*SHAPE)], abs(to_high - to_low) / 255, tmp_path)


def test_a_range_that_is_computed(tmp_path: Path) -> None:
    x, low, high = parameter(*SHAPE), parameter(1), parameter(1)
    made = Result(ov.fake_quantize(x, low, high, low, high, 256).output(0))
    values = [floats(*SHAPE), np.asarray([-1], np.float32), np.asarray([1.5], np.float32)]
    assert_same_in_onnx([made], [x, low, high], values, tmp_path, rtol=1e-5)


def test_ends_that_are_one(tmp_path: Path) -> None:
    """As OpenVINO folds it; its CPU gives NaN."""
    x = parameter(4)
    values = np.asarray([-1, 0.5, 0.6, 9], np.float32)
    folded = ov.fake_quantize(ov.constant(values), *ends(0.5, 0.5, 2, 3), 16)
    results = [openvino.Tensor(openvino.Type.f32, openvino.Shape([4]))]
    assert openvino.Model([folded.output(0)], []).evaluate(results, [])
    made = Result(ov.fake_quantize(x, *ends(0.5, 0.5, 2, 3), 16).output(0))
    assert_same_in_onnx([made], [x], [values], tmp_path, expected=[results[0].data], rtol=0, atol=0)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("is_half", [False, True])
def test_weights_stay_in_8_bits(kind: Any, is_half: bool, tmp_path: Path) -> None:
    x = parameter(1, 4, 8, 8)
    random = np.random.default_rng(0)
    low = 0 if kind is np.uint8 else -127
    stored = random.integers(low, low + 255, (64, 4, 3, 3)).astype(kind)
    most = random.uniform(0.1, 1, (64, 1, 1, 1)).astype(np.float16 if is_half else np.float32)
    given = [np.asarray([low]), np.asarray([low + 254]), -most, most]
    if is_half:
        sides = [ov.convert(ov.constant(np.asarray(value, np.float16)), "f32") for value in given]
    else:
        sides = ends(*given)
    weights = ov.fake_quantize(ov.convert(ov.constant(stored), "f32"), *sides, 255)
    made = ov.convolution(x, weights, [1, 1], [0, 0], [0, 0], [1, 1])
    assert_same(made, [x], [floats(1, 4, 8, 8)], 1e-1, tmp_path)
    graph = onnx.load(tmp_path / "made.onnx").graph
    (product,) = (node for node in graph.node if node.op_type == "Conv")
    (maker,) = (node for node in graph.node if product.input[1] in node.output)
    (written,) = (item for item in graph.initializer if item.name == maker.input[0])
    assert maker.op_type == "DequantizeLinear"
    assert onnx.numpy_helper.to_array(written).dtype == kind
    save(convert(load(tmp_path / "made.onnx"), to="openvino"), tmp_path / "again.xml")
    save(convert(load(tmp_path / "again.xml"), to="onnx"), tmp_path / "again.onnx")
    again = onnx.load(tmp_path / "again.onnx").graph
    # A zero point that is 0 has no place in an IR.
    kept = [item.name for item in graph.initializer if onnx.numpy_helper.to_array(item).any()]
    assert [item.name for item in again.initializer] == kept


def test_half_precision(tmp_path: Path) -> None:
    x = parameter(*SHAPE, kind=openvino.Type.f16)
    sides = [ov.constant(np.asarray(value, np.float16)) for value in (-1, 1, -1, 1)]
    made = ov.fake_quantize(x, *sides, 256)
    path = converted_to_onnx([Result(made.output(0))], [x], tmp_path, 17)
    inputs = [floats(*SHAPE).astype(np.float16)]
    np.testing.assert_allclose(harness.run_onnx(path, inputs)[0], in_openvino(tmp_path / "made.xml", inputs), atol=1e-3)


def test_broadcasting_by_pdpd_is_refused(tmp_path: Path) -> None:
    x = parameter(*SHAPE)
    made = Result(ov.fake_quantize(x, *ends(-1, 1, -1, 1), 256, "pdpd").output(0))
    assert_refused_in_onnx([made], [x], tmp_path, "its auto_broadcast 'pdpd' is not covered")
