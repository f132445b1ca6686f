"""OpenVINO Add-1."""

from __future__ import annotations

import numpy as np

from maxfold.passes.kernels.call import Array, Call, KernelError
from maxfold.passes.kernels.elementwise import is_float, settle_nan
from maxfold.passes.kernels.kernel import Kernel
from maxfold.passes.kernels.openvino_elementwise import check_inputs, evaluate, results


def _evaluate(call: Call) -> tuple[Array, ...]:
    arrays = (call.array(0), call.array(1))
    out = evaluate(np.add, arrays, call.attributes)
    if is_float(out):
        settle_nan(out)
    elif out.dtype.itemsize == 1:
        wide = evaluate(np.add, [array.astype(np.int16) for array in arrays], call.attributes)
        if (wide != out).any():
            raise KernelError("OpenVINO's CPU saturates 8-bit sums, its folding wraps them around")
    return (out,)


OPENVINO_ADD = Kernel(
    operator="Add",
    domain="openvino",
    since_version=1,
    last_version=1,
    numeric_policy=(
        "One rounding to the type; integers wrap around, and what OpenVINO's CPU computes otherwise is not folded: "
        "8-bit overflow, values of more than 31 bits, f64, subnormal bf16."
    ),
    results=results,
    evaluate=_evaluate,
    input_check=check_inputs,
)
