"""ONNX QuantizeLinear and DequantizeLinear, versions 10 to 28, and DynamicQuantizeLinear, version 11.

What the documents leave open is declined: a step in a type that does not hold its operands, a float zero point.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from maxfold.model.dtypes import DTYPES, DType, from_onnx
from maxfold.passes.kernels.call import Array, Call, KernelError, Result, Shape, axis_of
from maxfold.passes.kernels.cast import converted
from maxfold.passes.kernels.elementwise import finished
from maxfold.passes.kernels.kernel import Kernel
from maxfold.passes.kernels.rounding import rounded
from maxfold.passes.signature_table import result_types

_PER_AXIS_SINCE = 13
_BY_NAME = {dtype.name: dtype for dtype in DTYPES}
_FLOAT, _DOUBLE, _UINT8, _INT64 = (_BY_NAME[name] for name in ("FLOAT", "DOUBLE", "UINT8", "INT64"))
_SINGLE: tuple[Shape, ...] = ((), (1,))
_STEPS = ("FLOAT", "FLOAT16", "BFLOAT16")


def _quantize_results(call: Call) -> tuple[Result, ...]:
    _granularity(call)
    return (Result(_quantized_type(call), call.shape(0)),)


def _quantize(call: Call) -> tuple[Array, ...]:
    (result,) = _quantize_results(call)
    axis, block = _granularity(call)
    # Before version 23 the scale is of the type of the first input, or float.
    step = _named_type(call, "precision", _STEPS) or call.dtype(1)
    if step.name not in _STEPS:
        raise KernelError(f"how the quotient is rounded in {step} is not specified")
    x = _exact(call.array(0), call.dtype(), step, "an input")
    scale = _spread(_exact(call.array(1), call.dtype(1), step, "a scale"), result.shape, axis, block)
    with np.errstate(all="ignore"):
        # Quotients of narrower floats that are rounded to double first come out as if rounded once.
        quotient = rounded(x.astype(np.float64) / scale.astype(np.float64), step)
        zero_point = call.optional(2)
        offset = np.zeros((), result.dtype.numpy) if zero_point is None else zero_point.array
        if result.dtype.kind == "float":
            _check_zero_point(quotient, offset, zero_point is not None)
            saturate = bool(call.integer("saturate", 1))
            return (converted(quotient, step, result.dtype, saturate=saturate),)
        return (_saturated(quotient, _spread(offset, result.shape, axis, block), result.dtype),)


def _saturated(quotient: Array, zero_point: Array, dtype: DType) -> Array:
    if np.isnan(quotient).any():
        raise KernelError(f"the specification does not say what NaN becomes in {dtype}")
    low = -(1 << dtype.bits - 1) if dtype.kind == "int" else 0
    offset = zero_point.astype(np.int64)
    whole = np.rint(quotient.astype(np.float64)) + offset
    limited = np.clip(whole, low, low + (1 << dtype.bits) - 1)
    return np.asarray(limited.astype(np.int64).astype(dtype.numpy), order="C")


def _check_zero_point(quotient: Array, offset: Array, is_given: bool) -> None:
    if not is_given:
        return
    if (offset.astype(np.float64) != 0).any():
        raise KernelError("how a zero point of a float type is added is not specified")
    if ((quotient == 0) & np.signbit(quotient)).any():
        raise KernelError("a zero point is added to -0.0 by some and not by others")


def _dequantize_results(call: Call) -> tuple[Result, ...]:
    _granularity(call)
    dtype = _named_type(call, "output_dtype", _output_types("DequantizeLinear", call.opset)) or call.dtype(1)
    if dtype.name not in _STEPS:
        raise KernelError(f"the scale is of type {dtype}, which is no type of the result, and no other is named")
    return (Result(dtype, call.shape(0)),)


def _dequantize(call: Call) -> tuple[Array, ...]:
    (result,) = _dequantize_results(call)
    axis, block = _granularity(call)
    scale = _spread(_exact(call.array(1), call.dtype(1), result.dtype, "a scale"), result.shape, axis, block)
    is_float = call.dtype().kind == "float"
    wide = _DOUBLE if is_float else _INT64
    x = call.array(0).astype(wide.numpy)
    zero_point = call.optional(2)
    if zero_point is not None:
        offset = zero_point.array.astype(wide.numpy)
        if zero_point.dtype.name == "INT32" and offset.any():
            raise KernelError("a zero point of type int32 is 0")
        x = x - _spread(offset, result.shape, axis, block)
    with np.errstate(all="ignore"):
        difference = _exact(x, wide, result.dtype, "an input without its zero point")
        product = difference.astype(np.float64) * scale.astype(np.float64)
        return (finished(rounded(product, result.dtype), result),)


def _dequantized_rows(call: Call) -> Sequence[bool] | None:
    axis, block = _granularity(call)
    if block > 0 and len(call.shape(1)) != 1:
        return None
    return [index == 0 or (block > 0 and axis == 0) for index in range(len(call.inputs))]


def _granularity(call: Call) -> tuple[int, int]:
    """The axis, and how many elements along it share a scale; 0 of them: one scale for all."""
    shape, scale = call.shape(0), call.shape(1)
    zero_point = call.optional(2)
    is_single = scale in _SINGLE
    if zero_point is not None and zero_point.shape not in (_SINGLE if is_single else (scale,)):
        raise KernelError(f"the zero point is of shape {zero_point.shape}, and the scale of shape {scale}")
    if is_single:
        return 0, 0
    if call.opset < _PER_AXIS_SINCE:
        raise KernelError(f"the scale is of shape {scale}, and in this operator set a scalar")
    axis, block = axis_of(call.integer("axis", 1), len(shape)), call.integer("block_size", 0)
    expected: Shape = (shape[axis],)
    if block > 0:
        expected = (*shape[:axis], -(-shape[axis] // block), *shape[axis + 1 :])
    if block < 0 or scale != expected:
        raise KernelError(f"a scale of shape {scale} does not fit shape {shape} in axis {axis}, block size {block}")
    return axis, block or 1


def _spread(values: Array, shape: Shape, axis: int, block: int) -> Array:
    """Scales or zero points as numpy broadcasts them to the shape of the first input."""
    if block == 0 or values.ndim == 0:
        return values.reshape(())
    if values.ndim < len(shape):
        return values.reshape((-1,) + (1,) * (len(shape) - axis - 1))
    owners = np.arange(shape[axis]) // block
    return np.take(values, owners, axis=axis)


def _exact(values: Array, source: DType, target: DType, what: str) -> Array:
    """Values in the type that a step is computed in; KernelError where it does not hold them."""
    result = converted(values, source, target)
    with np.errstate(all="ignore"):
        differs = (result.astype(np.float64) != values.astype(np.float64)) & ~np.isnan(result)
    if differs.any():
        raise KernelError(f"{what} is not exact in {target}, in which the step is computed")
    return result


def _quantized_type(call: Call) -> DType:
    named = _named_type(call, "output_dtype", _output_types("QuantizeLinear", call.opset))
    zero_point = call.optional(2)
    if zero_point is None:
        return named or _UINT8
    if named not in (None, zero_point.dtype):
        raise KernelError(f"attribute output_dtype names {named}, and the zero point is of type {zero_point.dtype}")
    return zero_point.dtype


def _named_type(call: Call, name: str, allowed: tuple[str, ...]) -> DType | None:
    """The type that an attribute names, None where it names none."""
    value = call.integer(name, 0)
    dtype = from_onnx(value)
    if value != 0 and (dtype is None or dtype.name not in allowed):
        raise KernelError(f"attribute {name} is {value}, no type that this operator set allows")
    return dtype


@functools.cache
def _output_types(operator: str, opset: int) -> tuple[str, ...]:
    allowed = result_types(operator, opset)
    return tuple(dtype.name for dtype in DTYPES if f"tensor({dtype})" in allowed)


def _dynamic_results(call: Call) -> tuple[Result, ...]:
    return Result(_UINT8, call.shape(0)), Result(_FLOAT, ()), Result(_UINT8, ())


def _dynamic(call: Call) -> tuple[Array, ...]:
    """The function body of the operator, step by step in float32."""
    x, zero, levels = call.array(0), np.float32(0), np.float32(255)
    if not x.size or not np.isfinite(x).all():
        raise KernelError("the range of the values is empty or not finite")
    low, high = np.minimum(x.min(), zero), np.maximum(x.max(), zero)
    with np.errstate(all="ignore"):
        scale = (high - low) / levels
        if not np.isfinite(scale) or scale == 0:
            raise KernelError("the range of the values has no scale that is a positive number")
        zero_point = np.rint(np.clip(zero - low / scale, zero, levels)).astype(np.uint8)
        quantized = _saturated(x / scale, zero_point, _UINT8)
    return quantized, np.array(scale), np.array(zero_point)


QUANTIZATION: tuple[Kernel, ...] = (
    Kernel(
        "QuantizeLinear",
        "",
        10,
        28,
        "The quotient is rounded to the type of the scale or of `precision`, then to the type of the result.",
        _quantize_results,
        _quantize,
    ),
    Kernel(
        "DequantizeLinear",
        "",
        10,
        28,
        "The difference is exact; the product is rounded once to the type of the result.",
        _dequantize_results,
        _dequantize,
        rows=_dequantized_rows,
    ),
    Kernel(
        "DynamicQuantizeLinear",
        "",
        11,
        11,
        "Every step of the operator's function body is rounded to float32.",
        _dynamic_results,
        _dynamic,
    ),
)
