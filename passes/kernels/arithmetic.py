"""ONNX arithmetic in all its versions: binary, variadic and unary operators whose results are defined to the bit.

Pow, Sum and Mean are the exceptions: their formulas leave the rounding open.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from maxfold.passes.kernels.call import Array, Call, KernelError, Operand
from maxfold.passes.kernels.elementwise import (
    binary,
    evaluate_extremum,
    finished,
    is_float,
    unary,
    variadic_results,
)
from maxfold.passes.kernels.kernel import Kernel
from maxfold.passes.kernels.rounding import number_in, rounded, widened

_FLOOR_MOD_OF_FLOATS_SINCE = 28
_LONG_SHIFTS_SINCE = 28
_CLIP_INPUTS_SINCE = 11

_ONCE = (
    "Each value is rounded once to the node's type, to nearest with ties to even, keeping subnormal numbers; "
    "integers wrap around; a NaN result is the positive quiet NaN."
)
_EXACT = "Exact; integers wrap around; a NaN result is the positive quiet NaN."
_WIDE = "Computed in a wider type and rounded once to the node's type; a NaN result is the positive quiet NaN."


def _divide(a: Array, b: Array, call: Call) -> Any:
    if is_float(a):
        return np.divide(a, b)
    _check_divisor(a, b)
    if call.dtype().kind == "int":
        _check_quotient(a, b)
    quotient = np.floor_divide(a, b)
    up = (np.remainder(a, b) != 0) & ((a < 0) != (b < 0))
    return quotient + up.astype(quotient.dtype)


def _check_divisor(a: Array, b: Array) -> None:
    if a.size and (b == 0).any():
        raise KernelError("it divides an integer by zero")


def _check_quotient(a: Array, b: Array) -> None:
    if ((a == np.iinfo(a.dtype).min) & (b == -1)).any():
        raise KernelError("it divides the least integer of the type by -1")


def _modulo(a: Array, b: Array, call: Call) -> Any:
    fmod = call.integer("fmod", 0)
    if fmod not in (0, 1):
        raise KernelError(f"attribute fmod is {fmod}, neither 0 nor 1")
    if not is_float(a):
        _check_divisor(a, b)
        return np.fmod(a, b) if fmod else np.remainder(a, b)
    if not fmod and call.opset < _FLOOR_MOD_OF_FLOATS_SINCE:
        raise KernelError("fmod=0 is for integers in this operator set")
    # Remainders of truncated division are exact in the operands' own type, so in a wider one too.
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    remainder = np.fmod(wide_a, wide_b)
    if not fmod:
        moved = np.where(np.signbit(remainder) == np.signbit(wide_b), remainder, remainder + wide_b)
        remainder = np.where(remainder == 0, np.copysign(0.0, wide_b), moved)
    return rounded(remainder, call.dtype())


def _power(a: Array, b: Array, call: Call) -> Any:
    if is_float(a):
        return rounded(np.power(widened(a, call.dtype(0)), widened(b, call.dtype(1))), call.dtype())
    if is_float(b):
        return _integer_power_of_float(a, b, call)
    _check_exponents(a, b)
    return _integer_power(a, b)


def _check_exponents(a: Array, b: Array) -> None:
    if a.size and (b < 0).any():
        raise KernelError("the specification does not say what a negative power of an integer is")


def _integer_power(base: Array, exponent: Array) -> Any:
    """Powers modulo the width of the base's type, by squaring."""
    unsigned = base.astype(f"u{base.itemsize}")
    left = exponent.astype(np.uint64)
    result = np.ones(np.broadcast_shapes(base.shape, exponent.shape), unsigned.dtype)
    while left.any():
        result = np.where(left & np.uint64(1), result * unsigned, result)
        unsigned, left = unsigned * unsigned, left >> np.uint64(1)
    return result.view(base.dtype)


def _integer_power_of_float(a: Array, b: Array, call: Call) -> Any:
    wide = b.astype(np.float64)
    if b.size and not ((wide >= 0) & (wide < 64) & (wide == np.floor(wide))).all():
        raise KernelError("an integer to a power that is no small natural number is rounded in no specified way")
    # A bit less than the type has, since these powers are estimates.
    if (np.abs(a.astype(np.float64)) ** wide >= 2.0 ** (call.dtype().bits - 2)).any():
        raise KernelError("a power is outside of the integer type or near its limits")
    return _integer_power(a, wide)


def _shift(a: Array, b: Array, call: Call) -> Any:
    direction = call.text("direction", "")
    if direction not in ("LEFT", "RIGHT"):
        raise KernelError(f"attribute direction is {direction!r}, neither LEFT nor RIGHT")
    bits = call.dtype().bits
    beyond = (b < 0) | (b >= bits)
    if a.size and call.opset < _LONG_SHIFTS_SINCE and beyond.any():
        raise KernelError(f"this operator set does not say what a shift by {bits} bits or more gives")
    amount = np.where(beyond, b.dtype.type(bits - 1), b)
    if direction == "LEFT":
        return np.where(beyond, a.dtype.type(0), np.left_shift(a, amount))
    shifted = np.right_shift(a, amount)
    return np.where(beyond & (a >= 0), a.dtype.type(0), shifted)


