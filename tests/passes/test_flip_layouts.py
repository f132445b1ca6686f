"""flip-layouts: which nodes work in another order of axes, what stays at their border, and each reason against it."""

from __future__ import annotations

from collections import Counter
from functools import partial
from unittest import mock

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper

from bench.channels_last import network
from maxfold.model import read_onnx
from maxfold.model.edit import Edit
from maxfold.model.graph import Node
from maxfold.optimizer import optimize
from maxfold.passes import flip_layouts
from maxfold.passes.layout_regions import Region, elements
from maxfold.passes.layout_rewrite import rewrite
from tests.effort import calls
from tests.passes.outcome import BOUND, Outcome, outcome
from tests.random_models import LAYOUTS, random_models
from tests.run import assert_equal, in_onnxruntime
from tests.text import Array, golden, model

FRONT, BACK = "Transpose<perm = [0, 3, 1, 2]>", "Transpose<perm = [0, 2, 3, 1]>"


def flipped(text: str, *, constants: dict[str, Array] | None = None, opset: int = 17, **options: object) -> Outcome:
    source = model(text, constants=constants, opset=opset)
    return outcome("flip-layouts", source, **options)  # type: ignore[arg-type]


def nodes(result: Outcome) -> str:
    """The nodes alone, attributes of Transposes by their first letter."""
    short = {"perm=[0, 3, 1, 2]": "front", "perm=[0, 2, 3, 1]": "back"}
    text = "\n".join(line for line in result.text.splitlines() if "(" in line)
    for long, name in short.items():
        text = text.replace(long, name)
    return text


def assert_same(result: Outcome, **feeds: Array) -> None:
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(result.before, feeds), zeros_differ=True)


def drawn(*shape: int) -> Array:
    array: Array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    array.reshape(-1)[:5] = [np.nan, -0.0, 0.0, np.inf, -np.inf][: array.size]
    return array


def test_what_stands_between_transposes_takes_their_order() -> None:
    result = flipped(
        f"""g (float[2,3,4,5] x) => (float[2,3,4,5] y) {{
            t = {BACK}(x)
            a = Mul(t, scale)  b = Add(shift, a)  r = Relu(b)
            y = {FRONT}(r)
        }}""",
        constants={"scale": drawn(1, 1, 1, 3), "shift": drawn(3)},
    )
    assert nodes(result) == golden("""
        a_new = Mul(x, scale_constant)
        b_new = Add(shift_constant, a_new)
        y = Relu(b_new)
        """)
    assert "scale_constant = float[1,3,1,1]" in result.text
    assert result.changes == 3
    assert_same(result, x=drawn(2, 3, 4, 5))


def test_one_transpose_instead_of_two() -> None:
    result = flipped(f"""
        g (float[2,3,4,5] x, float[2,3,4,5] z) => (float[2,4,5,3] y) {{
            s = {BACK}(x)  t = {BACK}(z)  y = Sub(s, t)
        }}""")
    assert nodes(result) == golden("""
        y_new = Sub(x, z)
        y = Transpose<back>(y_new)
        """)
    assert_same(result, x=drawn(2, 3, 4, 5), z=drawn(2, 3, 4, 5))


def test_a_smaller_tensor_is_transposed_instead() -> None:
    result = flipped(f"""
        g (float[2,3,4,5] x, float[1,4,5,1] z) => (float[2,4,5,3] w, float[2,3,4,5] y) {{
            t = {BACK}(x)  p = Mul(t, z)  y = {FRONT}(p)  w = Abs(t)
        }}""")
    assert nodes(result) == golden("""
        t = Transpose<back>(x)
        p_new_transpose = Transpose<front>(z)
        y = Mul(x, p_new_transpose)
        w = Abs(t)
        """)
    assert_same(result, x=drawn(2, 3, 4, 5), z=drawn(1, 4, 5, 1))


@pytest.mark.parametrize(
    "text",
    [
        # As many elements, as many nodes.
        f"g (float[2,3,4,5] x) => (float[2,4,5,3] y) {{ t = {BACK}(x) y = Relu(t) }}",
        # The other operand is as large.
        f"""g (float[2,3,4,5] x, float[2,4,5,3] z) => (float[2,4,5,3] y) {{ t = {BACK}(x) y = Add(t, z) }}""",
        # The Transpose stays for another reader.
        f"""g (float[2,3,4,5] x) => (float[2,4,5,3] y, float[2,4,5,3] w) {{
            t = {BACK}(x) r = Relu(t) y = Abs(r) w = Identity(t) }}""",
        "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }",
        "g (float[2,3] x) => (float[3,2] y) { y = Transpose(x) }",
    ],
)
def test_nothing_gains(text: str) -> None:
    result = flipped(text)
    assert (result.changes, result.reasons) == (0, [])


