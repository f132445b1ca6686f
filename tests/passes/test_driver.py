"""The driver: work is linear in nodes and edits, which is counted in calls, not timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

from maxfold.model import read_onnx
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node
from maxfold.model.view import View
from maxfold.passes import CATALOGUE, PassResult
from maxfold.passes.fold_constants import FoldNode
from maxfold.passes.fuse_add import CollectConstants, DropZero
from maxfold.passes.fuse_max import FuseMax
from maxfold.passes.rule import Decline
from tests.passes.outcome import assert_consistent
from tests.text import model

RULES: tuple[type[Any], ...] = (FoldNode, FuseMax, DropZero, CollectConstants)
COUNT = 5_000


class Calls:
    """Counts calls of every rule's `match` and of the questions and edits that cost most."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.matches = 0
        self.consumers = 0
        for rule in RULES:
            self._count(monkeypatch, rule, "match", "matches")
        self._count(monkeypatch, View, "consumers", "consumers")

    def _count(self, monkeypatch: pytest.MonkeyPatch, owner: type[Any], name: str, total: str) -> None:
        """Adds up calls; of those that give a list, what the list holds."""
        original = getattr(owner, name)

        def counted(*arguments: Any) -> Any:
            result = original(*arguments)
            setattr(self, total, getattr(self, total) + (len(result) if isinstance(result, list) else 1))
            return result

        monkeypatch.setattr(owner, name, counted)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


def graph_model(nodes: Sequence[NodeProto], outputs: Sequence[str], constants: dict[str, Any], kind: int) -> ModelProto:
    initializers = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", kind, ["N"])],
        [helper.make_tensor_value_info(name, kind, ["M"]) for name in outputs], initializer=initializers,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(name: str, source: ModelProto, **options: Any) -> tuple[PassResult, list[Node]]:
    edit = Edit(read_onnx(source), **options)
    entry = next(entry for entry in CATALOGUE if entry.name == name)
    return entry().run(edit), list(edit.nodes())


def chain(operator: str, count: int, *, constants: int, kind: int, reverse: bool = False) -> ModelProto:
    """n0 = op(x, c0), n1 = op(n0, c1), ... with so many different constants in turn."""
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    values = {f"c{index}": np.array([index + 1], dtype) for index in range(constants)}
    nodes = [
        helper.make_node(operator, [f"n{index - 1}" if index else "x", f"c{index % constants}"], [f"n{index}"])
        for index in range(count)
    ]
    return graph_model(nodes[::-1] if reverse else nodes, [f"n{count - 1}"], values, kind)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_long_chain_of_max(reverse: bool, calls: Calls) -> None:
    result, nodes = run("fuse-max", chain("Max", COUNT, constants=COUNT, kind=TensorProto.FLOAT, reverse=reverse))
    assert (result.changes, len(nodes), len(nodes[0].inputs)) == (1, 1, 2)
    assert calls.matches <= 2 * COUNT
    assert calls.consumers <= 10 * COUNT


@pytest.mark.parametrize("reverse", [False, True])
def test_a_long_chain_of_add(reverse: bool, calls: Calls) -> None:
    result, nodes = run("fuse-add", chain("Add", COUNT, constants=COUNT, kind=TensorProto.INT64, reverse=reverse))
    assert (result.changes, len(nodes)) == (1, 1)
    assert nodes[0].inputs[1].values.tolist() == [COUNT * (COUNT + 1) // 2]
    assert calls.matches <= 6 * COUNT
    assert calls.consumers <= 20 * COUNT


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("math", ["exact", "relaxed"])
def test_a_long_chain_of_zeros(reverse: bool, math: str, calls: Calls) -> None:
    source = chain("Add", COUNT, constants=1, kind=TensorProto.FLOAT, reverse=reverse)
    source.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.array(0.0, np.float32), "c0"))
    result, nodes = run("fuse-add", source, math=math)
    # What a zero has been added to is never -0.0, so that the next one changes nothing.
    assert (result.changes, len(nodes)) == (COUNT - 1, 1)
    assert calls.matches <= 6 * COUNT
    assert calls.consumers <= 20 * COUNT


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("operator", ["Add", "Max"])
def test_a_long_chain_of_constants(operator: str, reverse: bool, calls: Calls) -> None:
    source = chain(operator, COUNT, constants=3, kind=TensorProto.INT32, reverse=reverse)
    del source.graph.input[0]
    source.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0], np.int32), "x"))
    result, nodes = run("fold-constants", source)
    assert (result.changes, nodes) == (COUNT, [])
    assert calls.matches <= 3 * COUNT
    assert calls.consumers <= 10 * COUNT


