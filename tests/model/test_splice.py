"""Moving graphs into the scope around them, and tensors into the places of results."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import ModelProto, helper

from maxfold.model import Model, read_onnx
from maxfold.model.edit import Edit
from maxfold.model.graph import Graph, Node, Tensor, subgraphs
from maxfold.model.splice import is_used, why_kept_inside, why_not_moved, why_not_replaced
from tests.passes.outcome import assert_consistent, saved
from tests.text import golden, lines, model

NESTED = """
    g (float[2] x, bool c) => (float[2] y) {
        r = If (c) <
            then_branch = t () => (float[2] o) {
                a = Abs(x)
                i = If (c) <
                    then_branch = t2 () => (float[2] n) <float w = {2}> { b = Neg(a) n = Mul(b, w) },
                    else_branch = e2 () => (float[2] m) { m = Exp(a) }
                >
                o = Sqrt(i)
            },
            else_branch = e () => (float[2] p) { p = Exp(x) }
        >
        y = Exp(r)
    }"""


def opened(source: ModelProto, **options: Any) -> tuple[Model, Edit, dict[str, Node]]:
    """The model, an edit of it, and its nodes by the name of their first result."""
    read = read_onnx(source)
    return read, Edit(read, **options), {node.outputs[0].name: node for node in read.nodes()}


def text(read: Model, edit: Edit, *, check: bool = True) -> str:
    """Flushes, checks everything, and gives the text of what is written."""
    edit.flush()
    assert_consistent(read, edit)
    proto = ModelProto.FromString(saved(read))
    if check:
        onnx.checker.check_model(proto, full_check=True)
    return lines(proto)


def inline(edit: Edit, node: Node, name: str = "then_branch") -> None:
    edit.replace_results(node, edit.inline_graph(node.attrs[name], before=node))


@pytest.mark.parametrize("order", [("r", "i"), ("i", "r")])
@pytest.mark.parametrize("flushes", [True, False])
def test_nested_graphs_in_any_order(order: tuple[str, str], flushes: bool) -> None:
    read, edit, of = opened(model(NESTED))
    for name in order:
        inline(edit, of[name])
        if flushes:
            edit.flush()
    assert text(read, edit) == golden("""
        w = float {2.0}
        a = Abs(x)
        b = Neg(a)
        n = Mul(b, w)
        o = Sqrt(n)
        y = Exp(o)
        """)


def test_the_other_branch_of_an_inlined_graph_is_gone() -> None:
    read, edit, of = opened(model(NESTED))
    inline(edit, of["r"], "else_branch")
    assert edit.use_count(read.graph.inputs[0]) == 1
    assert not any(edit.is_live(of[name]) for name in ("r", "a", "i", "n", "m", "o"))
    assert text(read, edit) == "p = Exp(x)\ny = Exp(p)"


def test_moved_nodes_are_looked_at_again_and_known_anew() -> None:
    read, edit, of = opened(model(NESTED))
    edit.take_touched()
    assert edit.shape(of["y"].outputs[0]) == (2,)
    inline(edit, of["r"])
    assert {of["a"], of["i"], of["o"], of["y"]} <= set(edit.take_touched())
    assert of["a"].scope is read.graph
    assert all(inner.parent is of["i"] for inner in subgraphs(of["i"]))
    edit.flush()
    assert edit.shape(of["o"].outputs[0]) == (2,)


def test_bindings() -> None:
    read, edit, of = opened(
        model("""
        g (float[2] x, int64 m, bool c) => (float[2] y) {
            y = Loop (m, c, x) < body = b (int64 i, bool ci, float[2] v) => (bool ci, float[2] a) { a = Add(v, v) } >
        }""")
    )
    loop = of["y"]
    body = loop.attrs["body"]
    x = read.graph.inputs[0]
    returned = edit.inline_graph(body, before=loop, bindings={body.inputs[2]: x})
    assert returned[1].name == "a"
    edit.replace_results(loop, returned[1:])
    assert edit.use_count(x) == 2
    assert text(read, edit) == "y = Add(x, x)"


def test_a_fresh_constant_node_stands_before_what_reads_it() -> None:
    source = model("""
        g (float[2] x, bool c) => (float[2] y) {
            k = Constant<value = float {1}>()
            p = Add(x, k)
            r = If (c) <
                then_branch = t () => (float[2] o) { q = Neg(p) k = Constant<value = float {2}>() o = Add(q, k) },
                         else_branch = e () => (float[2] z) { z = Exp(x) } >
            y = Exp(r)
        }""")
    read, edit, of = opened(source)
    inline(edit, of["r"])
    assert text(read, edit).splitlines() == [
        "k = Constant<value=float {1.0}>()",
        "p = Add(x, k)",
        "q = Neg(p)",
        "k_1 = Constant<value=float {2.0}>()",
        "o = Add(q, k_1)",
        "y = Exp(o)",
    ]


def branch_returning(name: str, outputs: str = "y") -> ModelProto:
    source = model(f"""
        g (float[2] x, bool c) => (float[2] {outputs}) {{
            p = Abs(x)
            y = If (c) < then_branch = t () => (float[2] o) <float[2] w = {{1, 2}}> {{ o = Neg(p) u = Exp(w) }},
                         else_branch = e () => (float[2] z) {{ z = Exp(x) }} >
        }}""")
    source.graph.node[1].attribute[0].g.output[0].name = name
    return source


@pytest.mark.parametrize(
    ("name", "last"),
    [("o", "y = Neg(p)"), ("w", "y = Identity(w)"), ("x", "y = Identity(x)"), ("p", "y = Abs(x)")],
)
def test_what_makes_a_graph_output(name: str, last: str) -> None:
    read, edit, of = opened(branch_returning(name))
    inline(edit, of["y"])
    assert last in text(read, edit).splitlines()


def test_a_nested_graph_that_returns_a_renamed_tensor() -> None:
    source = model("""
        g (float[2] x, bool c) => (float[2] y) {
            a = Neg(x)
            r = If (c) <
                then_branch = t () => (float[2] o) {
                    a = Abs(x)
                    o = If (c) < then_branch = t2 () => (float[2] a) { u = Neg(a) },
                                 else_branch = e2 () => (float[2] m) { m = Exp(a) } >
                },
                else_branch = e () => (float[2] p) { p = Exp(x) }
            >
            y = Add(a, r)
        }""")
    source.graph.node[1].attribute[0].g.node[1].attribute[0].g.output[0].doc_string = "kept"
    read, edit, of = opened(source)
    inline(edit, of["r"])
    assert "  then_branch() => a_1" in text(read, edit, check=False).splitlines()
    (inner,) = (graph for graph in read.scopes() if graph.name == "t2")
    assert (inner.output_info[0].name, inner.output_info[0].doc_string) == ("a_1", "kept")


def test_a_name_that_the_scope_has_forgotten_is_not_taken_again() -> None:
    source = model("""
        g (float[2] x, bool c) => (float[2] y) {
            a = Identity(x)
            r = If (c) < then_branch = t () => (float[2] a) { b = Neg(x) a = Exp(b) },
                         else_branch = e () => (float[2] z) { z = Exp(x) } >
            y = Add(a, r)
        }""")
    source.graph.node[1].attribute[0].g.value_info.add().CopyFrom(helper.make_tensor_value_info("a", 1, [2]))
    read, edit, of = opened(source)
    edit.replace_uses(read.graph.nodes[0].outputs[0], read.graph.inputs[0])
    edit.remove_node(read.graph.nodes[0])
    inline(edit, of["r"])
    assert text(read, edit).splitlines()[-2:] == ["a_1 = Exp(b)", "y = Add(x, a_1)"]
    assert [info.name for info in read.graph.value_info] == ["a_1"]


def test_reasons() -> None:
    read, edit, of = opened(model(NESTED), keep=["n"])
    node = of["r"]
    branch = node.attrs["then_branch"]
    assert why_kept_inside(node, edit) == why_not_moved(branch, node, edit) == "'n' inside is to be kept"
    assert why_kept_inside(node.attrs["else_branch"], edit) is None
    assert why_not_replaced(node, branch.outputs, edit, branch) is None
    left_out: list[Tensor] = [Edit(read).add_node("Neg", [], before=node, outputs=1).outputs[0]]
    left_out[0].name = ""
    assert why_not_replaced(node, left_out, edit) == "'r' would be a value that is left out"
    assert is_used(node.outputs[0], edit)
    assert not is_used(of["o"].outputs[0], Edit(read_onnx(model(NESTED))))


def test_sparse_initializers_and_annotations_cannot_stand_in_a_function() -> None:
    source = model(
        "g (float[2] x) => (float[2] y) { y = custom.f(x) }",
        domains='"custom" : 1',
        functions="""<domain: "custom", opset_import: ["" : 17]> f (x) => (y) {
            c = Constant<value = bool {1}>()
            y = If (c) < then_branch = t () => (float[2] o) { o = Neg(x) },
                         else_branch = e () => (float[2] z) { z = Exp(x) } >
        }""",
    )
    branch = source.functions[0].node[1].attribute[0].g
    branch.quantization_annotation.add(tensor_name="o")
    sparse = branch.sparse_initializer.add(dims=[4])
    sparse.values.CopyFrom(helper.make_tensor("s", 1, [1], [1.0]))
    sparse.indices.CopyFrom(helper.make_tensor("", 7, [1], [0]))
    read, edit, _ = opened(source)
    (node,) = read.functions[0].nodes
    graph: Graph = node.attrs["then_branch"]
    assert why_not_moved(graph, node, edit) == "a function cannot have a sparse initializer"
    graph.constants.clear()
    assert why_not_moved(graph, node, edit) == "a function cannot have quantization annotations"


def test_a_function_that_nothing_calls() -> None:
    source = model(
        "g (float[2] x) => (float[2] y) { y = Neg(x) }",
        domains='"custom" : 1',
        functions='<domain: "custom", opset_import: ["" : 17]> f (x) => (y) { y = Neg(x) }',
    )
    read, edit, _ = opened(source)
    (node,) = read.functions[0].nodes
    edit.remove_function(read.functions[0])
    assert not edit.is_live(node)
    assert read.graph.functions is read.functions
    assert text(read, edit) == "y = Neg(x)"


BRANCHES = """
    g (float[2] x, bool c) => (float[2] y, float[2] z) {
        y, z = If (c) <
            then_branch = t () => (float[2] o, float[2] p) <float w = {2}> { a = Mul(x, w) o = Neg(a) p = Abs(a) },
            else_branch = e () => (float[2] o, float[2] p) <float w = {2}> { a = Mul(x, w) o = Exp(a) p = Sin(x) }
        >
    }"""


def test_nodes_and_constants_move_out_of_a_branch() -> None:
    read, edit, of = opened(model(BRANCHES))
    then = of["y"].attrs["then_branch"]
    product, twin = (edit.producer(branch.outputs[0].inputs[0].inputs[0]) for branch in subgraphs(of["y"]))
    assert product is not None
    assert twin is not None
    edit.hoist(then, [product], list(then.constants), [twin])
    edit.replace_uses(twin.outputs[0], product.outputs[0])
    edit.remove_node(twin)
    # The name of the constant is that of another one, which stays.
    assert text(read, edit) == golden("""
        w_1 = float {2.0}
        a = Mul(x, w_1)
        y, z = If(c)
          then_branch() => o, p
            o = Neg(a)
            p = Abs(a)
          else_branch() => o, p
            w = float {2.0}
            o = Exp(a)
            p = Sin(x)
        """)


def test_an_if_gives_less() -> None:
    source = model(BRANCHES)
    del source.graph.output[0]
    read, edit, of = opened(source)
    edit.drop_results(of["y"], [0])
    written = text(read, edit).splitlines()
    assert written[0] == "z = If(c)"
    assert [line.strip() for line in written if "=>" in line] == ["then_branch() => p", "else_branch() => p"]
