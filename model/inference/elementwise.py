"""Operators whose result has the shape of an input, or to which inputs broadcast; those of one input first.

Values are followed by `arithmetic`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from maxfold.model import dtypes
from maxfold.model.dtypes import DType
from maxfold.model.graph import Constant
from maxfold.model.inference import arithmetic
from maxfold.model.inference.call import Call
from maxfold.model.inference.facts import MOST_ELEMENTS, Fact, PartialValue
from maxfold.model.inference.symbolic import Dim, broadcast

BOOL = dtypes.from_onnx(9)
INT64 = dtypes.from_onnx(7)
FLOAT = dtypes.from_onnx(1)


def like_input(call: Call) -> Fact:
    """The first result is like the first input; further ones are not known."""
    return call.fact(0).without_value()


def identity(call: Call) -> Fact:
    """Identity, and what passes its input through."""
    fact = call.fact(0)
    return Fact(fact.dtype, fact.dims, call.value(0), fact.proto)


def answers(call: Call) -> Fact:
    """IsNaN and IsInf: as many answers as inputs."""
    return Fact(BOOL, call.dims(0))


def dropout(call: Call) -> list[Fact]:
    """Dropout: the mask is of type BOOL since version 10. Nothing is said of values, which training changes."""
    fact = call.fact(0)
    return [Fact(fact.dtype, fact.dims), Fact(BOOL if call.version >= 10 else fact.dtype, fact.dims)]


def prelu(call: Call) -> Fact:
    """PRelu: like the input, to which ONNX Runtime broadcasts the slope and the other way round."""
    return like_input(call) if call.version < 7 else _broadcast_fact(call, call.dtype(0))


def batch_normalization(call: Call) -> list[Fact]:
    """BatchNormalization: in training, it returns a new mean and variance too."""
    fact = call.fact(0)
    statistics = [call.fact(index) for index in (3, 4)]
    return [Fact(fact.dtype, fact.dims), *(Fact(item.dtype, item.dims) for item in statistics)]


def power(call: Call) -> Fact:
    """Pow: of the type of the base."""
    return Fact(call.dtype(0), broadcast_inputs(call))


def broadcast_dims(shapes: Sequence[tuple[Dim, ...] | None]) -> tuple[Dim, ...] | None:
    """The dims to which shapes broadcast, None where a rank is unknown. Raises ValueError where they do not."""
    result = shapes[0]
    for shape in shapes[1:]:
        if shape is None or result is None:
            return None
        if shape is not result:
            result = _broadcast_pair(result, shape)
    return result


@functools.lru_cache(maxsize=256)
def _broadcast_pair(left: tuple[Dim, ...], right: tuple[Dim, ...]) -> tuple[Dim, ...]:
    short, result = (left, right) if len(left) < len(right) else (right, left)
    start = len(result) - len(short)
    aligned = (broadcast(one, other) for one, other in zip(result[start:], short, strict=True))
    joined = (*result[:start], *aligned)
    return next((shape for shape in (left, right) if shape == joined), joined)


def variadic(call: Call) -> Fact:
    """Operators on any number of inputs of one type, which broadcast."""
    return _broadcast_fact(call, shared_dtype(call))


def _broadcast_fact(call: Call, dtype: DType | None, value: PartialValue | None = None) -> Fact:
    """The fact of a result to which all inputs broadcast: the first input's own one where it is the same."""
    dims, first = broadcast_inputs(call), call.fact(0)
    if value is None and first.value is None and first.dims is dims and first.dtype is dtype:
        return first
    return Fact(dtype, dims, value)


def shared_dtype(call: Call, first: int = 0) -> DType | None:
    """The type that all inputs have, by the first input of which it is known."""
    for index in range(first, call.input_count):
        dtype = call.dtype(index)
        if dtype is not None:
            return dtype
    return None


def broadcast_inputs(call: Call) -> tuple[Dim, ...] | None:
    """The dims to which all inputs broadcast; with the attribute `broadcast` of version 6, those of the first."""
    if call.node.attrs and call.attribute("broadcast"):
        return call.dims(0)
    return broadcast_dims([call.dims(index) for index in range(call.input_count)])


def unary(call: Call) -> Fact:
    """Operators on one input whose values are followed."""
    fact = call.fact(0)
    value = call.value(0)
    if value is None or fact.dtype is None:
        return fact.without_value()
    return Fact(fact.dtype, fact.dims, _mapped(call, arithmetic.UNARY[call.node.op], fact.dtype, [value]))


def binary(call: Call) -> Fact:
    """Operators on inputs of one type, which broadcast; values are followed from left to right."""
    dtype = shared_dtype(call)
    return _broadcast_fact(call, dtype, _followed(call, dtype))


def comparison(call: Call) -> Fact:
    """Operators like `binary` with a result of type BOOL."""
    dims = broadcast_inputs(call)
    return Fact(BOOL, dims, _followed(call, BOOL))


