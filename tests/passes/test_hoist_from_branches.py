"""hoist-from-branches: what both branches of an If compute, and what stays in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper

from tests.passes.outcome import Outcome, outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import golden, model

X = np.array([[1.5, -2.0, 0.0], [-0.0, np.nan, np.inf]], np.float32)


def source_of(then: str, other: str, outputs: str = "o", *, after: str = "", **options: Any) -> ModelProto:
    """An If that gives r, or more than that; its results are the graph's unless `after` makes y."""
    names = outputs.split()
    results = ", ".join("r" if not index else f"r{index}" for index in range(len(names)))
    declared = ", ".join(f"float[A{name},B{name}] {name}" for name in names)
    returned = "float[M,N] y" if after else ", ".join(f"float[M{name},N{name}] {name}" for name in results.split(", "))
    return model(
        f"""
        g (bool c, float[P,3] x) => ({returned}) {{
            {results} = If (c) <
                then_branch = t () => ({declared}) {{ {then} }},
                else_branch = e () => ({declared}) {{ {other} }}
            >
            {after}
        }}""",
        **options,
    )


def hoisted(source: ModelProto, *, runs: bool = True, **options: Any) -> Outcome:
    """The outcome; the model gives the same before and after, whatever the condition is."""
    result = outcome("hoist-from-branches", source, **options)
    for value in (True, False) if runs else ():
        feeds = {"c": np.array(value), "x": X}
        assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)
    return result


def test_equal_branches_go() -> None:
    branch = "k = Constant<value_float = 2.0>() a = Mul(x, k) b = Relu(a) o = Add(b, x)"
    result = hoisted(source_of(branch, branch))
    assert result.text == golden("""
        k = Constant<value_float=2.0>()
        a = Mul(x, k)
        b = Relu(a)
        r = Add(b, x)
        """)
    assert result.changes == 4


def test_equal_branches_of_other_names_and_another_order() -> None:
    then = "a = Neg(x) b = Abs(x) o = Add(a, b)"
    other = "q = Abs(x) p = Neg(x) o = Add(q, p)"
    assert (
        hoisted(source_of(then, other, after="y = Exp(r)")).text == "a = Neg(x)\nb = Abs(x)\no = Add(a, b)\ny = Exp(o)"
    )


@pytest.mark.parametrize(
    ("then", "other"),
    [
        ("o = LeakyRelu<alpha = 0.5>(x)", "o = LeakyRelu<alpha = 0.25>(x)"),
        ("k = Constant<value_float = 0.0>() o = Mul(x, k)", "k = Constant<value_float = -0.0>() o = Mul(x, k)"),
        ("k = Constant<value_float = 0.0>() o = Mul(x, k)", "k = Constant<value_floats = [0.0]>() o = Mul(x, k)"),
        ("o = Sub(x, x)", "a = Neg(x) o = Sub(a, x)"),
        ("o = RandomNormalLike<seed = 1.0>(x)", "o = RandomNormalLike<seed = 1.0>(x)"),
        ("o = Pow(x, x)", "a = Neg(x) o = Pow(x, a)"),
    ],
)
def test_branches_that_differ(then: str, other: str) -> None:
    result = hoisted(source_of(then, other), runs=False)
    assert (result.changes, result.reasons) == (0, [])


def test_what_is_common_is_moved_up_to_where_it_differs() -> None:
    shape = "s = Shape(x) k = Constant<value_ints = [-1]>() n = Slice(s, k, e) m = Concat<axis = 0>(n, k)"
    head = "e = Constant<value_ints = [9]>()"
    result = hoisted(
        source_of(f"{head} {shape} p = Neg(x) o = Reshape(p, m)", f"{head} {shape} q = Abs(x) o = Reshape(q, m)")
    )
    assert result.text == golden("""
        s = Shape(x)
        k = Constant<value_ints=[-1]>()
        e = Constant<value_ints=[9]>()
        n = Slice(s, k, e)
        m = Concat<axis=0>(n, k)
        r = If(c)
          then_branch() => o
            p = Neg(x)
            o = Reshape(p, m)
          else_branch() => o
            q = Abs(x)
            o = Reshape(q, m)
        """)