def test_only_the_part_that_gains() -> None:
    """Behind `m` nothing is to be had: `a` and `b` come as they are."""
    result = flipped(f"""
        g (float[2,3,4,5] x, float[2,4,5,3] a, float[2,4,5,3] b) => (float[2,3,4,5] y, float[2,4,5,3] z) {{
            t = {BACK}(x)  r = Relu(t)  f = {FRONT}(r)  y = Abs(f)
            m = Add(r, a)  n = Add(m, b)  z = Mul(n, b)
        }}""")
    assert nodes(result) == golden("""
        r_new = Relu(x)
        r = Transpose<back>(r_new)
        y = Abs(r_new)
        m = Add(r, a)
        n = Add(m, b)
        z = Mul(n, b)
        """)
    assert_same(result, x=drawn(2, 3, 4, 5), a=drawn(2, 4, 5, 3), b=drawn(2, 4, 5, 3))


def test_results_that_are_outputs_or_read_in_branches_stay() -> None:
    result = flipped(f"""
        g (float[2,3,4,5] x, float[2,3,4,5] w, bool c) => (float[2,3,4,5] y, float[N,M,K,L] z) {{
            s = {BACK}(x)  t = {BACK}(w)
            p = Add(s, t)  q = Neg(p)  r = Abs(q)  y = {FRONT}(r)
            z = If(c) <then_branch = h () => (float[2,4,5,3] i) {{ i = Identity(q) }},
                       else_branch = h () => (float[2,3,4,5] j) {{ j = Identity(y) }}>
        }}""")
    assert result.changes == 3
    assert nodes(result).splitlines()[:4] == [
        "p_new = Add(x, w)",
        "q_new = Neg(p_new)",
        "q = Transpose<back>(q_new)",
        "y = Abs(q_new)",
    ]
    for flag in (True, False):
        assert_same(result, x=drawn(2, 3, 4, 5), w=drawn(2, 3, 4, 5), c=np.array(flag))


def test_in_a_branch() -> None:
    result = flipped(f"""
        g (float[2,3,4,5] x, bool c) => (float[N,M,K,L] z) {{
            z = If(c) <then_branch = h () => (float[2,3,4,5] i) {{ t = {BACK}(x) r = Relu(t) i = {FRONT}(r) }},
                       else_branch = h () => (float[2,3,4,5] j) {{ j = Identity(x) }}>
        }}""")
    assert "i = Relu(x)" in result.text
    assert_same(result, x=drawn(2, 3, 4, 5), c=np.array(True))


def test_open_sizes_are_compared_as_symbols() -> None:
    result = flipped(
        f"""
        g (float[N,C,H,W] x, float[N,H,W,1] z) => (float[N,C,H,W] y) {{
            t = {BACK}(x)  p = Mul(t, one)  q = Relu(p)  y = {FRONT}(q)
        }}""".replace("one", "t")
    )
    assert nodes(result) == "p_new = Mul(x, x)\ny = Relu(p_new)"
    result = flipped(f"""
        g (float[N,C,H,W] x, float[M,1,1,1] z) => (float[P,Q,R,S] y) {{
            t = {BACK}(x)  p = Mul(t, z)  y = {FRONT}(p)
        }}""")
    assert result.changes == 0
    assert result.reasons == ["whether fewer elements would be transposed depends on sizes that are not known"]


def test_an_axis_that_is_reduced() -> None:
    text = f"""
        g (float[2,3,4,5] x) => (float[2,3] y) {{ t = {BACK}(x)  y = ReduceMean<axes = [1, 2], keepdims = 0>(t) }}"""
    result = flipped(text)
    assert result.reasons == ["only with --math relaxed: the runtime may round otherwise in another order of axes"]
    assert nodes(flipped(text, math="relaxed")) == "y = ReduceMean<axes=[2, 3], keepdims=0>(x)"


def test_large_constants_are_permuted_when_they_are_written() -> None:
    large = np.random.default_rng(0).standard_normal((1, 64, 64, 80)).astype(np.float32)
    result = flipped(
        f"g (float[2,80,64,64] x) => (float[2,80,64,64] y) {{ t = {BACK}(x) p = Add(t, c) y = {FRONT}(p) }}",
        constants={"c": large},
    )
    (constant,) = (tensor for tensor in result.after.graph.initializer if tensor.name != "c")
    assert nodes(result) == "y = Add(x, c_constant)"
    assert (onnx.numpy_helper.to_array(constant) == large.transpose(0, 3, 1, 2)).all()


