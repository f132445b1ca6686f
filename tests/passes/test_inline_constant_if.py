"""inline-constant-if: the branch that an If takes stands in its place; all results and names stay right."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, helper

from tests.passes.ifs import X, choice, inlined
from tests.passes.outcome import outcome
from tests.text import golden, model


@pytest.mark.parametrize(("condition", "taken"), [("1", "Abs"), ("0", "Neg")])
def test_the_branch_that_is_taken(condition: str, taken: str) -> None:
    result = inlined(choice("o = Abs(x)", condition=condition))
    assert result.text == f"c = bool {{{condition == '1'}}}\nk = float {{3.0}}\no = {taken}(x)\ny = Exp(o)"
    assert result.changes == 1


def test_a_constant_node_of_one_element_as_condition() -> None:
    source = choice("o = Abs(x)", before="d = Constant<value = bool[1] {0}>()")
    source.graph.node[1].input[0] = "d"
    assert inlined(source).text.splitlines()[-2:] == ["o = Neg(x)", "y = Exp(o)"]


def test_a_condition_computed_from_a_rank() -> None:
    source = choice(
        "o = Abs(x)", before="s = Shape(x)\n n = Size(s)\n one = Constant<value = int64 {1}>()\n c2 = Equal(n, one)"
    )
    source.graph.node[4].input[0] = "c2"
    assert inlined(source).text.splitlines()[-2:] == ["o = Abs(x)", "y = Exp(o)"]


def test_nodes_constants_and_order() -> None:
    result = inlined(
        choice("a = Add(x, k)\n w = Constant<value_floats = [1.0, 2.0]>()\n o = Mul(a, w)", before="k2 = Neg(x)")
    )
    assert result.text == golden("""
        c = bool {True}
        k = float {3.0}
        k2 = Neg(x)
        a = Add(x, k)
        w = Constant<value_floats=[1.0, 2.0]>()
        o = Mul(a, w)
        y = Exp(o)
        """)


def test_a_result_that_is_a_graph_output_keeps_its_name() -> None:
    source = choice("a = Abs(x)\n o = Neg(a)\n z = Exp(o)", after="z2 = Exp(r)\n y = Add(z2, r)")
    source.graph.output.add().CopyFrom(helper.make_tensor_value_info("r", 1, [2]))
    assert inlined(source).text.splitlines()[2:] == [
        "a = Abs(x)",
        "r = Neg(a)",
        "z = Exp(r)",
        "z2 = Exp(r)",
        "y = Add(z2, r)",
    ]


@pytest.mark.parametrize(
    ("branch", "returned", "lines"),
    [
        ("o = Constant<value_floats = [1.0, 2.0]>()", "o", ["o = Constant<value_floats=[1.0, 2.0]>()", "y = Exp(o)"]),
        ("q = Neg(x)", "p", ["p = Abs(x)", "q = Neg(x)", "y = Exp(p)"]),
        ("q = Neg(x)", "x", ["p = Abs(x)", "q = Neg(x)", "y = Exp(x)"]),
    ],
)
def test_returned_without_a_node(branch: str, returned: str, lines: list[str]) -> None:
    source = choice(branch, before="p = Abs(x)")
    source.graph.node[1].attribute[0].g.output[0].name = returned
    # ONNX Runtime refuses a graph that returns a tensor of another graph as it is.
    text = inlined(source, X if returned == "o" else None).text.splitlines()
    assert [line for line in text if line in lines] == lines


@pytest.mark.parametrize(
    ("branch", "returned", "last"),
    [
        (
            "o = Constant<value_floats = [1.0, 2.0]>()",
            "o",
            ["o = Constant<value_floats=[1.0, 2.0]>()", "y = Identity(o)"],
        ),
        ("q = Neg(x)", "x", ["q = Neg(x)", "y = Identity(x)"]),
        ("q = Neg(x)", "p", ["q = Neg(x)", "y = Identity(p)"]),
    ],
)
def test_a_graph_output_that_needs_an_identity(branch: str, returned: str, last: list[str]) -> None:
    source = choice(branch, before="p = Abs(x)", after="")
    source.graph.node[1].output[0] = "y"
    source.graph.node[1].attribute[0].g.output[0].name = returned
    source.graph.output.add().CopyFrom(helper.make_tensor_value_info("p", 1, [2]))
    assert inlined(source, X if returned == "o" else None).text.splitlines()[-2:] == last


def test_a_graph_output_that_an_outer_node_can_make() -> None:
    source = choice("q = Neg(x)", before="p = Abs(x)", after="")
    source.graph.node[1].output[0] = "y"
    source.graph.node[1].attribute[0].g.output[0].name = "p"
    assert inlined(source, None).text.splitlines()[2:] == ["y = Abs(x)", "q = Neg(x)"]


def test_one_tensor_returned_twice_for_two_graph_outputs() -> None:
    source = model("""
        g (float[2] x) => (float[2] y, float[2] z) <bool c = {1}> {
            y, z = If (c) <
                then_branch = t () => (float[2] o, float[2] o) { o = Abs(x) },
                else_branch = e () => (float[2] p, float[2] q) { p = Neg(x) q = Exp(x) }
            >
        }""")
    # ONNX Runtime leaves one of two results that are the same tensor without a value.
    assert inlined(source, None).text.splitlines()[1:] == ["y = Abs(x)", "z = Identity(y)"]


def test_unused_and_unnamed_results() -> None:
    source = model("""
        g (float[2] x) => (float[2] y) <bool c = {0}> {
            a, b, d = If (c) <
                then_branch = t () => (float[2] o, float[2] p, float[2] q) { o = Abs(x) p = Abs(x) q = Abs(x) },
                else_branch = e () => (float[2] o, float[2] p, float[2] q) { o = Neg(x) p = Neg(o) q = Neg(p) }
            >
            y = Exp(b)
        }""")
    source.graph.node[0].output[2] = ""
    assert inlined(source, None).text.splitlines()[1:] == ["o = Neg(x)", "p = Neg(o)", "q = Neg(p)", "y = Exp(p)"]


def overridable() -> ModelProto:
    source = choice("o = Abs(x)")
    source.graph.input.add().CopyFrom(helper.make_tensor_value_info("c", 9, []))
    return source


def with_branch_input() -> ModelProto:
    source = choice("o = Abs(x)")
    source.graph.node[0].attribute[0].g.input.add().CopyFrom(helper.make_tensor_value_info("i", 1, [2]))
    return source


def with_fewer_results() -> ModelProto:
    source = choice("o = Abs(x)")
    source.graph.node[0].output.append("more")
    return source


def with_a_sequence() -> ModelProto:
    return model(
        """
        g (seq(float[2]) x) => (seq(float[2]) y) <bool c = {1}> {
            y = If (c) < then_branch = t () => (seq(float[2]) x) { a = SequenceLength(x) },
                         else_branch = e () => (seq(float[2]) d) { d = SequenceErase(x) } >
        }""",
        opset=13,
    )


@pytest.mark.parametrize(
    ("source", "keep", "reason"),
    [
        (overridable(), [], "'c' is a graph input with a default value, which the caller may override"),
        (with_branch_input(), [], "input 'i' of 't' is not given"),
        (with_fewer_results(), [], "the branch that it takes does not give its results"),
        (choice("o = Abs(x)"), ["o"], "'o' inside is to be kept"),
        (choice("o = Abs(x)", "p = Neg(x)\n o = Abs(p)"), ["p"], "'p' inside is to be kept"),
        (with_a_sequence(), [], "'x' may be of a type that Identity takes from operator set 16 on only"),
    ],
)
def test_declined(source: ModelProto, keep: list[str], reason: str) -> None:
    result = outcome("inline-constant-if", source, keep=keep, check=False)
    assert result.changes == 0
    assert result.reasons == [reason]


def test_a_condition_of_the_caller_is_nothing_to_consider() -> None:
    source = choice("o = Abs(x)")
    del source.graph.initializer[0]
    source.graph.input.add().CopyFrom(helper.make_tensor_value_info("c", 9, []))
    result = outcome("inline-constant-if", source)
    assert (result.changes, result.reasons) == (0, [])


def test_a_deep_chain_of_nested_ifs() -> None:
    text = "o0 = Abs(x)"
    for depth in range(1, 20):
        text = (
            f"o{depth} = If (c) < then_branch = t () => (float[2] o{depth - 1}) {{ {text} }}, "
            f"else_branch = e () => (float[2] p{depth}) {{ p{depth} = Neg(x) }} >"
        )
    source = model(f"g (float[2] x) => (float[2] o19) <bool c = {{1}}> {{ {text} }}")
    assert inlined(source).text.splitlines()[1:] == ["o19 = Abs(x)"]


def test_a_constant_that_static_checks_would_refuse_stays_in_its_branch() -> None:
    source = model("""
        g (bool d, float[2] x) => (float[A] y) <bool c = {1}> {
            k = If (c) < then_branch = t () => (int64[N] k) { k = Constant<value_ints = [-1, 7]>() },
                         else_branch = e () => (int64[M] k) { k = Shape(x) } >
            y = If (d) < then_branch = u () => (float[G] q) { q = Neg(x) },
                         else_branch = v () => (float[I] q) { r = Reshape(x, k) q = Flatten(r) } >
        }""")
    source.graph.node[1].attribute[1].g.output[0].type.tensor_type.ClearField("shape")
    result = inlined(source, {**X, "d": np.array(True)})
    assert result.changes == 0
    assert "would be refused when the file is loaded" in result.reasons[0]
