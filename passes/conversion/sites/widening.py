"""Element types that ONNX Runtime computes an operator in another one for, which holds all of them.

The operator of the wider type gives the same numbers: what is moved, chosen or compared stays what it is; sums and
products of integers wrap around alike; and results of bfloat16 are rounded once. Only convolutions of integers are
computed in float32, exact up to 2^24, as OpenVINO's CPU computes them.

Source: the kernels that ONNX Runtime 1.32 registers for its CPU, and ONNX's schemas, some of which have no bfloat16 in
the operator sets that are written. float16 is left out, since ONNX Runtime inserts such casts for it, but for operators
with a reduction, written with a +, whose kernels for it turn it down when they run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from maxfold.model.dtypes import DTYPES, DType

# A type, the wider one, and the operators.
_LINES = """
BFLOAT16 FLOAT: Abs Acos Acosh Add ArgMax ArgMin Asin Asinh Atan Atanh AveragePool Ceil Clip Conv ConvTranspose Cos
 Cosh  CumSum DepthToSpace Div Einsum Elu Equal Erf Exp Expand Floor Gelu Gemm GlobalAveragePool GlobalMaxPool Greater
 GreaterOrEqual HardSigmoid HardSwish InstanceNormalization IsInf IsNaN LRN LeakyRelu Less LessOrEqual Log LogSoftmax
 MatMul Max  MaxPool Mean Min Mish Mod Mul Neg NonZero PRelu Pad Pow Reciprocal ReduceL1 ReduceL2 ReduceMax ReduceMean
 ReduceMin  ReduceProd ReduceSum Relu ReverseSequence Round Selu Sigmoid Sin Sinh Softmax Softplus Softsign
 SpaceToDepth Sqrt  Sub Sum Tan Tanh Tile TopK Trilu Unique Where
BOOL UINT8: DepthToSpace SpaceToDepth Where
BOOL INT64: Unique
INT8 INT32: Einsum NonZero ReduceL1 ReduceMean ReduceProd ReduceSum Trilu
UINT8 INT32: Einsum ReduceL1 ReduceMean ReduceProd ReduceSum Trilu
UINT8 INT64: Unique
INT16 INT32: ArgMax ArgMin Clip Einsum Max Min NonZero Pad ReduceL1 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
 Trilu Where
UINT16 INT32: ArgMax ArgMin Clip Einsum Max Min NonZero Pad ReduceL1 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
 TopK Trilu Where
INT16 INT64: Unique
UINT16 INT64: Unique
INT16 FLOAT: DepthToSpace SpaceToDepth
UINT16 FLOAT: DepthToSpace SpaceToDepth
INT32 DOUBLE: DepthToSpace SpaceToDepth
UINT32 DOUBLE: DepthToSpace SpaceToDepth
INT32 INT64: Unique
INT32 FLOAT: Conv
UINT32 INT64: ArgMax ArgMin CumSum Einsum NonZero ReduceMax ReduceMin ReduceProd ReduceSum TopK Trilu Unique
UINT64 INT64: CumSum Einsum NonZero ReduceProd ReduceSum Trilu Where
INT4 INT8: Expand Flatten Identity Pad Reshape Squeeze Unsqueeze
UINT4 UINT8: Expand Flatten Identity Pad Reshape Squeeze Unsqueeze
FLOAT16 FLOAT: ScatterElements+ ScatterND+
BFLOAT16 FLOAT: ScatterElements+ ScatterND+
"""

_REDUCING = frozenset({"ScatterElements", "ScatterND"})
_TYPES = {dtype.name: dtype for dtype in DTYPES}


def _read(lines: str) -> dict[str, dict[str, DType]]:
    table: dict[str, dict[str, DType]] = {}
    for line in lines.replace("\n ", " ").split("\n"):
        types, _, operators = line.partition(":")
        for operator in operators.split():
            narrow, wide = types.split()
            table.setdefault(operator, {})[narrow] = _TYPES[wide]
    return table


WIDER = _read(_LINES)


def kind_of(operator: str, attributes: Mapping[str, Any] | None) -> str:
    """An operator as the table has it."""
    is_reducing = operator in _REDUCING and (attributes or {}).get("reduction", "none") != "none"
    return f"{operator}+" if is_reducing else operator


def wider_types(
    operator: str, opset: int, dtypes: Sequence[DType | None], kind: str = ""
) -> dict[str, tuple[DType, DType]]:
    """For each type parameter of an operator that ONNX Runtime does not compute in the type of its operands: that type,
    and the wider one. `kind` is the operator as the table has it, where that is not its name."""
    table = WIDER.get(kind or operator)
    if table is None or not any(dtype is not None and dtype.name in table for dtype in dtypes):
        return {}
    schema = onnx.defs.get_schema(operator, opset)
    found: dict[str, tuple[DType, DType]] = {}
    for index, dtype in enumerate(dtypes):
        wide = None if dtype is None else table.get(dtype.name)
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        is_open = len(formal.types) > 1
        if dtype is not None and wide is not None and is_open and f"tensor({wide})" in formal.types:
            found[formal.type_str] = dtype, wide
    return found


def parameters(operator: str, opset: int) -> tuple[list[str], list[str]]:
    """The type parameters of an operator's inputs and of its outputs; the last one is that of all that follow."""
    schema = onnx.defs.get_schema(operator, opset)
    return [formal.type_str for formal in schema.inputs], [formal.type_str for formal in schema.outputs]
