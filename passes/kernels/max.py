"""ONNX Max, versions 1, 6, 8, 12 and 13."""

from __future__ import annotations

import numpy as np

from maxfold.passes.kernels.call import Array, Call
from maxfold.passes.kernels.elementwise import evaluate_extremum, variadic_results
from maxfold.passes.kernels.kernel import Kernel


def _evaluate(call: Call) -> tuple[Array, ...]:
    return (evaluate_extremum(np.maximum, call, 0.0),)


MAX = Kernel(
    operator="Max",
    domain="",
    since_version=1,
    last_version=13,
    numeric_policy=(
        "The result is one of the operands, exactly: NaN where any operand is NaN, the positive quiet one "
        "unless there is one operand only, and +0.0 where +0.0 and -0.0 are the greatest."
    ),
    results=variadic_results,
    evaluate=_evaluate,
)
