"""inline-constant-if: names of all scopes, and what the file says of nodes and tensors, stay right."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from tests.passes.ifs import X, choice, inlined
from tests.text import golden, model


def test_names_that_both_branches_have_stay() -> None:
    result = inlined(choice("a = Abs(x)\n o = Neg(a)", "a = Exp(x)\n o = Abs(a)"))
    assert result.text.splitlines()[2:] == ["a = Abs(x)", "o = Neg(a)", "y = Exp(o)"]


def test_names_of_other_graphs_are_avoided() -> None:
    source = model("""
        g (float[2] x, bool u) => (float[2] y) <bool c = {1}> {
            r = If (c) <
                then_branch = t () => (float[2] o) { a = Abs(x) o = Neg(a) },
                else_branch = e () => (float[2] p) { p = Exp(x) }
            >
            s = If (u) <
                then_branch = t () => (float[2] o) { a = Exp(r) b = Sqrt(a) o = Neg(b) },
                else_branch = e () => (float[2] a) { a = Neg(x) }
            >
            y = Add(r, s)
        }""")
    feeds = {**X, "u": np.array(True)}
    assert inlined(source, feeds).text.splitlines()[1:4] == ["a_1 = Abs(x)", "o_1 = Neg(a_1)", "s = If(u)"]


def test_two_ifs_with_the_same_names() -> None:
    branch = "then_branch = t () => (float[2] o) <float w = {2}> { a = Mul(INPUT, w) o = Neg(a) }"
    source = model(f"""
        g (float[2] x) => (float[2] y) <bool c = {{1}}> {{
            r = If (c) < {branch.replace("INPUT", "x")}, else_branch = e () => (float[2] o) {{ o = Exp(x) }} >
            y = If (c) < {branch.replace("INPUT", "r")}, else_branch = e () => (float[2] o) {{ o = Exp(r) }} >
        }}""")
    result = inlined(source)
    assert result.text == golden("""
        c = bool {True}
        w_1 = float {2.0}
        w = float {2.0}
        a_1 = Mul(x, w_1)
        o_1 = Neg(a_1)
        a = Mul(o_1, w)
        y = Neg(a)
        """)
    assert result.changes == 2


def test_nested_ifs_of_constant_conditions() -> None:
    source = choice(
        """a = Abs(x)
        i = If (c) <
            then_branch = t2 () => (float[2] n) { a2 = Neg(a) n = Add(a2, k) },
            else_branch = e2 () => (float[2] m) { m = Exp(a) }
        >
        o = Sqrt(i)"""
    )
    result = inlined(source)
    assert result.text.splitlines()[2:] == ["a = Abs(x)", "a2 = Neg(a)", "n = Add(a2, k)", "o = Sqrt(n)", "y = Exp(o)"]
    assert result.changes == 2


def test_a_renamed_tensor_that_inner_graphs_capture_and_return() -> None:
    source = model("""
        g (float[2] x, bool u) => (float[2] y) <bool c = {1}> {
            o = Exp(x)
            r = If (c) <
                then_branch = t () => (float[2] z) <float[2] w = {5, 6}> {
                    a = Abs(x)
                    i = If (u) <
                        then_branch = t2 () => (float[2] n) { n = Add(a, w) },
                        else_branch = e2 () => (float[2] m) { m = Neg(a) }
                    >
                    z = Sqrt(i)
                },
                else_branch = e () => (float[2] p) { p = Exp(x) }
            >
            q = If (u) <
                then_branch = t3 () => (float[2] a) { a = Add(o, r) },
                else_branch = e3 () => (float[2] w) { w = Neg(r) }
            >
            y = Add(q, r)
        }""")
    for value in (True, False):
        result = inlined(source, {**X, "u": np.array(value)})
    assert result.text.splitlines()[:4] == [
        "c = bool {True}",
        "w_1 = float[2] {5.0, 6.0}",
        "o = Exp(x)",
        "a_1 = Abs(x)",
    ]
    assert "    n = Add(a_1, w_1)" in result.text.splitlines()


def test_an_outer_tensor_hidden_in_a_graph_that_reads_the_result() -> None:
    source = model("""
        g (float[2] x, bool u) => (float[2] y) <bool c = {1}> {
            p = Abs(x)
            r = If (c) < then_branch = t () => (float[2] p) { b = Neg(x) },
                         else_branch = e () => (float[2] d) { d = Exp(x) } >
            y = If (u) < then_branch = t2 () => (float[2] n) { p = Exp(x) n = Add(p, r) },
                         else_branch = e2 () => (float[2] m) { m = Neg(r) } >
        }""")
    assert inlined(source, None, check=False).text.splitlines()[3:6] == [
        "r = Identity(p)",
        "y = If(u)",
        "  then_branch() => n",
    ]


def test_in_a_branch_that_stays_and_in_a_function() -> None:
    source = model(
        """
        g (float[2] x, bool u) => (float[2] y) {
            y = If (u) <
                then_branch = t () => (float[2] o) <bool c = {1}> {
                    o = If (c) < then_branch = t2 () => (float[2] a) <float w = {2}> { a = Mul(x, w) },
                                 else_branch = e2 () => (float[2] a) { a = Exp(x) } > },
                else_branch = e () => (float[2] p) { p = custom.f(x) }
            >
        }""",
        domains='"custom" : 1',
        functions="""<domain: "custom", opset_import: ["" : 17]> f (x) => (y) {
            c = Constant<value = bool {0}>()
            y = If (c) < then_branch = t () => (float[2] a) { a = Exp(x) },
                         else_branch = e () => (float[2] b) <float w = {3}> { b = Mul(x, w) } >
        }""",
    )
    for value in (True, False):
        result = inlined(source, {**X, "u": np.array(value)})
    assert result.text == golden("""
        y = If(u)
          then_branch() => o
            c = bool {True}
            w = float {2.0}
            o = Mul(x, w)
          else_branch() => p
            p = custom.f(x)
        custom.f(x) => y
          c = Constant<value=bool {False}>()
          w = Constant<value=float {3.0}>()
          y = Mul(x, w)
        """)


def test_declarations_and_metadata_move() -> None:
    source = choice("a = Abs(x)\n o = Neg(a)", before="n = Abs(x)")
    source.graph.metadata_props.add(key="of", value="graph")
    branch = source.graph.node[1].attribute[0].g
    branch.value_info.add().CopyFrom(helper.make_tensor_value_info("a", 1, ["declared"]))
    branch.value_info[0].metadata_props.add(key="of", value="value")
    branch.node[0].metadata_props.add(key="of", value="node")
    branch.node[0].doc_string = "documented"
    source.graph.value_info.add().CopyFrom(helper.make_tensor_value_info("r", 1, [2]))
    after = inlined(source).after.graph
    assert {info.name: len(info.metadata_props) for info in after.value_info} == {"a": 1, "o": 0}
    assert after.node[1].doc_string == "documented"
    assert after.node[1].metadata_props[0].value == "node"
    assert after.metadata_props[0].value == "graph"


def test_a_wrong_declaration_does_not_move() -> None:
    source = choice("a = Abs(x)\n o = Neg(a)")
    branch = source.graph.node[0].attribute[0].g
    branch.value_info.add().CopyFrom(helper.make_tensor_value_info("a", 1, [7]))
    assert [info.name for info in inlined(source, None, check=False).after.graph.value_info] == ["o"]


def test_node_names_stay_unique() -> None:
    source = choice("a = Abs(x)\n o = Neg(a)", before="n = Abs(x)")
    source.graph.node[0].name = "first"
    for node, name in zip(source.graph.node[1].attribute[0].g.node, ("first", "second"), strict=True):
        node.name = name
    assert [node.name for node in inlined(source).after.graph.node] == ["first", "first_1", "second", ""]


def test_annotations_follow() -> None:
    source = choice("o = Mul(a, k)\n b = Neg(s)", before="o = Abs(x)")
    branch = source.graph.node[1].attribute[0].g
    branch.node.insert(0, helper.make_node("Neg", ["x"], ["a"]))
    branch.initializer.append(helper.make_tensor("s", 1, [], [0.5]))
    annotation = branch.quantization_annotation.add(tensor_name="o")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    result = inlined(source, None, check=False)
    (moved,) = result.after.graph.quantization_annotation
    assert (moved.tensor_name, moved.quant_parameter_tensor_names[0].value) == ("o_1", "s")
    assert result.text.splitlines()[-3:] == ["o_1 = Mul(a, k)", "b = Neg(s)", "y = Exp(o_1)"]


def test_old_files_have_no_initializers_that_are_no_inputs() -> None:
    source = choice("o = Abs(w)", opset=8, ir_version=3)
    source.graph.input.add().CopyFrom(helper.make_tensor_value_info("c", 9, []))
    source.graph.input.add().CopyFrom(helper.make_tensor_value_info("k", 1, []))
    branch = source.graph.node[0].attribute[0].g
    branch.initializer.append(helper.make_tensor("w", 1, [2], [1.0, 2.0]))
    branch.input.add().CopyFrom(helper.make_tensor_value_info("w", 1, [2]))
    onnx.checker.check_model(source)
    assert inlined(source, None).text.splitlines()[2:] == [
        "w = Constant<value=float[2] {1.0, 2.0}>()",
        "o = Abs(w)",
        "y = Exp(o)",
    ]
