"""remove-dead-nodes: what nothing needs goes, what anything may need stays."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import ModelProto, TensorProto

from tests.passes.outcome import Outcome, outcome
from tests.text import golden, model


def cleaned(source: ModelProto, **options: Any) -> Outcome:
    return outcome("remove-dead-nodes", source, **options)


def test_nodes_and_their_constants_go() -> None:
    source = model("""
        g (float a, float unused) => (float y) <float k = {1}, float l = {2}, float m = {3}> {
            p = Add(a, k)
            q = Mul(p, l)
            c = Constant<value = float {4}>()
            r, s = Dropout(q)
            d = Constant<value_ints = [1, 2]>()
            y = Add(a, m)
        }""")
    result = cleaned(source)
    assert result.text == "m = float {3.0}\ny = Add(a, m)"
    assert result.changes == 3 + 4


def test_outputs_are_positional() -> None:
    source = model("""
        g (float[4] a) => (float[2] y, bool[4] m) {
            l, r = Split(a)
            y = Neg(r)
            d, m = Dropout(a)
        }""", opset=13)  # fmt: skip
    assert cleaned(source).changes == 0


def test_sinks_stay() -> None:
    source = model("g (float a) => (float y) <float k = {1}> { y = Neg(a)\n p = Abs(a) }", domains='"custom" : 1')
    source.graph.node.add(op_type="Print", domain="custom", input=["p", "k"])
    source.graph.node.add(op_type="Log", domain="custom", input=["a"], output=[""])
    assert cleaned(source).changes == 0


@pytest.mark.parametrize("name", ["p", "the node"])
def test_what_is_to_be_kept_stays(name: str) -> None:
    source = model(
        "g (float a) => (float y) <float k = {1}, float l = {1}> { y = Neg(a)\n p = Add(a, k)\n q = Neg(p) }"
    )
    source.graph.node[1].name = "the node"
    assert cleaned(source, keep=[name]).text == "k = float {1.0}\ny = Neg(a)\np = Add(a, k)"


def test_a_constant_that_is_to_be_kept_stays() -> None:
    source = model("g (float a) => (float y) <float k = {1}, float l = {1}> { y = Neg(a) }")
    assert cleaned(source, keep=["k"]).text == "k = float {1.0}\ny = Neg(a)"


@pytest.mark.parametrize("ir_version", [3, 8])
def test_the_interface_stays(ir_version: int) -> None:
    source = model(
        "g (float a, float k, float u) => (float y, float l) <float k = {1}, float l = {2}> { y = Identity(u) }",
        ir_version=ir_version,
    )
    if ir_version == 3:
        source.graph.input.append(onnx.helper.make_tensor_value_info("l", TensorProto.FLOAT, []))
    assert cleaned(source).changes == 0


def test_inner_graphs_are_cleaned_and_what_they_read_stays() -> None:
    source = model("""
        g (bool c, float a) => (float y) <float k = {1}, float l = {2}> {
            p = Abs(a)
            q = Exp(a)
            y = If (c) <
                then_branch = t () => (float r) <float m = {3}> { r = Add(p, k)
                    s = Mul(q, l)
                    u = Mul(s, m) },
                else_branch = e () => (float v) { v = Identity(a) }
            >
        }""")
    assert cleaned(source).text == golden("""
        k = float {1.0}
        p = Abs(a)
        y = If(c)
          then_branch() => r
            r = Add(p, k)
          else_branch() => v
            v = Identity(a)
        """)


def test_a_dead_node_takes_its_graphs_along() -> None:
    source = model("""
        g (bool c, float a) => (float y) <float k = {1}> {
            p = Abs(a)
            z = If (c) <
                then_branch = t () => (float r) { r = Add(p, k) },
                else_branch = e () => (float v) { v = Identity(p) }
            >
            y = Neg(a)
        }""")
    assert cleaned(source).text == "y = Neg(a)"


def test_loop_bodies_keep_what_they_carry() -> None:
    source = model("""
        g (int64 n, bool c, float a) => (float y) {
            y, z = Loop (n, c, a, a) <
                body = b (int64 i, bool go, float u, float v) => (bool go2, float u2, float v2) {
                    go2 = Identity(go)
                    u2 = Neg(u)
                    v2 = Abs(v)
                    w = Exp(v)
                }
            >
        }""")
    assert cleaned(source).text == golden("""
        y, z = Loop(n, c, a, a)
          body(i, go, u, v) => go2, u2, v2
            go2 = Identity(go)
            u2 = Neg(u)
            v2 = Abs(v)
        """)


def test_functions_are_cleaned_and_stay() -> None:
    source = model(
        "g (float a) => (float y) { y = custom.f(a) }",
        domains='"custom" : 1',
        functions="""<domain: "custom", opset_import: ["" : 17]>
        f (x) => (z) { z = Neg(x)
            p = Abs(x) }
        <domain: "custom", opset_import: ["" : 17]>
        never_called (x) => (z) { z = Exp(x) }""",
    )
    assert cleaned(source).text == golden("""
        y = custom.f(a)
        custom.f(x) => z
          z = Neg(x)
        custom.never_called(x) => z
          z = Exp(x)
        """)


def test_what_training_reads_stays() -> None:
    source = model("g (float a) => (float y) <float k = {1}, float l = {2}> { y = Neg(a)\n p = Abs(a)\n q = Exp(p) }")
    training = source.training_info.add()
    training.algorithm.node.add(op_type="Add", input=["p", "k"], output=["loss"])
    assert cleaned(source).text == "k = float {1.0}\ny = Neg(a)\np = Abs(a)"


def test_what_annotations_name_stays() -> None:
    source = model("g (float a) => (float y) <float s = {1}, float z = {2}> { y = Neg(a) }")
    annotation = source.graph.quantization_annotation.add(tensor_name="y")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    assert cleaned(source).text == "s = float {1.0}\ny = Neg(a)"


def test_a_repeated_result_is_counted_once() -> None:
    source = model("g (float a) => (float y) { p = Abs(a)\n q = Add(p, p)\n y = Neg(a) }")
    assert cleaned(source).changes == 2


def test_declarations_go_with_their_nodes() -> None:
    source = model("g (float a) => (float y) <float p, float q> { p = Abs(a)\n q = Neg(a)\n y = Neg(q) }")
    assert [info.name for info in cleaned(source).after.graph.value_info] == ["q"]
