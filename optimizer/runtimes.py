"""Running model files: ONNX in ONNX Runtime, IR in OpenVINO, their own optimizations off as far as they can be.

Both are optional (the `verify` extra), and imported when the first file is opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from maxfold.model import ModelError, dtypes
from maxfold.model.data import Array
from maxfold.model.dtypes import DType

ONNX_RUNTIME, OPENVINO = "ONNX Runtime", "OpenVINO"

Dim = int | str | None

_EXACT = {"INFERENCE_PRECISION_HINT": "f32", "EXECUTION_MODE_HINT": "ACCURACY", "INFERENCE_NUM_THREADS": 1}
# Running quantized models in integers: switches that not every release has. SNIPPETS_MODE, the fusing of elementwise
# operations, stays on: without it OpenVINO 2026.4.1 is wrong by many levels in FakeQuantize behind an f16 Multiply and
# Add per channel.
_IN_FLOATS = {"LP_TRANSFORMS_MODE": "NO", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
# ONNX Runtime names types as in "tensor(float)".
_TENSOR_TYPE = "tensor({})"
# OpenVINO names the layer that does not fit between its own source and the reason.
_LAYER = re.compile(r"While validating node '.*' with friendly_name '(.*?)': (.*)")


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a model as its runtime declares it: all its names, the most usual one first, and its type.

    `dtype` is None where it is not declared, or the value is no tensor; `kind` is the type as the runtime spells it. A
    dimension is a size, a symbol's name or None; `shape` is None for an unknown rank. `bounds` limits open dimensions.
    The first `given` names are the file's, the others are the runtime's.
    """

    names: tuple[str, ...]
    kind: str
    dtype: DType | None
    shape: tuple[Dim, ...] | None
    bounds: tuple[tuple[int, int | None], ...] = ()
    given: int = 1

    @property
    def name(self) -> str:
        """The most usual name."""
        return self.names[0]


class Runtime(Protocol):
    """A model that is ready to run. `run` takes and returns values in the order of `inputs` and `outputs`."""

    label: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    def run(self, values: Sequence[Array]) -> list[Any]:
        """The outputs; each call begins with the model's initial state. Raises `RunError`."""


class RunError(Exception):
    """A runtime refused to run a model; the text is its reason, in one line."""


class SizeError(RunError):
    """A runtime does not take the sizes that open dimensions were given."""


def runtime_for(path: str | Path) -> str:
    """The name of the runtime that runs a file."""
    return OPENVINO if str(path).lower().endswith(".xml") else ONNX_RUNTIME


def missing_runtime(paths: Iterable[str | Path]) -> str | None:
    """One line that says which runtime these files need and is not here; None where all are."""
    needed = {runtime_for(path) for path in paths}
    for label, package, kind in ((ONNX_RUNTIME, "onnxruntime", "ONNX models"), (OPENVINO, "openvino", "OpenVINO IR")):
        if label in needed and find_spec(package) is None:
            return f"verification runs {kind} in {label}, which is not here: pip install 'maxfold[verify]'"
    return None


def open_runtime(path: Path) -> Runtime:
    """A file in the runtime of its format. Raises `ModelError` where that is not installed or cannot load the file."""
    missing = missing_runtime([path])
    if missing is not None:
        raise ModelError(missing)
    return _OpenvinoModel(path) if runtime_for(path) == OPENVINO else _OnnxModel(path)


class _OnnxModel:
    label = ONNX_RUNTIME

    def __init__(self, path: Path) -> None:
        import onnxruntime

        onnxruntime.set_default_logger_severity(4)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        # Prepacked constant weights give other bits than the same weights computed by a node.
        options.add_session_config_entry("session.disable_prepacking", "1")
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises classes of its own, which share no other base
            raise ModelError(f"{path}: {ONNX_RUNTIME} cannot load it: {_line(error)}") from None
        self.inputs = tuple(map(_onnx_port, self._session.get_inputs()))
        self.outputs = tuple(map(_onnx_port, self._session.get_outputs()))

    def run(self, values: Sequence[Array]) -> list[Any]:
        feeds = {port.name: value for port, value in zip(self.inputs, values, strict=True)}
        try:
            return list(self._session.run([port.name for port in self.outputs], feeds))
        except Exception as error:
            raise RunError(_line(error)) from None


def _onnx_port(declared: Any) -> Port:
    known = {_TENSOR_TYPE.format(_onnx_name(dtype)): dtype for dtype in dtypes.DTYPES if dtype.onnx is not None}
    shape = tuple(
        dim if isinstance(dim, str) or (isinstance(dim, int) and dim >= 0) else None for dim in declared.shape
    )
    return Port((declared.name,), declared.type, known.get(declared.type), shape)