def where(call: Call) -> Fact:
    """Where: the value follows the branches element by element."""
    dtype, dims = shared_dtype(call, 1), broadcast_inputs(call)
    values = _values(call)
    if values is None or dtype is None:
        return Fact(dtype, dims)
    return Fact(dtype, dims, _mapped(call, arithmetic.choose, dtype, values))


def clip(call: Call) -> Fact:
    """Clip: limits that are given as inputs are followed for integers."""
    fact = call.fact(0)
    value, dtype = call.value(0), fact.dtype
    if value is None or dtype is None or dtype.kind == "float":
        return Fact(fact.dtype, fact.dims)
    for index, operator in ((1, "Max"), (2, "Min")):
        if value is not None and call.has(index):
            limit = call.value(index)
            value = None if limit is None else _mapped(call, arithmetic.BINARY[operator], dtype, [value, limit])
    return Fact(dtype, fact.dims, value)


def cast(call: Call) -> Fact:
    """Cast and CastLike."""
    fact = call.fact(0)
    target = call.dtype(1) if call.node.op == "CastLike" else _named_dtype(call.attribute("to"))
    value = call.value(0)
    if value is None or fact.dtype is None or target is None:
        return Fact(target, fact.dims)
    elements = tuple(arithmetic.cast(call, target, element) for element in value.elements)
    return Fact(target, fact.dims, PartialValue(value.shape, elements))


def random_like(call: Call) -> Fact:
    """RandomNormalLike, RandomUniformLike and Bernoulli: a type of their own, or that of the input."""
    number = call.attribute("dtype")
    return Fact(call.dtype(0) if number is None else dtypes.from_onnx(number), call.dims(0))


def _named_dtype(target: object) -> DType | None:
    """The type that Cast names: by its number, in versions before 6 by its name."""
    if isinstance(target, int):
        return dtypes.from_onnx(target)
    return next((dtype for dtype in dtypes.DTYPES if dtype.name == target and dtype.onnx is not None), None)


def _values(call: Call) -> list[PartialValue] | None:
    """The values of all inputs, None where one is not followed; computed values are looked at first."""
    inputs = call.node.inputs
    for index, tensor in enumerate(inputs):
        if not isinstance(tensor, Constant) and call.fact(index).value is None:
            return None
    values = [call.value(index) for index in range(len(inputs))]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None


def _followed(call: Call, dtype: DType | None) -> PartialValue | None:
    values = _values(call)
    if not values or dtype is None or (call.node.attrs and call.attribute("broadcast")):
        return None
    result: PartialValue | None = values[0]
    for value in values[1:]:
        if result is None:
            return None
        result = _mapped(call, arithmetic.BINARY[call.node.op], dtype, [result, value])
    return result


def _mapped(
    call: Call, function: arithmetic.ElementFunction, dtype: DType, values: list[PartialValue]
) -> PartialValue | None:
    """The function of all elements, the values broadcast. Raises ValueError where they do not."""
    shape = np.broadcast_shapes(*(value.shape for value in values))
    if math.prod(shape) > MOST_ELEMENTS:
        return None
    if all(value.shape == shape for value in values):
        columns = [value.elements for value in values]
    else:
        columns = [tuple(np.broadcast_to(value.array(), shape).reshape(-1)) for value in values]
    return PartialValue(shape, tuple(function(call, dtype, *row) for row in zip(*columns, strict=True)))


_LIKE_INPUT = [
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Celu", "Cos", "Cosh",
    "CumProd", "CumSum", "Elu", "Erf", "Exp", "Gelu", "GroupNormalization", "HardSigmoid", "HardSwish", "Hardmax",
    "InstanceNormalization", "LRN", "LeakyRelu", "Log", "LogSoftmax", "LpNormalization", "MeanVarianceNormalization",
    "Mish", "RMSNormalization", "Reciprocal", "Relu", "ReverseSequence", "Selu", "Shrink", "Sigmoid", "Sign",
    "Sin", "Sinh", "Softmax", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Trilu",
]  # fmt: skip
_COMPARISONS = ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor"]

SHAPE_FUNCTIONS: dict[str, Callable[[Call], Fact | list[Fact]]] = {
    **dict.fromkeys(_LIKE_INPUT, like_input),
    **dict.fromkeys(arithmetic.UNARY, unary),
    **dict.fromkeys(arithmetic.BINARY, binary),
    **dict.fromkeys(_COMPARISONS, comparison),
    **dict.fromkeys(["BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Mean"], variadic),
    **dict.fromkeys(["IsInf", "IsNaN"], answers),
    **dict.fromkeys(["Cast", "CastLike"], cast),
    **dict.fromkeys(["Bernoulli", "RandomNormalLike", "RandomUniformLike"], random_like),
    "BatchNormalization": batch_normalization,
    "Clip": clip,
    "Dropout": dropout,
    "Identity": identity,
    "PRelu": prelu,
    "Pow": power,
    "Where": where,
}
