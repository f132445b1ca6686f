"""Kernels called by hand: for older versions of operators, and for what they decline.

evaluated("Squeeze", [x], {"axes": [0]}, 11)   the results, whose types are those that were announced
declined("Squeeze", [x], {"axes": [5]}, 11)    why the kernel does not evaluate the node
ints(0, -1), iota(2, 3), some_values("INT4")   small arrays
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from onnx import defs

from maxfold.model.data import ArrayData
from maxfold.model.graph import Constant, new_constant, new_graph
from maxfold.passes.kernels import Call, Kernel, KernelError, check, find
from maxfold.passes.kernels.call import operand_of
from tests.passes.kernels.reference import Array
from tests.passes.kernels.strategies import BY_NAME

NEWEST = 25


def tensor_attribute(values: Array) -> Constant:
    """The value of an attribute that holds a tensor."""
    return new_constant("", ArrayData(values), new_graph(""))


def ints(*values: int) -> Array:
    """A vector of int64."""
    return np.array(values, np.int64)


def iota(*shape: int) -> Array:
    """The float32 numbers 0, 1, 2, ... in row-major order."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def types_of(operator: str) -> list[str]:
    """The names of the types that the newest version takes as first input."""
    schema = defs.get_schema(operator)
    return [name for name, dtype in BY_NAME.items() if f"tensor({dtype})" in schema.inputs[0].types]


def some_values(name: str, count: int = 3) -> Array:
    """Values of a type: 1, 2, 3, ... or strings."""
    dtype = BY_NAME[name]
    values = np.arange(1, count + 1)
    return values.astype(str).astype(object) if dtype.kind == "string" else values.astype(dtype.numpy)


def evaluated(
    operator: str,
    inputs: Sequence[Array | None],
    attributes: Mapping[str, object] | None = None,
    opset: int = NEWEST,
    outputs: int = 1,
) -> tuple[Array, ...]:
    """The results of a node that the operator's schema allows; of the types that the kernel announces."""
    kernel, call, reason = _call(operator, inputs, attributes or {}, opset, outputs)
    assert reason is None
    results, values = kernel.results(call), kernel.evaluate(call)
    assert [(result.dtype.numpy, result.shape) for result in results] == [(item.dtype, item.shape) for item in values]
    assert all(item.flags.c_contiguous for item in values)
    return values


def declined(
    operator: str,
    inputs: Sequence[Array | None],
    attributes: Mapping[str, object] | None = None,
    opset: int = NEWEST,
    outputs: int = 1,
) -> str:
    """Why a node is not evaluated; "" where it is."""
    kernel, call, reason = _call(operator, inputs, attributes or {}, opset, outputs)
    if reason is not None:
        return reason
    try:
        kernel.results(call)
        kernel.evaluate(call)
    except KernelError as error:
        return str(error)
    return ""


def call_of(
    inputs: Sequence[Array | None], attributes: Mapping[str, object] | None = None, opset: int = NEWEST
) -> Call:
    """A call with arrays in memory; None is an input that is left out."""
    return Call(tuple(None if item is None else operand_of(item) for item in inputs), attributes or {}, opset)


def _call(
    operator: str, inputs: Sequence[Array | None], attributes: Mapping[str, object], opset: int, outputs: int
) -> tuple[Kernel, Call, str | None]:
    kernel = find("", operator, opset)
    assert kernel is not None, f"no kernel for {operator} of operator set {opset}"
    call = replace(call_of(inputs, attributes, opset), outputs=outputs)
    dtypes = [None if item is None else item.dtype for item in call.inputs]
    return kernel, call, check(kernel, dtypes, opset, attributes)
