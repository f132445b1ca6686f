"""What kernels of elementwise operators share: their broadcasting by opset, and steady results.

Sources: "Broadcasting in ONNX"; the documents of the operators' versions 1 and 6 for the rules before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from maxfold.model.broadcast import BroadcastError, equal_shape, legacy_align, numpy_shape
from maxfold.model.dtypes import from_numpy
from maxfold.passes.kernels.kernel import Array, Attributes, KernelError, Shape, integer, require_known

_BINARY_BROADCASTS_SINCE = 7
_VARIADIC_BROADCASTS_SINCE = 8
# An optimization hint of version 1 that never changed a result; exporters went on writing it.
_HINTS = frozenset({"consumed_inputs"})
_LEGACY_ATTRIBUTES = _HINTS | {"axis", "broadcast"}


def binary_shape(shapes: Sequence[Shape], attributes: Attributes, opset: int) -> Shape:
    """The output shape of a binary operator such as Add; raises KernelError."""
    return _broadcast(shapes, attributes, opset)[0]


def evaluate_binary(
    function: Callable[..., Array], arrays: Sequence[Array], attributes: Attributes, opset: int
) -> Array:
    """`function` (a binary ufunc) of two arrays of one type, broadcast as the opset says, in that type.

    Raises KernelError. Overflow and NaN are results like any other, not warnings.
    """
    a, b = arrays
    shape, b_shape = _broadcast((a.shape, b.shape), attributes, opset)
    out = np.empty(shape, a.dtype)
    with np.errstate(all="ignore"):
        function(a, b.reshape(b_shape), out=out, casting="equiv")
    return out


def variadic_shape(shapes: Sequence[Shape], attributes: Attributes, opset: int) -> Shape:
    """The output shape of a variadic operator such as Max; raises KernelError."""
    broadcasts = opset >= _VARIADIC_BROADCASTS_SINCE
    require_known(attributes, () if broadcasts else _HINTS)
    try:
        return numpy_shape(*shapes) if broadcasts else equal_shape(*shapes)
    except BroadcastError as error:
        raise KernelError(str(error)) from error


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


def _broadcast(shapes: Sequence[Shape], attributes: Attributes, opset: int) -> tuple[Shape, Shape]:
    """The output shape of a binary operator, and the second input's shape as numpy broadcasting needs it."""
    a, b = shapes
    try:
        if opset >= _BINARY_BROADCASTS_SINCE:
            require_known(attributes, ())
            return numpy_shape(a, b), b
        require_known(attributes, _LEGACY_ATTRIBUTES)
        axis = integer(attributes, "axis", None)
        broadcast = integer(attributes, "broadcast", 0)
        if broadcast not in (0, 1):
            raise KernelError(f"attribute broadcast is {broadcast}, neither 0 nor 1")
        return (a, legacy_align(a, b, axis)) if broadcast else (equal_shape(a, b), b)
    except BroadcastError as error:
        raise KernelError(str(error)) from error
