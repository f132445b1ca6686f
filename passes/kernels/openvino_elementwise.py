"""What kernels of OpenVINO's binary operations share: broadcasting, and where its own results differ.

OpenVINO folds constants with one set of rules and computes on the CPU with another. A value on which the two differ is
not folded. Source: Add-1, Maximum-1, "Broadcast Rules For Elementwise Operations"; measured on OpenVINO 2026.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from maxfold.model.broadcast import BroadcastError, align, equal_shape, numpy_shape, pdpd_shape
from maxfold.model.dtypes import DType
from maxfold.passes.kernels.call import Array, Attributes, Call, KernelError, Result, Shape

_MODE = "auto_broadcast"
_AXIS = "auto_broadcast.auto_broadcast_axis"
_FOLDED_TYPES = (
    "FLOAT",
    "FLOAT16",
    "BFLOAT16",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
)
# The CPU computes with the low 32 bits of wider integers, and takes them for signed ones.
_INT32 = np.iinfo(np.int32)


def check_inputs(dtypes: Sequence[DType | None]) -> str | None:
    """Why two inputs are not ones that are folded, None where they are."""
    if len(dtypes) != 2:
        return f"it does not take {len(dtypes)} inputs"
    first, second = dtypes
    if first is None or second is None or first != second:
        return f"its inputs are of different types, {first} and {second}"
    if first.name == "DOUBLE":
        return "OpenVINO computes f64 in f32"
    return None if first.name in _FOLDED_TYPES else f"constants of type {first} are not folded"


def results(call: Call) -> tuple[Result, ...]:
    """One result of the inputs' type and their broadcast shape; raises KernelError."""
    return (Result(call.dtype(), _broadcast((call.shape(0), call.shape(1)), call.attributes)[0]),)


def evaluate(function: Callable[..., Array], arrays: Sequence[Array], attributes: Attributes) -> Array:
    """A binary ufunc of two arrays of one type, broadcast as the attributes say; raises KernelError."""
    a, b = arrays
    result_shape, b_shape = _broadcast((a.shape, b.shape), attributes)
    out = np.empty(result_shape, a.dtype)
    with np.errstate(all="ignore"):
        function(a, b.reshape(b_shape), out=out, casting="equiv")
    refuse_wide(a, b, out)
    if a.dtype.name == "bfloat16":
        _refuse_subnormal(out)
    return out


def refuse_wide(*arrays: Array) -> None:
    """Raises KernelError for 32- and 64-bit integers that a signed 32-bit one cannot hold."""
    for array in arrays:
        if array.dtype.kind not in "iu" or array.dtype.itemsize < 4 or array.dtype == np.int32 or not array.size:
            continue
        if int(array.max()) > _INT32.max or int(array.min()) < _INT32.min:
            raise KernelError("OpenVINO's CPU computes integers of more than 31 bits otherwise than its folding")


def _refuse_subnormal(array: Array) -> None:
    wide = np.abs(array.astype(np.float32))
    if ((wide > 0) & (wide < np.finfo(np.float32).tiny)).any():
        raise KernelError("OpenVINO's CPU flushes subnormal bf16 values to zero, its folding does not")


def _broadcast(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, Shape]:
    """The output shape, and the second input's shape as numpy broadcasting needs it."""
    a, b = shapes
    unknown = sorted(attributes.keys() - {_MODE, _AXIS})
    if unknown:
        raise KernelError(f"attribute {', '.join(unknown)} is not one of the operation's")
    mode = str(attributes.get(_MODE, "numpy")).lower()
    try:
        if mode == "numpy":
            return numpy_shape(a, b), b
        if mode == "none":
            return equal_shape(a, b), b
        if mode != "pdpd":
            raise KernelError(f"auto_broadcast {mode!r} is not known")
        axis = int(str(attributes.get(_AXIS, "0")))
        return pdpd_shape(a, b, axis), align(b, len(a), axis)
    except (BroadcastError, ValueError) as error:
        raise KernelError(str(error)) from error
