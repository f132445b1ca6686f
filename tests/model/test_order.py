"""Topological order: found without recursion, stable, and cycles are named."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, helper

from maxfold.model import ModelError, read_onnx
from maxfold.model.order import is_sorted, node_reads, sorted_nodes
from tests.text import model


def chain(count: int, order: list[int]) -> ModelProto:
    """n0 = Neg(x), n1 = Neg(n0), ... listed in some order."""
    nodes = [helper.make_node("Neg", [f"n{index - 1}" if index else "x"], [f"n{index}"]) for index in range(count)]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in ("x", f"n{count - 1}"))
    graph = helper.make_graph([nodes[index] for index in order], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("order", ["forward", "reverse", "shuffled"])
def test_long_chains(order: str) -> None:
    indices = list(range(5_000))
    if order == "reverse":
        indices.reverse()
    if order == "shuffled":
        random.Random(1).shuffle(indices)
    graph = read_onnx(chain(len(indices), indices)).graph
    assert is_sorted(graph) is (order == "forward")
    assert [node.outputs[0].name for node in sorted_nodes(graph)] == [f"n{index}" for index in range(len(indices))]


@given(data=st.data())
def test_any_graph_is_sorted_and_moves_only_what_must(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    reads = [data.draw(st.sets(st.integers(0, index - 1), max_size=3)) if index else set() for index in range(count)]
    order = data.draw(st.permutations(range(count)))
    nodes = [
        helper.make_node("Max", ["x", *(f"n{read}" for read in sorted(reads[index]))], [f"n{index}"]) for index in order
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [])
    graph = read_onnx(helper.make_model(helper.make_graph(nodes, "g", [x], [x]))).graph
    before = list(graph.nodes)
    after = sorted_nodes(graph)
    assert graph.nodes == before
    assert sorted(map(id, after)) == sorted(map(id, before))
    place = {node.outputs[0].name: position for position, node in enumerate(after)}
    assert all(
        place[tensor.name] < place[node.outputs[0].name] for node in after for tensor in node.inputs if tensor.inputs
    )
    if is_sorted(graph):
        assert after == before
    # The first of the file that is ready always goes next.
    done: set[str] = {"x"}
    for node in after:
        ready = [
            other for other in before if other.outputs[0].name not in done and all(t.name in done for t in other.inputs)
        ]
        assert node is ready[0]
        done.add(node.outputs[0].name)


def test_what_inner_graphs_read_and_return_counts() -> None:
    source = model("""
        g (bool c, float x) => (float y) {
            y = If (c) <
                then_branch = t () => (float q) {
                    q = If (c) <
                        then_branch = tt () => (float r) { r = Neg(p) },
                        else_branch = te () => (float s) { s = Neg(x) }
                    >
                },
                else_branch = e () => (float u) { u = Neg(x) }
            >
            p = Neg(x)
        }""")
    graph = read_onnx(source).graph
    assert not is_sorted(graph)
    assert [node.op for node in sorted_nodes(graph)] == ["Neg", "If"]
    assert {tensor.name for tensor in node_reads(graph.nodes[0])} >= {"c", "p", "x"}


def test_a_graph_that_returns_an_outer_tensor_reads_it() -> None:
    source = model("""
        g (bool c, float x) => (float y) {
            y = If (c) <then_branch = t () => (float q) { q = Neg(x) }, else_branch = e () => (float q) { q = Abs(x) }>
            p = Neg(x)
        }""")
    branch = source.graph.node[0].attribute[0].g
    del branch.node[:]
    branch.output[0].name = "p"
    graph = read_onnx(source).graph
    assert not is_sorted(graph)
    assert [node.op for node in sorted_nodes(graph)] == ["Neg", "If"]


@pytest.mark.parametrize(
    "body",
    [
        "y = Neg(y)",
        "p = Neg(q)\n q = Neg(p)\n y = Add(x, q)",
        "y = Neg(x)\n a = Neg(c)\n b = Neg(a)\n c = Neg(b)\n d = Neg(c)",
    ],
)
def test_cycles_are_named(body: str) -> None:
    with pytest.raises(
        ModelError, match=r"nodes form a cycle: .* in graph 'g' needs its own result; export the model again"
    ):
        read_onnx(model(f"g (float x) => (float y) {{ {body} }}"))


def test_the_cycle_is_named_not_what_is_behind_it() -> None:
    source = model("g (float x) => (float y) { y = Neg(b)\n a = Neg(b)\n b = Abs(a) }")
    source.graph.node[0].name = "behind"
    with pytest.raises(ModelError) as caught:
        read_onnx(source)
    assert "behind" not in str(caught.value)


def test_a_graph_that_needs_its_own_nodes_result_is_a_cycle() -> None:
    source = model("""
        g (bool c, float x) => (float y) {
            y = If (c) <then_branch = t () => (float q) { q = Neg(p) }, else_branch = e () => (float q) { q = Abs(x) }>
            p = Neg(y)
        }""")
    with pytest.raises(ModelError, match="nodes form a cycle"):
        read_onnx(source)
