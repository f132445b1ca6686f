"""sign-activations: quantized activations of UINT8 become INT8 for TensorRT, with the same values behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto

from tests.passes.closeness import nodes
from tests.passes.outcome import Outcome, outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import model

QUANTIZED = (
    "q = QuantizeLinear(x, s, z)\n d = DequantizeLinear(q, s, z)\n e = DequantizeLinear(q, t, w)\n y = Add(d, e)"
)


def source_of(
    body: str, *, outputs: str = "", opset: int = 13, zero_point: Any = 128, other: int = 128, kind: Any = np.uint8
) -> ModelProto:
    constants = {
        "s": np.array(0.25, np.float32), "t": np.array(0.5, np.float32), "z": np.asarray(zero_point, kind),
        "w": np.array(other, kind),
    }  # fmt: skip
    used = {name: array for name, array in constants.items() if f" {name})" in body or f" {name}," in body}
    return model(f"g (float[N,4] x) => (float[N,4] y{outputs}) {{ {body} }}", opset=opset, constants=used)


def signed(source: ModelProto, **options: Any) -> Outcome:
    return outcome("sign-activations", source, **{"target": "tensorrt", **options})


@pytest.mark.parametrize("opset", [10, 13, 19, 21])
def test_values_stay(opset: int) -> None:
    source = source_of(QUANTIZED, opset=opset)
    result = signed(source)
    assert result.changes == 1
    values = np.array([-1e9, -50, -32.125, -0.125, -0.0, 0.0, 0.125, 31.9, 50, 1e9, np.inf, -np.inf], np.float32)
    feeds = {"x": values.reshape(3, 4)}
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)
    types = {tensor.name: tensor.data_type for tensor in result.after.graph.initializer}
    assert [types[node.input[2]] for node in result.after.graph.node[:3]] == [TensorProto.INT8] * 3


def test_golden() -> None:
    assert nodes(signed(source_of(QUANTIZED))) == (
        "q_new = QuantizeLinear(x, s, z_constant)\nd = DequantizeLinear(q_new, s, z_constant_1)\n"
        "e = DequantizeLinear(q_new, t, w_constant)\ny = Add(d, e)"
    )


@pytest.mark.parametrize(
    ("source", "options", "reason"),
    [
        (source_of(QUANTIZED), {"target": "any"}, None),
        (source_of(QUANTIZED), {"target": "openvino"}, None),
        (source_of(QUANTIZED), {"target": "onnxruntime"}, None),
        (source_of(QUANTIZED, zero_point=127), {}, "the zero point 'z' is not 128, which TensorRT does not take"),
        (source_of(QUANTIZED, other=0), {}, "the zero point 'w' is not 128, which TensorRT does not take"),
        (source_of(QUANTIZED), {"keep": ["q"]}, "it is to be kept"),
        (source_of(QUANTIZED), {"keep": ["d"]}, "'q' is read by DequantizeLinear, as UINT8"),
        (source_of(QUANTIZED), {"keep": ["w"]}, "'w' is to be kept"),
        (source_of(QUANTIZED, outputs=", uint8[A,B] q"), {}, "'q' is a graph output"),
        (source_of("q = QuantizeLinear(x, s, z)\n y = Cast<to = 1>(q)"), {}, "'q' is read by Cast, as UINT8"),
        (source_of("q = QuantizeLinear(x, s, z)\n d = DequantizeLinear(q, s)\n y = Neg(d)"), {},
         "a zero point is not constant"),
        (source_of("q = QuantizeLinear(x, s, z)\n y = DequantizeLinear(q, s, z)", zero_point=0, other=0, kind=np.int8),
         {}, None),
    ],
)  # fmt: skip
def test_what_stays(source: ModelProto, options: dict[str, Any], reason: str | None) -> None:
    result = signed(source, **options)
    assert (result.changes, result.reasons) == (0, [] if reason is None else [reason])


def test_a_vector_of_zero_points() -> None:
    body = "q = QuantizeLinear<axis = 1>(x, v, z)\n y = DequantizeLinear<axis = 1>(q, v, z)"
    source = source_of(body, zero_point=[128] * 4)
    source.graph.initializer.append(model(
        "g (float x) => (float x) { }", constants={"v": np.array([0.1, 0.2, 0.3, 0.4], np.float32)}
    ).graph.initializer[0])  # fmt: skip
    result = signed(source)
    assert result.changes == 1
    feeds = {"x": np.linspace(-60, 60, 8, dtype=np.float32).reshape(2, 4)}
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)
