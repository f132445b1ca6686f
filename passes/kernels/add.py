"""ONNX Add, versions 1, 6, 7, 13 and 14."""

from __future__ import annotations

import numpy as np

from maxfold.passes.kernels.call import Array, Call
from maxfold.passes.kernels.elementwise import binary_results, broadcast_rows, evaluate_binary, is_float, settle_nan
from maxfold.passes.kernels.kernel import Kernel


def _evaluate(call: Call) -> tuple[Array, ...]:
    # numpy and ml_dtypes add float16 and bfloat16 in float32 and round that sum again. A format with
    # p digits of precision may be rounded twice where the wider one has at least 2 p + 2 (24 >= 24, 18).
    out = evaluate_binary(np.add, call)
    if is_float(out):
        settle_nan(out)
    return (out,)


ADD = Kernel(
    operator="Add",
    domain="",
    since_version=1,
    last_version=14,
    numeric_policy=(
        "Each sum is rounded once to the node's type, to nearest with ties to even, keeping subnormal "
        "numbers; integers wrap around; a NaN result is the positive quiet NaN."
    ),
    results=binary_results,
    evaluate=_evaluate,
    rows=broadcast_rows,
)
