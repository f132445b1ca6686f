"""unroll-loop: bodies that run once, initial values of those that never run; the rest stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper

from tests.passes.outcome import Outcome, outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import golden, model

X = {"x": np.array([1.5, -2.0], np.float32)}
BODY = "a = Mul(v, k)\n co = Identity(ci)"


def unrolled(source: ModelProto, feeds: dict[str, Any] | None = X, **options: Any) -> Outcome:
    """The outcome; with feeds, the model gives the same before and after."""
    result = outcome("unroll-loop", source, **options)
    if feeds is not None:
        assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)
    return result


def loop(
    body: str = BODY,
    *,
    trips: str = "1",
    condition: str = "1",
    inputs: str = "m, c, x",
    outputs: str = "float[2] a",
    head: str = "int64 i, bool ci, float[2] v",
    results: str = "r",
    after: str = "y = Exp(r)",
    **options: Any,
) -> ModelProto:
    return model(
        f"""
        g (float[2] x) => (float[2] y) <int64 m = {{{trips}}}, bool c = {{{condition}}}, float k = {{3}}> {{
            {results} = Loop ({inputs}) < body = b ({head}) => (bool co, {outputs}) {{ {body} }} >
            {after}
        }}""",
        **options,
    )


@pytest.mark.parametrize("inputs", ["m, c, x", "m, , x"])
@pytest.mark.parametrize("trips", ["1", "0", "-3"])
@pytest.mark.parametrize("condition", ["1", "0"])
def test_once_or_never(inputs: str, trips: str, condition: str) -> None:
    result = unrolled(loop(trips=trips, condition=condition, inputs=inputs))
    once = trips == "1" and (condition == "1" or "c" not in inputs)
    nodes = [line for line in result.text.splitlines()[3:] if "constant" not in line]
    assert nodes == (["a = Mul(x, k)", "y = Exp(a)"] if once else ["y = Exp(x)"]) or "Identity" in nodes[-2]
    assert result.changes == 1


def test_the_body_reads_iteration_and_condition() -> None:
    source = loop("f = Cast<to = 1>(i)\n g2 = Cast<to = 1>(ci)\n p = Add(v, f)\n a = Add(p, g2)\n co = Identity(ci)")
    assert unrolled(source).text == golden("""
        m = int64 {1}
        c = bool {True}
        k = float {3.0}
        r_constant = int64 {0}
        r_constant_1 = bool {True}
        f = Cast<to=1>(r_constant)
        g2 = Cast<to=1>(r_constant_1)
        p = Add(x, f)
        a = Add(p, g2)
        co = Identity(r_constant_1)
        y = Exp(a)
        """)


def test_a_body_that_says_that_the_iteration_number_has_rank_1() -> None:
    source = loop("f = Cast<to = 1>(i)\n a = Add(v, f)\n co = Identity(ci)", head="int64[1] i, bool ci, float[2] v")
    assert "r_constant = int64[1] {0}" in unrolled(source).text.splitlines()


@pytest.mark.parametrize("inputs", [", c, x", "m, c, x"])
def test_a_body_that_stops_itself(inputs: str) -> None:
    source = loop("a = Mul(v, k)\n co = Constant<value = bool {0}>()", trips="7", inputs=inputs)
    text = unrolled(source).text.splitlines()
    assert text[3:] == ["a = Mul(x, k)", "y = Exp(a)", "co = Constant<value=bool {False}>()"]


@pytest.mark.parametrize(
    ("opset", "line"), [(17, "r_unsqueeze = Unsqueeze(q, r_constant_1)"), (11, "r_unsqueeze = Unsqueeze<axes=[0]>(q)")]
)
def test_collected_values(opset: int, line: str) -> None:
    source = loop(
        "a = Mul(v, k)\n q = Neg(a)\n co = Identity(ci)",
        outputs="float[2] a, float[2] q, float[2] a",
        results="r, s, unused",
        after="t = Squeeze(s)\n y = Add(r, t)",
        opset=opset,
    )
    text = unrolled(source).text.splitlines()
    assert [item for item in text if "= Unsqueeze" in item] == [line]
    assert text[-3:] == [line, "t = Squeeze(r_unsqueeze)", "y = Add(a, t)"]


def test_collected_values_that_are_graph_outputs() -> None:
    source = loop(outputs="float[2] a, float[2] v", results="y, s", after="")
    source.graph.output.add().CopyFrom(helper.make_tensor_value_info("s", 1, [1, 2]))
    assert unrolled(source).text.splitlines()[-3:] == [
        "y = Mul(x, k)",
        "co = Identity(y_constant)",
        "s = Unsqueeze(x, y_constant_1)",
    ]


def test_nothing_is_collected_of_a_known_shape() -> None:
    source = loop(
        "a = Mul(v, k)\n q = Constant<value = float[2] {1, 2}>()\n co = Identity(ci)",
        trips="0",
        outputs="float[2] a, float[2] q",
        results="r, s",
        after="t = ReduceSum<keepdims = 0>(s)\n y = Add(r, t)",
    )
    text = unrolled(source).text.splitlines()
    assert text[3:] == ["r_constant = float[0,2] {}", "t = ReduceSum<keepdims=0>(r_constant)", "y = Add(x, t)"] or (
        "s_constant = float[0,2] {}" in text
    )


def test_values_that_change_places() -> None:
    source = loop(
        "co = Identity(ci)",
        inputs="m, c, x, p",
        head="int64 i, bool ci, float[2] v, float[2] u",
        outputs="float[2] u2, float[2] v2",
        results="r, s",
        after="e = Exp(r)\n y = Sub(e, s)",
    )
    body = source.graph.node[0].attribute[0].g
    body.node.append(helper.make_node("Identity", ["u"], ["u2"]))
    body.node.append(helper.make_node("Identity", ["v"], ["v2"]))
    source.graph.node.insert(0, helper.make_node("Abs", ["x"], ["p"]))
    text = unrolled(source).text.splitlines()
    assert text[-4:] == ["u2 = Identity(p)", "v2 = Identity(x)", "e = Exp(u2)", "y = Sub(e, v2)"]


def test_an_if_inside_that_captures_the_carried_value() -> None:
    source = loop(
        """u = Constant<value = bool {1}>()
        n = Not(ci)
        a = If (n) < then_branch = t () => (float[2] p) { p = Neg(v) },
                     else_branch = e () => (float[2] q) { x2 = Abs(v) q = Add(x2, v) } >
        co = Identity(u)"""
    )
    assert "    x2 = Abs(x)" in unrolled(source).text.splitlines()


def test_an_outer_name_that_a_graph_inside_hides() -> None:
    source = loop(
        """n = Not(ci)
        a = If (n) < then_branch = t () => (float[2] p) { p = Neg(v) },
                     else_branch = e () => (float[2] q) { x = Abs(v) q = Add(x, v) } >
        co = Identity(ci)"""
    )
    text = unrolled(source, None, check=False).text.splitlines()
    assert "r_identity = Identity(x)" in text
    assert "    x = Abs(r_identity)" in text


@pytest.mark.parametrize(
    "source",
    [
        loop(trips="2"),
        loop(inputs=", c, x"),
        loop("a = Mul(v, k)\n co = Constant<value = bool {0}>()", inputs="n, c, x"),
        loop(inputs="m, d, x"),
    ],
    ids=["two trips", "no trip count", "unknown trip count", "unknown condition"],
)
def test_nothing_to_consider(source: ModelProto) -> None:
    source.graph.input.add().CopyFrom(helper.make_tensor_value_info("n", 7, []))
    source.graph.input.add().CopyFrom(helper.make_tensor_value_info("d", 9, []))
    result = outcome("unroll-loop", source)
    assert (result.changes, result.reasons) == (0, [])


def unknown_shape() -> ModelProto:
    return loop(
        trips="0",
        outputs="float[2] a, float[2] a",
        results="r, s",
        after="t = ReduceSum<keepdims = 0>(s)\n y = Add(r, t)",
    )


def another_declaration(declared: str) -> ModelProto:
    """What ONNX Runtime makes empty takes its shape from what the body declares, which nothing tests."""
    return loop(
        "a = Mul(v, k)\n d = Concat<axis = 0>(x, x)\n co = Identity(ci)",
        trips="0",
        outputs=f"float[2] a, {declared} d",
        results="r, s",
        after="t = ReduceSum<keepdims = 0>(s)\n y = Add(r, t)",
    )


def rank_2() -> ModelProto:
    return loop(head="int64[1, 1] i, bool ci, float[2] v")


def returned_inside() -> ModelProto:
    source = loop(
        "a = If (ci) < then_branch = t () => (float[2] p) { p = Neg(v) }, else_branch = e () => (float[2] q) "
        "{ q = Abs(v) } >\n co = Identity(ci)"
    )
    source.graph.node[0].attribute[0].g.node[0].attribute[0].g.output[0].name = "v"
    return source


def annotated() -> ModelProto:
    source = loop()
    source.graph.node[0].attribute[0].g.quantization_annotation.add(tensor_name="v")
    return source


def without_initial_value() -> ModelProto:
    source = loop()
    source.graph.node[0].input[2] = ""
    return source


@pytest.mark.parametrize(
    ("source", "keep", "reason"),
    [
        (unknown_shape(), [], "it never runs, and the shape of what it would collect in 's' is not known"),
        (another_declaration("float[n]"), [], "it never runs, and its body does not declare the shape of 'd'"),
        (rank_2(), [], "its body declares that the iteration number or the condition is no scalar"),
        (returned_inside(), [], "'v' is returned as it is by a graph inside 'b'"),
        (annotated(), [], "'v' is named by a quantization annotation"),
        (loop(), ["a"], "'a' inside is to be kept"),
        (loop(trips="0"), ["a"], "'a' inside is to be kept"),
        (loop(inputs="m, c"), [], "it does not give its body's inputs"),
        (loop(results="r, s"), [], "its body does not give its results"),
        (without_initial_value(), [], "an initial value is left out"),
    ],
)
def test_declined(source: ModelProto, keep: list[str], reason: str) -> None:
    result = outcome("unroll-loop", source, keep=keep, check=False)
    assert result.changes == 0
    assert result.reasons == [reason]
