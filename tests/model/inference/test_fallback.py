"""onnx's own inference of the operators that are left to it, compared with what ONNX Runtime gives."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper

from maxfold.model import read_onnx
from maxfold.model.inference.table import SHAPE_FUNCTIONS
from maxfold.model.view import View
from tests.model.inference import varied
from tests.model.inference.evaluation import Array, contradictions
from tests.model.inference.runtime import Runtime
from tests.model.openvino import node_cases
from tests.text import model

MOST_RUNS, MOST_TRIALS = 60, 2000
LEFT = sorted({item.name for item in onnx.defs.get_all_schemas() if item.domain == ""} - SHAPE_FUNCTIONS.keys())
# Checked too, since onnx's inference of them was wrong; the others with a function have tests of their own.
REPLACED = ("Attention", "Einsum", "NegativeLogLikelihoodLoss")

X, Y = "float[2,3] x", "float[2,3] y"
BODY = "b (float a) => (float c) { c = Neg(a) }"
HAND_MADE: dict[str, list[tuple[str, str]]] = {
    "ConcatFromSequence": [
        (f"{X}, {Y}", "s = SequenceConstruct(x, y)\n z = ConcatFromSequence<axis = 0>(s)"),
        (f"{X}, {Y}", "s = SequenceConstruct(x, y)\n z = ConcatFromSequence<axis = -1, new_axis = 1>(s)"),
    ],
    "MaxRoiPool": [("float[1,2,6,6] x, float[3,5] y", "z = MaxRoiPool<pooled_shape = [2,3]>(x, y)")],
    "Multinomial": [(X, "z = Multinomial<sample_size = 4>(x)"), (X, "z = Multinomial<dtype = 7>(x)")],
    "Optional": [(X, "o = Optional(x)\n z = OptionalGetElement(o)")],
    "RandomNormal": [(X, "z = RandomNormal<shape = [3,1]>()"), (X, "z = RandomNormal<shape = [0], dtype = 11>()")],
    "RandomUniform": [(X, "z = RandomUniform<shape = [3,1]>()"), (X, "z = RandomUniform<shape = [2], dtype = 11>()")],
    "SequenceAt": [(f"{X}, {Y}", "s = SequenceConstruct(x, y)\n z = SequenceAt(s, one)")],
    "SequenceConstruct": [(f"{X}, {Y}", "s = SequenceConstruct(y, x)\n z = SequenceAt(s, one)")],
    "SequenceEmpty": [(X, "s = SequenceEmpty()\n t = SequenceInsert(s, x)\n z = SequenceAt(t, nought)")],
    "SequenceErase": [
        (f"{X}, {Y}", "s = SequenceConstruct(x, y)\n t = SequenceErase(s, one)\n z = SequenceAt(t, nought)")
    ],
    "SequenceInsert": [
        (f"{X}, {Y}", "s = SequenceConstruct(x)\n t = SequenceInsert(s, y, nought)\n z = SequenceAt(t, nought)")
    ],
    "SequenceLength": [(f"{X}, {Y}", "s = SequenceConstruct(x, y)\n z = SequenceLength(s)")],
    "SequenceMap": [(X, f"s = SequenceConstruct(x)\n t = SequenceMap<body = {BODY}>(s)\n z = SequenceAt(t, nought)")],
    "SplitToSequence": [
        (X, "s = SplitToSequence(x)\n z = SequenceAt(s, one)"),
        (X, "s = SplitToSequence<keepdims = 0>(x)\n z = SequenceAt(s, one)"),
        (X, "s = SplitToSequence<axis = 1>(x, one)\n z = SequenceAt(s, one)"),
    ],
}  # fmt: skip
# ONNX Runtime has no kernel for them, or none that takes a node test; their node tests say what they give.
NOT_RUN = {"CausalConvWithState", "ImageDecoder", "LinearAttention", "SwiGLU"}
# What a file cannot have as a node: constants are no nodes here.
NO_NODES = {"Constant"}


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    started = Runtime()
    yield started
    started.close()


@cache
def _node_tests() -> Mapping[str, list[tuple[ModelProto, list[Array], list[Any]]]]:
    """The node tests of one node whose inputs are arrays, by operator."""
    found: dict[str, list[tuple[ModelProto, list[Array], list[Any]]]] = {}
    for case in node_cases.cases():
        graph = case.model.graph
        if len(graph.node) != 1 or graph.node[0].domain or not case.data_sets:
            continue
        inputs, expected = case.data_sets[0]
        arrays = [numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item for item in inputs]
        if all(isinstance(item, (np.ndarray, np.generic, str, int, float)) for item in arrays):
            found.setdefault(graph.node[0].op_type, []).append(
                (case.model, [np.asarray(item) for item in arrays], list(expected))
            )
    return found


def _wrong(proto: ModelProto, feeds: Mapping[str, Array], results: Mapping[str, Array], kind: str) -> list[str]:
    """Where what is derived is not what a run has given."""
    loaded = read_onnx(varied.declared(proto, feeds, kind, seed=len(results) + sum(map(np.size, feeds.values()))))
    tensors = [*loaded.graph.inputs, *(tensor for node in loaded.graph.nodes for tensor in node.outputs)]
    found = contradictions(View(loaded), tensors, {**feeds, **results})
    return [f"{kind}, {[array.shape for array in feeds.values()]}: {problem}" for problem in found]


def _runs(operator: str, proto: ModelProto, arrays: list[Array]) -> Iterator[tuple[ModelProto, dict[str, Array]]]:
    """The model at each version, with operands of each variant."""
    names = [info.name for info in proto.graph.input]
    for version in varied.versions(operator):
        model = varied.opened(proto, version)
        for operands in varied.variants(arrays):
            yield model, dict(zip(names, operands, strict=False))


@pytest.mark.parametrize("operator", [*LEFT, *REPLACED])
def test_what_is_derived_is_what_a_run_gives(operator: str, runtime: Runtime) -> None:
    if operator in NO_NODES or operator in NOT_RUN:
        return
    choice = random.Random(zlib.crc32(operator.encode()))
    runs = [
        run for proto, arrays, _ in (*_node_tests().get(operator, ()), *_hand_made(operator))
        for run in _runs(operator, proto, arrays)
    ]  # fmt: skip
    choice.shuffle(runs)
    problems: list[str] = []
    compared = 0
    for proto, feeds in runs[:MOST_TRIALS]:
        results = runtime.run(proto, feeds)
        if results is None:
            continue
        for kind in choice.sample(varied.KINDS, 3):
            problems += _wrong(proto, feeds, results, kind)
        compared += 1
        if compared == MOST_RUNS:
            break
    assert problems == []
    assert compared, "ONNX Runtime took none"


def _hand_made(operator: str) -> Iterator[tuple[ModelProto, list[Array], list[Any]]]:
    constants = {"nought": np.array(0), "one": np.array(1)}
    for inputs, body in HAND_MADE.get(operator, ()):
        kind = "int64" if operator == "SequenceLength" else "int32" if "Multinomial" in body else "float"
        kind = "double" if "dtype = 11" in body else "int64" if "dtype = 7" in body else kind
        source = model(f"g ({inputs}) => ({kind} z) {{ {body} }}", constants=constants, opset=17)
        shapes = [[dim.dim_value for dim in info.type.tensor_type.shape.dim] for info in source.graph.input]
        yield (
            source,
            [np.abs(np.sin(np.arange(np.prod(shape), dtype=np.float32))).reshape(shape) for shape in shapes],
            [],
        )


@pytest.mark.parametrize("operator", sorted({*LEFT} - NO_NODES))
def test_what_is_derived_is_what_node_tests_expect(operator: str) -> None:
    problems: list[str] = []
    for proto, arrays, expected in _node_tests().get(operator, ()):
        feeds = dict(zip((info.name for info in proto.graph.input), arrays, strict=False))
        results = {
            info.name: np.asarray(item)
            for info, item in zip(proto.graph.output, expected, strict=False)
            if isinstance(item, (np.ndarray, np.generic))
        }
        for kind in varied.KINDS:
            problems += _wrong(proto, feeds, results, kind)
    assert problems == []


def test_every_operator_is_compared() -> None:
    assert set(LEFT) <= {*_node_tests(), *HAND_MADE, *NO_NODES}
    assert set(LEFT) >= NOT_RUN
