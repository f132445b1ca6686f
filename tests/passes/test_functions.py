"""Passes inside model-local functions, and functions that look like operators."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import AttributeProto, ModelProto, helper

from tests.passes.outcome import outcome
from tests.text import golden, model

PASSES = ["fold-constants", "fuse-max", "fuse-add", "share-constants", "remove-dead-nodes"]


def called(body: str, *, opset: int = 17, name: str = "f", attributes: str = "") -> ModelProto:
    """A model that calls one function; `body` reads x and makes y."""
    return model(
        f"g (float[2] x) => (float[2] y) {{ y = custom.{name}(x) }}",
        domains='"custom" : 1',
        functions=f'<domain: "custom", opset_import: ["" : {opset}]>\n {name} {attributes} (x) => (y) {{ {body} }}',
    )


def function_lines(source: ModelProto, name: str) -> list[str]:
    """The lines of the function's body after a pass."""
    text = outcome(name, source).text.splitlines()
    return [line.strip() for line in text[2:]]


def test_folding_makes_constant_nodes() -> None:
    source = called("""
        a = Constant<value = float {1}>()
        b = Constant<value_floats = [1.0, 2.0]>()
        s = Add(a, b)
        y = Mul(s, x)
        """)
    assert function_lines(source, "fold-constants") == [
        "a = Constant<value=float {1.0}>()",
        "b = Constant<value_floats=[1.0, 2.0]>()",
        "s = Constant<value=float[2] {2.0, 3.0}>()",
        "y = Mul(s, x)",
    ]


def test_a_constant_result_of_a_function() -> None:
    source = called("a = Constant<value_floats = [1.0, 2.0]>()\n y = Add(a, a)")
    assert function_lines(source, "fold-constants")[-1] == "y = Constant<value=float[2] {2.0, 4.0}>()"


def test_chains_fuse_and_constants_merge() -> None:
    source = called("""
        a = Constant<value = float {1}>()
        p = Max(x, a)
        b = Constant<value = float {2}>()
        y = Max(p, b)
        """)
    assert function_lines(source, "fuse-max") == [
        "a = Constant<value=float {1.0}>()",
        "b = Constant<value=float {2.0}>()",
        "y_constant = Constant<value=float {2.0}>()",
        "y = Max(x, y_constant)",
    ]


def test_equal_constants_are_shared_within_the_function() -> None:
    source = called(
        "a = Constant<value = float {1}>()\n p = Add(x, a)\n b = Constant<value = float {1}>()\n y = Mul(p, b)"
    )
    source.graph.initializer.append(helper.make_tensor("k", 1, [], [1.0]))
    assert function_lines(source, "share-constants")[-2:] == ["p = Add(x, a)", "y = Mul(p, a)"]


@pytest.mark.parametrize(
    ("opset", "last"),
    [(11, "y = Cast<to=1>(s)"), (12, "y = Constant<value=float[2] {1.0, 2.0}>()")],
)
def test_a_function_has_its_own_operator_sets(opset: int, last: str) -> None:
    source = called("a = Constant<value = int64[2] {1, 2}>()\n s = Max(a, a)\n y = Cast<to = 1>(s)", opset=opset)
    result = outcome("fold-constants", source, check=False)
    assert result.changes == (2 if opset >= 12 else 0)
    assert result.text.splitlines()[-1].strip() == last


def test_attributes_by_reference_are_not_known() -> None:
    source = called(
        "a = Constant<value = float[2] {1, 2}>()\n s = Add(a, a)\n y = Mul(s, x)", opset=6, attributes="<axis>"
    )
    node = source.functions[0].node[1]
    node.attribute.add(name="broadcast", type=AttributeProto.INT, i=1)
    node.attribute.add(name="axis", type=AttributeProto.INT, ref_attr_name="axis")
    call = source.graph.node[0]
    call.attribute.add(name="axis", type=AttributeProto.INT, i=0)
    result = outcome("fold-constants", source, check=False)
    assert (result.changes, result.reasons) == (0, ["attribute axis is not a known integer"])
    assert result.after.functions[0].node[1] == node


def test_a_constant_by_reference_is_no_constant() -> None:
    source = called(
        "a = Constant()\n b = Constant<value = float {1}>()\n s = Add(a, b)\n t = Max(s, a)\n y = Max(t, x)",
        attributes="<v>",
    )
    source.functions[0].node[0].attribute.add(name="value", type=AttributeProto.TENSOR, ref_attr_name="v")
    source.graph.node[0].attribute.append(helper.make_attribute("v", helper.make_tensor("", 1, [], [1.0])))
    for name in ("fold-constants", "fuse-add", "share-constants", "remove-dead-nodes"):
        assert outcome(name, source).changes == 0
    assert function_lines(source, "fuse-max")[-1] == "y = Max(s, a, x)"


