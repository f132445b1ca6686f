"""Rows of products up to each element, and of bits taken for another type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.passes.conversion import harness, judged

FLOATS = ("float32_to_int32", "2d_float32_to_int32", "scalar_float32_to_int32", "float64_to_int64")
REFUSED = {("openvino", f"bitcast_{name}"): "OpenVINO does not take the bits of" for name in FLOATS} | {
    ("openvino", f"bitcast_{name}"): "OpenVINO does not take the bits of"
    for name in ("int32_to_float32", "int64_to_float64")
}


@pytest.mark.parametrize(
    ("way", "case"), [entry for entry in judged.parameters("CumProd", "BitCast") if entry.values[0] == "openvino"]
)
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    judged.judge(way, case, tmp_path, refused=REFUSED, limited={}, rtol=1e-5, atol=0)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("axis", [0, 1, -1, -3])
@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float16])
def test_products(dtype: type, exclusive: int, reverse: int, axis: int, is_known: bool, tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(-3, 4, (2, 3, 4)).astype(dtype)
    model, values = judged.one_node(
        "CumProd", {"x": x, "axis": np.int64(axis)}, opset=26, constants=["axis"] if is_known else [], dynamic=["x"],
        exclusive=exclusive, reverse=reverse,
    )  # fmt: skip
    ordered = np.flip(x, axis) if reverse else x
    if exclusive:
        first = np.ones_like(np.take(ordered, [0], axis))
        ordered = np.concatenate([first, np.delete(ordered, -1, axis)], axis)
    products = np.cumprod(ordered, axis, dtype=dtype)
    expected = np.flip(products, axis) if reverse else products
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[expected], rtol=1e-3, atol=0)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_products_of_nothing(shape: tuple[int, ...], tmp_path: Path) -> None:
    inputs = {"x": np.zeros(shape, np.float32), "axis": np.int64(-1)}
    model, values = judged.one_node("CumProd", inputs, opset=26, constants=["axis"], dynamic=["x"])
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[inputs["x"]], rtol=0, atol=0)


@pytest.mark.parametrize("unsigned", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("is_to_signed", [True, False])
def test_bits_of_integers(unsigned: type, is_to_signed: bool, tmp_path: Path) -> None:
    """Also where more is made of the result."""
    signed = np.dtype(f"i{np.dtype(unsigned).itemsize}").type
    source, to = (unsigned, signed) if is_to_signed else (signed, unsigned)
    bits = np.array([0, 1, np.iinfo(signed).max, int(np.iinfo(signed).max) + 1, np.iinfo(unsigned).max], unsigned)
    x = bits.view(source)
    model, values = judged.one_node("BitCast", {"x": x}, opset=26, to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[bits.view(to)], rtol=0, atol=0)
    if to is np.uint32:
        # OpenVINO's CPU computes them as signed ones.
        return
    model.graph.node.append(helper.make_node("Cast", ["y0"], ["z"], to=TensorProto.FLOAT))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("z", TensorProto.FLOAT, [5]))
    expected = bits.view(to).astype(np.float32)
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[expected], rtol=0, atol=0)


def test_bits_of_floats_are_refused(tmp_path: Path) -> None:
    node = helper.make_node("BitCast", ["x"], ["y"], to=TensorProto.BFLOAT16)
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT16, [2])
    graph = helper.make_graph([node], "graph", [info], [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)], ir_version=10)
    judged.assert_refused_in_openvino(model, tmp_path, "OpenVINO does not take the bits of float16 for bfloat16")
