"""Products of quantized operands: MatMulInteger, ConvInteger, QLinearMatMul and QLinearConv.

Differences of integers and their products are exact in f32, and so are sums below 2^24.
"""

from __future__ import annotations

import numpy as np

from maxfold.model.data import Array
from maxfold.model.dtypes import DType
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import openvino_scalar
from maxfold.passes.conversion.parts.quantized import (
    NUMPY,
    aligned,
    converted,
    faked,
    input_type,
    is_zero,
    placed_value,
    real,
    rounded,
    why_not_faked,
)
from maxfold.passes.conversion.parts.tensors import per_channel, reshaped
from maxfold.passes.conversion.row import Row, from_onnx
from maxfold.passes.conversion.rows.convolution import convolved, filter_shape
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NOT_TRANSPOSED = {"transpose_a": False, "transpose_b": False}
_FILTER_AXIS = 0


def matrix_parameter(site: OpenvinoSite, index: int, *, is_left: bool) -> Tensor:
    """A scale or zero point of a matrix: one, one for each row of the left factor or each column of the right one."""
    tensor, shape = site.input(index), site.shape(index)
    if shape is None:
        raise UnsupportedError(f"the rank of input {index} is not known")
    if len(shape) != 1:
        return tensor
    if shape[0] == 1:
        return reshaped(site, tensor, [])
    return reshaped(site, tensor, [-1, 1]) if is_left else tensor


def difference(site: OpenvinoSite, index: int, zero_point: Tensor | None) -> Tensor:
    """An operand of integers without its zero point, as f32."""
    return real(site, site.input(index), input_type(site, index), None, zero_point, "f32")


def matrix_difference(site: OpenvinoSite, index: int, zero_index: int, *, is_left: bool) -> Tensor:
    """A factor without its zero point, as f32."""
    has_none = is_zero(site, zero_index)
    return difference(site, index, None if has_none else matrix_parameter(site, zero_index, is_left=is_left))


def product(site: OpenvinoSite, a: Tensor, b: Tensor) -> Tensor:
    """A matrix product."""
    made: Tensor = site.add("MatMul", [a, b], _NOT_TRANSPOSED)
    return made


def scale_of(site: OpenvinoSite, index: int, scale: Tensor) -> Tensor:
    """A scale as f32."""
    return converted(site, scale, input_type(site, index), "f32")


def known_target(site: OpenvinoSite, scale_index: int, zero_index: int, to: DType) -> tuple[Array, Array] | None:
    """Scale and zero point of a result where they are constants and a FakeQuantize gives the same, else None."""
    scale = placed_value(site, scale_index, site.input(scale_index))
    zero_point = np.zeros((), np.int64) if is_zero(site, zero_index) else site.value(zero_index)
    if scale is None or zero_point is None or scale.size != 1 or zero_point.size != 1:
        return None
    known = scale.reshape(()), zero_point.reshape(())
    return known if why_not_faked(*known, to) is None else None


def _matmul_integer_to_openvino(site: OpenvinoSite) -> None:
    a = matrix_difference(site, 0, 2, is_left=True)
    b = matrix_difference(site, 1, 3, is_left=False)
    site.result(site.add("Convert", [product(site, a, b)], {"destination_type": "i32"}))


def _conv_integer_to_openvino(site: OpenvinoSite) -> None:
    shape = filter_shape(site, 1)
    x = difference(site, 0, None if is_zero(site, 2) else openvino_scalar(site, 2))
    zero_point = None if is_zero(site, 3) else aligned(site, 3, len(shape), _FILTER_AXIS)
    result = convolved(site, x, difference(site, 1, zero_point), shape)
    site.result(site.add("Convert", [result], {"destination_type": "i32"}))


