"""Values that follow from known shapes: small integers that a model computes but that are the same in every run.

Frameworks write axes and target shapes as computations on shapes; where the shapes are known so are these, and rows
may take them as constants. Nothing is removed from the graph by this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx

from maxfold.model.attributes import encode
from maxfold.model.data import Array
from maxfold.model.graph import Node

_MAX_ELEMENTS = 256
_HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
_Values = Sequence[Array | None]


def values_of(node: Node, inputs: _Values, types: Sequence[onnx.TypeProto | None]) -> list[Array]:
    """The values of a node's outputs, where they are small tensors of integers that are known; else nothing.

    `inputs` are the known values of its inputs, `types` their derived types.
    """
    if node.op == "Shape" and not node.attrs:
        shape = _shape(types[0])
        return [] if shape is None else [shape]
    if node.op == "Cast" and inputs[0] is not None and inputs[0].dtype in _HALVES:
        return _decompressed(node, inputs[0])
    known = [value for value in inputs if value is not None and _is_small_integer(value)]
    if len(known) != len(inputs) or not known:
        return []
    if node.op == "Split":
        parts = _split(known, len(node.outputs))
        return parts if len(parts) == len(node.outputs) else []
    value = _value(node, known)
    return [] if value is None else [value]


def _decompressed(node: Node, value: Array) -> list[Array]:
    """A small parameter that the file has in half precision, as IR compresses all floats."""
    to = onnx.helper.get_attribute_value(encode("to", node.attrs["to"]))
    return [value.astype(np.float32)] if to == onnx.TensorProto.FLOAT and value.size <= _MAX_ELEMENTS else []


def _value(node: Node, known: Sequence[Array]) -> Array | None:
    compute = _COMPUTED.get(node.op)
    if compute is None or len(node.outputs) != 1:
        return None
    attributes = {name: onnx.helper.get_attribute_value(encode(name, value)) for name, value in node.attrs.items()}
    try:
        value = compute(known, attributes)
    except (ValueError, IndexError, TypeError, ArithmeticError):
        return None
    return value if value is not None and _is_small_integer(value) else None


def _is_small_integer(value: Array) -> bool:
    return value.dtype in (np.int32, np.int64) and value.size <= _MAX_ELEMENTS


def _shape(found: onnx.TypeProto | None) -> Array | None:
    if found is None or not found.tensor_type.HasField("shape"):
        return None
    dims = found.tensor_type.shape.dim
    if not all(dim.HasField("dim_value") for dim in dims):
        return None
    return np.array([dim.dim_value for dim in dims], np.int64)


def _cast(values: Sequence[Array], attributes: dict[str, Any]) -> Array | None:
    types = {onnx.TensorProto.INT32: np.int32, onnx.TensorProto.INT64: np.int64}
    wanted = types.get(attributes["to"])
    return None if wanted is None else values[0].astype(wanted)


def _concat(values: Sequence[Array], attributes: dict[str, Any]) -> Array:
    joined: Array = np.concatenate(values, axis=attributes["axis"])
    return joined


def _div(values: Sequence[Array], _: dict[str, Any]) -> Array | None:
    return values[0] // values[1] if _are_positive(values) else None


def _mod(values: Sequence[Array], _: dict[str, Any]) -> Array | None:
    return values[0] % values[1] if _are_positive(values) else None


def _are_positive(values: Sequence[Array]) -> bool:
    """Whether division has one meaning only."""
    return bool(np.all(values[0] >= 0) and np.all(values[1] > 0))


def _gather(values: Sequence[Array], attributes: dict[str, Any]) -> Array:
    taken: Array = np.take(values[0], values[1], axis=attributes.get("axis", 0))
    return taken


def _range(values: Sequence[Array], _: dict[str, Any]) -> Array | None:
    start, stop, step = (int(value.reshape(())) for value in values)
    if step == 0 or abs((stop - start) / step) > _MAX_ELEMENTS:
        return None
    return np.arange(start, stop, step).astype(values[0].dtype)


def _reshape(values: Sequence[Array], attributes: dict[str, Any]) -> Array | None:
    target = [int(size) for size in values[1]]
    return None if 0 in target or attributes else values[0].reshape(target)


def _slice(values: Sequence[Array], _: dict[str, Any]) -> Array | None:
    """Of vectors."""
    data, start, stop = values[0], int(values[1].reshape(())), int(values[2].reshape(()))
    step = int(values[4].reshape(())) if len(values) > 4 else 1
    if data.ndim != 1 or step <= 0:
        return None
    return data[start:stop:step]


def _split(values: Sequence[Array], count: int) -> list[Array]:
    """Of vectors, at lengths that are given."""
    if len(values) != 2 or values[0].ndim != 1 or values[1].size != count or int(values[1].sum()) != values[0].size:
        return []
    return list(np.split(values[0], np.cumsum(values[1])[:-1]))


def _squeeze(values: Sequence[Array], attributes: dict[str, Any]) -> Array | None:
    if attributes:
        return None
    return np.squeeze(values[0], tuple(int(axis) for axis in values[1])) if len(values) > 1 else np.squeeze(values[0])


def _unsqueeze(values: Sequence[Array], attributes: dict[str, Any]) -> Array | None:
    if attributes or len(values) != 2:
        return None
    return np.expand_dims(values[0], tuple(int(axis) for axis in values[1]))


def _wrapping(compute: Callable[[Array, Array], Array]) -> Callable[[Sequence[Array], dict[str, Any]], Array | None]:
    """A binary operation whose result is small enough that no width of integers matters."""

    def compute_small(values: Sequence[Array], _: dict[str, Any]) -> Array | None:
        result = compute(values[0], values[1])
        is_small = math.prod(result.shape) <= _MAX_ELEMENTS and bool(np.all(np.abs(result) < 1 << 31))
        return result if is_small and all(bool(np.all(np.abs(value) < 1 << 31)) for value in values) else None

    return compute_small


_COMPUTED: dict[str, Callable[[Sequence[Array], dict[str, Any]], Array | None]] = {
    "Add": _wrapping(np.add),
    "Cast": _cast,
    "Concat": _concat,
    "Div": _div,
    "Gather": _gather,
    "Identity": lambda values, _: values[0],
    "Mod": _mod,
    "Mul": _wrapping(np.multiply),
    "Range": _range,
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": _wrapping(np.subtract),
    "Unsqueeze": _unsqueeze,
}
