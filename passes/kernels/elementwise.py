"""What kernels of elementwise operators share: their broadcasting by opset, steady results, and how they are built.

Sources: "Broadcasting in ONNX"; the documents of the operators' versions 1 and 6 for the rules before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from maxfold.model.broadcast import BroadcastError, equal_shape, legacy_align, numpy_shape
from maxfold.model.dtypes import DType, from_numpy
from maxfold.passes.kernels.call import Array, Call, KernelError, Result, Shape
from maxfold.passes.kernels.kernel import Kernel

_BINARY_BROADCASTS_SINCE = 7
_VARIADIC_BROADCASTS_SINCE = 8

Unary: TypeAlias = Callable[[Array, Call], Any]
Binary: TypeAlias = Callable[[Array, Array, Call], Any]


def unary(
    operator: str,
    since_version: int,
    last_version: int,
    function: Unary,
    numeric_policy: str,
    *,
    dtype: DType | None = None,
    is_rounded: bool = False,
) -> Kernel:
    """The kernel of an operator whose first input alone has the result's shape; of its type, or of `dtype`.

    `function(values, call)` gives the values; overflow and NaN are results like any other there, not warnings.
    """

    def results(call: Call) -> tuple[Result, ...]:
        return (Result(dtype or call.dtype(), call.shape(0)),)

    def evaluate(call: Call) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return (finished(function(call.array(0), call), *results(call)),)

    rows = None if is_rounded else first_alone
    return Kernel(operator, "", since_version, last_version, numeric_policy, results, evaluate, is_rounded, rows=rows)


def first_alone(call: Call) -> Sequence[bool]:
    """The rows of a result that has those of the first input."""
    return [index == 0 for index in range(len(call.inputs))]


def binary(
    operator: str,
    since_version: int,
    last_version: int,
    function: Binary,
    numeric_policy: str,
    *,
    dtype: DType | None = None,
    is_rounded: bool = False,
) -> Kernel:
    """The kernel of an operator of two inputs, broadcast as the opset says; of the first one's type, or of `dtype`.

    `function(a, b, call)` gets arrays that numpy broadcasts to the result's shape.
    """

    def results(call: Call) -> tuple[Result, ...]:
        return (Result(dtype or call.dtype(), binary_shape(call)),)

    def evaluate(call: Call) -> tuple[Array, ...]:
        _, b_shape = _broadcast(call)
        with np.errstate(all="ignore"):
            value = function(call.array(0), call.array(1).reshape(b_shape), call)
            return (finished(value, *results(call)),)

    rows = None if is_rounded else broadcast_rows
    return Kernel(operator, "", since_version, last_version, numeric_policy, results, evaluate, is_rounded, rows=rows)


def broadcast_rows(call: Call) -> Sequence[bool] | None:
    """Which inputs have the rows of what they broadcast to; None before they broadcast as numpy does."""
    if call.opset < _BINARY_BROADCASTS_SINCE:
        return None
    shape = binary_shape(call)
    inputs = [call.shape(index) for index in range(len(call.inputs))]
    return [len(item) == len(shape) and item[0] == shape[0] for item in inputs]


def finished(value: Any, result: Result) -> Array:
    """What numpy computed as the array that a kernel returns: C-contiguous, its NaN settled.

    `value` is of the type of the result, new, and the caller's own.
    """
    array = np.asarray(value, order="C")
    assert (array.dtype, array.shape) == (result.dtype.numpy, result.shape)
    if result.dtype.kind == "float":
        settle_nan(array)
    return array


def binary_shape(call: Call) -> Shape:
    """The output shape of a binary operator such as Add; raises KernelError."""
    return _broadcast(call)[0]


def binary_results(call: Call) -> tuple[Result, ...]:
    """One result of the first input's type, broadcast as the opset says."""
    return (Result(call.dtype(), binary_shape(call)),)


def variadic_results(call: Call) -> tuple[Result, ...]:
    """One result of the inputs' type, of the shape that all of them broadcast to."""
    shapes = [call.shape(index) for index in range(len(call.inputs))]
    try:
        broadcasts = call.opset >= _VARIADIC_BROADCASTS_SINCE
        return (Result(call.dtype(), numpy_shape(*shapes) if broadcasts else equal_shape(*shapes)),)
    except BroadcastError as error:
        raise KernelError(str(error)) from error


def evaluate_binary(function: Callable[..., Array], call: Call, dtype: np.dtype[np.generic] | None = None) -> Array:
    """`function` (a binary ufunc) of two inputs of one type, broadcast as the opset says; of that type, or `dtype`.

    Raises KernelError. Overflow and NaN are results like any other, not warnings.
    """
    a, b = call.array(0), call.array(1)
    shape, b_shape = _broadcast(call)
    out = np.empty(shape, a.dtype if dtype is None else dtype)
    with np.errstate(all="ignore"):
        function(a, b.reshape(b_shape), out=out, casting="equiv")
    return out


def evaluate_extremum(function: Callable[..., Array], call: Call, zero: float) -> Array:
    """The greatest (`np.maximum`) or the least (`np.minimum`) of one or more inputs.

    `zero` is the zero of the sign that wins where zeros of both signs meet.
    """
    arrays = [call.array(index) for index in range(len(call.inputs))]
    (result,) = variadic_results(call)
    out = np.empty(result.shape, result.dtype.numpy)
    np.copyto(out, arrays[0], casting="equiv")
    if len(arrays) == 1:
        return out
    # ml_dtypes reports NaN operands of bfloat16 as invalid, in comparisons and isnan too.
    with np.errstate(all="ignore"):
        for array in arrays[1:]:
            function(out, array, out=out, casting="equiv")
        if is_float(out):
            settle_nan(out)
            _settle_zero(out, arrays, out.dtype.type(zero))
    return out


def is_float(values: Array) -> bool:
    """Whether the elements are of a floating-point type, ml_dtypes' ones included."""
    dtype = from_numpy(values.dtype)
    return dtype is not None and dtype.kind == "float"


def settle_nan(values: Array) -> None:
    """Make each NaN of a float array the positive quiet NaN without payload, in place.

    Processors differ in the sign and payload of the NaN that they compute, and files must not.
    """
    with np.errstate(all="ignore"):
        nan = np.isnan(values)
    if nan.any():
        np.copyto(values, values.dtype.type(np.nan), where=nan)


def _settle_zero(out: Array, arrays: Sequence[Array], winner: Any) -> None:
    """Make a zero of the result the winner where an operand is: which one numpy takes depends on the processor."""
    zero = out == 0
    if not zero.any():
        return
    for array in arrays:
        np.copyto(out, winner, where=zero & (array == 0) & (np.signbit(array) == np.signbit(winner)))


def _broadcast(call: Call) -> tuple[Shape, Shape]:
    """The output shape of a binary operator, and the second input's shape as numpy broadcasting needs it."""
    a, b = call.shape(0), call.shape(1)
    try:
        if call.opset >= _BINARY_BROADCASTS_SINCE:
            return numpy_shape(a, b), b
        axis = call.integer("axis") if "axis" in call.attributes else None
        broadcast = call.integer("broadcast", 0)
        if broadcast not in (0, 1):
            raise KernelError(f"attribute broadcast is {broadcast}, neither 0 nor 1")
        return (a, legacy_align(a, b, axis)) if broadcast else (equal_shape(a, b), b)
    except BroadcastError as error:
        raise KernelError(str(error)) from error
