"""inline-functions: bodies in the place of calls, attributes and versions right, and nothing unless asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper

from maxfold.model import read_onnx
from maxfold.model.edit import Edit
from maxfold.passes.inline_functions import InlineFunctions
from maxfold.passes.rule import PassResult
from tests.passes.outcome import assert_consistent, assert_declarations_match, saved
from tests.run import assert_equal, in_onnxruntime
from tests.text import golden, lines, model

X = {"x": np.array([1.5, -2.0], np.float32)}


def inlined(source: ModelProto, feeds: dict[str, Any] | None = X, **options: Any) -> tuple[ModelProto, PassResult]:
    """The model after the pass, which a second run leaves alone; with feeds, it gives the same as before."""
    opened = read_onnx(source)
    edit = Edit(opened, **options)
    result = InlineFunctions(inline_functions=True).run(edit)
    assert_consistent(opened, edit)
    data = saved(opened)
    assert InlineFunctions(inline_functions=True).run(edit).changes == 0
    after = ModelProto.FromString(data)
    onnx.checker.check_model(after, full_check=True)
    assert_declarations_match(after.graph)
    if feeds is not None:
        assert_equal(in_onnxruntime(after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)
    return after, result


def calling(graph: str, *functions: str, domains: str = '"custom" : 1', opset: int = 17, **options: Any) -> ModelProto:
    """A model of x and y that calls functions of the domain custom."""
    imports = f'<domain: "custom", opset_import: ["" : {opset}, "custom" : 1]>'
    return model(
        f"g (float[2] x) => (float[2] y) <float k = {{3}}> {{ {graph} }}",
        functions="\n".join(f"{imports}\n{function}" for function in functions),
        domains=domains,
        **options,
    )


def nodes(proto: ModelProto) -> list[str]:
    return [line for line in lines(proto).splitlines() if line != "k = float {3.0}"]


def test_two_calls() -> None:
    source = calling(
        "p = custom.f(x, k)\n y = custom.f(p, p)",
        "f (a, b) => (r) { two = Constant<value = float {2}>()\n t = Mul(a, two)\n r = Add(t, b) }",
    )
    after, result = inlined(source)
    assert lines(after) == golden("""
        k = float {3.0}
        two = Constant<value=float {2.0}>()
        t = Mul(x, two)
        r = Add(t, k)
        two_1 = Constant<value=float {2.0}>()
        t_1 = Mul(r, two_1)
        y = Add(t_1, r)
        """)
    assert result.changes == 3
    assert not after.functions
    assert after.opset_import == source.opset_import


def test_only_on_request() -> None:
    source = calling("y = custom.f(x)", "f (a) => (r) { r = Neg(a) }", "unused (a) => (r) { r = Abs(a) }")
    opened = read_onnx(source)
    assert InlineFunctions().run(Edit(opened)).changes == 0
    assert len(opened.functions) == 2


def test_nested_calls_and_functions_nobody_calls() -> None:
    source = calling(
        "y = custom.f(x)",
        "f (a) => (r) { t = custom.g(a)\n r = custom.g(t) }",
        "g (a) => (r) { t = Neg(a)\n r = Exp(t) }",
        "unused (a) => (r) { r = custom.g(a) }",
    )
    after, result = inlined(source)
    assert nodes(after) == ["t_1 = Neg(x)", "r_1 = Exp(t_1)", "t_2 = Neg(r_1)", "y = Exp(t_2)"]
    assert result.changes == 3 + 3


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("custom.f<slope = 0.5>(x)", "y = LeakyRelu<alpha=0.5>(x)"),
        ("custom.f(x)", "y = LeakyRelu<alpha=0.25>(x)"),
    ],
)
def test_attributes_and_defaults(call: str, line: str) -> None:
    source = calling(f"y = {call}", "f <slope: float = 0.25> (a) => (r) { r = LeakyRelu<alpha: float = @slope>(a) }")
    assert nodes(inlined(source)[0]) == [line]


def test_an_attribute_that_is_not_given_is_left_out() -> None:
    source = calling("y = custom.f(x)", "f <slope> (a) => (r) { r = LeakyRelu<alpha: float = @slope>(a) }")
    assert nodes(inlined(source, None)[0]) == ["y = LeakyRelu(x)"]


def test_attributes_go_through_nested_calls_and_graphs() -> None:
    source = calling(
        "y = custom.f<s = 0.5>(x)",
        "f <s> (a) => (r) { r = custom.g<slope: float = @s>(a) }",
        """g <slope: float = 0.25> (a) => (r) {
            c = Constant<value = bool {1}>()
            r = If (c) <
                then_branch = t () => (float[2] p) { p = LeakyRelu<alpha: float = @slope>(a) },
                else_branch = e () => (float[2] q) { q = Neg(a) }
            >
        }""",
    )
    assert "    p = LeakyRelu<alpha=0.5>(x)" in nodes(inlined(source)[0])


@pytest.mark.parametrize(
    ("kind", "attribute", "given", "line"),
    [
        ("float", "value_float", "0.5", "c = Constant<value_float=0.5>()"),
        ("floats", "value_floats", "[0.5, 1.0]", "c = Constant<value_floats=[0.5, 1.0]>()"),
        ("tensor", "value", "float[2] {1, 2}", "c = Constant<value=float[2] {1.0, 2.0}>()"),
    ],
)
def test_constants_of_attributes(kind: str, attribute: str, given: str, line: str) -> None:
    source = calling(
        f"y = custom.f<v = {given}>(x)",
        f"f <v> (a) => (r) {{ c = Constant<{attribute}: {kind} = @v>()\n r = Add(a, c) }}",
    )
    after, _ = inlined(source)
    assert nodes(after) == [line, "y = Add(x, c)"]
    assert len(list(read_onnx(after).constants())) == 2


def test_names_of_graphs_inside_do_not_hide_what_is_given() -> None:
    source = calling(
        "t = Exp(x)\n y = custom.f(t)",
        """f (a) => (r) {
            c = Constant<value = bool {1}>()
            r = If (c) <
                then_branch = tb () => (float[2] p) { t = Neg(a) p = Add(t, a) },
                else_branch = e () => (float[2] q) { q = Neg(a) }
            >
        }""",
    )
    text = nodes(inlined(source)[0])
    assert "    t_1 = Neg(t)" in text
    assert "    p = Add(t_1, t)" in text


def test_inputs_and_outputs_that_are_left_out() -> None:
    source = calling("y = custom.f(x)", "f (a, low, high) => (r, s) { s = Exp(a)\n r = Clip(a, low, high) }")
    assert nodes(inlined(source, None)[0]) == ["s = Exp(x)", "y = Clip(x, , )"]


def test_results_without_a_node() -> None:
    source = calling("p, q = custom.f(x)\n y = Add(p, q)", "f (a) => (a, c) { c = Constant<value = float {1}>() }")
    source.graph.output.add().CopyFrom(helper.make_tensor_value_info("p", 1, [2]))
    source.graph.output.add().CopyFrom(helper.make_tensor_value_info("q", 1, []))
    assert nodes(inlined(source, None)[0]) == [
        "p = Identity(x)",
        "c = Constant<value=float {1.0}>()",
        "q = Identity(c)",
        "y = Add(p, q)",
    ]


def test_calls_in_graphs_inside() -> None:
    source = calling(
        """c = Constant<value = bool {1}>()
        y = If (c) < then_branch = t () => (float[2] p) { p = custom.f(x) },
                     else_branch = e () => (float[2] q) { q = Neg(x) } >""",
        "f (a) => (r) { s = Exp(a)\n r = Abs(s) }",
    )
    assert nodes(inlined(source)[0])[2:5] == ["  then_branch() => p", "    s = Exp(x)", "    p = Abs(s)"]


def test_overloads() -> None:
    source = calling("p = custom.f(x)\n y = custom.f(p)", "f (a) => (r) { r = Neg(a) }", "f (a) => (r) { r = Exp(a) }")
    source.ir_version = 10
    source.graph.node[1].overload = source.functions[1].overload = "other"
    assert nodes(inlined(source)[0]) == ["r = Neg(x)", "y = Exp(r)"]


def test_declarations_and_metadata_of_nodes() -> None:
    source = calling("y = custom.f(x)", "f (a) => (r) { t = Neg(a)\n r = Exp(t) }", ir_version=10)
    function = source.functions[0]
    function.value_info.add().CopyFrom(helper.make_tensor_value_info("t", 1, [2]))
    function.node[0].metadata_props.add(key="of", value="node")
    function.node[0].name = function.node[1].name = "one"
    after, _ = inlined(source, None)
    assert [info.name for info in after.graph.value_info] == ["t"]
    assert [node.name for node in after.graph.node] == ["one", "one_1"]
    assert after.graph.node[0].metadata_props[0].value == "node"


def test_functions_that_stay_are_still_called() -> None:
    source = calling(
        "p = custom.f(x)\n y = custom.g(p)",
        "f (a) => (r) { r = Neg(a) }",
        "g (a) => (r) { b = Abs(a)\n r = custom.f(b) }",
    )
    source.functions[1].opset_import[0].version = 16
    after, result = inlined(source, None)
    assert nodes(after)[:2] == ["r = Neg(x)", "y = custom.g(r)"]
    assert [function.name for function in after.functions] == ["f", "g"]
    assert result.changes == 1


def exponential(depth: int) -> ModelProto:
    functions = [
        f"f{level} (a) => (r) {{ t = custom.f{level - 1}(a)\n r = custom.f{level - 1}(t) }}"
        for level in range(1, depth)
    ]
    return calling(f"y = custom.f{depth - 1}(x)", "f0 (a) => (r) { r = Neg(a) }", *functions)


@pytest.mark.parametrize(
    ("source", "keep", "reason"),
    [
        (
            calling("y = custom.f(x)", "f (a) => (r) { r = Neg(a) }", opset=16),
            [],
            "'f' imports ai.onnx 16, the model 17",
        ),
        (calling("y = custom.f(x)", "f (a) => (r) { r = Neg(a) }"), ["y"], "it is to be kept"),
        (calling("y = custom.f(x)", "f (a) => (r) { b = Abs(a)\n r = Neg(b) }"), ["b"], "'b' inside is to be kept"),
        (calling("y = custom.f()", "f (a) => (a) { r = Neg(a) }"), [], "'f' returns an input that is left out"),
        (calling("y = custom.f(x, x)", "f (a) => (r) { r = Neg(a) }"), [], "'f' has not that many inputs and outputs"),
        (exponential(40), [], "'f39' stands for too many nodes"),
    ],
)
def test_declined(source: ModelProto, keep: Sequence[str], reason: str) -> None:
    opened = read_onnx(source)
    result = InlineFunctions(inline_functions=True).run(Edit(opened, keep=keep))
    assert [decline.reason for decline in result.declines] == [reason]
    assert result.changes == 0
    assert saved(opened) == saved(read_onnx(source))


def test_small_exponential_growth_is_done() -> None:
    after, result = inlined(exponential(6))
    assert len(after.graph.node) == 32
    assert result.changes == 63 + 6
