"""Models of one node with operands of many shapes: those of ONNX's node tests, and what becomes of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper

from tests.model.inference.evaluation import Array

_SMALL_BYTES = 1024
KINDS = (
    "static", "symbolic", "mixed", "static, constant integers", "symbolic, constant integers",
    "mixed, constant integers", "constant", "one unranked", "one unranked, constant integers",
)  # fmt: skip


def variants(arrays: Sequence[Array]) -> Iterator[list[Array]]:
    """The operands themselves, and operands of other sizes and ranks, most of which no node takes."""
    yield list(arrays)
    for index, array in enumerate(arrays):
        for changed in _changed(array):
            yield [*arrays[:index], changed, *arrays[index + 1 :]]
    for size in sorted({size for array in arrays for size in array.shape if size != 1}):
        for other in (0, 1, size + 1, 2 * size):
            yield [
                _resized(array, [axis for axis, own in enumerate(array.shape) if own == size], other)
                for array in arrays
            ]
    for axis in range(max((array.ndim for array in arrays), default=0)):
        for other in (0, 1, 2, 5):
            yield [_resized(array, [axis] if axis < array.ndim else [], other) for array in arrays]
    yield [array[None] for array in arrays]


def _changed(array: Array) -> Iterator[Array]:
    """One rank less, one more, and each dim as 0, 1 and twice what it is."""
    if array.ndim and array.shape[0]:
        yield np.asarray(array[0])
    yield array[None]
    for axis, size in enumerate(array.shape):
        yield from (_resized(array, [axis], other) for other in (0, 1, 2 * size) if other != size)


def _resized(array: Array, axes: Sequence[int], size: int) -> Array:
    for axis in axes:
        if array.shape[axis]:
            array = np.take(array, [number % array.shape[axis] for number in range(size)], axis)
    return array


def declared(proto: ModelProto, feeds: Mapping[str, Array], kind: str, seed: int) -> ModelProto:
    """The model with its inputs declared as the operands are, as symbols, without a shape, or as constants."""
    choice = random.Random(seed)
    unranked = choice.choice(sorted(feeds)) if feeds and "unranked" in kind else None
    copy = ModelProto()
    copy.CopyFrom(proto)
    for position, info in enumerate(list(copy.graph.input)):
        if not info.type.HasField("tensor_type"):
            continue
        array = feeds[info.name]
        shape = info.type.tensor_type.shape
        shape.ClearField("dim")
        shape.SetInParent()
        for axis, size in enumerate(array.shape):
            if kind.startswith("symbolic") or (kind.startswith("mixed") and choice.random() < 0.5):
                shape.dim.add(dim_param=f"{info.name}_{axis}")
            else:
                shape.dim.add(dim_value=size)
        if info.name == unranked:
            info.type.tensor_type.ClearField("shape")
        is_small = array.dtype.kind in "iub" and array.nbytes <= _SMALL_BYTES
        if (kind == "constant" and position) or ("constant integers" in kind and is_small and info.name != unranked):
            copy.graph.initializer.append(numpy_helper.from_array(array, info.name))
            copy.graph.input.remove(info)
    return copy


def opened(proto: ModelProto, version: int) -> ModelProto:
    """The model at a version of its operator set, without any shape."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    copy.ir_version = 10
    for entry in copy.opset_import:
        if entry.domain == "":
            entry.version = version
    copy.graph.ClearField("value_info")
    for info in (*copy.graph.input, *copy.graph.output):
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    return copy


def versions(operator: str) -> list[int]:
    """All versions of an operator of ai.onnx, the newest first."""
    schemas = onnx.defs.get_all_schemas_with_history()
    return sorted((item.since_version for item in schemas if (item.domain, item.name) == ("", operator)), reverse=True)
