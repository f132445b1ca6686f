"""Folding kernels, one file an operator: pure functions from constant inputs to the output.

The specification of the operator is the authority, not any runtime. To add an operator, write its file
and list its kernel here.
"""

from __future__ import annotations

from maxfold.passes.kernels.add import ADD
from maxfold.passes.kernels.kernel import Kernel, KernelError, by_operator, check
from maxfold.passes.kernels.max import MAX
from maxfold.passes.kernels.openvino_add import OPENVINO_ADD
from maxfold.passes.kernels.openvino_maximum import OPENVINO_MAXIMUM

__all__ = ["KERNELS", "Kernel", "KernelError", "check", "find"]

KERNELS: tuple[Kernel, ...] = (ADD, MAX, OPENVINO_ADD, OPENVINO_MAXIMUM)

# Submodules are attributes of this package: in this file the name `max` is a module, not the builtin.
_KERNELS_BY_OPERATOR = by_operator(KERNELS)


def find(domain: str, operator: str, opset: int) -> Kernel | None:
    """The kernel that covers `operator` of `domain` ("" and "ai.onnx" are one) at `opset`, if any does."""
    kernels = _KERNELS_BY_OPERATOR.get(("" if domain == "ai.onnx" else domain, operator), [])
    return next((kernel for kernel in kernels if kernel.since_version <= opset), None)