def _qlinear_matmul_to_openvino(site: OpenvinoSite) -> None:
    to = input_type(site, 7)
    a = matrix_difference(site, 0, 2, is_left=True)
    b = matrix_difference(site, 3, 5, is_left=False)
    scales = [
        scale_of(site, index, matrix_parameter(site, index, is_left=is_left))
        for index, is_left in ((1, True), (4, False))
    ]
    known = known_target(site, 6, 7, to)
    if known is not None:
        factors = [site.add("Multiply", pair, NUMPY) for pair in ([a, scales[0]], [b, scales[1]])]
        site.result(faked(site, product(site, *factors), *known, to))
        return
    target = scale_of(site, 6, matrix_parameter(site, 6, is_left=True))
    zero_point = converted(site, matrix_parameter(site, 7, is_left=True), to, "f32")
    _requantize(site, product(site, a, b), (scales[0], scales[1], target), zero_point, to)


def _requantize(
    site: OpenvinoSite, sums: Tensor, scales: tuple[Tensor, Tensor, Tensor], zero_point: Tensor, to: DType
) -> None:
    """Sums as integers of the scale of the result, by one factor, as runtimes do it."""
    factor = site.add("Divide", [site.add("Multiply", list(scales[:2]), NUMPY), scales[2]], NUMPY)
    site.result(rounded(site, site.add("Multiply", [sums, factor], NUMPY), zero_point, to))


def _qlinear_conv_to_openvino(site: OpenvinoSite) -> None:
    to, shape = input_type(site, 7), filter_shape(site, 3)
    rank = len(shape)
    x = difference(site, 0, None if is_zero(site, 2) else openvino_scalar(site, 2))
    zero_point = None if is_zero(site, 5) else aligned(site, 5, rank, _FILTER_AXIS)
    filters = difference(site, 3, zero_point)
    x_scale = scale_of(site, 1, openvino_scalar(site, 1))
    known = known_target(site, 6, 7, to)
    if known is None:
        w_scale = scale_of(site, 4, aligned(site, 4, rank, 1))
        sums = convolved(site, x, filters, shape)
        if site.has_input(8):
            sums = site.add("Add", [sums, _bias(site, rank)], NUMPY)
        y_scale = scale_of(site, 6, openvino_scalar(site, 6))
        moved = converted(site, openvino_scalar(site, 7), to, "f32")
        _requantize(site, sums, (x_scale, w_scale, y_scale), moved, to)
        return
    w_scale = scale_of(site, 4, aligned(site, 4, rank, _FILTER_AXIS))
    x, filters = (site.add("Multiply", pair, NUMPY) for pair in ([x, x_scale], [filters, w_scale]))
    result = convolved(site, x, filters, shape)
    if site.has_input(8):
        w_scale = scale_of(site, 4, aligned(site, 4, rank, 1))
        scale = site.add("Multiply", [x_scale, w_scale], NUMPY)
        result = site.add("Add", [result, site.add("Multiply", [_bias(site, rank), scale], NUMPY)], NUMPY)
    site.result(faked(site, result, *known, to))


def _bias(site: OpenvinoSite, rank: int) -> Tensor:
    """A bias of integers as f32, one for each channel of the result."""
    return per_channel(site, converted(site, site.input(8), input_type(site, 8), "f32"), rank)


_SUMS = "Sums are made in f32, exact below 2^24."
_STEP = "1 step, where a result comes next to half-way between two"
_FAKED = "The result becomes a FakeQuantize where its scale and zero point are constants and ties are the same."

ROWS: tuple[Row, ...] = (
    *from_onnx(
        "MatMulInteger", "MatMul-1", _matmul_integer_to_openvino,
        tolerance="exact below 2^24, else 1e-6 relative", limits=_SUMS,
    ),
    *from_onnx(
        "ConvInteger", "Convolution-1", _conv_integer_to_openvino,
        tolerance="exact below 2^24, else 1e-6 relative", limits=f"{_SUMS} 1 to 3 spatial dimensions.",
    ),
    *from_onnx(
        "QLinearMatMul", "MatMul-1", _qlinear_matmul_to_openvino, tolerance=_STEP, limits=f"{_SUMS} {_FAKED}",
    ),
    *from_onnx(
        "QLinearConv", "Convolution-1", _qlinear_conv_to_openvino, tolerance=_STEP,
        limits=f"{_SUMS} {_FAKED} 1 to 3 spatial dimensions.",
    ),
)  # fmt: skip
