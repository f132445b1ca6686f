"""ONNX's own node tests: nothing that is derived contradicts the outputs that they expect.

Each variant takes a third of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper

from maxfold.model import read_onnx
from maxfold.model.view import View
from tests.model.inference.evaluation import Array, contradictions
from tests.model.openvino import node_cases

_SMALL_BYTES = 1024
VARIANTS = ["as it is", "symbolic", "constant operands", "symbolic with constant operands", "constant"]


def variant(case: Any, kind: str, arrays: dict[str, Array]) -> ModelProto:
    """The case's model with dims of inputs that have names of their own, and with inputs that are initializers."""
    proto = ModelProto()
    proto.CopyFrom(case.model)
    first = 0 if kind == "constant" else 1
    inputs = list(proto.graph.input)
    if "constant" in kind:
        for info in inputs[first:]:
            array = arrays.get(info.name)
            if array is not None and array.nbytes <= _SMALL_BYTES and info.type.HasField("tensor_type"):
                proto.graph.initializer.append(numpy_helper.from_array(array, info.name))
                proto.graph.input.remove(info)
    if "symbolic" in kind:
        for info in proto.graph.input:
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                dim.dim_param = f"{info.name}_{axis}"
    return proto


def arrays_of(number: int) -> dict[str, Array]:
    """All inputs and expected outputs that are arrays, by name."""
    case = node_cases.cases()[number]
    _, expected = case.data_sets[0]
    graph = case.model.graph
    pairs = [*zip(graph.input, node_cases.inputs(number), strict=False), *zip(graph.output, expected, strict=False)]
    return {info.name: np.asarray(item) for info, item in pairs if isinstance(item, (np.ndarray, np.generic))}


@pytest.mark.parametrize("kind", VARIANTS)
def test_nothing_derived_contradicts_the_expected_outputs(kind: str) -> None:
    problems: list[str] = []
    known = total = 0
    for index, case in list(enumerate(node_cases.cases()))[VARIANTS.index(kind) :: 3]:
        arrays = arrays_of(index)
        loaded = read_onnx(variant(case, kind, arrays))
        view = View(loaded)
        produced = [tensor for node in loaded.graph.nodes for tensor in node.outputs]
        found = contradictions(view, [*loaded.graph.inputs, *produced], arrays)
        problems += [f"{case.name}: {problem}" for problem in found]
        expected = [tensor for tensor in produced if tensor.name in arrays]
        total += len(expected)
        known += sum(view.dtype(tensor) is not None and view.rank(tensor) is not None for tensor in expected)
    assert problems == []
    assert known > 0.9 * total
