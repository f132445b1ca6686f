"""Small IR models made by OpenVINO, and OpenVINO's own results for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino
from openvino import opset1

from maxfold.model import Model
from maxfold.optimizer import Report, load, optimize, save

Array = np.ndarray[Any, np.dtype[Any]]


def parameter(name: str, shape: Sequence[int], dtype: Any = np.float32) -> Any:
    """An input of a model."""
    node = opset1.parameter(list(shape), dtype)
    node.set_friendly_name(name)
    node.output(0).set_names({name})
    return node


def constant(values: Any, dtype: Any = np.float32) -> Any:
    """A constant."""
    return opset1.constant(np.asarray(values, dtype))


def write(path: Path, results: Sequence[Any], parameters: Sequence[Any]) -> Path:
    """Writes the IR of a graph whose results are given."""
    openvino.serialize(openvino.Model([opset1.result(item) for item in results], list(parameters), "tested"), path)
    return path


def rewritten(path: Path, **options: Any) -> tuple[Path, Report, Model]:
    """Optimizes an IR file into another beside it."""
    model = load(path)
    report = optimize(model, **options)
    target = path.with_name("rewritten.xml")
    save(model, target)
    return target, report, model


def results_of(path: Path, inputs: Sequence[Array]) -> list[Array]:
    """What OpenVINO computes on the CPU, in f32."""
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    found = compiled(list(inputs))
    return [np.array(found[output]) for output in compiled.outputs]


def types_of(path: Path) -> list[str]:
    """The types of all operations but inputs, constants and results, sorted."""
    operations = openvino.Core().read_model(path).get_ops()
    kinds = [operation.get_type_name() for operation in operations]
    return sorted(kind for kind in kinds if kind not in ("Parameter", "Constant", "Result"))
