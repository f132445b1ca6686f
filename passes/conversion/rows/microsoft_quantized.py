"""ONNX Runtime's own operators on quantized tensors: integers, a scale and a zero point in place of each operand.

What its kernels compute was measured, since nothing else defines them.
"""

from __future__ import annotations

import numpy as np

from maxfold.model.data import Array
from maxfold.model.dtypes import DType
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import openvino_scalar, positive_axis
from maxfold.passes.conversion.parts.quantized import (
    NUMPY,
    converted,
    faked,
    input_type,
    integers_of,
    is_zero,
    placed_value,
    real,
    rounded,
    why_not_faked,
)
from maxfold.passes.conversion.row import Row, ToOpenvino, from_onnx
from maxfold.passes.conversion.rows.pooling import averaged
from maxfold.passes.conversion.rows.quantization import (
    dequantize_to_openvino,
    dynamically_quantized,
    quantize_to_openvino,
)
from maxfold.passes.conversion.rows.quantized_products import (
    difference,
    matrix_difference,
    matrix_parameter,
    product,
    scale_of,
)
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_DOMAIN = "com.microsoft"
_FIRST_SPATIAL = 2
_AXIS_OPSET = 13


def _scale(site: OpenvinoSite, index: int) -> Tensor:
    return scale_of(site, index, openvino_scalar(site, index))


def _real(site: OpenvinoSite, index: int, scale: int, zero_point: int) -> Tensor:
    """The real numbers that an operand stands for."""
    moved = None if is_zero(site, zero_point) else openvino_scalar(site, zero_point)
    return real(site, site.input(index), input_type(site, index), _scale(site, scale), moved, "f32")


def _quantized(
    site: OpenvinoSite, x: Tensor, scale: int, zero_point: int, to: DType, *, rounds_last: bool = False
) -> Tensor:
    """Real numbers as integers. Some operators round after the zero point is added, as a FakeQuantize always does."""
    known = _constants(site, scale, zero_point)
    if known is not None:
        # Where the zero point is added first too, all zero points are as good as the lowest integer.
        compared = np.asarray(integers_of(to).lowest) if rounds_last else known[1]
        if why_not_faked(known[0], compared, to) is None:
            return faked(site, x, *known, to)
    quotient = site.add("Divide", [x, _scale(site, scale)], NUMPY)
    moved_by = None
    if not is_zero(site, zero_point):
        moved_by = converted(site, openvino_scalar(site, zero_point), to, "f32")
    if rounds_last and moved_by is not None:
        quotient, moved_by = site.add("Add", [quotient, moved_by], NUMPY), None
    return rounded(site, quotient, moved_by, to)


def _constants(site: OpenvinoSite, scale: int, zero_point: int) -> tuple[Array, Array] | None:
    factor = placed_value(site, scale, site.input(scale))
    moved = np.zeros((), np.int64) if is_zero(site, zero_point) else site.value(zero_point)
    if factor is None or moved is None or factor.size != 1 or moved.size != 1:
        return None
    return factor.reshape(()), moved.reshape(())


def _binary(operation: str) -> ToOpenvino:
    def convert(site: OpenvinoSite) -> None:
        result = site.add(operation, [_real(site, 0, 1, 2), _real(site, 3, 4, 5)], NUMPY)
        site.result(_quantized(site, result, 6, 7, input_type(site, 0), rounds_last=True))

    return convert


def _sigmoid_to_openvino(site: OpenvinoSite) -> None:
    result = site.add("Sigmoid", [_real(site, 0, 1, 2)])
    site.result(_quantized(site, result, 3, 4, input_type(site, 0)))


def _leaky_relu_to_openvino(site: OpenvinoSite) -> None:
    slope = site.constant([site.attribute("alpha", 0.01)], np.float32)
    result = site.add("PReLU", [_real(site, 0, 1, 2), slope])
    site.result(_quantized(site, result, 3, 4, input_type(site, 0)))


def _softmax_to_openvino(site: OpenvinoSite) -> None:
    """The kernel scales by the whole number below 1 / scale, and rounds halves up."""
    axis, rank, to = site.attribute("axis", -1), site.rank(0), input_type(site, 0)
    place = positive_axis(axis, rank)
    if site.attribute("opset", _AXIS_OPSET) < _AXIS_OPSET and place != rank - 1:
        raise UnsupportedError("dimensions that are flattened, as before operator set 13, are not covered")
    scale = site.value(3)
    if scale is None or scale.size != 1 or not scale.reshape(()) > 0:
        raise UnsupportedError("the scale of its result is no constant above 0")
    steps = np.floor(np.float32(1) / scale.reshape(()).astype(np.float32))
    shares = site.add("SoftMax", [_real(site, 0, 1, 2)], {"axis": place}, opset=8)
    scaled = site.add("Multiply", [shares, site.constant(steps, np.float32)], NUMPY)
    whole = site.add("Floor", [site.add("Add", [scaled, site.constant(0.5, np.float32)], NUMPY)])
    moved_by = None if is_zero(site, 4) else converted(site, openvino_scalar(site, 4), to, "f32")
    site.result(rounded(site, whole, moved_by, to))


def _concat_to_openvino(site: OpenvinoSite) -> None:
    to = input_type(site, 1)
    parts = [_real(site, index, index + 1, index + 2) for index in range(2, site.input_count, 3)]
    axis = positive_axis(site.attribute("axis", 0), site.rank(2))
    result = site.add("Concat", parts, {"axis": axis})
    site.result(_quantized(site, result, 0, 1, to))


