"""The view: what rules are told about operators, uses, names and constants."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from maxfold.model import Model, read_onnx
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.view import View, domain_of
from tests.text import model

GRAPH = """
g (bool c, float x, float k) => (float y, float p) <float k = {1}, float w = {2}, float u = {3}> {
    p = Add(x, w)
    q = Mul(p, p)
    y = If (c) <
        then_branch = t () => (float r) <float w2 = {1}> { r = Add(q, w2) },
        else_branch = e () => (float s) { v = Constant<value = float {4}>()
            s = Sum(w, v, w) }
    >
}"""


def loaded(*, ir_version: int = 8) -> tuple[Model, View]:
    source = read_onnx(model(GRAPH, ir_version=ir_version))
    return source, View(source)


def tensors(source: Model) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for scope in source.scopes():
        found.update((tensor.name, tensor) for tensor in (*scope.inputs, *scope.constants))
        found.update((tensor.name, tensor) for node in scope.nodes for tensor in node.outputs)
    return found


def test_uses_are_counted_over_all_scopes_and_repetitions() -> None:
    source, view = loaded()
    by_name = tensors(source)
    counts = {name: view.use_count(tensor) for name, tensor in by_name.items()}
    assert counts == {"c": 1, "x": 1, "k": 0, "w": 3, "u": 0, "p": 2, "q": 1, "y": 0, "w2": 1, "r": 0, "v": 1, "s": 0}
    assert [node.op for node in view.consumers(by_name["w"])] == ["Add", "Sum"]
    assert view.is_single_use(by_name["q"])
    assert not view.is_single_use(by_name["p"])
    assert not view.is_single_use(by_name["u"])


def test_graph_outputs_of_every_graph_count() -> None:
    source, view = loaded()
    outputs = {name for name, tensor in tensors(source).items() if view.is_graph_output(tensor)}
    assert outputs == {"y", "p", "r", "s"}


def test_nodes_come_outer_scopes_first() -> None:
    _, view = loaded()
    assert [node.op for node in view.nodes()] == ["Add", "Mul", "If", "Add", "Sum"]


def test_producers() -> None:
    source, view = loaded()
    made = {name: view.producer(tensor) for name, tensor in tensors(source).items()}
    assert {name for name, node in made.items() if node is None} == {"c", "x", "k", "w", "u", "w2", "v"}
    assert isinstance(made["q"], Node)
    assert made["q"].op == "Mul"


@pytest.mark.parametrize(("ir_version", "is_constant"), [(3, True), (4, False), (8, False)])
def test_a_default_is_constant_only_in_old_files(ir_version: int, is_constant: bool) -> None:
    source, view = loaded(ir_version=ir_version)
    k = tensors(source)["k"]
    assert isinstance(k, Constant)
    assert view.is_graph_input(k)
    assert (view.constant(k) is k) is is_constant
    assert not view.is_removable(k)
    assert not view.dies_with(k, 0)


def test_removable_constants() -> None:
    source, view = loaded()
    constants = {name: tensor for name, tensor in tensors(source).items() if isinstance(tensor, Constant)}
    assert {name for name, constant in constants.items() if view.is_removable(constant)} == {"w", "u", "w2", "v"}
    w = constants["w"]
    assert [view.dies_with(w, uses) for uses in (1, 2, 3)] == [False, False, True]
    assert view.constant(tensors(source)["p"]) is None


def test_a_script_can_make_a_constant_an_input() -> None:
    source = read_onnx(model(GRAPH))
    w = tensors(source)["w"]
    source.graph.inputs.append(w)
    view = View(source)
    assert view.is_graph_input(w)
    assert view.constant(w) is None


@pytest.mark.parametrize(
    ("imports", "domain", "operator_set"),
    [
        ([("", 17)], "", 17), ([("", 17)], "ai.onnx", 17), ([("ai.onnx", 16)], "", 16),
        ([("ai.onnx", 16)], "ai.onnx", 16),
        ([("custom", 3)], "", None), ([("custom", 3)], "custom", 3), ([("", 17)], "custom", None),
    ],
)  # fmt: skip
def test_operator_sets(imports: list[tuple[str, int]], domain: str, operator_set: int | None) -> None:
    source = model("g (float x) => (float y) { y = Neg(x) }")
    del source.opset_import[:]
    source.opset_import.extend(helper.make_opsetid(name, version) for name, version in imports)
    source.graph.node[0].domain = domain
    view = View(read_onnx(source))
    (node,) = view.nodes()
    assert view.opset(node) == operator_set
    assert view.is_operator(node, "Neg") is (domain != "custom")
    assert view.is_operator(node, "Neg", "custom") is (domain == "custom")
    assert domain_of(node) == ("custom" if domain == "custom" else "")


def test_functions_have_operator_sets_of_their_own_also_inside_branches() -> None:
    source = model(
        "g (bool c, float x) => (float y) { y = custom.f(c, x) }",
        domains='"custom" : 1',
        functions="""<domain: "custom", opset_import: ["" : 11]>
        f (c, x) => (y) {
            y = If (c) <then_branch = t () => (p) { p = Neg(x) }, else_branch = e () => (q) { q = Abs(x) }>
        }""",
    )
    view = View(read_onnx(source))
    assert {node.op: view.opset(node) for node in view.nodes()} == {"f": 1, "If": 11, "Neg": 11, "Abs": 11}


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
@pytest.mark.parametrize("called", ["", "ai.onnx"])
def test_a_function_of_onnx_own_domain_hides_the_operator(domain: str, called: str) -> None:
    source = model("g (float x) => (float y) { p = Neg(x)\n y = Abs(p) }")
    source.functions.append(
        helper.make_function(
            domain, "Neg", ["a"], ["b"], [helper.make_node("Exp", ["a"], ["b"])], [helper.make_opsetid("", 17)]
        )
    )
    source.graph.node[0].domain = called
    view = View(read_onnx(source))
    neg, absolute = (node for node in view.nodes() if node.op in ("Neg", "Abs"))
    assert view.is_function_call(neg)
    assert not view.is_operator(neg, "Neg")
    assert not view.is_function_call(absolute)


def test_keep_names_nodes_results_and_constants() -> None:
    source = model("g (float x) => (float y) <float k = {1}> { p = Add(x, k)\n y = Neg(p) }")
    source.graph.node[1].name = "last"
    view = View(read_onnx(source), keep=["p", "last", "k"])
    assert [view.is_kept(node) for node in view.nodes()] == [True, True]
    (k,) = view.model.constants()
    assert view.is_kept(k)
    assert view.why_not_constant(k) == "'k' is to be kept"
    assert not View(view.model, keep=["x"]).is_kept(k)


def test_reasons_against_a_constant() -> None:
    source = model(
        "g (float x, float a) => (float y) <float a = {1}, float b = {1}, float d = {1}> { y = Sum(x, a, b, c, d) }"
    )
    source.graph.initializer.add(name="c", data_type=1000, raw_data=b"1234")
    binding = source.training_info.add().update_binding.add()
    binding.key, binding.value = "b", "new"
    view = View(read_onnx(source), keep=["d"])
    reasons = {constant.name: view.why_not_constant(constant) for constant in view.model.constants()}
    assert reasons == {
        "a": "'a' is a graph input with a default value, which the caller may override",
        "b": "'b' takes part in training, which changes it",
        "c": "'c' has an element type that is not known",
        "d": "'d' is to be kept",
    }


REPLACE = """
g (bool c, float x, float i) => (float y, float z, float w) <float k = {1}> {
    n = Neg(x)
    m = Max(n)
    y = Max(m)
    z = Abs(n)
    l = Max(x)
    w = Max(i)
    v = If (c) <
        then_branch = t () => (float p) { p = Max(m, n, k) },
        else_branch = e () => (float q) { n = Exp(m)
            q = Max(n, l, y) }
    >
}"""


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("m", "x", None),
        ("l", "x", None),
        ("l", "k", None),
        ("m", "n", "'n' is hidden by another tensor of that name in an inner graph"),
        ("y", "m", None),
        ("y", "x", "'y' is a graph output and 'x' is not made by a node beside it"),
        ("y", "k", "'y' is a graph output and 'k' a constant"),
        ("y", "z", "'y' and 'z' are both graph outputs"),
        ("w", "i", "'w' is a graph output and 'i' is not made by a node beside it"),
        ("q", "l", "'q' is a graph output and 'l' is not made by a node beside it"),
    ],
)
def test_reasons_against_replacing(old: str, new: str, reason: str | None) -> None:
    source = read_onnx(model(REPLACE))
    by_name = tensors(source)
    by_name["n"] = source.graph.nodes[0].outputs[0]
    assert View(source).why_not_replaceable(by_name[old], by_name[new]) == reason


def test_a_new_name_must_not_be_hidden_where_the_other_was_read() -> None:
    """y takes the place of m, whose readers include a branch that has a y of its own."""
    source = read_onnx(model("""
        g (bool c, float x) => (float y, float z) {
            m = Neg(x)
            y = Max(m)
            z = If (c) <
                then_branch = t () => (float p) { y = Exp(x)
                    p = Add(m, y) },
                else_branch = e () => (float q) { q = Abs(m) }
            >
        }"""))  # fmt: skip
    m, y = (node.outputs[0] for node in source.graph.nodes[:2])
    assert View(source).why_not_replaceable(y, m) == "'y' is hidden by another tensor of that name in an inner graph"


def test_hidden_names_reach_through_several_graphs() -> None:
    inner = "then_branch = t () => (float k) { k = Exp(x) }, else_branch = e () => (float l) { l = Abs(o) }"
    source = read_onnx(model(f"""
        g (bool c, float x) => (float y) <float k = {{1}}, float o = {{1}}> {{
            n = Add(x, k)
            y = If (c) <
                then_branch = t () => (float p) {{ p = If (c) <{inner}> }},
                else_branch = e () => (float q) {{ q = Abs(n) }}
            >
        }}"""))  # fmt: skip
    k, o = source.graph.constants
    assert View(source).why_not_replaceable(o, k) == "'k' is hidden by another tensor of that name in an inner graph"


def test_bound_and_kept_names_are_not_renamed() -> None:
    source = model("g (float x) => (float y) { n = Neg(x)\n y = Max(n) }")
    opened = read_onnx(source)
    n, y = (node.outputs[0] for node in opened.graph.nodes)
    assert View(opened).why_not_replaceable(y, n) is None
    assert View(opened, keep=["n"]).why_not_replaceable(y, n) is not None
    for name in ("n", "y"):
        copy = ModelProto()
        copy.CopyFrom(source)
        copy.graph.quantization_annotation.add(tensor_name=name)
        opened = read_onnx(copy)
        n, y = (node.outputs[0] for node in opened.graph.nodes)
        assert View(opened).why_not_replaceable(y, n) is not None, name


def test_types_are_numpy_ones() -> None:
    source = read_onnx(model("g (float16[2] x) => (float16[2] y) { y = Neg(x) }"))
    view = View(source)
    dtype = view.dtype(source.graph.outputs[0])
    assert dtype is not None
    assert (dtype.name, dtype.numpy) == ("FLOAT16", np.dtype(np.float16))


def test_ten_thousand_readers_are_counted_once_each() -> None:
    nodes = [helper.make_node("Add", ["x", "k"], [f"n{index}"]) for index in range(10_000)]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [])
    graph = helper.make_graph(nodes, "g", [x], [x], initializer=[helper.make_tensor("k", 1, [], [1.0])])
    view = View(read_onnx(helper.make_model(graph)))
    (k,) = view.model.constants()
    assert view.use_count(k) == len(view.consumers(k)) == 10_000