def test_what_may_be_fused_with_its_reader_stays() -> None:
    result = hoisted(source_of("a = Sin(x) o = Relu(a)", "a = Sin(x) o = Sigmoid(a)"))
    assert result.changes == 0
    assert result.reasons == ["'a' is computed in both branches, and may be fused there with what reads it"]


def test_a_node_stays_with_the_one_that_it_reads() -> None:
    # What makes the indices is returned by one branch only, so that the Gather cannot read them outside.
    then, other = "i = Cast<to = 7>(x) j = Gather(x2, i) o = Neg(j)", "i = Cast<to = 7>(x) j = Gather(x2, i) o = Abs(j)"
    text = """
        g (bool c, float[3] x, float[2] x2) => (float[A] y, int64[B] z) {{
            y, z = If (c) <
                then_branch = t () => (float[C] o, int64[D] i) {{ {} }},
                else_branch = e () => (float[E] o, int64[F] h) {{ {} h = Neg(i) }}
            >
        }}"""
    result = hoisted(model(text.format(then, other)), runs=False)
    assert (result.changes, result.reasons) == (
        0,
        ["'i' is computed in both branches, and returned where it cannot be read in front"],
    )


def test_one_of_several_results() -> None:
    then, other = "o = Neg(x) p = Exp(x)", "o = Neg(x) p = Abs(x)"
    result = hoisted(source_of(then, other, "o p"))
    assert result.text == golden("""
        r = Neg(x)
        r1 = If(c)
          then_branch() => p
            p = Exp(x)
          else_branch() => p
            p = Abs(x)
        """)
    last = hoisted(source_of("p = Exp(x) o = Neg(x)", "p = Abs(x) o = Neg(x)", "p o", after="y = Add(r, r1)"))
    assert last.text.splitlines()[0] == "o = Neg(x)"
    assert last.text.splitlines()[-1] == "y = Add(r, o)"


def test_constants_that_both_return() -> None:
    constant = "k = Constant<value = float[1,3] {1, 2, 3}>()"
    source = source_of(f"{constant} p = Exp(x)", f"{constant} p = Abs(x)", "k p", after="y = Add(r, r1)")
    assert hoisted(source).text == golden("""
        r1 = If(c)
          then_branch() => p
            p = Exp(x)
          else_branch() => p
            p = Abs(x)
        k = Constant<value=float[1,3] {1.0, 2.0, 3.0}>()
        y = Add(k, r1)
        """)
    # A graph output is made by a node.
    output = hoisted(source_of(f"{constant} p = Exp(x)", f"{constant} p = Abs(x)", "k p"))
    assert output.changes == 0


def test_an_outer_tensor_that_both_return() -> None:
    source = source_of("p = Exp(x)", "p = Abs(x)", "a p", after="y = Add(r, r1)")
    source.graph.node.insert(0, helper.make_node("Neg", ["x"], ["a"]))
    # ONNX Runtime refuses a graph that returns a tensor of another graph as it is.
    result = hoisted(source, runs=False)
    assert result.text.splitlines()[-1] == "y = Add(a, r1)"
    identity = source_of("o = Identity(x) p = Exp(x)", "o = Identity(x) p = Abs(x)", "o p", after="y = Add(r, r1)")
    assert hoisted(identity).text.splitlines()[0] == "o = Identity(x)"


def test_a_result_that_is_returned_twice() -> None:
    source = source_of("o = Neg(x) p = Exp(x)", "o = Neg(x) p = Abs(x)", "o o p", after="a = Add(r, r1) y = Add(a, r2)")
    result = hoisted(source, runs=False)
    assert "a = Add(o, o)" in result.text
    # Two graph outputs cannot be one tensor.
    assert hoisted(source_of("o = Neg(x)", "o = Neg(x)", "o o"), runs=False).changes == 0


@pytest.mark.parametrize("after", ["", "y = Exp(r)"])
def test_equal_nodes_of_one_branch(after: str) -> None:
    branch = "a = Shape(x) b = Shape(x) p = Expand(x, a) o = Expand(x, b) q = Cast<to = 1>(b)"
    result = hoisted(source_of(branch, branch, after=after))
    assert [node.op_type for node in result.after.graph.node] == ["Shape", "Expand", "Cast"] + ["Exp"] * bool(after)