def _onnx_name(dtype: DType) -> str:
    return dtype.name.lower()


class _OpenvinoModel:
    label = OPENVINO

    def __init__(self, path: Path) -> None:
        import openvino

        self._openvino = openvino
        core = openvino.Core()
        try:
            model = core.read_model(str(path))
            # The first run takes what shows that the model can be compiled at all.
            self._unused: Any = _compile(core, model)
        except RuntimeError as error:
            raise ModelError(f"{path}: {OPENVINO} cannot load it: {_line(error)}") from None
        self._core, self._model = core, model
        # Of the model as read: a compiled one may have other names.
        self.inputs = tuple(map(_openvino_port, model.inputs))
        self.outputs = tuple(map(_openvino_port, model.outputs))

    def run(self, values: Sequence[Array]) -> list[Any]:
        self._check_sizes(values)
        try:
            # Compiled anew: OpenVINO 2026.4.1 computes a detection model with weights of half precision right only in
            # the first run of what it compiles.
            compiled, self._unused = self._unused or _compile(self._core, self._model), None
            tensors = {
                index: self._tensor(port, value)
                for index, (port, value) in enumerate(zip(compiled.inputs, values, strict=True))
            }
            request = compiled.create_infer_request()
            request.infer(tensors)
            return list(map(_openvino_values, request.output_tensors))
        except (RuntimeError, TypeError, ValueError) as error:
            raise RunError(_line(error)) from None

    def _check_sizes(self, values: Sequence[Array]) -> None:
        """Raises `SizeError` for sizes that an operation does not take.

        OpenVINO 2026.4.1 finds that only where it knows them ahead; running a model of open dimensions on them, it
        gives empty outputs or ends the process.
        """
        if not self._model.is_dynamic():
            return
        shapes = {index: self._openvino.PartialShape(list(value.shape)) for index, value in enumerate(values)}
        try:
            self._model.clone().reshape(shapes)
        except RuntimeError as error:
            raise SizeError(_line(error)) from None

    def _tensor(self, port: Any, value: Array) -> Any:
        kind = port.get_element_type()
        if value.dtype.kind in "OUS":
            return self._openvino.Tensor(np.asarray(value, np.str_))
        tensor = self._openvino.Tensor(kind, self._openvino.Shape(list(value.shape)))
        # By bytes: OpenVINO shows bfloat16 and 8-bit floats to numpy as something else.
        tensor.data.reshape(-1).view(np.uint8)[:] = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        return tensor


def _compile(core: Any, model: Any) -> Any:
    try:
        return core.compile_model(model, "CPU", {**_EXACT, **_IN_FLOATS})
    except RuntimeError as error:
        if "Unsupported property" not in str(error):
            raise
        return core.compile_model(model, "CPU", _EXACT)


def _openvino_port(port: Any) -> Port:
    node = port.get_node()
    producer = node if not node.get_input_size() else node.input_value(0).get_node()
    given = sorted(port.get_names())
    names = tuple(dict.fromkeys([*given, node.get_friendly_name(), producer.get_friendly_name()]))
    kind = port.get_element_type().get_type_name()
    shape = port.get_partial_shape()
    if shape.rank.is_dynamic:
        return Port(names, kind, dtypes.from_openvino(kind), None, given=len(given))
    dims = tuple(dim.get_length() if dim.is_static else None for dim in shape)
    bounds = tuple((dim.get_min_length(), None if dim.get_max_length() < 0 else dim.get_max_length()) for dim in shape)
    return Port(names, kind, dtypes.from_openvino(kind), dims, bounds, len(given))


def _openvino_values(tensor: Any) -> Array:
    kind = tensor.get_element_type().get_type_name()
    if kind == "string":
        return np.array(tensor.str_data, np.object_)
    dtype = dtypes.from_openvino(kind)
    values = np.array(tensor.data)
    if dtype is None or dtype.is_packed or values.dtype == dtype.numpy:
        return values
    return values.view(dtype.numpy)


def _line(error: Exception) -> str:
    """A runtime's message in one line: the innermost reason, without places in the runtime's source, shortened."""
    words = " ".join(str(error).split()).rpartition("Status Message: ")[2]
    _, place, rest = words.rpartition("Exception from src/")
    told = rest.partition(": ")[2] if place else words
    layer = _LAYER.search(words)
    if layer is not None:
        told = f"layer {layer[1]!r}: {layer[2]}"
    return (told or words)[:300]