def fan(operator: str, count: int, first: str, second: Callable[[int], str], kind: int) -> ModelProto:
    """So many nodes that read the same tensor, and Concat nodes of 100 inputs that read their results."""
    nodes = [helper.make_node("Neg", ["x"], ["v"])]
    nodes += [helper.make_node(operator, [first, second(index)], [f"n{index}"]) for index in range(count)]
    return graph_model(
        [*nodes, *concatenated(count)], ["y"], {"c": np.zeros(1, helper.tensor_dtype_to_np_dtype(kind))}, kind
    )


def concatenated(count: int) -> list[NodeProto]:
    """Nodes that read n0, n1, ... and make y."""
    nodes = [
        helper.make_node("Concat", [f"n{index}" for index in range(start, start + 100)], [f"y{start}"], axis=0)
        for start in range(0, count, 100)
    ]
    return [*nodes, helper.make_node("Concat", [node.output[0] for node in nodes], ["y"], axis=0)]


@pytest.mark.parametrize("operator", ["Add", "Max"])
@pytest.mark.parametrize("name", ["fold-constants", "fuse-max", "fuse-add", "share-constants", "remove-dead-nodes"])
def test_one_constant_with_10000_readers(operator: str, name: str, calls: Calls) -> None:
    count = 10_000
    result, nodes = run(name, fan(operator, count, "v", lambda index: "c", TensorProto.FLOAT))
    assert (result.changes, len(nodes)) == (0, count + 2 + count // 100)
    assert calls.matches <= 3 * count
    assert calls.consumers <= 10 * count


def test_one_zero_with_10000_readers_that_all_go(calls: Calls) -> None:
    count = 10_000
    result, nodes = run("fuse-add", fan("Add", count, "v", lambda index: "c", TensorProto.INT32))
    assert (result.changes, len(nodes)) == (count, 2 + count // 100)
    assert list(nodes[1].inputs) == [nodes[0].outputs[0]] * 100
    assert calls.matches <= 4 * count
    assert calls.consumers <= 10 * count


def test_10000_folds_of_one_constant(calls: Calls) -> None:
    count = 10_000
    result, nodes = run("fold-constants", fan("Add", count, "c", lambda index: "c", TensorProto.INT32))
    # All of it but the node that makes `v`.
    assert (result.changes, len(nodes)) == (count + count // 100 + 1, 1)
    assert calls.matches <= 2 * count
    assert calls.consumers <= 10 * count


def test_10000_fused_nodes_on_one_tensor(calls: Calls) -> None:
    count = 5_000
    nodes = [helper.make_node("Neg", ["x"], ["v"])]
    for index in range(count):
        nodes += [
            helper.make_node("Max", ["v", "c"], [f"p{index}"]),
            helper.make_node("Max", [f"p{index}", "d"], [f"n{index}"]),
        ]
    nodes += concatenated(count)
    values = {"c": np.array([1], np.float32), "d": np.array([2], np.float32)}
    result, left = run("fuse-max", graph_model(nodes, ["y"], values, TensorProto.FLOAT))
    assert (result.changes, len(left)) == (count, count + 2 + count // 100)
    assert calls.matches <= 5 * count
    assert calls.consumers <= 20 * count


def tree(operator: str, depth: int, leaf: Callable[[int], str]) -> list[NodeProto]:
    """A complete binary tree, root last."""
    nodes = []
    width = 1 << depth
    names = [leaf(index) for index in range(width)]
    level = 0
    while len(names) > 1:
        pairs = list(zip(names[::2], names[1::2], strict=True))
        names = [f"l{level}_{index}" for index in range(len(pairs))]
        nodes += [helper.make_node(operator, list(pair), [name]) for pair, name in zip(pairs, names, strict=True)]
        level += 1
    nodes[-1].output[0] = "y"
    return nodes


def test_a_wide_tree_of_max(calls: Calls) -> None:
    depth = 12
    values = {f"c{index}": np.array([index], np.int32) for index in range(0, 1 << depth, 2)}
    source = graph_model(
        tree("Max", depth, lambda index: "x" if index % 2 else f"c{index}"), ["y"], values, TensorProto.INT32
    )
    result, nodes = run("fuse-max", source)
    assert (result.changes, [len(node.inputs) for node in nodes]) == (1, [2])
    assert calls.matches <= 2 << depth


def test_a_wide_tree_of_add(calls: Calls) -> None:
    depth = 11
    values = {f"c{index}": np.array([index + 1], np.int32) for index in range(0, 1 << depth, 2)}
    source = graph_model(
        tree("Add", depth, lambda index: "x" if index % 2 else f"c{index}"), ["y"], values, TensorProto.INT32
    )
    result, nodes = run("fuse-add", source)
    assert (result.changes, len(nodes)) == (1, 1 << (depth - 1))
    assert calls.matches <= 8 << depth
    assert calls.consumers <= 40 << depth


def test_many_equal_constants_that_have_to_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a file of IR version 3 every initializer is an input, so none of equal ones can go."""
    count = 2_000
    values = {f"c{index}": np.array([1], np.float32) for index in range(count)}
    source = graph_model([helper.make_node("Max", ["x", *values], ["y"])], ["y"], values, TensorProto.FLOAT)
    source.ir_version = 3
    source.graph.input.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in values)
    asked = 0
    original = View.why_not_constant

    def counted(view: View, tensor: Constant) -> str | None:
        nonlocal asked
        asked += 1
        return original(view, tensor)

    monkeypatch.setattr(View, "why_not_constant", counted)
    result, _ = run("share-constants", source)
    assert (result.changes, len(result.declines)) == (0, count - 1)
    assert asked <= 10 * count


def test_one_max_of_many_operands_of_many_shapes(calls: Calls) -> None:
    shapes = [(1,) * rank + (size,) + (1,) * tail for rank in range(3) for tail in range(3) for size in (1, 2)]
    values = {f"c{index}": np.full(shapes[index % len(shapes)], index, np.int32) for index in range(2_000)}
    node = helper.make_node("Max", ["x", *values], ["y"])
    result, (left,) = run("fuse-max", graph_model([node], ["y"], values, TensorProto.INT32))
    assert result.changes == 1
    assert len(left.inputs) <= 1 + len(shapes)
    assert calls.matches <= 10


@pytest.mark.parametrize("depth", [1, 20])
def test_nested_branches(depth: int) -> None:
    """Each level has a chain to fuse and a constant to fold, on what the outermost level computes."""
    graph = None
    for level in range(depth):
        nodes = [
            helper.make_node("Add", ["k", "k"], [f"s{level}"]),
            helper.make_node("Max", ["v", f"s{level}"], [f"p{level}"]),
            helper.make_node("Max", [f"p{level}", "k"], [f"q{level}"]),
        ]
        result = f"q{level}"
        if graph is not None:
            nodes.append(helper.make_node("If", ["c"], [f"i{level}"], then_branch=graph, else_branch=leaf()))
            nodes.append(helper.make_node("Add", [result, f"i{level}"], [f"o{level}"]))
            result = f"o{level}"
        graph = helper.make_graph(
            nodes, f"level {level}", [], [helper.make_tensor_value_info(result, TensorProto.FLOAT, None)]
        )
    source = model("g (bool c, float[2] x) => (float[2] y) <float[1] k = {1}> { v = Neg(x) }")
    source.graph.node.append(helper.make_node("If", ["c"], ["y"], then_branch=graph, else_branch=leaf()))
    model_read = read_onnx(source)
    edit = Edit(model_read)
    for entry in CATALOGUE:
        entry().run(edit)
    assert_consistent(model_read, edit)
    operators = [node.op for node in edit.nodes()]
    assert operators.count("Max") == depth
    assert all(len(node.inputs) == 2 for node in edit.nodes() if node.op == "Max")


def leaf() -> onnx.GraphProto:
    output = helper.make_tensor_value_info("e", TensorProto.FLOAT, None)
    return helper.make_graph([helper.make_node("Identity", ["v"], ["e"])], "leaf", [], [output])


def test_progress_is_told_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, int, int]] = []
    edit = Edit(read_onnx(chain("Max", COUNT, constants=2, kind=TensorProto.FLOAT)))
    entry = next(entry for entry in CATALOGUE if entry.name == "fuse-max")
    entry().run(edit, lambda name, done, total: seen.append((name, done, total)))
    assert {name for name, _, _ in seen} == {"fuse-max"}
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert all(0 < done <= total for _, done, total in seen)
    assert len(seen) >= COUNT // 1000 - 1


def test_declines_are_those_of_nodes_that_are_left() -> None:
    source = model(
        """
        g (int64 x) => (int64 y, int64 p) <int64 k = {1}, int64 l = {2}> {
            p = Add(x, k)
            y = Add(p, l)
            z = Add(k, l)
        }"""
    )
    result, nodes = run("fuse-add", source)
    names = {node.outputs[0].name for node in nodes}
    assert {decline.node for decline in result.declines} <= names


@pytest.mark.parametrize("rule", RULES)
def test_rules_are_frozen_and_pure(rule: type[Any]) -> None:
    source = model(
        """
        g (int64 x) => (int64 y) <int64 k = {1}, int64 l = {0}> {
            m = Add(k, l)
            p = Max(x, k)
            q = Max(p, l)
            r = Add(q, l)
            y = Add(r, k)
        }"""
    )
    instance = rule(65536) if "max_growth_bytes" in rule.__dataclass_fields__ else rule()
    with pytest.raises((AttributeError, TypeError)):
        instance.state = 1
    before = read_onnx(source)
    edit = Edit(before)
    first = [instance.match(node, edit) for node in edit.nodes()]
    second = [instance.match(node, edit) for node in edit.nodes()]
    assert [type(item) for item in first] == [type(item) for item in second]
    assert any(item is not None for item in first)
    assert_consistent(before, edit)
    assert all(isinstance(item, Decline) or callable(item.apply) for item in first if item is not None)
