"""Weights that an IR stores in 8 or 4 bits: as they are stored, behind DequantizeLinear or a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import openvino
import openvino.opset13 as ov
import pytest
from openvino.op import Constant, Parameter, Result

from tests.passes.conversion import harness
from tests.passes.conversion.judged import converted_to_onnx

ROWS, COLUMNS, BLOCK = 16, 64, 16
INTEGERS = {"u8": (0, 256), "i8": (-128, 128), "u4": (0, 16), "i4": (-8, 8)}
FLOATS = {"f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2}
SHAPES = {
    "tensor": ([ROWS, COLUMNS], [1, 1]),
    "rows": ([ROWS, COLUMNS], [ROWS, 1]),
    "columns": ([ROWS, COLUMNS], [COLUMNS]),
    "blocks": ([ROWS, COLUMNS // BLOCK, BLOCK], [ROWS, COLUMNS // BLOCK, 1]),
}
WIDE = {"f32": (openvino.Type.f32, np.float32), "f16": (openvino.Type.f16, np.float16)}
# OpenVINO's CPU makes integers of the other operand too, unless told not to.
IN_FLOATS = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
# OpenVINO does not copy them.
SHARED: list[Any] = []
GENERATOR = np.random.default_rng(0)


def stored(kind: str, shape: list[int]) -> Any:
    """Weights of a type, as their file has them."""
    dtype = getattr(openvino.Type, kind)
    if kind in FLOATS:
        raw = GENERATOR.standard_normal(shape).astype(FLOATS[kind]).view(np.uint8)
        SHARED.append(raw)
        return Constant(openvino.Tensor(raw, openvino.Shape(shape), dtype))
    values = GENERATOR.integers(*INTEGERS.get(kind, (0, 16)), shape)
    if kind in ("u8", "i8"):
        return ov.constant(values.astype(np.uint8 if kind == "u8" else np.int8))
    codes = np.append(values.reshape(-1) & 15, np.zeros(values.size % 2, np.int64))
    packed = (codes[0::2] | codes[1::2] << 4).astype(np.uint8)
    SHARED.append(packed)
    return Constant(openvino.Tensor(packed, openvino.Shape(shape), dtype))


def weights(kind: str, wide: str, layout: str, point: Any = None) -> Any:
    """Weights as OpenVINO and NNCF compress them."""
    dtype, numpy_type = WIDE[wide]
    shape, scale = SHAPES[layout]
    numbers = ov.convert(stored(kind, shape), dtype)
    if point is not None:
        numbers = ov.subtract(numbers, ov.convert(point, dtype))
    factor = ov.constant((GENERATOR.random(scale) / 100 + 0.001).astype(numpy_type))
    numbers = ov.multiply(numbers, factor)
    if layout == "blocks":
        numbers = ov.reshape(numbers, ov.constant(np.asarray([ROWS, COLUMNS])), False)
    return numbers if wide == "f32" else ov.convert(numbers, openvino.Type.f32)


def check(made: Any, folder: Path, *, opset: int, rtol: float = 1e-6, is_product: bool = True) -> onnx.ModelProto:
    """The product with the weights, or the sum, is that of OpenVINO."""
    x = Parameter(openvino.Type.f32, openvino.PartialShape([-1, COLUMNS]))
    used = ov.matmul(x, made, False, True) if is_product else ov.add(x, made)
    path = converted_to_onnx([Result(used.output(0))], [x], folder, opset)
    inputs = [GENERATOR.standard_normal((3 if is_product else 1, COLUMNS)).astype(np.float32)]
    wanted = [openvino.Core().compile_model(folder / "made.xml", "CPU", IN_FLOATS)(inputs)[0]]
    harness.assert_close(harness.run_onnx(path, inputs), wanted, rtol=0, atol=rtol * float(np.abs(wanted[0]).max()))
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    return model


def kinds(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node if node.op_type not in ("Transpose", "MatMul", "Add")]


@pytest.mark.parametrize("has_point", [False, True])
@pytest.mark.parametrize("layout", ["tensor", "rows", "columns"])
@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize(("kind", "opset"), [("u8", 13), ("i8", 17), ("u4", 21), ("i4", 21)])
def test_a_scale_of_all_or_of_an_axis(
    kind: str, opset: int, wide: str, layout: str, has_point: bool, tmp_path: Path
) -> None:
    point = stored(kind, SHAPES[layout][1]) if has_point else None
    # OpenVINO's CPU takes scales of columns for those of rows in a product, or fails.
    is_product = layout != "columns"
    rtol = 1e-6 if is_product or wide == "f32" else 1e-3
    model = check(weights(kind, wide, layout, point), tmp_path, opset=opset, rtol=rtol, is_product=is_product)
    assert [name for name in kinds(model) if name != "Cast"] == ["DequantizeLinear"]
    assert sum(len(item.raw_data) for item in model.graph.initializer) <= (tmp_path / "made.bin").stat().st_size


@pytest.mark.parametrize("has_point", [False, True])
@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("kind", INTEGERS)
def test_a_scale_of_each_block(kind: str, wide: str, has_point: bool, tmp_path: Path) -> None:
    point = stored(kind, SHAPES["blocks"][1]) if has_point else None
    model = check(weights(kind, wide, "blocks", point), tmp_path, opset=21)
    assert [name for name in kinds(model) if name != "Cast"] == ["DequantizeLinear", "Reshape"]
    (node,) = [node for node in model.graph.node if node.op_type == "DequantizeLinear"]
    assert {item.name: item.i for item in node.attribute} == {"axis": 2, "block_size": BLOCK}


def test_blocks_are_composed_where_the_operator_set_has_none(tmp_path: Path) -> None:
    model = check(weights("u8", "f32", "blocks", stored("u8", SHAPES["blocks"][1])), tmp_path, opset=17)
    assert kinds(model) == ["Cast", "Cast", "Sub", "Mul", "Reshape"]


@pytest.mark.parametrize("layout", ["tensor", "rows"])
@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("kind", FLOATS)
def test_floats_of_8_bits(kind: str, wide: str, layout: str, tmp_path: Path) -> None:
    model = check(weights(kind, wide, layout), tmp_path, opset=19)
    assert [name for name in kinds(model) if name != "Cast"] == ["DequantizeLinear"]


@pytest.mark.parametrize("layout", ["tensor", "rows", "blocks"])
@pytest.mark.parametrize("wide", WIDE)
def test_codes_of_a_table(wide: str, layout: str, tmp_path: Path) -> None:
    # OpenVINO's CPU does not round to half precision.
    model = check(weights("nf4", wide, layout), tmp_path, opset=21, rtol=1e-6 if wide == "f32" else 1e-3)
    assert kinds(model)[:3] == ["Cast", "Gather", "Mul"]
    codes = next(item for item in model.graph.initializer if item.data_type == onnx.TensorProto.UINT4)
    assert len(codes.raw_data) == ROWS * COLUMNS // 2


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_one_zero_point_of_several_scales(layout: str, tmp_path: Path) -> None:
    made = weights("u8", "f32", layout, ov.constant(np.asarray([[128]], np.uint8)))
    model = check(made, tmp_path, opset=17, is_product=layout != "columns")
    assert kinds(model) == ["DequantizeLinear"]


@pytest.mark.parametrize(
    ("point", "is_integer"), [(128.0, True), (0.5, False), (256.0, False), (-1.0, False), (np.nan, False)]
)
def test_a_zero_point_stored_as_a_float(point: float, is_integer: bool, tmp_path: Path) -> None:
    numbers = ov.convert(stored("u8", [ROWS, COLUMNS]), openvino.Type.f32)
    shifted = ov.subtract(numbers, ov.constant(np.asarray(point, np.float32)))
    x = Parameter(openvino.Type.f32, openvino.PartialShape([1, COLUMNS]))
    made = ov.matmul(x, ov.multiply(shifted, ov.constant(np.float32(0.01))), False, True)
    model = onnx.load(converted_to_onnx([Result(made.output(0))], [x], tmp_path, 17))
    assert kinds(model) == (["DequantizeLinear"] if is_integer else ["Cast", "Sub", "Mul"])


@pytest.mark.parametrize("scale", [[3, 1, COLUMNS], [3, 1, 1], [ROWS, COLUMNS]])
def test_a_scale_that_lies_otherwise(scale: list[int], tmp_path: Path) -> None:
    numbers = ov.convert(stored("u8", [ROWS, COLUMNS]), openvino.Type.f32)
    product = ov.multiply(numbers, ov.constant(GENERATOR.random(scale).astype(np.float32)))
    x = Parameter(openvino.Type.f32, openvino.PartialShape([1, COLUMNS]))
    made = ov.matmul(x, product, False, True)
    model = onnx.load(converted_to_onnx([Result(made.output(0))], [x], tmp_path, 17))
    assert kinds(model) == ["Cast", "Mul"]