def _global_average_to_openvino(site: OpenvinoSite) -> None:
    rank = site.rank(0)
    first = 1 if site.attribute("channels_last", 0) else _FIRST_SPATIAL
    axes = site.constant(list(range(first, first + rank - _FIRST_SPATIAL)), "int64")
    result = site.add("ReduceMean", [_real(site, 0, 1, 2), axes], {"keep_dims": True})
    site.result(_quantized(site, result, 3, 4, input_type(site, 0)))


def _average_to_openvino(site: OpenvinoSite) -> None:
    if site.attribute("channels_last", 0):
        raise UnsupportedError("channels that stand last are not covered")
    result = averaged(site, _real(site, 0, 1, 2), np.float32)
    site.result(_quantized(site, result, 3, 4, input_type(site, 0)))


def _gemm_to_openvino(site: OpenvinoSite) -> None:
    flags = {f"transpose_{side.lower()}": bool(site.attribute(f"trans{side}", 0)) for side in "AB"}
    a = difference(site, 0, None if is_zero(site, 2) else openvino_scalar(site, 2))
    scales, points = (_columns(site, index, is_transposed=flags["transpose_b"]) for index in (4, 5))
    b = difference(site, 3, None if is_zero(site, 5) else points)
    sums = site.add("MatMul", [a, b], flags)
    if site.has_input(6):
        addend = converted(site, site.input(6), input_type(site, 6), "f32")
        sums = site.add("Add", [sums, addend], NUMPY)
    columns = _columns(site, 4, is_transposed=False) if flags["transpose_b"] else scales
    factor = site.add("Multiply", [_scale(site, 1), scale_of(site, 4, columns)], NUMPY)
    alpha = float(site.attribute("alpha", 1.0))
    if alpha != 1:
        factor = site.add("Multiply", [factor, site.constant(alpha, np.float32)], NUMPY)
    result = site.add("Multiply", [sums, factor], NUMPY)
    if site.has_input(8):
        result = _quantized(site, result, 7, 8, input_type(site, 8))
    site.result(result)


def _columns(site: OpenvinoSite, index: int, *, is_transposed: bool) -> Tensor:
    """A scale or zero point of a matrix of weights, one or one a column, which is a row of what is transposed."""
    return matrix_parameter(site, index, is_left=is_transposed)


def _integer_to_float(site: OpenvinoSite) -> None:
    sums = product(site, matrix_difference(site, 0, 4, is_left=True), matrix_difference(site, 1, 5, is_left=False))
    scales = [
        scale_of(site, index, matrix_parameter(site, index, is_left=is_left))
        for index, is_left in ((2, True), (3, False))
    ]
    result = site.add("Multiply", [sums, site.add("Multiply", scales, NUMPY)], NUMPY)
    if site.has_input(6):
        result = site.add("Add", [result, converted(site, site.input(6), input_type(site, 6), "f32")], NUMPY)
    to = input_type(site, 2)
    site.result(result if to.name == "FLOAT" else site.add("Convert", [result], {"destination_type": to.openvino}))


def _dynamic_matmul_to_openvino(site: OpenvinoSite) -> None:
    numbers, scale, zero_point = dynamically_quantized(site)
    wide = [site.add("Convert", [tensor], {"destination_type": "f32"}) for tensor in (numbers, zero_point)]
    a = site.add("Subtract", wide, NUMPY)
    sums = product(site, a, matrix_difference(site, 1, 3, is_left=False))
    factor = site.add("Multiply", [scale, scale_of(site, 2, matrix_parameter(site, 2, is_left=False))], NUMPY)
    result = site.add("Multiply", [sums, factor], NUMPY)
    site.result(site.add("Add", [result, site.input(4)], NUMPY) if site.has_input(4) else result)


_STEP = "1 step, where a result comes next to half-way between two"
_PLAIN: dict[str, tuple[str, ToOpenvino, str]] = {
    "QuantizeLinear": ("FakeQuantize-1", quantize_to_openvino, ""),
    "DequantizeLinear": ("Multiply-1", dequantize_to_openvino, ""),
    "QLinearAdd": ("Add-1", _binary("Add"), ""),
    "QLinearMul": ("Multiply-1", _binary("Multiply"), ""),
    "QLinearConcat": ("Concat-1", _concat_to_openvino, ""),
    "QLinearSigmoid": ("Sigmoid-1", _sigmoid_to_openvino, ""),
    "QLinearLeakyRelu": ("PReLU-1", _leaky_relu_to_openvino, ""),
    "QLinearSoftmax": ("SoftMax-8", _softmax_to_openvino, "The scale of its result must be constant."),
    "QLinearGlobalAveragePool": ("ReduceMean-1", _global_average_to_openvino, ""),
    "QLinearAveragePool": ("AvgPool-1", _average_to_openvino, "Channels that stand last are refused."),
    "QGemm": ("MatMul-1", _gemm_to_openvino, "Sums are made in f32, exact below 2^24."),
}

ROWS: tuple[Row, ...] = (
    *(
        row
        for operator, (operation, convert, limits) in _PLAIN.items()
        for row in from_onnx(f"{_DOMAIN}.{operator}", operation, convert, tolerance=_STEP, limits=limits)
    ),
    *from_onnx(
        f"{_DOMAIN}.MatMulIntegerToFloat", "MatMul-1", _integer_to_float, tolerance="1e-6 relative",
        limits="Sums are made in f32, exact below 2^24.",
    ),
    *from_onnx(
        f"{_DOMAIN}.DynamicQuantizeMatMul", "MatMul-1", _dynamic_matmul_to_openvino,
        tolerance="1 step of the quantized operand",
        limits="Sums are made in f32, exact below 2^24.",
    ),
)  # fmt: skip
