"""merge-equal-nodes: what counts as equal, that consequences follow at once, and each reason for keeping a twin."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.effort import calls
from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import BOUND, Outcome, outcome
from tests.text import golden, model


def merged(text: str, **options: object) -> Outcome:
    return outcome("merge-equal-nodes", model(text, **options))  # type: ignore[arg-type]


def test_what_equal_nodes_lead_to_is_merged_at_once() -> None:
    result = merged("""
        g (float[N,M] a) => (int64 y) <int64 i = {1}> {
            s = Shape(a)  t = Shape(a)
            g0 = Gather(s, i)  g1 = Gather(t, i)
            n0 = Neg(g0)  n1 = Neg(g1)
            p = Add(n0, n1)  y = Mul(p, g1)
        }""")
    assert nodes(result) == golden("""
        s = Shape(a)
        g0 = Gather(s, i)
        n0 = Neg(g0)
        p = Add(n0, n0)
        y = Mul(p, g0)
        """)
    assert_same_results(result, a=np.ones((2, 3), np.float32))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Add(a, b)", "Add(b, a)"),
        ("Mul(a, b)", "Mul(b, a)"),
        ("Clip(a)", "Clip(a, , )"),
        ("Sum(a, b, b)", "Sum(a, b, b)"),
        ("Selu<alpha = 1.5>(a)", "Selu<alpha = 1.5>(a)"),
        ("Transpose<perm = [1, 0]>(a)", "Transpose<perm = [1, 0]>(a)"),
        ("com.microsoft.QuickGelu(a)", "com.microsoft.QuickGelu(a)"),
    ],
)
def test_equal(first: str, second: str) -> None:
    result = merged(
        f"g (float[2,2] a, float[2,2] b) => (float[N,M] y) {{ p = {first} q = {second} y = Sub(p, q) }}",
        domains='"com.microsoft" : 1',
    )
    assert nodes(result).endswith("y = Sub(p, p)")
    assert_same_results(result, a=np.float32([[1, 2], [3, 4]]), b=np.float32([[-0.0, 2], [np.inf, np.nan]]))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Sub(a, b)", "Sub(b, a)"),
        ("Max(a, b)", "Max(b, a)"),
        ("Selu<alpha = 1.5>(a)", "Selu<alpha = 1.25>(a)"),
        ("Selu<alpha = 0.0>(a)", "Selu<alpha = -0.0>(a)"),
        ("Transpose<perm = [1, 0]>(a)", "Transpose<perm = [0, 1]>(a)"),
        ("Add(a, b)", "Add(a, a)"),
        ("Neg(a)", "Abs(a)"),
        ("Dropout(a)", "Dropout(a)"),
        ("RandomNormalLike(a)", "RandomNormalLike(a)"),
        ("RandomUniform<shape = [2, 2]>()", "RandomUniform<shape = [2, 2]>()"),
        ("Bernoulli(a)", "Bernoulli(a)"),
        ("custom.F(a)", "custom.F(a)"),
        ("com.microsoft.BiasDropout(a, b)", "com.microsoft.BiasDropout(a, b)"),
        ("f.Twice(a)", "f.Twice(a)"),
    ],
)
def test_not_equal(first: str, second: str) -> None:
    result = merged(
        f"g (float[2,2] a, float[2,2] b) => (float[N,M] y) {{ p = {first} q = {second} y = Sub(p, q) }}",
        domains='"custom" : 1, "f" : 1, "com.microsoft" : 1',
        functions='<domain: "f", opset_import: ["" : 17]> Twice (x) => (r) { r = Add(x, x) }',
    )
    assert (result.changes, result.reasons) == (0, [])


def test_operands_broadcast_by_attributes_are_not_exchanged() -> None:
    text = "g (float[2] a, float[2] b) => (float[N] y) { p = Add(a, b) q = Add(b, a) y = Sub(p, q) }"
    assert outcome("merge-equal-nodes", model(text, opset=6)).changes == 0


def test_the_number_of_named_results_counts() -> None:
    result = merged("""
        g (float[4] a) => (float[N] y) {
            p, q = Split(a)  r, s = Split(a)  , t = Split(a)
            u = Add(p, s)  v = Add(q, r)  w = Add(u, v)  y = Add(w, t)
        }""")
    assert nodes(result) == golden("""
        p, q = Split(a)
        , t = Split(a)
        u = Add(p, q)
        w = Add(u, u)
        y = Add(w, t)
        """)


def tensors(first: TensorProto, second: TensorProto) -> Outcome:
    source = model("g (int64[N] s) => (float[M] y) { p = ConstantOfShape(s) q = ConstantOfShape(s) y = Add(p, q) }")
    for node, value in zip(source.graph.node, (first, second), strict=False):
        node.attribute.append(helper.make_attribute("value", value))
    return outcome("merge-equal-nodes", source, check=False)


def test_tensors_in_attributes_are_compared_by_bytes() -> None:
    zero = helper.make_tensor("x", TensorProto.FLOAT, [1], [0.0])
    negative = helper.make_tensor("x", TensorProto.FLOAT, [1], [-0.0])
    raw = helper.make_tensor("z", TensorProto.FLOAT, [1], bytes(4), raw=True)
    integer = helper.make_tensor("x", TensorProto.INT32, [1], [0])
    large = helper.make_tensor("x", TensorProto.FLOAT, [2000], bytes(8000), raw=True)
    assert [tensors(zero, other).changes for other in (zero, raw, negative, integer)] == [1, 1, 0, 0]
    assert tensors(large, large).changes == 0


def test_a_graph_output_takes_the_place_of_its_twin() -> None:
    result = merged("""
        g (float[N] a) => (float[N] y, float[N] z) {
            p = Neg(a)  u = Abs(p)  y = Neg(a)  v = Abs(y)  z = Add(u, v)
        }""")
    assert nodes(result) == "y = Neg(a)\nu = Abs(y)\nz = Add(u, u)"


def test_of_two_graph_outputs_both_stay() -> None:
    result = merged("""
        g (float[N] a) => (float[N] x, float[N] y, float[N] z) { x = Neg(a) y = Neg(a) p = Neg(a) z = Abs(p) }""")
    assert nodes(result) == "x = Neg(a)\ny = Neg(a)\nz = Abs(x)"
    assert result.reasons == ["'y' and 'x' are both graph outputs"]


def test_what_is_to_be_kept_or_trained_stays() -> None:
    source = model("g (float[N] a) => (float[N] y) { p = Neg(a) q = Neg(a) y = Add(p, q) }")
    assert outcome("merge-equal-nodes", source, keep=["q"]).reasons == ["it is to be kept"]
    assert outcome("merge-equal-nodes", source, keep=["p"]).changes == 1
    source.training_info.add().update_binding.add(key="q", value="q")
    assert outcome("merge-equal-nodes", source).reasons == [f"'q' {BOUND}"]


def test_each_graph_by_itself() -> None:
    result = merged("""
        g (bool c, float[N] a) => (float[N] y) {
            p = Neg(a)
            r = If (c) <
                then_branch = t () => (float[N] u) { k = Neg(a) l = Neg(a) u = Add(k, l) },
                else_branch = e () => (float[N] v) { v = Neg(a) }
            >
            y = Add(p, r)
        }""")
    assert nodes(result) == golden("""
        p = Neg(a)
        r = If(c)
          then_branch() => u
            k = Neg(a)
            u = Add(k, k)
          else_branch() => v
            v = Neg(a)
        y = Add(p, r)
        """)


def test_inner_graphs_read_the_first_unless_its_name_is_hidden() -> None:
    text = """
        g (bool c, float[N] a) => (float[N] y) {{
            p = Neg(a)  q = Neg(a)  r = Abs(p)
            s = If (c) <
                then_branch = t () => (float[N] u) {{ {local} = Abs(q) u = Add({local}, q) }},
                else_branch = e () => (float[N] v) {{ v = Abs(a) }}
            >
            y = Add(r, s)
        }}"""
    assert merged(text.format(local="w")).changes == 1
    hidden = outcome("merge-equal-nodes", model(text.format(local="p")), check=False)
    assert hidden.reasons == ["'p' is hidden by another tensor of that name in an inner graph"]


def test_attributes_of_a_function_are_compared_by_name() -> None:
    function = """
        <domain: "f", opset_import: ["" : 17]> F <k, l> (x) => (r) {
            p = Selu<alpha: float = @k>(x)  q = Selu<alpha: float = @k>(x)  s = Selu<alpha: float = @l>(x)
            t = Add(p, q)  r = Add(t, s)
        }"""
    result = merged(
        "g (float[N] a) => (float[N] y) { y = f.F<k = 1.5, l = 2.5>(a) }", domains='"f" : 1', functions=function
    )
    assert result.text.splitlines()[-4:] == [
        "  p = Selu<alpha=@k>(x)", "  s = Selu<alpha=@l>(x)", "  t = Add(p, p)", "  r = Add(t, s)",
    ]  # fmt: skip


def test_nodes_out_of_order() -> None:
    source = model("g (float[N] a) => (float[N] y) { p = Neg(a) q = Neg(a) u = Abs(p) v = Abs(q) y = Add(u, v) }")
    reordered = list(source.graph.node)[::-1]
    del source.graph.node[:]
    source.graph.node.extend(reordered)
    result = outcome("merge-equal-nodes", source, check=False)
    assert (len(result.after.graph.node), result.changes) == (3, 2)


def test_the_effort_grows_with_equal_chains() -> None:
    assert _merged(2000) < 5 * _merged(500)


def _merged(count: int) -> int:
    chains = " ".join(f"p{i} = Neg(a) q{i} = Abs(p{i})" for i in range(count))
    source = model(f"g (float[N] a) => (float[N] y) {{ {chains} y = Sum({', '.join(f'q{i}' for i in range(9))}) }}")
    found: list[Outcome] = []
    effort = calls(lambda: found.append(outcome("merge-equal-nodes", source, check=False)))
    assert [result.changes for result in found] == [2 * (count - 1)]
    return effort