NORM = (
    "m = ReduceMean<axes = [-1]>(t) d = Sub(t, m) q = Pow(d, two) v2 = ReduceMean<axes = [-1]>(q) "
    "e = Add(v2, eps) o = Sqrt(e) r = Div(d, o)"
)
REASONS = {
    "it is to be kept": ("r = Relu(t)", {}, {"keep": ["r"]}),
    "input 1 is not constant": ("r = Tile(t, k)", {}, {}),
    "its operands have other ranks": ("r = Add(t, v)", {}, {}),
    "its indices are not along one axis": ("r = Gather<axis = 1>(t, i)", {"i": np.zeros((1, 1), np.int64)}, {}),
    "its axis would not be the last one any more": ("r = Softmax<axis = -1>(t)", {}, {}),
    "its axes would not be the last ones any more": (
        "r = LayerNormalization(t, s)", {"s": np.ones(3, np.float32)}, {},
    ),
    "only with --math relaxed: the runtime may round otherwise in another order of axes": ("r = Sin(t)", {}, {}),
    "its results have another rank": ("r = Add(t, s)", {}, {}),
    "part of a LayerNormalization, left as runtimes fuse it": (
        NORM,
        {"two": np.array(2, np.float32), "eps": np.array(1e-5, np.float32)},
        {"math": "relaxed"},
    ),
    "it computes between elements, or has another form in this operator set": (
        'r = Resize<mode = "linear">(t, , f)', {"f": np.float32([1, 2, 2, 1])}, {},
    ),
    "the file would grow by 184320 bytes, more than 65536": (
        "r = Add(t, s) r2 = Abs(s)", {"s": np.ones((2, 4, 5, 3), np.float32).repeat(384, 0)[:768]}, {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("reason", sorted(REASONS))
def test_why_not(reason: str) -> None:
    body, constants, options = REASONS[reason]
    batch = 768 if "bytes" in reason else 2
    if "another rank" in reason:
        reason, constants = "'s' is no constant of so few axes", {"s": np.ones((1, 1, 1, 1, 1), np.float32)}
        body += " r0 = Identity(r)"
    text = f"""
        g (float[{batch},3,4,5] x, float[3] v, int64[4] k) => (float[A,B,C,D] y) {{
            t = {BACK}(x) {body} y = {FRONT}(r)
        }}"""
    if "so few axes" in reason:
        text = text.replace("y = Transpose<perm = [0, 3, 1, 2]>(r)", "y = Squeeze(r)")
    result = flipped(text, constants=constants, **options)
    assert result.changes == 0 or "Normalization" in reason
    assert reason in result.reasons


def test_what_is_kept_or_trained() -> None:
    text = f"g (float[2,3,4,5] x) => (float[2,3,4,5] y) {{ t = {BACK}(x) r = Relu(t) y = {FRONT}(r) }}"
    kept = flipped(text, keep=["t"])
    assert (kept.changes, kept.reasons) == (0, [])
    source = model(text)
    training = source.training_info.add()
    training.algorithm.name = "step"
    training.algorithm.node.append(helper.make_node("Identity", ["r"], ["r_new"]))
    training.algorithm.output.append(helper.make_tensor_value_info("r_new", TensorProto.FLOAT, [2, 4, 5, 3]))
    result = outcome("flip-layouts", source, check=False)
    assert (result.changes, result.reasons) == (0, [f"'r' {BOUND}"])


def test_a_gelu_is_flipped_as_a_whole() -> None:
    constants: dict[str, Array] = {
        name: np.array(value, np.float32) for name, value in (("h", 0.5), ("o", 1), ("root", 1.4142135))
    }
    result = flipped(
        f"""g (float[2,3,4,5] x) => (float[2,3,4,5] y) {{
            t = {BACK}(x) u = Div(t, root) e = Erf(u) f = Add(e, o) p = Mul(t, f) r = Mul(p, h) y = {FRONT}(r)
        }}""",
        constants=constants,
    )
    assert "Transpose" not in result.text
    assert result.changes == 5


def test_nothing_comes_between_quantized_operators_and_their_scales() -> None:
    result = flipped(
        f"""g (float[2,3,4,5] x, uint8[2,4,5,3] w) => (float[2,3,4,5] y, float[2,4,5,3] z) {{
            t = {BACK}(x) q = QuantizeLinear(t, s) d = DequantizeLinear(q, s) y = {FRONT}(d)
            c = DequantizeLinear(w, s) a = Add(d, c) b = QuantizeLinear(a, s) z = DequantizeLinear(b, s)
        }}""",
        constants={"s": np.array(0.1, np.float32)},
    )
    assert "d = Transpose" not in result.text
    assert_same(result, x=np.abs(drawn(2, 3, 4, 5)), w=np.ones((2, 4, 5, 3), np.uint8))


@pytest.mark.parametrize("opset", [10, 13, 17])
@pytest.mark.parametrize("batch", [1, "N"])
def test_a_network_of_channels_last_keeps_two_transposes(opset: int, batch: int | str) -> None:
    source = network(opset=opset, batch=batch)
    feed = {"image": np.random.default_rng(1).standard_normal((1, 32, 32, 3)).astype(np.float32)}
    expected = in_onnxruntime(source, feed)
    assert count(source)["Transpose"] == 106
    for math, most in (("exact", 2), ("relaxed", 1)):
        proto = ModelProto()
        proto.CopyFrom(source)
        optimize(proto, math=math)
        operators = count(proto)
        assert operators["Transpose"] <= most
        assert operators.total() <= (278 if math == "exact" else 124)
        actual = in_onnxruntime(proto, feed)
        if math == "exact":
            assert_equal(actual, expected, zeros_differ=True)
        np.testing.assert_allclose(actual[0], expected[0], rtol=1e-4)


def test_no_more_than_the_runtime_itself_leaves(tmp_path: object) -> None:
    source = network(blocks=4)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = f"{tmp_path}/optimized.onnx"
    onnxruntime.InferenceSession(source.SerializeToString(), options, providers=["CPUExecutionProvider"])
    theirs = count(onnx.load(options.optimized_model_filepath))
    optimize(source)
    assert count(source)["Transpose"] <= theirs["Transpose"]


def count(proto: ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in proto.graph.node)


def test_the_effort_grows_with_the_nodes() -> None:
    """Long chains, in one region and in many."""
    efforts = []
    for size in (500, 2_000):
        chain = [helper.make_node("Transpose", ["x"], ["n0"], perm=[1, 0])]
        for index in range(size):
            operator = "Transpose" if index % 7 == 6 else "Softsign" if index % 3 else "Abs"
            chain.append(helper.make_node(operator, [f"n{index}"], [f"n{index + 1}"]))
        chain[-1].output[0] = "y"
        shape = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])
        graph = helper.make_graph(chain, "chain", [shape], [helper.make_tensor_value_info("y", 1, ["N", "M"])])
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        efforts.append(calls(partial(optimize, proto, passes=["flip-layouts"])))
        assert count(proto)["Transpose"] <= 1
    assert efforts[1] < 5 * efforts[0]


def test_an_order_that_is_its_own_inverse() -> None:
    result = flipped("""
        g (float[3,4] x) => (float[3,4] y, float[4,3] z) {
            a = Abs(x) t = Transpose(a) b = Neg(t) u = Transpose(b) y = Add(a, u) z = Relu(b)
        }""")
    assert nodes(result).count("Transpose") == 1
    assert_same(result, x=drawn(3, 4))


def test_a_transpose_that_stays_is_read_by_more() -> None:
    result = flipped("""
        g (float[3,4] x, float[3,4] z) => (float[3,4] c, float[4,3] w, float[4,3] y) {
            c = Abs(x) w = Transpose(c) m = Mul(c, z) n = Exp(m) y = Transpose(n)
        }""")
    assert nodes(result).count("Transpose") == 2
    assert_same(result, x=drawn(3, 4), z=drawn(3, 4))


@pytest.mark.parametrize("math", ["exact", "relaxed"])
def test_each_flip_lowers_what_is_transposed(math: str) -> None:
    """What the labels say is what is left, also where regions meet, and near outputs, branches and other readers."""
    lowered = 0

    def checked(region: Region, nodes: set[Node], edit: Edit) -> None:
        nonlocal lowered
        before = transposed(edit)
        rewrite(region, nodes, edit)
        edit.flush()
        assert transposed(edit) < before
        lowered += 1

    with mock.patch.object(flip_layouts, "rewrite", checked):
        for case in random_models(range(60), kind=LAYOUTS):
            flip_layouts.FlipLayouts().run(Edit(read_onnx(case.model), math=math))
    assert lowered > 60


def transposed(edit: Edit) -> tuple[int, int]:
    """The elements of all Transposes, and how many they are; an open size counts as the cut counts it."""
    found = [node for node in edit.nodes() if node.op == "Transpose"]
    return sum(elements(edit, node.inputs[0]) for node in found), len(found)