def _sign(x: Array, call: Call) -> Any:
    if is_float(x) and np.isnan(x).any():
        raise KernelError("the specification does not say what the sign of NaN is")
    return ((x > 0).astype(np.int8) - (x < 0).astype(np.int8)).astype(x.dtype)


def _clip(x: Array, call: Call) -> Any:
    low, high = _bound(call, 1, "min"), _bound(call, 2, "max")
    if is_float(x) and ((low is None and (x == -np.inf).any()) or (high is None and (x == np.inf).any())):
        raise KernelError("an infinity meets a bound that is left out: whether it stays is not clear")
    out = x.copy()
    if low is not None:
        out = np.where(out < low, low, out)
    if high is not None:
        out = np.where(out > high, high, out)
    return out


def _bound(call: Call, index: int, name: str) -> Any:
    """The scalar bound in the node's type, or None."""
    if call.opset < _CLIP_INPUTS_SINCE:
        bound = number_in(call.dtype(), call.number(name)) if name in call.attributes else None
    else:
        operand = call.optional(index)
        bound = None if operand is None else _scalar(operand, name)
    if bound is not None and bound != bound:
        raise KernelError(f"{name} is NaN")
    return bound


def _scalar(operand: Operand, name: str) -> Any:
    if operand.shape not in ((), (1,)):
        raise KernelError(f"{name} is no scalar, but of shape {operand.shape}")
    return operand.array.reshape(())[()]


def _minimum(call: Call) -> tuple[Array, ...]:
    return (evaluate_extremum(np.minimum, call, -0.0),)


def _total(call: Call, divisor: int) -> tuple[Array, ...]:
    (result,) = variadic_results(call)
    if len(call.inputs) == 1:
        return (np.array(call.array(0), order="C"),)
    wide = [widened(call.array(index), result.dtype) for index in range(len(call.inputs))]
    with np.errstate(all="ignore"):
        total = functools.reduce(np.add, wide)
        return (finished(rounded(total / total.dtype.type(divisor), result.dtype), result),)


def _sum(call: Call) -> tuple[Array, ...]:
    return _total(call, 1)


def _mean(call: Call) -> tuple[Array, ...]:
    return _total(call, len(call.inputs))


def _variadic(
    operator: str, last: int, evaluate: Callable[[Call], tuple[Array, ...]], policy: str, *, is_rounded: bool = False
) -> Kernel:
    return Kernel(operator, "", 1, last, policy, variadic_results, evaluate, is_rounded)


def _of_one(ufunc: Callable[[Array], Any]) -> Callable[[Array, Call], Any]:
    return lambda x, call: ufunc(x)


def _of_two(ufunc: Callable[[Array, Array], Any]) -> Callable[[Array, Array, Call], Any]:
    return lambda a, b, call: ufunc(a, b)


ARITHMETIC: tuple[Kernel, ...] = (
    binary("Sub", 1, 14, _of_two(np.subtract), _ONCE),
    binary("Mul", 1, 14, _of_two(np.multiply), _ONCE),
    binary("Div", 1, 14, _divide, f"{_ONCE} Integers are divided towards zero, and never by zero."),
    binary("Mod", 10, 28, _modulo, f"{_ONCE} Integers are never divided by zero."),
    binary("Pow", 1, 15, _power, f"{_WIDE} Powers of integers wrap around.", is_rounded=True),
    binary("BitShift", 11, 28, _shift, "Exact; shifts by the width of the type or more only where they are specified."),
    _variadic("Min", 13, _minimum, f"{_EXACT} -0.0 is less than +0.0."),
    _variadic("Sum", 13, _sum, f"{_WIDE} Summed from the first input to the last.", is_rounded=True),
    _variadic("Mean", 13, _mean, f"{_WIDE} Summed from the first input to the last.", is_rounded=True),
    unary("Neg", 1, 13, _of_one(np.negative), _EXACT),
    unary("Abs", 1, 13, _of_one(np.abs), _EXACT),
    unary("Sign", 9, 13, _sign, "Exact; +0.0 for zeros of both signs; NaN is left alone."),
    unary("Reciprocal", 1, 13, lambda x, call: np.divide(x.dtype.type(1), x), _ONCE),
    unary("Floor", 1, 13, _of_one(np.floor), _EXACT),
    unary("Ceil", 1, 13, _of_one(np.ceil), _EXACT),
    unary("Round", 11, 22, _of_one(np.rint), f"{_EXACT} Halves go to the even neighbour."),
    unary("Sqrt", 1, 13, _of_one(np.sqrt), _ONCE),
    unary("Clip", 1, 13, _clip, f"{_EXACT} The lower bound is applied first, and zeros keep their sign."),
)