def test_equal_nodes_that_are_returned() -> None:
    branch = "a = Shape(x) p = Expand(x, a) o = Expand(x, a)"
    # Both would be one tensor, which two graph outputs cannot be.
    assert hoisted(source_of(branch, branch, "o p")).changes == 1
    result = hoisted(source_of(branch, branch, "o p", after="y = Add(r, r1)"))
    assert result.text == "a = Shape(x)\np = Expand(x, a)\ny = Add(p, p)"


INNER = """
    b = If (c) < then_branch = u () => (float[I,J] w) {{ {} }}, else_branch = v () => (float[K,L] w) {{ w = Sin(x) }} >
"""


def test_nodes_with_graphs_inside() -> None:
    branch = f"a = Cos(x) {INNER.format('w = Tan(a)')} o = Add(a, b)"
    result = hoisted(source_of(branch, branch))
    assert result.text == golden("""
        a = Cos(x)
        b = If(c)
          then_branch() => w
            w = Tan(a)
          else_branch() => w
            w = Sin(x)
        r = Add(a, b)
        """)
    other = f"a = Cos(x) {INNER.format('w = Exp(a)')} o = Add(a, b)"
    differs = hoisted(source_of(branch, other))
    assert differs.reasons == ["'a' is computed in both branches, and may be fused there with what reads it"]
    drawn = f"a = Cos(x) {INNER.format('w = RandomNormalLike(a)')} o = Add(a, b)"
    assert hoisted(source_of(drawn, drawn), runs=False).changes == 0


def test_inner_branches_then_outer_ones() -> None:
    result = hoisted(source_of(f"{INNER.format('w = Sin(x)')} o = Neg(b)", "a = Sin(x) o = Neg(a)"))
    assert result.text == "w = Sin(x)\nr = Neg(w)"


def test_a_loop_in_both() -> None:
    branch = """
        n = Constant<value = int64 {2}>()
        o = Loop (n, , x) < body = l (int64 i, bool g, float[H,I] s) => (bool h, float[J,K] t) {
            h = Identity(g) t = Add(s, x) } >
    """
    assert [node.op_type for node in hoisted(source_of(branch, branch)).after.graph.node] == ["Constant", "Loop"]
    other = branch.replace("Add(s, x)", "Add(x, x)")
    assert hoisted(source_of(branch, other)).changes == 0


def test_inside_a_loop() -> None:
    source = model("""
        g (bool c, float[P,3] x, int64 n) => (float[A,B] y) {
            y = Loop (n, , x) < body = l (int64 i, bool g, float[H,I] s) => (bool h, float[J,K] t) {
                h = Identity(g)
                t = If (c) < then_branch = u () => (float[L,M] w) { w = Add(s, x) },
                             else_branch = v () => (float[O,Q] w) { w = Add(x, s) } >
            } >
        }""")
    result = outcome("hoist-from-branches", source)
    assert "    t = Add(s, x)" in result.text
    feeds = {"c": np.array(True), "x": X, "n": np.array(2)}
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)


def test_in_a_function() -> None:
    source = model(
        "g (bool c, float[P,3] x) => (float[A,B] r) { r = local.f(c, x) }",
        functions='<domain: "local", opset_import: ["" : 17]> f (c, x) => (y) { y = If (c) < '
        "then_branch = t () => (float[A,B] o) { k = Constant<value_float = 2.0>() o = Mul(x, k) }, "
        "else_branch = e () => (float[C,D] o) { k = Constant<value_float = 2.0>() o = Mul(x, k) } > }",
        domains='"local" : 1',
    )
    result = hoisted(source)
    assert result.text.splitlines()[-2:] == ["  k = Constant<value_float=2.0>()", "  y = Mul(x, k)"]


def test_names_that_are_taken_elsewhere() -> None:
    source = source_of(
        "a = Shape(x) b = Size(x) m = Expand(x, a) o = Neg(m)", "b = Shape(x) a = Size(x) m = Expand(x, b) o = Abs(m)",
        after="""s = If (c) < then_branch = u () => (int64[Q] a) { a = Shape(x) },
                             else_branch = v () => (int64[S] m) { m = Neg(i) } >
                 l = Size(s) f = Cast<to = 1>(l) y = Add(f, r)""",
    )  # fmt: skip
    source.graph.node.insert(0, helper.make_node("Shape", ["x"], ["i"]))
    result = hoisted(source)
    text = result.text.splitlines()
    # Another If has tensors of these names.
    assert text[1:4] == ["a_1 = Shape(x)", "b = Size(x)", "m_1 = Expand(x, a_1)"]


