"""Runs a model on the inputs of a node test, in OpenVINO and in ONNX Runtime, and compares what they give.

Values of types that numpy lacks (bfloat16, 8-bit floats, 4 bits and fewer) pass as the bytes that ONNX keeps of them.
"""

from __future__ import annotations

import ctypes
import functools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

Arrays = list[Any]

# Element types of OpenVINO that numpy lacks.
_ONNX_TYPES = {
    "bf16": TensorProto.BFLOAT16, "f8e4m3": TensorProto.FLOAT8E4M3FN, "f8e5m2": TensorProto.FLOAT8E5M2,
    "f8e8m0": TensorProto.FLOAT8E8M0, "f4e2m1": TensorProto.FLOAT4E2M1,
    "i4": TensorProto.INT4, "u4": TensorProto.UINT4, "u2": TensorProto.UINT2,
}  # fmt: skip
_OPENVINO_TYPES: dict[int, str] = {onnx_type: name for name, onnx_type in _ONNX_TYPES.items()}
# Kinds of nodes in the graph that its CPU shows after its fusions.
_CONSTANTS = {"Const", "Constant"}
_PORTS = {"Input", "Output", "Parameter", "Result"}
# The relative tolerance of ONNX's own runner, and two steps of the types that have so few bits.
_RELATIVE = 1e-3
_STEPS = {"float16": 2.0**-9, "bfloat16": 2.0**-6}
# Of the largest magnitude expected, and at least of 1: a sum may pass through zero.
_ABSOLUTE = 1e-5


@functools.cache
def openvino_core() -> Any:
    """OpenVINO, loaded once a process, with f32 inference and one thread."""
    import openvino

    core = openvino.Core()
    core.set_property("CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})
    return core


def run_openvino(model: Any, inputs: Arrays) -> list[Arrays]:
    """What an OpenVINO model gives on the CPU; inputs by position.

    Where inputs are not finite, what its reference functions give comes before it, if there is one for each operation:
    the CPU's answer to NaN depends on the processor.
    """
    import openvino

    tensors = [_openvino_tensor(value) for value in inputs]
    evaluated = [] if are_finite(inputs) else _by_reference(openvino, model, tensors)
    request = filled_request(openvino_core().compile_model(model, "CPU"), inputs)
    request.infer()
    return [*evaluated, request_outputs(request)]


def filled_request(compiled: Any, inputs: Arrays) -> Any:
    """A request of a compiled OpenVINO model that has its inputs, which go by position."""
    request = compiled.create_infer_request()
    for index, value in enumerate(inputs):
        request.set_input_tensor(index, _openvino_tensor(value))
    return request


def request_outputs(request: Any) -> Arrays:
    """What an OpenVINO request gave, by position."""
    return [_from_openvino(tensor) for tensor in request.output_tensors]


def executed_nodes(compiled: Any) -> Counter[str]:
    """Nodes by kind that OpenVINO's CPU runs each time: not the constants, nor what is made of them alone."""
    counts: Counter[str] = Counter()
    constant: set[str] = set()
    for node in compiled.get_runtime_model().get_ordered_ops():
        kind: str = node.get_rt_info()["layerType"].astype(str)
        sources = {port.get_source_output().get_node().get_friendly_name() for port in node.inputs()}
        if kind in _CONSTANTS or (sources and sources <= constant):
            constant.add(node.get_friendly_name())
        elif kind not in _PORTS:
            counts[kind] += 1
    return counts


def are_finite(inputs: Arrays) -> bool:
    """Whether there is neither NaN nor an infinity."""
    arrays = map(np.asarray, inputs)
    return all(array.dtype.kind in "biu" or np.isfinite(array.astype(np.float64)).all() for array in arrays)


def _by_reference(openvino: Any, model: Any, tensors: Arrays) -> list[Arrays]:
    results = [
        openvino.Tensor(port.element_type, [] if port.partial_shape.is_dynamic else port.shape)
        for port in model.outputs
    ]
    try:
        is_evaluated = model.evaluate(results, tensors)
    except RuntimeError:
        return []
    return [[_from_openvino(result) for result in results]] if is_evaluated else []


def _openvino_tensor(value: Any) -> Any:
    import openvino

    array = np.asarray(value)
    kept = numpy_helper.from_array(array)
    named = _OPENVINO_TYPES.get(kept.data_type)
    if named is None:
        return openvino.Tensor(np.ascontiguousarray(array).reshape(array.shape), shared_memory=False)
    tensor = openvino.Tensor(getattr(openvino.Type, named), list(array.shape))
    tensor.data.reshape(-1).view(np.uint8)[:] = np.frombuffer(kept.raw_data, np.uint8)
    return tensor


def _from_openvino(tensor: Any) -> Any:
    onnx_type = _ONNX_TYPES.get(tensor.element_type.to_string())
    data = tensor.data
    return data.copy() if onnx_type is None else _unpacked(data.tobytes(), onnx_type, list(tensor.shape))


def _unpacked(raw: bytes, onnx_type: int, shape: list[int]) -> Any:
    return numpy_helper.to_array(TensorProto(data_type=onnx_type, dims=shape, raw_data=raw))


def run_onnxruntime(path: Path, inputs: Arrays) -> Arrays:
    """What an ONNX file gives in ONNX Runtime with its optimizations off; inputs by position."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    pairs = zip(session.get_inputs(), inputs, strict=True)
    feeds = {declared.name: _onnxruntime_value(onnxruntime, value) for declared, value in pairs}
    return [_from_onnxruntime(value) for value in session.run_with_ort_values(None, feeds)]


def _onnxruntime_value(onnxruntime: Any, value: Any) -> Any:
    array = np.asarray(value)
    if array.dtype.isbuiltin == 1:
        return onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array).reshape(array.shape))
    kept = numpy_helper.from_array(array)
    made = onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(array.shape), kept.data_type)
    ctypes.memmove(made.data_ptr(), kept.raw_data, len(kept.raw_data))
    return made


def _from_onnxruntime(value: Any) -> Any:
    onnx_type: int = value.element_type()
    if np.dtype(helper.tensor_dtype_to_np_dtype(onnx_type)).isbuiltin == 1:
        return value.numpy()
    return _unpacked(ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes()), onnx_type, list(value.shape()))


def difference(actual: Arrays, expected: Arrays) -> str:
    """How outputs differ from those that a test expects; nothing where they are right."""
    if len(actual) != len(expected):
        return f"{len(actual)} outputs, not {len(expected)}"
    for index, (left, right) in enumerate(zip(map(np.asarray, actual), map(np.asarray, expected), strict=True)):
        if found := _difference(left, right):
            return f"output {index}: {found}"
    return ""


def _difference(left: Any, right: Any) -> str:
    if left.dtype != right.dtype:
        return f"{left.dtype}, not {right.dtype}"
    if left.shape != right.shape:
        return f"shape {list(left.shape)}, not {list(right.shape)}"
    if left.dtype.kind in "biu":
        wrong = left != right
    else:
        relative = max(_RELATIVE, _STEPS.get(left.dtype.name, 0.0))
        with np.errstate(invalid="ignore"):
            left, right = left.astype(np.float64), right.astype(np.float64)
        scale = np.abs(right[np.isfinite(right)]).max(initial=1.0)
        wrong = ~np.isclose(left, right, rtol=relative, atol=_ABSOLUTE * scale, equal_nan=True)
    if not wrong.any():
        return ""
    place = tuple(np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} values, such as {left[place]!s}, not {right[place]!s}"
