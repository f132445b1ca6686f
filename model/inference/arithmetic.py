"""Operators on single elements of followed values: numbers as a runtime computes them, symbols where it is provable.

An element function gets the call, the element type of its result, and elements; it returns None for what is not
known.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from maxfold.model.dtypes import DType
from maxfold.model.inference.call import Call
from maxfold.model.inference.facts import Element
from maxfold.model.inference.symbolic import Dim, Expr, floor_div, maximum, minimum

ElementFunction = Callable[..., Element]

# Arithmetic of these is rounded once by every runtime.
_EXACT_FLOATS = ("FLOAT", "DOUBLE", "FLOAT16")


def settled(call: Call, dtype: DType, result: Dim) -> Element:
    """An integer result in its type: numbers wrap around, symbolic ones must fit (`spans` says what is assumed)."""
    if isinstance(result, int):
        return wrapped(result, dtype)
    return result if fits(call, dtype, result) else None


def fits(call: Call, dtype: DType, number: Dim) -> bool:
    """Whether a number is one of an integer type in every run."""
    least, beyond = (-(1 << (dtype.bits - 1)), 1 << (dtype.bits - 1)) if dtype.kind == "int" else (0, 1 << dtype.bits)
    spans = call.spans(number)
    return any(found is not None and least <= found[0] and found[1] < beyond for found in spans)


def wrapped(number: int, dtype: DType) -> int:
    """A number modulo the range of an integer type."""
    number &= (1 << dtype.bits) - 1
    return number - (1 << dtype.bits) if dtype.kind == "int" and number >> (dtype.bits - 1) else number


def cast(call: Call, target: DType, element: Element) -> Element:
    """Cast of one element, None where it is out of range or not exact."""
    if element is None or target.kind not in ("int", "uint", "bool", "float"):
        return None
    if isinstance(element, Expr):
        if target.kind == "bool":
            return True if call.is_at_least(element, 1) else None
        return None if target.kind == "float" else settled(call, target, element)
    if target.kind == "bool":
        return bool(element != 0)
    if target.kind == "float":
        return _as_float(element, target)
    if isinstance(element, float):
        if not math.isfinite(element):
            return None
        element = int(element)
        return element if wrapped(element, target) == element else None
    return wrapped(int(element), target)


def _as_float(element: int | float, target: DType) -> float | None:
    if target.name not in _EXACT_FLOATS:
        return None
    with np.errstate(all="ignore"):
        rounded = float(target.numpy.type(element))
    # Integers that a float has no room for are rounded differently by different runtimes.
    return rounded if rounded == element or isinstance(element, float) else None


def _binary(compute: Callable[[Any, Any], Any]) -> ElementFunction:
    """Add, Sub or Mul, which Python's operators compute on numbers and dims."""

    def apply(call: Call, dtype: DType, left: Element, right: Element) -> Element:
        if left is None or right is None:
            return None
        if dtype.kind == "float":
            return _float(dtype, compute, left, right)
        return settled(call, dtype, compute(left, right))

    return apply


def _float(dtype: DType, compute: Callable[..., Any], *elements: Element) -> float | None:
    if dtype.name not in _EXACT_FLOATS:
        return None
    with np.errstate(all="ignore"):
        return float(compute(*(dtype.numpy.type(element) for element in elements)))


def _divide(call: Call, dtype: DType, left: Element, right: Element) -> Element:
    """Div truncates; symbolic quotients are known where that is rounding down."""
    if left is None or right is None:
        return None
    if dtype.kind == "float":
        return _float(dtype, operator.truediv, left, right) if right != 0 else None
    if isinstance(left, int) and isinstance(right, int):
        if right == 0:
            return None
        quotient = abs(left) // abs(right)
        return wrapped(quotient if (left < 0) == (right < 0) else -quotient, dtype)
    if isinstance(left, float) or isinstance(right, float) or right == 0:
        return None
    if not call.is_at_least(left, 0) or not call.is_at_least(right, 0):
        return None
    return floor_div(left, right)