def test_what_is_declared_and_said_of_nodes_is_kept() -> None:
    source = source_of("a = Shape(x) m = Expand(x, a) o = Neg(m)", "q = Shape(x) p = Expand(x, q) o = Abs(p)")
    then = source.graph.node[0].attribute[0].g
    then.value_info.append(helper.make_tensor_value_info("a", 7, [2]))
    then.node[0].doc_string, then.node[0].name = "said", "shape"
    result = hoisted(source)
    assert [(info.name, info.type.tensor_type.elem_type) for info in result.after.graph.value_info] == [("a", 7)]
    assert (result.after.graph.node[0].doc_string, result.after.graph.node[0].name) == ("said", "shape")


def test_equal_weights_are_compared_and_moved_once() -> None:
    weight = np.arange(9, dtype=np.float32).reshape(3, 3)
    initializer = helper.make_tensor("w", 1, [3, 3], weight)
    source = source_of("o = MatMul(x, w)", "o = MatMul(x, w)")
    for attribute in source.graph.node[0].attribute:
        attribute.g.initializer.append(initializer)
    result = hoisted(source)
    assert result.text == "w = float[3,3] {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}\nr = MatMul(x, w)"
    source.graph.node[0].attribute[1].g.initializer[0].float_data[8] = 7.5
    assert hoisted(source).changes == 0


def test_a_result_with_a_wrong_declaration_stays() -> None:
    source = source_of("p = Neg(x)", "p = Neg(x)", "p")
    del source.graph.output[0].type.tensor_type.shape.dim[1:]
    source.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 7
    for attribute in source.graph.node[0].attribute:
        attribute.g.output[0].type.tensor_type.ClearField("shape")
    result = hoisted(source, runs=False, check=False)
    assert result.reasons == ["'p' is computed in both branches, and returned where it cannot be read in front"]


def test_a_constant_that_static_checks_would_refuse_stays_unknown() -> None:
    constant = "k = Constant<value_ints = [-1, 7]>()"
    source = model(f"""
        g (bool c, bool d, float[2,3] x) => (float[A,B] y) {{
            k, p = If (c) < then_branch = t () => (int64[N] k, float[C,D] p) {{ {constant} p = Exp(x) }},
                            else_branch = e () => (int64[M] k, float[E,F] p) {{ {constant} p = Abs(x) }} >
            y = If (d) < then_branch = u () => (float[G,H] q) {{ q = Identity(p) }},
                         else_branch = v () => (float[I,J] r) {{ r = Reshape(x, k) }} >
        }}""")
    result = outcome("hoist-from-branches", source)
    assert result.changes == 0
    feeds = {"c": np.array(True), "d": np.array(True), "x": X}
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)


@pytest.mark.parametrize(
    ("keep", "reason"),
    [("r", "it is to be kept"), ("a", "'a' inside is to be kept"), ("b", "'b' inside is to be kept")],
)
def test_what_is_kept_stays(keep: str, reason: str) -> None:
    result = hoisted(source_of("a = Shape(x) o = Expand(x, a)", "b = Shape(x) o = Expand(x, b)"), keep=[keep])
    assert (result.changes, result.reasons) == (0, [reason])


def test_functions_and_other_domains_stay() -> None:
    branch = "o = local.f(x)"
    source = source_of(
        branch, branch, functions='<domain: "local", opset_import: ["" : 17]> f (x) => (y) { y = Neg(x) }',
        domains='"local" : 1',
    )  # fmt: skip
    assert hoisted(source).changes == 0


def test_a_deep_chain_of_equal_ifs() -> None:
    text = "o = Abs(x)"
    for _ in range(12):
        text = (
            f"o = If (c) < then_branch = t () => (float[A,B] o) {{ {text} }}, "
            "else_branch = e () => (float[A,B] o) { o = Abs(x) } >"
        )
    source = model(f"g (bool c, float[P,3] x) => (float[A,B] o) {{ {text} }}")
    assert hoisted(source, runs=False, check=False).text == "o = Abs(x)"
