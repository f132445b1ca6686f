"""What a folding kernel is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from maxfold.model.dtypes import DType
from maxfold.model.records import frozen_value
from maxfold.passes.kernels.call import (
    Array,
    Attributes,
    Call,
    KernelError,
    Operand,
    Piecewise,
    Result,
    Shape,
    operand_of,
)
from maxfold.passes.signature_table import refusal

__all__ = ["Array", "Attributes", "Call", "Kernel", "KernelError", "Operand", "Result", "Shape", "by_operator", "check"]


@frozen_value
class Kernel:
    """How nodes of one operator are evaluated when all their inputs are constant.

    `operator` and `domain` ("" is ai.onnx) name it, `since_version` is the first opset that the kernel
    covers and `last_version` the newest version of the operator that it knows: the schema's, not an
    opset. `numeric_policy` says in one sentence how it rounds, wraps and treats NaN. `is_rounded` marks
    results that may differ from a runtime's in the last place: sums in some order, transcendental functions.
    `keeps_bytes` marks operators whose only result is their first input in another shape. `pieces(call)` makes the
    results, of a rank above 0, of operators that only move elements, and cannot fail once `results` has not.
    `rows(call)` tells of operators that work element by element, and are cheap enough to be evaluated twice, which
    inputs have the rows of their only result (along its first axis), the others being the same for each row; None where
    some are neither.

    `results(call)` gives the type of each result from types, attributes and the values of small inputs
    (axes, target shapes); it allocates nothing. `evaluate(call)` gives one new C-contiguous array for each
    of these results, and leaves the inputs alone. Both are given calls that `check` found right, and raise
    KernelError. `input_check(dtypes)` says what is wrong with the inputs of an operator without ONNX schema.
    """

    operator: str
    domain: str
    since_version: int
    last_version: int
    numeric_policy: str
    results: Callable[[Call], tuple[Result, ...]]
    evaluate: Callable[[Call], tuple[Array, ...]]
    is_rounded: bool = False
    keeps_bytes: bool = False
    pieces: Callable[[Call], tuple[Piecewise, ...]] | None = None
    rows: Callable[[Call], Sequence[bool] | None] | None = None
    input_check: Callable[[Sequence[DType | None]], str | None] | None = None

    def apply(self, arrays: Sequence[Array], attributes: Attributes, opset: int) -> Array:
        """The first result for arrays in memory."""
        return self.evaluate(Call(tuple(map(operand_of, arrays)), attributes, opset))[0]


def by_operator(kernels: Iterable[Kernel]) -> dict[tuple[str, str], list[Kernel]]:
    """Kernels by domain and operator; of one operator, those that begin at later opsets come first."""
    table: dict[tuple[str, str], list[Kernel]] = {}
    for kernel in sorted(kernels, key=lambda kernel: kernel.since_version, reverse=True):
        table.setdefault((kernel.domain, kernel.operator), []).append(kernel)
    return table


def check(
    kernel: Kernel, dtypes: Sequence[DType | None], opset: int, attributes: Attributes | None = None
) -> str | None:
    """Why a node with inputs of `dtypes` (None: left out) is not the kernel's to evaluate, or None.

    Asks the operator's schema in force at `opset` for the number of inputs, their types, the equality of types that
    are bound to one type variable, and the attributes.
    """
    if kernel.input_check is not None:
        return kernel.input_check(dtypes)
    return refusal(kernel.operator, kernel.domain, kernel.last_version, dtypes, opset, attributes or {})
