"""Folding kernels, one entry an operator: pure functions from constant inputs to the output.

The specification of the operator is the authority, not any runtime. To add an operator, write its entry in the file of
its family, and its name here. A family is imported when one of its operators is first met.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import TYPE_CHECKING, Any

from maxfold.passes.kernels.call import Call, KernelError, Operand, Result
from maxfold.passes.kernels.kernel import Kernel, by_operator, check

__all__ = ["KERNELS", "OPERATORS", "Call", "Kernel", "KernelError", "Operand", "Result", "check", "find"]

if TYPE_CHECKING:
    KERNELS: tuple[Kernel, ...]

# The operators by module. A module has a tuple of its own name, or one kernel of that name; OpenVINO's operators are in
# modules that begin with its name.
_FAMILIES = {
    "add": "Add",
    "max": "Max",
    "openvino_add": "Add",
    "openvino_maximum": "Maximum",
    "arithmetic": "Sub Mul Div Mod Pow BitShift Min Sum Mean Neg Abs Sign Reciprocal Floor Ceil Round Sqrt Clip",
    "comparison": (
        "Equal Greater Less GreaterOrEqual LessOrEqual And Or Xor BitwiseAnd BitwiseOr BitwiseXor Not "
        "BitwiseNot IsNaN IsInf Where"
    ),
    "transcendental": (
        "Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Sigmoid Erf Softplus Softsign "
        "Gelu HardSigmoid HardSwish Swish Mish Elu Selu Celu Relu LeakyRelu ThresholdedRelu Shrink PRelu"
    ),
    "cast": "Cast CastLike",
    "quantization": "QuantizeLinear DequantizeLinear DynamicQuantizeLinear",
    "shape": "Shape Size Reshape Flatten Squeeze Unsqueeze Identity Expand ConstantOfShape EyeLike Range Transpose",
    "resizing": "Resize Upsample",
    "movement": "Concat Split Slice Pad Tile Trilu DepthToSpace SpaceToDepth ReverseSequence",
    "indexing": (
        "Gather GatherElements GatherND Scatter ScatterElements ScatterND OneHot NonZero Compress TopK Unique "
        "ArgMax ArgMin"
    ),
    "reduction": (
        "ReduceSum ReduceMean ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp "
        "ReduceMax ReduceMin GlobalAveragePool GlobalMaxPool CumSum CumProd Softmax LogSoftmax Hardmax"
    ),
    "product": "MatMul Gemm Einsum BatchNormalization LayerNormalization LpNormalization LRN MatMulInteger",
    "reference": (
        "Conv ConvInteger ConvTranspose InstanceNormalization GroupNormalization RMSNormalization RNN GRU "
        "LSTM Det AffineGrid CenterCropPad Col2Im HannWindow HammingWindow BlackmanWindow MelWeightMatrix"
    ),
}
_FAMILY_OF = {
    ("openvino" if family.startswith("openvino_") else "", operator): family
    for family, operators in _FAMILIES.items()
    for operator in operators.split()
}

OPERATORS = frozenset(_FAMILY_OF)
"""The (domain, operator) of all kernels."""


def find(domain: str, operator: str, opset: int) -> Kernel | None:
    """The kernel that covers `operator` of `domain` ("" and "ai.onnx" are one) at `opset`, if any does."""
    key = "" if domain == "ai.onnx" else domain, operator
    family = _FAMILY_OF.get(key)
    if family is None:
        return None
    return next((kernel for kernel in _by_operator(family)[key] if kernel.since_version <= opset), None)


@functools.cache
def _kernels_of(family: str) -> tuple[Kernel, ...]:
    found: Kernel | tuple[Kernel, ...] = getattr(import_module(f"{__name__}.{family}"), family.upper())
    return found if isinstance(found, tuple) else (found,)


@functools.cache
def _by_operator(family: str) -> dict[tuple[str, str], list[Kernel]]:
    return by_operator(_kernels_of(family))


def __getattr__(name: str) -> Any:
    """All kernels, which takes all families."""
    if name != "KERNELS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return tuple(kernel for family in _FAMILIES for kernel in _kernels_of(family))
