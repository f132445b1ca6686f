"""Edits: after each, counts, back-pointers, names and the written file are those of the graph as it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import ModelProto

from maxfold.model import Model, read_onnx
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from tests.passes.outcome import assert_consistent, saved
from tests.text import golden, lines, model

F32 = np.float32


def opened(graph: str, **options: Any) -> tuple[Edit, dict[str, Any]]:
    """An edit and the tensors and nodes (by result) of all scopes, outer names winning."""
    source = read_onnx(model(graph, **options))
    found: dict[str, Any] = {}
    for scope in source.scopes():
        for tensor in (*scope.inputs, *scope.constants):
            found.setdefault(tensor.name, tensor)
        for node in scope.nodes:
            found.setdefault(node.outputs[0].name, node)
    return Edit(source), found


def text(edit: Edit, *, check: bool = True) -> str:
    """Flushes, checks everything, and gives the text of what is written."""
    edit.flush()
    assert_consistent(edit.model, edit)
    proto = ModelProto.FromString(saved(edit.model))
    if check:
        onnx.checker.check_model(proto, full_check=True)
    return lines(proto)


CHAIN = "g (float x) => (float y) <float k = {1}> { p = Add(x, k)\n q = Mul(p, p)\n y = Neg(q) }"


def test_set_inputs() -> None:
    edit, of = opened(CHAIN)
    edit.set_inputs(of["q"], [of["p"].outputs[0], of["k"]])
    assert edit.use_count(of["p"].outputs[0]) == 1
    assert edit.use_count(of["k"]) == 2
    assert of["q"] in edit.take_touched()
    assert text(edit) == golden("""
        k = float {1.0}
        p = Add(x, k)
        q = Mul(p, k)
        y = Neg(q)
        """)


def test_set_inputs_to_the_same_ones_again() -> None:
    edit, of = opened(CHAIN)
    edit.set_inputs(of["q"], list(of["q"].inputs))
    edit.set_inputs(of["q"], list(of["q"].inputs))
    assert text(edit).splitlines()[2] == "q = Mul(p, p)"


def test_set_attribute() -> None:
    edit, of = opened("g (float x) => (float y) { y = LeakyRelu<alpha = 0.5>(x) }")
    edit.set_attribute(of["y"], "alpha", 0.25)
    assert text(edit) == "y = LeakyRelu<alpha=0.25>(x)"
    edit.set_attribute(of["y"], "alpha", None)
    edit.set_attribute(of["y"], "never there", None)
    assert text(edit) == "y = LeakyRelu(x)"


def test_add_node_and_constant() -> None:
    edit, of = opened(CHAIN)
    constant = edit.add_constant(np.array([2, 3], np.int64), like=of["q"].outputs[0])
    node = edit.add_node("Cast", [constant], before=of["q"], attributes={"to": 1})
    edit.set_inputs(of["q"], [of["p"].outputs[0], node.outputs[0]])
    assert node in edit.take_touched()
    assert (constant.name, node.outputs[0].name, node.name) == ("q_constant", "q_cast", "q_cast_1")
    edit.flush()
    assert [item.op for item in edit.model.graph.nodes] == ["Add", "Cast", "Mul", "Neg"]
    assert lines(ModelProto.FromString(saved(edit.model))).splitlines()[1] == "q_constant = int64[2] {2, 3}"


def test_several_nodes_before_one_keep_their_order() -> None:
    edit, of = opened(CHAIN)
    first = edit.add_node("Abs", [of["p"].outputs[0]], before=of["q"])
    second = edit.add_node("Exp", [first.outputs[0]], before=of["q"])
    zeroth = edit.add_node("Neg", [of["x"]], before=first)
    edit.set_inputs(of["q"], [second.outputs[0], zeroth.outputs[0]])
    assert [line.split(" = ")[1].split("(")[0] for line in text(edit).splitlines()[1:]] == [
        "Add", "Neg", "Abs", "Exp", "Mul", "Neg",
    ]  # fmt: skip


def test_a_node_before_one_that_goes() -> None:
    edit, of = opened(CHAIN)
    new = edit.add_node("Abs", [of["p"].outputs[0]], before=of["q"])
    edit.replace_uses(of["q"].outputs[0], new.outputs[0])
    edit.remove_node(of["q"])
    assert text(edit).splitlines()[1:] == ["p = Add(x, k)", "q_abs = Abs(p)", "y = Neg(q_abs)"]


def test_several_results() -> None:
    edit, of = opened(CHAIN)
    node = edit.add_node("Dropout", [of["p"].outputs[0]], before=of["q"], outputs=2)
    assert [tensor.name for tensor in node.outputs] == ["q_dropout", "q_dropout_1"]
    edit.set_inputs(of["q"], [node.outputs[0], node.outputs[0]])
    assert "q_dropout, q_dropout_1 = Dropout(p)" in text(edit)


def test_fold() -> None:
    edit, of = opened(CHAIN)
    edit.fold(of["p"], [np.array(7, F32)])
    tensor = of["q"].inputs[0]
    assert isinstance(tensor, Constant)
    assert (tensor.values.tolist(), tensor.dtype, tuple(tensor.shape)) == (7, np.float32, ())
    assert of["q"] in edit.take_touched()
    assert not edit.is_live(of["p"])
    assert text(edit) == "k = float {1.0}\np = float {7.0}\nq = Mul(p, p)\ny = Neg(q)"


def test_fold_of_what_an_inner_graph_reads() -> None:
    edit, of = opened("""
        g (bool c, float x) => (float y) <float k = {1}> {
            p = Add(k, k)
            y = If (c) <then_branch = t () => (float r) { r = Neg(p) }, else_branch = e () => (float s) { s = Abs(p) }>
        }""")
    edit.fold(of["p"], [np.array(2, F32)])
    assert {node.op for node in edit.take_touched()} >= {"Neg", "Abs"}
    assert "p = float {2.0}" in text(edit)


def test_folded_values_cannot_be_written_to() -> None:
    edit, of = opened(CHAIN)
    edit.fold(of["p"], [np.array([7.0], F32)])
    with pytest.raises(ValueError, match="read-only"):
        of["q"].inputs[0].values[0] = 1


def test_replace_uses_everywhere() -> None:
    edit, of = opened("""
        g (bool c, float x) => (float y) {
            n = Neg(x)
            p = Abs(n)
            q = Sum(p, x, p)
            y = If (c) <
                then_branch = t () => (float r) { r = Add(p, q) },
                else_branch = e () => (float s) { s = Abs(q) }
            >
        }""")
    n, p = of["n"].outputs[0], of["p"].outputs[0]
    edit.replace_uses(p, n)
    assert (edit.use_count(p), edit.use_count(n)) == (0, 4)
    assert {of["n"], of["q"], of["r"]} <= set(edit.take_touched())
    edit.remove_node(of["p"])
    assert text(edit).splitlines()[:2] == ["n = Neg(x)", "q = Sum(n, x, n)"]


def test_replace_a_graph_output() -> None:
    edit, of = opened("g (float x) => (float y, float z) { n, m = Dropout(x)\n y = Abs(n)\n z = Add(n, y) }")
    n, y = of["n"].outputs[0], of["y"].outputs[0]
    assert edit.why_not_replaceable(y, n) is None
    edit.replace_uses(y, n)
    edit.remove_node(of["y"])
    assert text(edit) == "y, m = Dropout(x)\nz = Add(y, y)"
    assert edit.producer(y) is of["n"]
    assert edit.is_graph_output(y)


def test_remove_a_node_with_graphs() -> None:
    edit, of = opened("""
        g (bool c, float x) => (float y) {
            n = Neg(x)
            d = If (c) <
                then_branch = t () => (float r) { r = If (c) <
                    then_branch = u () => (float v) { v = Exp(n) }, else_branch = e () => (float s) { s = Abs(n) }> },
                else_branch = e () => (float s) { s = Abs(n) }
            >
            y = Abs(n)
        }""")
    inner = [node for node in edit.nodes() if node.scope is not edit.model.graph]
    n = of["n"].outputs[0]
    assert edit.use_count(n) == 4
    edit.remove_node(of["d"])
    assert edit.use_count(n) == 1
    assert not any(edit.is_live(node) for node in inner)
    assert of["y"] in edit.take_touched()
    assert text(edit) == "n = Neg(x)\ny = Abs(n)"


def test_a_removed_graph_returns_nothing_any_more() -> None:
    source = model("""
        g (bool c, float x) => (float y) {
            n = Neg(x)
            d = If (c) <then_branch = t () => (float r) { r = Abs(x) }, else_branch = e () => (float s) { s = Abs(n) }>
            y = Abs(n)
        }""")
    branch = source.graph.node[1].attribute[0].g
    del branch.node[:]
    branch.output[0].name = "n"
    edit = Edit(read_onnx(source))
    neg, dead, _ = edit.model.graph.nodes
    assert edit.is_graph_output(neg.outputs[0])
    edit.remove_node(dead)
    assert not edit.is_graph_output(neg.outputs[0])
    assert edit.is_single_use(neg.outputs[0])


def test_remove_constant() -> None:
    edit, of = opened("g (float x) => (float y) <float k = {1}, float l = {2}> { y = Add(x, l) }")
    edit.remove_constant(of["k"])
    assert text(edit) == "l = float {2.0}\ny = Add(x, l)"


def test_sort_nodes_keeps_constant_nodes_first() -> None:
    edit, of = opened("g (float x) => (float y) { p = Neg(x)\n k = Constant<value = float {1}>()\n y = Add(p, k) }")
    edit.sort_nodes(edit.model.graph)
    assert sorted(text(edit).splitlines()) == ["k = Constant<value=float {1.0}>()", "p = Neg(x)", "y = Add(p, k)"]
    assert of["y"].position == 1


def test_touched_nodes_are_taken_once_and_only_live_ones() -> None:
    edit, of = opened(CHAIN)
    edit.set_inputs(of["q"], [of["k"], of["k"]])
    edit.remove_node(of["p"])
    touched = edit.take_touched()
    assert of["p"] not in touched
    assert of["q"] in touched
    assert edit.take_touched() == []


def test_the_last_but_one_reader_gone_touches_the_last() -> None:
    edit, of = opened("g (float x) => (float y) { n = Neg(x)\n d = Abs(n)\n y = Exp(n) }")
    edit.remove_node(of["d"])
    assert set(edit.take_touched()) >= {of["n"], of["y"]}


def test_flush_in_between_changes_nothing() -> None:
    results = []
    for flushes in (False, True):
        edit, of = opened(CHAIN)
        new = edit.add_node("Abs", [of["x"]], before=of["p"])
        if flushes:
            edit.flush()
        edit.set_inputs(of["q"], [new.outputs[0], of["k"]])
        if flushes:
            edit.flush()
        edit.remove_node(of["p"])
        results.append(text(edit))
    assert results[0] == results[1]


def test_new_names_in_inner_graphs() -> None:
    edit, of = opened("""
        g (bool c, float x) => (float y) {
            r_abs = Neg(x)
            y = If (c) <
                then_branch = t () => (float r) { r = Neg(r_abs) },
                else_branch = e () => (float s) { s = Abs(x) }
            >
        }""")
    node = edit.add_node("Abs", [of["x"]], before=of["r"])
    assert node.outputs[0].name == "r_abs_1"
    assert node.scope is of["r"].scope
    edit.set_inputs(of["r"], [node.outputs[0]])
    assert "    r_abs_1 = Abs(x)\n    r = Neg(r_abs_1)" in text(edit)


Step = Callable[[Edit, st.DataObject], None]


def _some(data: st.DataObject, items: list[Any]) -> Any:
    return items[data.draw(st.integers(0, len(items) - 1))]


def _visible(edit: Edit, node: Node) -> list[Tensor]:
    """What a node may read: inputs, constants and results of the nodes before it."""
    graph = edit.model.graph
    before = graph.nodes[: graph.nodes.index(node)]
    return [*graph.inputs, *graph.constants, *(item.outputs[0] for item in before)]


def _step(edit: Edit, data: st.DataObject) -> None:
    """One random edit of the main graph that keeps it valid."""
    edit.flush()
    nodes = edit.model.graph.nodes
    node = _some(data, nodes)
    what = data.draw(st.sampled_from(["inputs", "add", "constant", "fold", "replace", "remove"]))
    result = node.outputs[0]
    if what == "inputs":
        edit.set_inputs(node, [_some(data, _visible(edit, node)) for _ in node.inputs])
    elif what == "add":
        new = edit.add_node("Neg", [_some(data, _visible(edit, node))], before=node)
        edit.set_inputs(node, [new.outputs[0] for _ in node.inputs])
    elif what == "constant":
        edit.set_inputs(node, [edit.add_constant(np.array(1, F32), like=result) for _ in node.inputs])
    elif what == "fold" and len(nodes) > 1:
        edit.fold(node, [np.array(2, F32)])
    elif what == "replace":
        other = _some(data, _visible(edit, node))
        if edit.why_not_replaceable(result, other) is None:
            edit.replace_uses(result, other)
            edit.remove_node(node)
    elif what == "remove" and not edit.use_count(result) and not edit.is_graph_output(result):
        edit.remove_node(node)


@given(data=st.data())
def test_any_sequence_of_edits(data: st.DataObject) -> None:
    edit, _ = opened("""
        g (float x, float w) => (float y, float p) <float k = {1}> {
            p = Add(x, k)
            q = Mul(p, w)
            r = Sub(q, p)
            s = Abs(r)
            t = Max(r, s, q)
            y = Add(t, k)
        }""")
    for _ in range(data.draw(st.integers(1, 12))):
        # Removed nodes stay in the graph's list until it is flushed.
        if any(edit.nodes()):
            _step(edit, data)
    text(edit)


def test_an_edit_needs_a_model() -> None:
    assert isinstance(Edit(read_onnx(model(CHAIN))).model, Model)


def test_many_inputs() -> None:
    """Where a node with many inputs reads what is remembered, through edits of its inputs one by one."""
    made = [f"p{index} = Neg(x) q{index} = Neg(p{index})" for index in range(20)]
    joined = ", ".join(f"q{index}, q{index}" for index in range(20))
    edit, of = opened(f"g (float[1] x) => (float[M] y) {{ {' '.join(made)} y = Concat<axis = 0>({joined}) }}")
    for index in range(10):
        edit.replace_uses(of[f"q{index}"].outputs[0], of["p0"].outputs[0])
        edit.remove_node(of[f"q{index}"])
    assert edit.use_count(of["p0"].outputs[0]) == 20
    assert edit.consumers(of["p0"].outputs[0]) == [of["y"]]
    left = list(of["y"].inputs)
    edit.set_inputs(of["y"], [*left[20:], of["p1"].outputs[0]])
    assert edit.use_count(of["p0"].outputs[0]) == 0
    edit.replace_uses(of["p1"].outputs[0], of["p2"].outputs[0])
    edit.remove_unused([of[f"p{index}"] for index in range(10)])
    edit.flush()
    assert [node.outputs[0].name for node in edit.nodes()] == [
        "p2", *(f"{kind}{index}" for index in range(10, 20) for kind in "pq"), "y",
    ]  # fmt: skip
    assert of["y"].inputs[-1] is of["p2"].outputs[0]
    assert_consistent(edit.model, edit)