def _modulo(call: Call, dtype: DType, left: Element, right: Element) -> Element:
    """Mod: the divisor's sign with fmod=0, the dividend's with fmod=1."""
    if left is None or isinstance(left, float) or not isinstance(right, int) or right == 0:
        return None
    if call.attribute("fmod", 0) and not (call.is_at_least(left, 0) and right > 0):
        return int(math.fmod(left, right)) if isinstance(left, int) and abs(left) < 1 << 53 > abs(right) else None
    if isinstance(left, Expr) and right < 0:
        return None
    return left - right * floor_div(left, right)


def _extreme(compute: Callable[[Dim, Dim], Dim], compute_float: Callable[..., Any]) -> ElementFunction:
    def apply(call: Call, dtype: DType, left: Element, right: Element) -> Element:
        if left is None or right is None:
            return None
        if isinstance(left, float) or isinstance(right, float):
            is_number = left == left and right == right and left != right
            return _float(dtype, compute_float, left, right) if is_number else None
        return compute(left, right)

    return apply


def _negative(call: Call, dtype: DType, element: Element) -> Element:
    if element is None:
        return None
    return -element if isinstance(element, float) else settled(call, dtype, -element)


def _absolute(call: Call, dtype: DType, element: Element) -> Element:
    if isinstance(element, Expr):
        return element if call.is_at_least(element, 0) else None
    if element is None or isinstance(element, float):
        return None if element is None else abs(element)
    return wrapped(abs(element), dtype)


def _rounding(compute: Callable[[Any], Any]) -> ElementFunction:
    def apply(call: Call, dtype: DType, element: Element) -> Element:
        return _float(dtype, compute, element) if isinstance(element, float) else None

    return apply


def _is_less(call: Call, left: Element, right: Element) -> bool | None:
    if isinstance(left, Expr) or isinstance(right, Expr):
        if left is None or right is None or isinstance(left, float) or isinstance(right, float):
            return None
        if call.is_at_least(right - left, 1):
            return True
        return False if call.is_at_least(left - right, 0) else None
    return None if left is None or right is None else bool(left < right)


def _less(call: Call, dtype: DType, left: Element, right: Element) -> Element:
    return _is_less(call, left, right)


def _greater(call: Call, dtype: DType, left: Element, right: Element) -> Element:
    return _is_less(call, right, left)


def _less_or_equal(call: Call, dtype: DType, left: Element, right: Element) -> Element:
    if isinstance(left, float) and isinstance(right, float):
        return bool(left <= right)
    return _not(call, dtype, _is_less(call, right, left))


def _greater_or_equal(call: Call, dtype: DType, left: Element, right: Element) -> Element:
    return _less_or_equal(call, dtype, right, left)


def _equal(call: Call, dtype: DType, left: Element, right: Element) -> Element:
    if left is None or right is None:
        return None
    if not isinstance(left, Expr) and not isinstance(right, Expr):
        return bool(left == right)
    if left == right:
        return True
    return False if _is_less(call, left, right) or _is_less(call, right, left) else None


def _not(call: Call, dtype: DType, element: Element) -> Element:
    return None if element is None else not element


def _and(call: Call, dtype: DType, left: Element, right: Element) -> Element:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(call: Call, dtype: DType, left: Element, right: Element) -> Element:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _xor(call: Call, dtype: DType, left: Element, right: Element) -> Element:
    return None if left is None or right is None else left is not right


def choose(call: Call, dtype: DType, condition: Element, left: Element, right: Element) -> Element:
    """Where: known where the condition is, or where both branches agree."""
    if condition is None:
        return left if left == right else None
    return left if condition else right


UNARY: dict[str, ElementFunction] = {
    "Abs": _absolute,
    "Ceil": _rounding(np.ceil),
    "Floor": _rounding(np.floor),
    "Neg": _negative,
    "Not": _not,
    "Round": _rounding(np.rint),
}

BINARY: dict[str, ElementFunction] = {
    "Add": _binary(operator.add),
    "And": _and,
    "Div": _divide,
    "Equal": _equal,
    "Greater": _greater,
    "GreaterOrEqual": _greater_or_equal,
    "Less": _less,
    "LessOrEqual": _less_or_equal,
    "Max": _extreme(maximum, np.maximum),
    "Min": _extreme(minimum, np.minimum),
    "Mod": _modulo,
    "Mul": _binary(operator.mul),
    "Or": _or,
    "Sub": _binary(operator.sub),
    "Sum": _binary(operator.add),
    "Xor": _xor,
}
