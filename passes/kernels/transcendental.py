"""ONNX functions of one number: exponentials, trigonometry, activations, in all their versions.

Each is computed in the widest type of the platform and rounded once. float attributes are first rounded to the node's
type, as the function bodies of the operators do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from maxfold.model.broadcast import BroadcastError, numpy_shape
from maxfold.passes.kernels.call import Array, Call, KernelError, Result, Shape
from maxfold.passes.kernels.elementwise import finished, is_float, unary
from maxfold.passes.kernels.kernel import Kernel
from maxfold.passes.kernels.rounding import WIDE, number_in, rounded, widened

_WIDE = "Computed in a wider type and rounded once to the node's type; a NaN result is the positive quiet NaN."
_ONCE = (
    "Rounded once to the node's type, to nearest with ties to even; integers wrap around; "
    "a NaN result is the positive quiet NaN."
)

# Beyond this number erf is nearer to 1 than half of a double's last place.
_ERF_IS_ONE = 6
_PRELU_BROADCASTS_SINCE = 7


def _wide(operator: str, since: int, last: int, function: Callable[[Array, Call], Any]) -> Kernel:
    """A kernel whose `function` is given WIDE numbers and gives such."""

    def of_node(x: Array, call: Call) -> Any:
        if not is_float(x):
            raise KernelError(f"{operator} of integers is rounded in no specified way")
        return rounded(np.asarray(function(widened(x, call.dtype()), call)), call.dtype())

    return unary(operator, since, last, of_node, _WIDE, is_rounded=True)


def _plain(function: Callable[[Array], Any]) -> Callable[[Array, Call], Any]:
    return lambda x, call: function(x)


def _attribute(call: Call, name: str, default: float) -> Any:
    """A float attribute, rounded to the node's type, in WIDE."""
    return WIDE(number_in(call.dtype(), call.number(name, default)))


def _exact_attribute(call: Call, name: str, default: float) -> Any:
    """A float attribute that the node's type holds; a numpy scalar of it."""
    value = call.number(name, default)
    number = number_in(call.dtype(), value)
    if float(number) != float(np.float32(value)):
        raise KernelError(f"{name} is not exact in {call.dtype()}, and whether it is rounded first is not clear")
    return number


def _sigmoid(x: Array) -> Any:
    return 1 / (1 + np.exp(-x))


def _softplus(x: Array, call: Call) -> Any:
    # ONNX Runtime has no kernel for double, and computes what the function body says.
    if call.dtype().name == "DOUBLE" and (np.isinf(np.exp(x).astype(np.float64)) & np.isfinite(x)).any():
        raise KernelError("the function body of Softplus overflows where the function does not")
    return np.where(x > 0, x, 0) + np.log1p(np.exp(-np.abs(x)))


def _softsign(x: Array) -> Any:
    return x / (1 + np.abs(x))


def _erf(x: Array, call: Call) -> Any:
    if call.dtype().name != "DOUBLE":
        return _by_element(math.erf, x)
    size = np.where(np.isnan(x), 0, np.minimum(np.abs(x), _ERF_IS_ONE))
    term = total = size
    divisor = 3
    # All terms are positive, so that nothing cancels: 2/sqrt(pi) exp(-x^2) sum of 2^n x^(2n+1) / (2n+1)!!
    while (total + term != total).any():
        term = term * (2 * size * size / divisor)
        total, divisor = total + term, divisor + 2
    value = np.minimum(2 / np.sqrt(_pi()) * np.exp(-size * size) * total, 1)
    return np.where(np.isnan(x), x, np.copysign(value, x))


def _pi() -> Any:
    return 4 * np.arctan(WIDE(1))


def _by_element(function: Callable[[float], float], x: Array) -> Array:
    """A function of the C library that numpy does not have, of values that a double holds."""
    return np.asarray(np.frompyfunc(function, 1, 1)(x.astype(np.float64)), dtype=np.float64).astype(WIDE)


def _gelu(x: Array, call: Call) -> Any:
    approximate = call.text("approximate", "none")
    if approximate == "tanh":
        inner = np.sqrt(2 / _pi()) * (x + WIDE("0.044715") * x**3)
        return x * _sigmoid(2 * inner)
    if approximate != "none":
        raise KernelError(f"attribute approximate is {approximate!r}, neither none nor tanh")
    if call.dtype().name == "DOUBLE":
        raise KernelError("nothing on this platform computes the tail of erf in more digits than double's")
    return x / 2 * _by_element(math.erfc, -x / np.sqrt(WIDE(2)))


def _hard_sigmoid(x: Array, call: Call) -> Any:
    return _unit(_attribute(call, "alpha", 0.2) * x + _attribute(call, "beta", 0.5))


def _hard_swish(x: Array, call: Call) -> Any:
    if call.dtype().name == "DOUBLE":
        raise KernelError("1/6 is exact in the operator's document and float32 in its function body")
    return x * _unit(x / 6 + WIDE(0.5))


def _unit(x: Array) -> Any:
    """The interval from 0 to 1; NaN stays."""
    return np.where(x < 0, 0, np.where(x > 1, 1, x))


def _swish(x: Array, call: Call) -> Any:
    return x * _sigmoid(_attribute(call, "alpha", 1.0) * x)


def _mish(x: Array) -> Any:
    # tanh(log(1 + e)) for e = exp(x) is (e^2 + 2e) / (e^2 + 2e + 2); large e are divided out.
    small = np.exp(-np.abs(x))
    upper = np.where(x > 0, 1 + 2 * small, small * (small + 2))
    lower = np.where(x > 0, 1 + 2 * small * (1 + small), small * (small + 2) + 2)
    return x * (upper / lower)


def _elu(x: Array, call: Call) -> Any:
    return np.where(x < 0, _attribute(call, "alpha", 1.0) * np.expm1(x), x)


