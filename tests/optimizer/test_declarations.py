"""Declarations of intermediate results: kept where they may be true, forgotten where a rewrite has shown otherwise."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import GraphProto, ModelProto

from tests.optimizer.optimized import optimized
from tests.text import model

# onnx derives nothing of a Reshape to a computed shape, and everything of one to a constant shape.
RESHAPED = "s = Shape(x)\n t = Concat<axis = 0>(s, one)\n r = Reshape(x, t)\n n = Neg(r)"
BODY = f"{RESHAPED}\n z = Exp(n)\n o = Reshape(z, t)"
ONE = {"one": np.array([1])}
IF = f"""
    then_branch = b () => (float[A,B,C] q) <float[7,3,1] r> {{ {RESHAPED}\n q = Exp(n) }},
    else_branch = e () => (float[D,E,F] p) {{ w = Exp(x)\n p = Unsqueeze(w, two) }}
"""
LOOP = f"""
    body = b (int64 i, bool g) => (bool h, float[A,B,C] q) <float[7,3,1] r> {{
        h = Identity(g)\n {RESHAPED}\n q = Exp(n)
    }}
"""
FUNCTION = """<domain: "custom", opset_import: ["" : 17]> f (x) => (o) {
    k = Constant<value_ints = [2, 3]>()
    one = Constant<value_ints = [1]>()
    t = Concat<axis = 0>(k, one)
    r = Reshape(x, t)
    n = Neg(r)
    o = Exp(n)
}"""


def declarations(graph: GraphProto) -> dict[str, str]:
    """The declared types by name, of a graph and of those inside."""
    found = {info.name: type_text(info.type) for info in graph.value_info}
    for node in graph.node:
        for attribute in node.attribute:
            found |= declarations(attribute.g)
    return found


def type_text(proto: onnx.TypeProto) -> str:
    tensor = proto.tensor_type
    dims = [str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?" for dim in tensor.shape.dim]
    return f"{onnx.TensorProto.DataType.Name(tensor.elem_type).lower()}[{','.join(dims)}]"


def checked(source: ModelProto) -> ModelProto:
    """The optimized model; the checker has accepted both."""
    onnx.checker.check_model(source, full_check=True)
    after, report = optimized(source)
    assert report.changed
    return after


LIES = ["float[7,7] r", "float[2,3] z", "float[2,3,4] r", "int32[2,3,1] t", "float[7] n"]


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_forgotten(lie: str) -> None:
    source = model(f"g (float[2,3] x) => (float[A,B,C] o) <{lie}> {{ {BODY} }}", constants=ONE)
    after, report = optimized(source, passes=["fold-shapes", "fold-constants", "remove-dead-nodes"])
    assert report.changed
    assert declarations(after.graph) == {}


def test_what_passed_the_check_still_does() -> None:
    source = model(f"g (float[2,3] x) => (float[A,B,C] o) <float[7,3,1] r> {{ {BODY} }}", constants=ONE)
    assert declarations(checked(source).graph) == {}


@pytest.mark.parametrize("truth", ["float[2,3,1] r", "float[A,B,C] r", "float[2,?,1] r", "float r", "float[2,3,1] n"])
def test_what_may_be_true_stays(truth: str) -> None:
    source = model(f"g (float[2,3] x) => (float[A,B,C] o) <{truth}> {{ {BODY} }}", constants=ONE)
    if truth == "float r":
        source.graph.value_info[0].type.tensor_type.ClearField("shape")
    info = source.graph.value_info[0].SerializeToString()
    after = checked(source)
    assert [item.SerializeToString() for item in after.graph.value_info] == [info]


def test_an_open_size_contradicts_nothing() -> None:
    source = model(f"g (float[N,3] x) => (float[A,B,C] o) <float[7,3,1] r> {{ {BODY} }}", constants=ONE)
    after, _ = optimized(source)
    assert declarations(after.graph) == {"r": "float[7,3,1]"}


@pytest.mark.parametrize(("head", "inner"), [("If (c)", IF), ("Loop (m, c)", LOOP)], ids=["If", "Loop"])
def test_inner_graphs(head: str, inner: str) -> None:
    shape = "A,B,C" if head == "If (c)" else "M,A,B,C"
    source = model(
        f"g (float[2,3] x, bool c, int64 m) => (float[{shape}] y) {{ y = {head} <{inner}> }}",
        constants={**ONE, "two": np.array([2])},
    )
    assert "r" in declarations(source.graph)
    assert "r" not in declarations(checked(source).graph)


def test_functions() -> None:
    source = model(
        "g (float[2,3] x) => (float[A,B,C] o) { o = custom.f(x) }", domains='"custom" : 1', functions=FUNCTION
    )
    source.ir_version = 10
    lie = onnx.helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, [7, 3, 1])
    truth = onnx.helper.make_tensor_value_info("n", onnx.TensorProto.FLOAT, [2, 3, 1])
    source.functions[0].value_info.extend([lie, truth])
    after, report = optimized(source, check=False)
    assert report.changed
    assert [item.name for item in after.functions[0].value_info] == ["n"]


def test_an_untouched_file_keeps_its_lies() -> None:
    source = model("g (float[2,3] x) => (float[A,B] o) <float[7] n> { n = Neg(x)\n o = Exp(n) }")
    after, report = optimized(source, check=False)
    assert not report.changed
    assert declarations(after.graph) == {"n": "float[7]"}
