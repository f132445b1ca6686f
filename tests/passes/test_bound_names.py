"""Names that the file uses beside the graph (training, annotations), and names that the caller wants to keep."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from tests.passes.outcome import outcome
from tests.run import Array, in_onnxruntime
from tests.text import model

PASSES = ["fold-constants", "fuse-max", "fuse-add", "share-constants", "remove-dead-nodes"]

GRAPH = """
g (int64[3] x, int64[3] w) => (int64[3] y, int64[3] v) <int64 k = {1}, int64 l = {2}, int64 m = {1}, int64 zero = {0}> {
    s = Add(k, l)
    a = Max(x, s)
    b = Max(a, w)
    c = Max(b, m)
    d = Add(c, zero)
    e = Add(d, k)
    f = Add(e, l)
    y = Mul(f, m)
    n = Neg(x)
    v = Add(n, zero)
    dead = Neg(w)
}"""
EVERY_NAME = ["k", "l", "m", "zero", "s", "a", "b", "c", "d", "e", "f", "y", "n", "v", "dead"]


def defined(source: ModelProto) -> set[str]:
    names = {tensor.name for tensor in source.graph.initializer}
    return names | {name for node in source.graph.node for name in node.output}


def read_by_training(source: ModelProto, name: str) -> None:
    source.training_info.add().algorithm.node.add(op_type="Neg", input=[name], output=["loss"])


def read_in_a_branch_of_training(source: ModelProto, name: str) -> None:
    branch = helper.make_graph([helper.make_node("Neg", [name], ["r"])], "b", [], [onnx.ValueInfoProto(name="r")])
    node = helper.make_node("If", ["condition"], ["loss"], then_branch=branch, else_branch=branch)
    source.training_info.add().algorithm.node.append(node)


def changed_by_training(source: ModelProto, name: str) -> None:
    entry = source.training_info.add().update_binding.add()
    entry.key, entry.value = name, "new"


def initialized_by_training(source: ModelProto, name: str) -> None:
    entry = source.training_info.add().initialization_binding.add()
    entry.key, entry.value = name, "new"


def returned_by_training(source: ModelProto, name: str) -> None:
    training = source.training_info.add()
    training.algorithm.output.add(name=name)


def annotated(source: ModelProto, name: str) -> None:
    entry = source.graph.quantization_annotation.add(tensor_name=name)
    entry.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="elsewhere")


def annotating(source: ModelProto, name: str) -> None:
    entry = source.graph.quantization_annotation.add(tensor_name="x")
    entry.quant_parameter_tensor_names.add(key="ZERO_POINT_TENSOR", value=name)


BINDINGS = [read_by_training, read_in_a_branch_of_training, changed_by_training, initialized_by_training,
            returned_by_training, annotated, annotating]  # fmt: skip


@pytest.mark.parametrize("bind", BINDINGS)
@pytest.mark.parametrize("pass_name", PASSES)
def test_bound_names_stay_defined_and_mean_the_same(bind: Callable[[ModelProto, str], None], pass_name: str) -> None:
    feeds = {"x": np.array([4, -5, 0]), "w": np.array([1, 1, 1])}
    for name in EVERY_NAME:
        source = model(GRAPH)
        bind(source, name)
        result = outcome(pass_name, source)
        assert name in defined(result.after), f"{name} is gone"
        assert value_of(result.after, name, feeds) == value_of(source, name, feeds), name


def value_of(source: ModelProto, name: str, feeds: dict[str, Array]) -> list[int]:
    """The value that a name has when the model runs."""
    copy = ModelProto()
    copy.CopyFrom(source)
    copy.ClearField("training_info")
    del copy.graph.output[:]
    copy.graph.output.append(helper.make_tensor_value_info(name, TensorProto.INT64, None))
    (value,) = in_onnxruntime(copy, feeds)
    return [int(item) for item in value.reshape(-1)]


@pytest.mark.parametrize("pass_name", PASSES)
def test_kept_names_stay_defined_and_mean_the_same(pass_name: str) -> None:
    feeds = {"x": np.array([4, -5, 0]), "w": np.array([1, 1, 1])}
    for name in EVERY_NAME:
        source = model(GRAPH)
        result = outcome(pass_name, source, keep=[name])
        assert name in defined(result.after), f"{name} is gone"
        assert value_of(result.after, name, feeds) == value_of(source, name, feeds), name
        before = {node.output[0]: node for node in source.graph.node}
        after = {node.output[0]: node for node in result.after.graph.node}
        if name in before:
            assert (after[name].op_type, after[name].output) == (before[name].op_type, before[name].output)


def test_a_kept_node_keeps_its_operands_too() -> None:
    source = model("g (float x, float w) => (float y) { a = Max(x, w)\n y = Max(a, x) }")
    source.graph.node[1].name = "the node"
    result = outcome("fuse-max", source, keep=["the node"])
    assert result.changes == 0


def test_training_in_one_name_does_not_stop_the_rest() -> None:
    source = model(GRAPH)
    changed_by_training(source, "zero")
    assert outcome("fuse-max", source).changes > 0


def test_training_graphs_and_bindings_are_written_back() -> None:
    source = model(GRAPH)
    for bind in BINDINGS:
        bind(source, "a")
    for pass_name in PASSES:
        after = outcome(pass_name, source).after
        assert after.training_info == source.training_info
        assert after.graph.quantization_annotation == source.graph.quantization_annotation


@pytest.mark.parametrize("taken", ["node", "output", "input", "initializer", "value_info", "branch", "annotation"])
def test_fresh_names_are_new_to_training_and_annotations(taken: str) -> None:
    source = model(
        "g (float x, float w) => (float y) <float k = {1}, float l = {2}> { a = Max(x, k)\n y = Max(a, l, w) }"
    )
    graph = source.training_info.add().algorithm
    name = "y_constant"
    if taken == "node":
        graph.node.add(op_type="Neg", input=["x"], output=[name])
    elif taken == "initializer":
        graph.initializer.append(helper.make_tensor(name, 1, [], [1.0]))
    elif taken == "branch":
        branch = helper.make_graph([helper.make_node("Neg", ["x"], [name])], "b", [], [onnx.ValueInfoProto(name=name)])
        graph.node.append(helper.make_node("If", ["c"], ["i"], then_branch=branch, else_branch=branch))
    elif taken == "annotation":
        source.graph.quantization_annotation.add(tensor_name=name)
    else:
        getattr(graph, taken).add(name=name)
    result = outcome("fuse-max", source)
    assert result.changes == 1
    assert name not in {item.name for item in result.after.graph.initializer}
