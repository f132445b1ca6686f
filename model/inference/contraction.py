"""Products of matrices, plain and quantized, and changes between integers and floats that stand for them."""

from __future__ import annotations

from collections.abc import Callable

from maxfold.model import dtypes
from maxfold.model.dtypes import DType
from maxfold.model.inference.call import Call
from maxfold.model.inference.elementwise import FLOAT, broadcast_dims, shared_dtype
from maxfold.model.inference.facts import Fact, Unknown
from maxfold.model.inference.symbolic import Dim

INT32 = dtypes.from_onnx(6)
UINT8 = dtypes.from_onnx(2)


def product_dims(left: tuple[Dim, ...] | None, right: tuple[Dim, ...] | None) -> tuple[Dim, ...] | None:
    """The dims of numpy's matmul: vectors lose their dim, leading dims broadcast."""
    if left is None or right is None:
        return None
    if not left or not right:
        raise Unknown
    rows = left[-2:-1]
    columns = right[-1:] if len(right) > 1 else ()
    batch = broadcast_dims([left[:-2], right[:-2]])
    return None if batch is None else batch + rows + columns


def matmul(call: Call) -> Fact:
    """MatMul."""
    return Fact(shared_dtype(call), product_dims(call.dims(0), call.dims(1)))


def matmul_integer(call: Call) -> Fact:
    """MatMulInteger: accumulates in INT32."""
    return Fact(INT32, product_dims(call.dims(0), call.dims(1)))


def qlinear_matmul(call: Call) -> Fact:
    """QLinearMatMul: of the type of its result's zero point."""
    return Fact(call.dtype(7), product_dims(call.dims(0), call.dims(3)))


def gemm(call: Call) -> Fact:
    """Gemm: matrices, transposed on request."""
    dtype = call.dtype(0)
    rows, columns = _matrix_dim(call, 0, "transA", 0), _matrix_dim(call, 1, "transB", 1)
    return Fact(dtype, (rows, columns))


def _matrix_dim(call: Call, index: int, flag: str, position: int) -> Dim | None:
    dims = call.dims(index)
    if dims is None:
        return None
    if len(dims) != 2:
        raise Unknown
    return dims[1 - position if call.attribute(flag, 0) else position]


def quantize(call: Call) -> Fact:
    """QuantizeLinear: to the type of the zero point, or of the attribute `output_dtype`."""
    number = call.attribute("output_dtype", 0)
    dtype: DType | None = UINT8
    if number:
        dtype = dtypes.from_onnx(number)
    elif call.has(2):
        dtype = call.dtype(2)
    return Fact(dtype, call.dims(0))


def dequantize(call: Call) -> Fact:
    """DequantizeLinear: to the type of the scale, or of the attribute `output_dtype`."""
    number = call.attribute("output_dtype", 0)
    return Fact(dtypes.from_onnx(number) if number else call.dtype(1), call.dims(0))


def dynamic_quantize(call: Call) -> list[Fact]:
    """DynamicQuantizeLinear: UINT8 with a scale and a zero point."""
    return [Fact(UINT8, call.dims(0)), Fact(FLOAT, ()), Fact(UINT8, ())]


SHAPE_FUNCTIONS: dict[str, Callable[[Call], Fact | list[Fact]]] = {
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamic_quantize,
    "Gemm": gemm,
    "MatMul": matmul,
    "MatMulInteger": matmul_integer,
    "QLinearMatMul": qlinear_matmul,
    "QuantizeLinear": quantize,
}
