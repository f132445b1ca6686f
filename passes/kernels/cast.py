"""ONNX Cast, versions 1 to 28, and CastLike, versions 15 to 25: between all types but strings."""

from __future__ import annotations

import functools

import numpy as np

from maxfold.model.dtypes import DTYPES, DType, from_onnx
from maxfold.passes.kernels.call import Array, Call, KernelError, Result
from maxfold.passes.kernels.elementwise import first_alone, settle_nan
from maxfold.passes.kernels.kernel import Kernel
from maxfold.passes.kernels.rounding import rounded
from maxfold.passes.signature_table import result_types

_NAMES_BEFORE = 6
_FLOAT8 = ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ")
_SCALE = "FLOAT8E8M0"
_SCALE_EXPONENT = 127
_SCALE_NAN = 0xFF
_BY_NAME = {dtype.name: dtype for dtype in DTYPES}

_POLICY = (
    "Floats are rounded once, to nearest with ties to even, integers keep their low bits, floats become integers "
    "towards zero; a NaN result is the positive quiet NaN, in types of 8 bits with the sign of the operand. What the "
    "specification leaves undefined is left alone."
)


def converted(values: Array, source: DType, target: DType, *, saturate: bool = True, round_mode: str = "up") -> Array:
    """A new array of the numbers of `values` (type `source`) in `target`. Source: ONNX Cast-28.

    `saturate` is for 8-bit floats, `round_mode` for FLOAT8E8M0. Raises KernelError for strings and for values whose
    conversion the specification leaves undefined.
    """
    if "string" in (source.kind, target.kind):
        raise KernelError("conversions of strings are left to the runtime")
    if source == target:
        return np.array(values, order="C")
    with np.errstate(all="ignore"):
        return np.asarray(_numbers(values, source, target, saturate, round_mode), dtype=target.numpy, order="C")


def _numbers(values: Array, source: DType, target: DType, saturate: bool, round_mode: str) -> Array:
    plain = _plain(values, source)
    if target.kind == "bool":
        return np.asarray(plain != 0)
    if target.kind in ("int", "uint"):
        return _low_bits(_truncated(plain, target) if source.kind == "float" else plain, target)
    if target.name == _SCALE:
        return _scale(plain, saturate, round_mode)
    if target.bits < 8 and np.isnan(plain).any():
        raise KernelError(f"the specification does not say what NaN becomes in {target}")
    result = rounded(plain, target)
    if target.name in _FLOAT8:
        return _saturated(result, plain, target) if saturate else result
    if target.bits >= 8:
        settle_nan(result)
    return result


def _plain(values: Array, source: DType) -> Array:
    """The same numbers in a type of numpy's own: float32 holds those of every narrower float type."""
    if source.kind == "float":
        return values.astype(np.float64 if source.bits == 64 else np.float32, copy=False)
    return values.astype(np.uint64 if source.kind == "uint" else np.int64, copy=False)


def _truncated(values: Array, target: DType) -> Array:
    low = -(2.0 ** (target.bits - 1)) if target.kind == "int" else 0.0
    high = 2.0 ** (target.bits - 1 if target.kind == "int" else target.bits)
    whole = np.trunc(values)
    if not ((whole >= low) & (whole < high)).all():
        raise KernelError(f"a float is outside of {target}, and the specification does not say what it becomes")
    return whole.astype(np.int64 if target.kind == "int" else np.uint64)


def _low_bits(values: Array, target: DType) -> Array:
    if target.bits >= 8:
        return values.astype(target.numpy)
    low = (values & values.dtype.type((1 << target.bits) - 1)).astype(np.int64)
    if target.kind == "int":
        sign = 1 << (target.bits - 1)
        low = (low ^ sign) - sign
    return np.asarray(low, dtype=target.numpy)


def _saturated(result: Array, values: Array, target: DType) -> Array:
    """Numbers beyond the largest one, infinities too, become that."""
    beyond = ~np.isfinite(result) & ~np.isnan(values)
    largest = np.copysign(np.float32(_largest(target)), values.astype(np.float32)).astype(target.numpy)
    return np.where(beyond, largest, result)


@functools.cache
def _largest(target: DType) -> float:
    every = np.arange(256, dtype=np.uint8).view(target.numpy).astype(np.float64)
    return float(every[np.isfinite(every)].max())


def _scale(values: Array, saturate: bool, round_mode: str) -> Array:
    """Powers of two from 2**-127 to 2**127 as their exponents; a 0 is below the least."""
    if round_mode not in ("up", "down", "nearest"):
        raise KernelError(f"attribute round_mode is {round_mode!r}, none of up, down and nearest")
    numbers = rounded(values, _BY_NAME["DOUBLE"])
    if (np.signbit(numbers) & ~np.isnan(numbers)).any():
        raise KernelError(f"the specification does not say what a negative number becomes in {_SCALE.lower()}")
    fraction, exponent = np.frexp(numbers)
    goes_up = {"up": fraction > 0.5, "down": fraction > 1.0, "nearest": fraction >= 0.75}[round_mode]
    power = exponent.astype(np.int64) - 1 + goes_up
    power = np.where(numbers == 0, -_SCALE_EXPONENT, np.where(np.isinf(numbers), _SCALE_EXPONENT, power))
    bits = (np.clip(power, -_SCALE_EXPONENT, _SCALE_EXPONENT) + _SCALE_EXPONENT).astype(np.uint8)
    outside = (numbers > 2.0**_SCALE_EXPONENT) | (numbers < 2.0**-_SCALE_EXPONENT)
    no_number = np.isnan(numbers) if saturate else np.isnan(numbers) | outside
    return np.asarray(np.where(no_number, np.uint8(_SCALE_NAN), bits)).view(_BY_NAME[_SCALE].numpy)


def _target(call: Call) -> DType:
    """The type that Cast names: by a string before version 6, by a number since."""
    named = call.opset < _NAMES_BEFORE
    dtype = _BY_NAME.get(call.text("to", "")) if named else from_onnx(call.integer("to"))
    if dtype is None or f"tensor({dtype})" not in result_types("Cast", call.opset):
        raise KernelError(f"attribute to is {call.attributes.get('to')!r}, no type that this operator set casts to")
    return dtype


def _cast_results(call: Call) -> tuple[Result, ...]:
    return (Result(_target(call), call.shape(0)),)


def _cast_like_results(call: Call) -> tuple[Result, ...]:
    return (Result(call.dtype(1), call.shape(0)),)


def _evaluate(call: Call, target: DType) -> tuple[Array, ...]:
    saturate, round_mode = call.integer("saturate", 1), call.text("round_mode", "up")
    return (converted(call.array(0), call.dtype(), target, saturate=bool(saturate), round_mode=round_mode),)


def _cast(call: Call) -> tuple[Array, ...]:
    return _evaluate(call, _target(call))


def _cast_like(call: Call) -> tuple[Array, ...]:
    return _evaluate(call, call.dtype(1))


CAST: tuple[Kernel, ...] = (
    Kernel("Cast", "", 1, 28, _POLICY, _cast_results, _cast, rows=first_alone),
    Kernel("CastLike", "", 15, 25, _POLICY, _cast_like_results, _cast_like),
)
