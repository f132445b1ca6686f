"""Models run by OpenVINO, to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov

from tests.model.openvino.plain import Plain, differences

_EXACT = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
_UNKNOWN_LENGTH = 2
# How often the original is compiled again before a difference counts.
_COMPILATIONS = 8
_CANNOT = (RuntimeError, TypeError, ValueError)


class CannotJudgeError(Exception):
    """Running the original says nothing: it fails, or gives other bits each time."""


def run_both(core: ov.Core, original: Path, rewritten: Path, feeds: Sequence[Any] | None, seed: int) -> list[str]:
    """Where the outputs differ; random inputs where `feeds` is None."""
    try:
        model = core.read_model(original)
        tensors = _random_tensors(model, seed) if feeds is None else _tensors(model, feeds)
        compiled = core.compile_model(model, "CPU", _EXACT)
        expected = _outputs(compiled, tensors)
        steady = _outputs(compiled, tensors) == expected
    except _CANNOT as error:
        raise CannotJudgeError(str(error)) from error
    if not steady:
        raise CannotJudgeError("other bits each time")
    actual = _compiled_outputs(core, rewritten, tensors)
    found = differences(expected, actual, "outputs")
    if found and any(_compiled_outputs(core, original, tensors) != expected for _ in range(_COMPILATIONS)):
        # With several variables, OpenVINO gives out memory that nothing has written yet, and only in some compilations.
        raise CannotJudgeError("other bits after each compilation")
    return found


def _compiled_outputs(core: ov.Core, path: Path, tensors: Sequence[ov.Tensor]) -> Plain:
    return _outputs(core.compile_model(core.read_model(path), "CPU", _EXACT), tensors)


def _outputs(compiled: ov.CompiledModel, tensors: Sequence[ov.Tensor]) -> Plain:
    """Types, shapes and bits of the outputs of two runs in a row, so that state counts."""
    request = compiled.create_infer_request()
    results: list[Plain] = []
    for _ in range(2):
        request.infer(dict(enumerate(tensors)), share_inputs=True)
        results += [_tensor(output) for output in request.output_tensors]
    return results


def _tensor(tensor: ov.Tensor) -> Plain:
    kind = tensor.get_element_type()
    data = tensor.str_data.tolist() if kind == ov.Type.string else tensor.data.tobytes()
    return [str(kind), str(tensor.get_shape()), str(data)]


def _tensors(model: ov.Model, feeds: Sequence[Any]) -> list[ov.Tensor]:
    if len(feeds) != len(model.inputs):
        raise CannotJudgeError("inputs were added or lost in the conversion")
    return [_filled(port.get_element_type(), feed) for port, feed in zip(model.inputs, feeds, strict=True)]


def _filled(kind: ov.Type, feed: Any) -> ov.Tensor:
    array = np.ascontiguousarray(np.asarray(feed))
    if array.dtype.kind in "OSU":
        return ov.Tensor(array.astype(np.str_))
    tensor = ov.Tensor(kind, ov.Shape(np.asarray(feed).shape))
    if tensor.get_byte_size() != array.nbytes:
        raise CannotJudgeError("inputs are stored in another way")
    tensor.data.reshape(-1).view(np.uint8)[:] = array.reshape(-1).view(np.uint8)
    return tensor


def _random_tensors(model: ov.Model, seed: int) -> list[ov.Tensor]:
    source = np.random.default_rng(seed)
    return [_random_tensor(port, source) for port in model.inputs]


def _random_tensor(port: Any, source: np.random.Generator) -> ov.Tensor:
    shape = _one_shape(port.get_partial_shape())
    kind = port.get_element_type()
    if kind == ov.Type.string:
        return ov.Tensor(np.full(shape, "text"))
    if kind.is_dynamic():
        kind = ov.Type.f32
    tensor = ov.Tensor(kind, ov.Shape(shape))
    if kind.bitwidth < 8 or kind.size * 8 != kind.bitwidth or kind.to_dtype() is None:
        flat = tensor.data.reshape(-1).view(np.uint8)
        flat[:] = source.integers(0, 64, flat.size)
        return tensor
    values = source.integers(0, 2, shape) if kind == ov.Type.boolean else source.uniform(-3, 3, shape)
    tensor.data[...] = values.astype(tensor.data.dtype)
    return tensor


def _one_shape(shape: ov.PartialShape) -> list[int]:
    if shape.rank.is_dynamic:
        return [_UNKNOWN_LENGTH, _UNKNOWN_LENGTH]
    return [dim.get_length() if dim.is_static else max(dim.get_min_length(), _UNKNOWN_LENGTH) for dim in shape]
