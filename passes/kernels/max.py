"""ONNX Max, versions 1, 6, 8, 12 and 13."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxfold.passes.kernels.elementwise import is_float, settle_nan, variadic_shape
from maxfold.passes.kernels.kernel import Array, Attributes, Kernel


def _evaluate(arrays: Sequence[Array], attributes: Attributes, opset: int) -> Array:
    out = np.empty(variadic_shape([array.shape for array in arrays], attributes, opset), arrays[0].dtype)
    np.copyto(out, arrays[0], casting="equiv")
    if len(arrays) == 1:
        return out
    # ml_dtypes reports NaN operands of bfloat16 as invalid, in comparisons and isnan too.
    with np.errstate(all="ignore"):
        for array in arrays[1:]:
            np.maximum(out, array, out=out, casting="equiv")
        if is_float(out):
            settle_nan(out)
            _settle_zero(out, arrays)
    return out


def _settle_zero(out: Array, arrays: Sequence[Array]) -> None:
    """Make a zero of the result +0.0 where an operand is: which one numpy takes depends on the processor."""
    zero = out == 0
    if not zero.any():
        return
    for array in arrays:
        np.copyto(out, out.dtype.type(0), where=zero & (array == 0) & ~np.signbit(array))


MAX = Kernel(
    operator="Max",
    domain="",
    since_version=1,
    last_version=13,
    numeric_policy=(
        "The result is one of the operands, exactly: NaN where any operand is NaN, the positive quiet one "
        "unless there is one operand only, and +0.0 where +0.0 and -0.0 are the greatest."
    ),
    output_shape=variadic_shape,
    evaluate=_evaluate,
)
