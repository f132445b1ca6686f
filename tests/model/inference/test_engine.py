"""Deriving on demand: what edits add, long chains, functions, damage, and whole random models."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from maxfold.model import read_onnx
from maxfold.model.edit import Edit
from maxfold.model.errors import ModelError
from maxfold.model.view import View
from tests.effort import calls
from tests.model.inference.evaluation import contradictions
from tests.model.odd_models import ODD_MODELS, one_node_model
from tests.model.tensors import raw_tensor
from tests.random_models import random_models
from tests.text import model


def test_nodes_that_an_edit_adds_are_derived() -> None:
    loaded = read_onnx(model("g (float[N,3] x) => (float[N,3] y) { y = Neg(x) }"))
    edit = Edit(loaded)
    (node,) = loaded.graph.nodes
    assert edit.shape(node.outputs[0]) == (None, 3)
    added = edit.add_node("Shape", [node.inputs[0]], before=node)
    assert (str(edit.dtype(added.outputs[0])), edit.shape(added.outputs[0])) == ("int64", (2,))
    value = edit.value(added.outputs[0])
    assert value is not None
    assert value.elements == edit.dims(node.outputs[0])


def test_another_version_is_another_derivation() -> None:
    loaded = read_onnx(model("g (float[2,3] x) => (float[N,M] y, bool[N,M] m) { y, m = Dropout(x) }", opset=7))
    edit = Edit(loaded)
    mask = loaded.graph.nodes[0].outputs[1]
    assert str(edit.dtype(mask)) == "float"
    edit.set_opset(13)
    assert str(edit.dtype(mask)) == "bool"


def test_a_long_chain_needs_no_recursion_and_little_effort() -> None:
    assert _asked(20_000) < 5 * _asked(5_000)


def _asked(count: int) -> int:
    operators = ("Add", "Max", "Relu")
    nodes = [
        helper.make_node(operators[index % 3], [f"t{index}", "c"][: 1 + (index % 3 < 2)], [f"t{index + 1}"])
        for index in range(count)
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3]) for name in ("t0", "c")],
        [helper.make_empty_tensor_value_info(f"t{count}")],
    )  # fmt: skip
    loaded = read_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    view = View(loaded)
    effort = calls(lambda: view.shape(loaded.graph.outputs[0]))
    assert view.shape(loaded.graph.outputs[0]) == (None, 3)
    return effort


def test_a_cycle_is_unknown() -> None:
    source = model("g (float[3] x) => (float[N] y) { y = Neg(x)\n z = Relu(x) }")
    loaded = read_onnx(source)
    y, z = loaded.graph.nodes
    edit = Edit(loaded)
    edit.set_inputs(y, [z.outputs[0]])
    edit.set_inputs(z, [y.outputs[0]])
    assert edit.shape(y.outputs[0]) is None


def test_the_results_of_functions() -> None:
    source = model(
        "g (float[N,3] x, float[M,4,3] z) => (float[A,B] a, float[A,B,C] b) { a = custom.f(x)\n b = custom.f(z) }",
        domains='"custom" : 1',
        functions="""
            <domain: "custom", opset_import: ["" : 17, "custom" : 1]>
            f (p) => (q) { r = Neg(p)\n q = custom.t(r) }
            <domain: "custom", opset_import: ["" : 17]> t (p) => (q) { q = Transpose(p) }""",
    )
    loaded = read_onnx(source)
    view = View(loaded)
    x, z = loaded.graph.inputs
    assert [view.dims(tensor) for tensor in loaded.graph.outputs] == [
        tuple(reversed(view.dims(tensor) or ())) for tensor in (x, z)
    ]


def test_functions_that_call_themselves_end() -> None:
    source = model(
        "g (float[3] x) => (float[N] y) { y = custom.f(x) }",
        domains='"custom" : 1',
        functions="""<domain: "custom", opset_import: ["" : 17, "custom" : 1]> f (p) => (q) {
            r = custom.f(p)\n s = custom.f(r)\n q = Add(r, s) }""",
    )
    loaded = read_onnx(source)
    assert View(loaded).shape(loaded.graph.outputs[0]) is None


@pytest.mark.parametrize("spoil", ODD_MODELS, ids=lambda function: function.__name__.lstrip("_"))
def test_odd_models_raise_nothing(spoil: Callable[[ModelProto], None]) -> None:
    source = one_node_model([raw_tensor("a", "FLOAT", 3)])
    spoil(source)
    try:
        loaded = read_onnx(source)
    except ModelError:
        return
    view = View(loaded)
    for node in loaded.nodes():
        for tensor in (*node.inputs, *node.outputs):
            assert view.value(tensor) is None or view.dtype(tensor) is not None
            assert (view.rank(tensor) is None) == (view.dims(tensor) is None)


@pytest.mark.parametrize("start", [0, 1000])
def test_random_models(start: int) -> None:
    for random_model in random_models(range(start, start + 40)):
        loaded = read_onnx(random_model.model)
        view = View(loaded)
        tensors = [*loaded.graph.inputs, *(tensor for node in loaded.graph.nodes for tensor in node.outputs)]
        for number in range(len(random_model.feed_sets)):
            arrays = {name: np.asarray(found[number]) for name, found in random_model.values.items()}
            assert contradictions(view, tensors, arrays) == []
