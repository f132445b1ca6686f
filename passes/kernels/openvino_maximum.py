"""OpenVINO Maximum-1."""

from __future__ import annotations

import numpy as np

from maxfold.passes.kernels.call import Array, Call, KernelError
from maxfold.passes.kernels.elementwise import is_float
from maxfold.passes.kernels.kernel import Kernel
from maxfold.passes.kernels.openvino_elementwise import check_inputs, evaluate, results


def _evaluate(call: Call) -> tuple[Array, ...]:
    arrays = (call.array(0), call.array(1))
    if is_float(arrays[0]):
        with np.errstate(all="ignore"):
            if any(np.isnan(array).any() for array in arrays):
                raise KernelError("OpenVINO's CPU and its folding give different operands where one is NaN")
            signs = {bool(sign) for array in arrays for sign in np.unique(np.signbit(array[array == 0]))}
        if len(signs) > 1:
            raise KernelError("OpenVINO's CPU and its folding give different zeros where +0 and -0 meet")
    return (evaluate(np.maximum, arrays, call.attributes),)


OPENVINO_MAXIMUM = Kernel(
    operator="Maximum",
    domain="openvino",
    since_version=1,
    last_version=1,
    numeric_policy=(
        "The result is one of the operands, exactly; what OpenVINO's CPU and its folding compute differently is not "
        "folded: NaN, zeros of both signs, values of more than 31 bits, f64, subnormal bf16."
    ),
    results=results,
    evaluate=_evaluate,
    input_check=check_inputs,
)
