"""Larger operators, evaluated by onnx's own reference implementations where those are right.

An operator is in the table if all its ONNX node tests come out right, for the versions that mean the same and for the
attributes and inputs that the implementation heeds. Narrow floats are computed in double, and rounded once.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TypeProto, checker, defs, helper, numpy_helper

from maxfold.model.attributes import encode
from maxfold.model.dtypes import DType
from maxfold.model.onnx_inference import infer_outputs
from maxfold.passes.kernels.call import Array, Call, KernelError, Result
from maxfold.passes.kernels.elementwise import is_float
from maxfold.passes.kernels.kernel import Kernel
from maxfold.passes.kernels.reduction import settled
from maxfold.passes.kernels.shape import known_dtype

_MOST_ELEMENTS = 1 << 18
"""The implementations are loops of Python."""

_MOST_KNOWN_ELEMENTS = 1 << 8
"""Inputs of up to so many elements may say what shape the results have."""


def _node(operator: str, call: Call) -> onnx.NodeProto:
    node = onnx.NodeProto(op_type=operator)
    node.input.extend("" if operand is None else f"i{index}" for index, operand in enumerate(call.inputs))
    node.output.extend(f"o{index}" for index in range(max(call.outputs, 1)))
    node.attribute.extend(encode(name, value) for name, value in call.attributes.items())
    return node


def _inferred(operator: str, call: Call) -> tuple[Result, ...]:
    """The types of the results as onnx infers them."""
    from onnx import shape_inference

    present = {f"i{index}": operand for index, operand in enumerate(call.inputs) if operand is not None}
    types = {name: helper.make_tensor_type_proto(_code(item.dtype), item.shape) for name, item in present.items()}
    data = {
        name: numpy_helper.from_array(np.ascontiguousarray(item.array).reshape(item.shape), name)
        for name, item in present.items()
        if math.prod(item.shape) <= _MOST_KNOWN_ELEMENTS
    }
    schema, node = defs.get_schema(operator, call.opset), _node(operator, call)
    try:
        imports = [helper.make_opsetid("", call.opset)]
        found = infer_outputs(schema, node, types, data, imports, ir_version=onnx.IR_VERSION)
    except (shape_inference.InferenceError, checker.ValidationError, defs.SchemaError, ValueError) as error:
        raise KernelError(f"onnx infers no type: {_one_line(error)}") from error
    return tuple(_result(found.get(name)) for name in node.output)


def _code(dtype: DType) -> int:
    if dtype.onnx is None:
        raise KernelError(f"{dtype} is no type of ONNX")
    return dtype.onnx


def _result(proto: TypeProto | None) -> Result:
    tensor = TypeProto.Tensor() if proto is None else proto.tensor_type
    if not tensor.HasField("shape") or not all(dim.HasField("dim_value") for dim in tensor.shape.dim):
        raise KernelError("onnx infers no shape of a result")
    return Result(known_dtype(tensor.elem_type), tuple(dim.dim_value for dim in tensor.shape.dim))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:120]


@functools.cache
def _takes_double(operator: str, opset: int) -> tuple[bool, ...]:
    """For each input of an operator, whether it may be double."""
    schema = defs.get_schema(operator, opset)
    return tuple("tensor(double)" in formal.types for formal in schema.inputs)


def _as_wide(operator: str, call: Call) -> list[Array | None]:
    """The inputs, floats in double where the operator takes that."""
    takes_double = _takes_double(operator, call.opset)
    arrays = [None if operand is None else operand.array for operand in call.inputs]
    for array in arrays:
        if array is not None and is_float(array) and not np.isfinite(array.astype(np.float64)).all():
            raise KernelError("onnx's implementation is not trusted with infinities and NaN")
    return [
        array.astype(np.float64) if array is not None and is_float(array) and takes_double[index] else array
        for index, array in enumerate(arrays)
    ]


def _model(operator: str, call: Call, arrays: Sequence[Array | None]) -> ModelProto:
    node = _node(operator, call)
    inputs = [
        helper.make_tensor_value_info(f"i{index}", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for index, array in enumerate(arrays)
        if array is not None
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = helper.make_graph([node], "", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", call.opset)])


def _run(model: ModelProto, arrays: Sequence[Array | None]) -> list[Any]:
    from onnx.reference import ReferenceEvaluator

    feeds = {f"i{index}": array for index, array in enumerate(arrays) if array is not None}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = ReferenceEvaluator(model).run(None, feeds)
        except Exception as error:  # the implementations raise whatever numpy does
            raise KernelError(f"onnx's implementation refuses it: {_one_line(error)}") from error
    return list(found)


def _finished(value: Any, result: Result) -> Array:
    array = np.asarray(value)
    if array.shape != result.shape or is_float(array) != (result.dtype.kind == "float"):
        raise KernelError("onnx's implementation and onnx's inference disagree")
    if result.dtype.kind != "float" and array.dtype != result.dtype.numpy:
        raise KernelError("onnx's implementation and onnx's inference disagree")
    out = settled(array, result)
    if is_float(out) and not np.isfinite(out.astype(np.float64)).all():
        raise KernelError("onnx's implementation is not trusted with infinities and NaN")
    return out


def _reference(
    operator: str,
    since: int,
    last: int,
    attributes: str = "",
    *,
    unread: Callable[[Call], str | None] = lambda call: None,
    keeps_shape: bool = False,
    is_exact: bool = False,
) -> Kernel:
    """An operator whose implementation heeds `attributes` alone.

    `unread` says what else of a node it gets wrong. `keeps_shape`: the result is of the first input's type and
    shape, which onnx does not infer.
    """
    heeded = frozenset(attributes.split())

    def check(call: Call) -> None:
        for name in call.attributes:
            if name not in heeded:
                raise KernelError(f"onnx's implementation is not right for {name}")
        wrong = unread(call)
        if wrong is not None:
            raise KernelError(f"onnx's implementation is not right for {wrong}")

    def results(call: Call) -> tuple[Result, ...]:
        check(call)
        found = (Result(call.dtype(), call.shape(0)),) if keeps_shape else _inferred(operator, call)
        shapes = [item.shape for item in (*call.inputs, *found) if item is not None]
        if sum(map(math.prod, shapes)) > _MOST_ELEMENTS:
            raise KernelError(f"more than {_MOST_ELEMENTS} elements are too slow to evaluate")
        if not is_exact and any(item.dtype.name == "DOUBLE" for item in found):
            raise KernelError("doubles are summed in an order that depends on the processor")
        return found

    def evaluate(call: Call) -> tuple[Array, ...]:
        types = results(call)
        arrays = _as_wide(operator, call)
        found = _run(_model(operator, call, arrays), arrays)
        return tuple(_finished(value, result) for value, result in zip(found, types, strict=True))

    policy = "Exact." if is_exact else "Computed in double and rounded once to the node's type."
    return Kernel(operator, "", since, last, policy, results, evaluate, is_rounded=not is_exact)


_PLACED = "dilations kernel_shape pads strides"


def _no_lengths(call: Call) -> str | None:
    return None if call.optional(4) is None else "sequence_lens"


def _no_aligned_corners(call: Call) -> str | None:
    # Of one place along a dimension it makes the last one, not the middle.
    return "align_corners" if call.integer("align_corners", 0) else None


_RECURRENT = "hidden_size layout direction"

REFERENCE: tuple[Kernel, ...] = (
    _reference("Conv", 1, 22, f"{_PLACED} auto_pad group"),
    _reference("ConvInteger", 10, 10, f"{_PLACED} auto_pad group", is_exact=True),
    _reference("ConvTranspose", 11, 22, f"{_PLACED} auto_pad group output_padding output_shape"),
    _reference("InstanceNormalization", 6, 22, "epsilon"),
    _reference("GroupNormalization", 21, 21, "epsilon num_groups", keeps_shape=True),
    _reference("RMSNormalization", 23, 23, "axis epsilon"),
    _reference("RNN", 7, 22, _RECURRENT, unread=_no_lengths),
    _reference("GRU", 7, 22, f"{_RECURRENT} linear_before_reset", unread=_no_lengths),
    _reference("LSTM", 7, 22, _RECURRENT, unread=_no_lengths),
    _reference("Det", 11, 22),
    _reference("AffineGrid", 20, 20, "align_corners", unread=_no_aligned_corners),
    _reference("CenterCropPad", 18, 18, "axes", is_exact=True),
    _reference("Col2Im", 18, 18, "dilations pads strides"),
    _reference("HannWindow", 17, 17, "output_datatype periodic"),
    _reference("HammingWindow", 17, 17, "output_datatype periodic"),
    _reference("BlackmanWindow", 17, 17, "output_datatype periodic"),
    _reference("MelWeightMatrix", 17, 17, "output_datatype"),
)
"""Convolution, normalization, recurrence and others, small ones only."""
