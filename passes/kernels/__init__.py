"""Folding kernels, one entry an operator: pure functions from constant inputs to the output.

The specification of the operator is the authority, not any runtime. To add an operator, write its entry in the file of
its family; the families are listed here.
"""

from __future__ import annotations

from maxfold.passes.kernels.add import ADD
from maxfold.passes.kernels.arithmetic import ARITHMETIC
from maxfold.passes.kernels.call import Call, KernelError, Operand, Result
from maxfold.passes.kernels.cast import CAST
from maxfold.passes.kernels.comparison import COMPARISON
from maxfold.passes.kernels.indexing import INDEXING
from maxfold.passes.kernels.kernel import Kernel, by_operator, check
from maxfold.passes.kernels.max import MAX
from maxfold.passes.kernels.movement import MOVEMENT
from maxfold.passes.kernels.openvino_add import OPENVINO_ADD
from maxfold.passes.kernels.openvino_maximum import OPENVINO_MAXIMUM
from maxfold.passes.kernels.product import PRODUCT
from maxfold.passes.kernels.quantization import QUANTIZATION
from maxfold.passes.kernels.reduction import REDUCTION
from maxfold.passes.kernels.reference import REFERENCE
from maxfold.passes.kernels.resizing import RESIZING
from maxfold.passes.kernels.shape import SHAPE
from maxfold.passes.kernels.transcendental import TRANSCENDENTAL

__all__ = ["KERNELS", "Call", "Kernel", "KernelError", "Operand", "Result", "check", "find"]

KERNELS: tuple[Kernel, ...] = (
    ADD,
    MAX,
    OPENVINO_ADD,
    OPENVINO_MAXIMUM,
    *ARITHMETIC,
    *COMPARISON,
    *TRANSCENDENTAL,
    *CAST,
    *QUANTIZATION,
    *SHAPE,
    *RESIZING,
    *MOVEMENT,
    *INDEXING,
    *REDUCTION,
    *PRODUCT,
    *REFERENCE,
)

# Submodules are attributes of this package: in this file the name `max` is a module, not the builtin.
_KERNELS_BY_OPERATOR = by_operator(KERNELS)


def find(domain: str, operator: str, opset: int) -> Kernel | None:
    """The kernel that covers `operator` of `domain` ("" and "ai.onnx" are one) at `opset`, if any does."""
    kernels = _KERNELS_BY_OPERATOR.get(("" if domain == "ai.onnx" else domain, operator), [])
    return next((kernel for kernel in kernels if kernel.since_version <= opset), None)