@pytest.mark.parametrize("domain", ["", "ai.onnx", "custom"])
@pytest.mark.parametrize("name", PASSES)
def test_a_function_called_add_is_not_add(domain: str, name: str) -> None:
    """In ONNX's own domain it even overrides the operator."""
    source = model(
        """
        g (float[2] x) => (float[2] y) <float a = {1}, float b = {2}, float z = {0}> {
            s = Add(a, b)
            p = Max(s, x)
            q = Max(p, a)
            y = Add(q, z)
        }""",
        domains='"custom" : 1',
        functions="""
        <domain: "custom", opset_import: ["" : 17]>
        Add (p, q) => (r) { r = Sub(p, q) }
        <domain: "custom", opset_import: ["" : 17]>
        Max (p, q) => (r) { r = Min(p, q) }""",
    )
    for function in source.functions:
        function.domain = domain
    for node in source.graph.node:
        node.domain = domain
    result = outcome(name, source, math="relaxed", check=False)
    assert (result.changes, result.declines) == (0, ())


def test_an_overload_counts_as_the_function_too() -> None:
    source = model("g (float x) => (float y) <float a = {1}> { s = Add(a, a)\n y = Mul(s, x) }")
    function = helper.make_function("", "Add", ["p", "q"], ["r"], [helper.make_node("Sub", ["p", "q"], ["r"])],
                                    [helper.make_opsetid("", 17)], overload="special")  # fmt: skip
    source.functions.append(function)
    source.graph.node[0].overload = "special"
    assert outcome("fold-constants", source, check=False).changes == 0


def test_a_function_of_add_may_use_add_inside() -> None:
    """The body of custom.Add calls ONNX's Add."""
    source = model(
        "g (float[2] x) => (float[2] y) { y = custom.Add(x, x) }",
        domains='"custom" : 1',
        functions="""<domain: "custom", opset_import: ["" : 17]>
        Add (p, q) => (r) {
            a = Constant<value = float {1}>()
            s = Add(a, a)
            t = Add(p, q)
            r = Mul(s, t)
        }""",
    )
    assert outcome("fold-constants", source).text == golden("""
        y = custom.Add(x, x)
        custom.Add(p, q) => r
          a = Constant<value=float {1.0}>()
          t = Add(p, q)
          s = Constant<value=float {2.0}>()
          r = Mul(s, t)
        """)


def test_graphs_inside_functions() -> None:
    source = model(
        "g (bool c, float[2] x) => (float[2] y) { y = custom.f(c, x) }",
        domains='"custom" : 1',
        functions="""<domain: "custom", opset_import: ["" : 17]>
        f (c, x) => (y) {
            a = Constant<value = float {1}>()
            y = If (c) <
                then_branch = t () => (p) { b = Constant<value = float {2}>()
                    k = Add(a, b)
                    p = Mul(k, x) },
                else_branch = e () => (q) { m = Max(x, a)
                    q = Max(m, x) }
            >
        }""",
    )
    folded = outcome("fold-constants", source, check=False)
    assert [line.strip() for line in folded.text.splitlines()][4:8] == [
        "then_branch() => p", "k = float {3.0}", "b = Constant<value=float {2.0}>()", "p = Mul(k, x)",
    ]  # fmt: skip
    assert outcome("fuse-max", source, check=False).text.splitlines()[-1].strip() == "q = Max(x, a)"


def test_two_functions_may_use_the_same_names() -> None:
    body = "a = Constant<value = float {%d}>()\n p = Max(x, a)\n b = Constant<value = float {3}>()\n y = Max(p, b)"
    source = called(body % 1)
    other = called(body % 9, name="h")
    source.functions.append(other.functions[0])
    text = outcome("fuse-max", source).text
    assert "y_constant = Constant<value=float {3.0}>()" in text
    assert "Constant<value=float {9.0}>()\n  y = Max" in text


def test_unused_results_of_a_call_stay() -> None:
    source = called("y = Neg(x)")
    source.functions[0].output.append("extra")
    source.functions[0].node.append(helper.make_node("Abs", ["x"], ["extra"]))
    source.graph.node[0].output.append("extra")
    assert outcome("remove-dead-nodes", source).changes == 0


def test_values_of_a_function_have_no_shape_to_rely_on() -> None:
    low = np.full(2, -np.inf, np.float32)
    source = called("k = Constant()\n n = Neg(x)\n m = Max(n, k)\n y = Neg(m)")
    source.functions[0].node[0].attribute.append(helper.make_attribute("value", helper.make_tensor("", 1, [2], low)))
    assert outcome("fuse-max", source).changes == 0