def _selu(x: Array, call: Call) -> Any:
    before_6 = call.opset < 6
    alpha = _attribute(call, "alpha", 1.6732 if before_6 else 1.67326319217681884765625)
    gamma = _attribute(call, "gamma", 1.0507 if before_6 else 1.05070102214813232421875)
    return gamma * np.where(x > 0, x, alpha * np.expm1(x))


def _celu(x: Array, call: Call) -> Any:
    alpha = _attribute(call, "alpha", 1.0)
    if not alpha > 0:
        raise KernelError("attribute alpha is not positive")
    return np.where(x > 0, x, alpha * np.expm1(x / alpha))


def _relu(x: Array, call: Call) -> Any:
    if is_float(x) and ((x == 0) & np.signbit(x)).any():
        raise KernelError("the specification does not say which zero is the greater of 0.0 and -0.0")
    return np.where(x <= 0, x.dtype.type(0), x)


def _leaky_relu(x: Array, call: Call) -> Any:
    return np.where(x < 0, number_in(call.dtype(), call.number("alpha", 0.01)) * x, x)


def _thresholded_relu(x: Array, call: Call) -> Any:
    return np.where(x > _exact_attribute(call, "alpha", 1.0), x, x.dtype.type(0))


def _shrink(x: Array, call: Call) -> Any:
    bias, threshold = call.number("bias", 0.0), call.number("lambd", 0.5)
    if not is_float(x):
        return _shrink_integers(x, bias, threshold)
    bias, threshold = _exact_attribute(call, "bias", bias), _exact_attribute(call, "lambd", threshold)
    return np.where(x < -threshold, x + bias, np.where(x > threshold, x - bias, x.dtype.type(0)))


def _shrink_integers(x: Array, bias: float, threshold: float) -> Any:
    limits = np.iinfo(x.dtype)
    if not (limits.min <= bias <= limits.max and bias == math.floor(bias) and 0 <= threshold <= limits.max):
        raise KernelError("integers shrink only by integers, and beyond a limit that is not negative")
    step, limit, zero = x.dtype.type(int(bias)), math.floor(threshold), x.dtype.type(0)
    below = x < -limit if limits.min else np.zeros(x.shape, np.bool_)
    return np.where(below, x + step, np.where(x > limit, x - step, zero))


def _prelu_results(call: Call) -> tuple[Result, ...]:
    _slope_shape(call)
    return (Result(call.dtype(), call.shape(0)),)


def _slope_shape(call: Call) -> Shape:
    """The slope's shape as numpy broadcasts it to that of the first input."""
    shape, slope = call.shape(0), call.shape(1)
    if call.opset < _PRELU_BROADCASTS_SINCE:
        if math.prod(slope) == 1:
            return ()
        if len(shape) > 1 and slope == (shape[1],):
            return slope + (1,) * (len(shape) - 2)
        raise KernelError(f"a slope of shape {slope} is neither one for all nor one a channel of shape {shape}")
    try:
        broadcast = numpy_shape(shape, slope)
    except BroadcastError as error:
        raise KernelError(str(error)) from error
    if broadcast != shape:
        raise KernelError(f"a slope of shape {slope} does not broadcast to shape {shape}")
    return slope


def _prelu(call: Call) -> tuple[Array, ...]:
    x, slope = call.array(0), call.array(1).reshape(_slope_shape(call))
    with np.errstate(all="ignore"):
        return (finished(np.where(x < 0, slope * x, x), *_prelu_results(call)),)


TRANSCENDENTAL: tuple[Kernel, ...] = (
    _wide("Exp", 1, 13, _plain(np.exp)),
    _wide("Log", 1, 13, _plain(np.log)),
    _wide("Sin", 7, 22, _plain(np.sin)),
    _wide("Cos", 7, 22, _plain(np.cos)),
    _wide("Tan", 7, 22, _plain(np.tan)),
    _wide("Asin", 7, 22, _plain(np.arcsin)),
    _wide("Acos", 7, 22, _plain(np.arccos)),
    _wide("Atan", 7, 22, _plain(np.arctan)),
    _wide("Sinh", 9, 22, _plain(np.sinh)),
    _wide("Cosh", 9, 22, _plain(np.cosh)),
    _wide("Tanh", 1, 13, _plain(np.tanh)),
    _wide("Asinh", 9, 22, _plain(np.arcsinh)),
    _wide("Acosh", 9, 22, _plain(np.arccosh)),
    _wide("Atanh", 9, 22, _plain(np.arctanh)),
    _wide("Sigmoid", 1, 13, _plain(_sigmoid)),
    _wide("Erf", 9, 13, _erf),
    _wide("Softplus", 1, 22, _softplus),
    _wide("Softsign", 1, 22, _plain(_softsign)),
    _wide("Gelu", 20, 20, _gelu),
    _wide("HardSigmoid", 1, 22, _hard_sigmoid),
    _wide("HardSwish", 14, 22, _hard_swish),
    _wide("Swish", 24, 24, _swish),
    _wide("Mish", 18, 22, _plain(_mish)),
    _wide("Elu", 1, 22, _elu),
    _wide("Selu", 1, 22, _selu),
    _wide("Celu", 12, 28, _celu),
    unary("Relu", 1, 14, _relu, "Exact; -0.0 is left alone; a NaN result is the positive quiet NaN."),
    unary("LeakyRelu", 1, 16, _leaky_relu, _ONCE, is_rounded=True),
    unary("ThresholdedRelu", 10, 22, _thresholded_relu, "Exact; 0 for NaN."),
    unary("Shrink", 9, 9, _shrink, f"{_ONCE} 0 for NaN."),
    Kernel("PRelu", "", 1, 16, _ONCE, _prelu_results, _prelu),
)
