"""Traps that exporters lay for tools of this kind, each as a test of the whole pipeline.

SAME padding computed at run time, Ifs that ask for what is known, tied and quantized weights, shapes that lie.
"""

from __future__ import annotations

import math

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from tests.optimizer.optimized import assert_same_in_onnxruntime, optimized
from tests.run import in_onnxruntime
from tests.text import Array, model

F32 = np.float32
RANDOM = np.random.default_rng(0)

SAME = """
    g (float[{batch},3,{height},{width}] x) => (float[A,4,B,C] y) <
        int64 two = {{2}}, int64 stride = {{{stride}}}, int64 less = {{{less}}}, float zero = {{0}},
        int64[1] none = {{0}}, int64[1] one = {{1}}, int64[2] pairs = {{-1, 2}}, int64[1] flat = {{-1}},
        int64[1] start = {{-1}}, int64[1] end = {{-9223372036854775807}}, int64[1] axis = {{0}}, int64[1] step = {{-1}},
        int64[4] zeros = {{0, 0, 0, 0}}, int64 i = {{2}}, int64 j = {{3}}
    > {{
        sh = Shape(x)
        {rows}
        {columns}
        p4 = Concat <axis = 0> (u_j0, u_j1, u_i0, u_i1)
        p8 = Concat <axis = 0> (p4, zeros)
        p42 = Reshape(p8, pairs)
        turned = Slice(p42, start, end, axis, step)
        t = Transpose <perm = [1, 0]> (turned)
        f = Reshape(t, flat)
        pads = Cast <to = 7> (f)
        p = Pad <mode = "constant"> (x, pads, zero)
        y = Conv <kernel_shape = [{kernel}, {kernel}], strides = [{stride}, {stride}]> (p, w)
    }}"""

# ceil(n / stride) * stride - stride + kernel - n, halved; as torch exports a layer with "same" padding.
SIDE = """
        n_{k} = Gather <axis = 0> (sh, {k})
        f_{k} = Cast <to = 1> (n_{k})
        s_{k} = Cast <to = 1> (stride)
        d_{k} = Div(f_{k}, s_{k})
        c_{k} = Ceil(d_{k})
        o_{k} = Cast <to = 7> (c_{k})
        m_{k} = Mul(o_{k}, stride)
        a_{k} = Add(m_{k}, less)
        b_{k} = Sub(a_{k}, n_{k})
        l_{k} = Max(b_{k}, none)
        h_{k} = Div(l_{k}, two)
        r_{k} = Sub(l_{k}, h_{k})
        u_{k}0 = Reshape(h_{k}, flat)
        u_{k}1 = Reshape(r_{k}, flat)
"""


def same_padding(height: object, width: object, kernel: int, stride: int, batch: object = 1) -> ModelProto:
    text = SAME.format(
        batch=batch, height=height, width=width, kernel=kernel, stride=stride, less=kernel - stride,
        rows=SIDE.format(k="i"), columns=SIDE.format(k="j"),
    )  # fmt: skip
    weight = RANDOM.standard_normal((4, 3, kernel, kernel)).astype(F32)
    return model(text, constants={"w": weight})


def expected_pads(size: int, kernel: int, stride: int) -> tuple[int, int]:
    total = max(math.ceil(size / stride) * stride - stride + kernel - size, 0)
    return total // 2, total - total // 2


@pytest.mark.parametrize(("kernel", "stride"), [(3, 2), (7, 2), (5, 3), (1, 2)])
@pytest.mark.parametrize(("height", "width"), [(15, 16), (9, 14)])
def test_same_padding_of_a_known_size(height: int, width: int, kernel: int, stride: int) -> None:
    source = same_padding(height, width, kernel, stride)
    feeds = {"x": RANDOM.standard_normal((1, 3, height, width)).astype(F32)}
    after = assert_same_in_onnxruntime(source, feeds)
    (conv,) = after.graph.node
    pads = {entry.name: list(entry.ints) for entry in conv.attribute}.get("pads", [0] * 4)
    (top, bottom), (left, right) = expected_pads(height, kernel, stride), expected_pads(width, kernel, stride)
    assert pads == [top, left, bottom, right]


def test_same_padding_of_an_open_size() -> None:
    """The pads follow the input, and an odd one is on the right."""
    source = same_padding("H", "W", 3, 2, batch="N")
    after, _ = optimized(source)
    for shape in ((1, 3, 15, 16), (2, 3, 8, 9), (1, 3, 3, 3)):
        feeds = {"x": RANDOM.standard_normal(shape).astype(F32)}
        assert in_onnxruntime(after, feeds)[0].tobytes() == in_onnxruntime(source, feeds)[0].tobytes()


IFS = """
    g (float[N,4] x, int64 rate) => (float[A,4] y)
    <int64 known = {16000}, int64 sixteen = {16000}, int64 two = {2}> {
        s = Shape(x)
        rank = Size(s)
        is_matrix = Equal(rank, two)
        is_known = Equal(known, sixteen)
        a = If (is_matrix) <
            then_branch = t () => (float[B,4] r) { p = Neg(x)\n r = Relu(p) },
            else_branch = e () => (float[B,4] r) { p = Abs(x)\n r = Exp(p) }
        >
        b = If (is_known) <
            then_branch = t2 () => (float[B,4] r) {
                q = If (is_matrix) <
                    then_branch = t3 () => (float[B,4] r) { p = Neg(a)\n r = Sub(p, x) },
                    else_branch = e3 () => (float[B,4] r) { r = Identity(a) }
                >
                r = Add(q, a)
            },
            else_branch = e2 () => (float[B,4] r) { r = Exp(a) }
        >
        is_low = Less(rate, known)
        y = If (is_low) <
            then_branch = t4 () => (float[B,4] r) { p = Neg(b)\n r = Abs(p) },
            else_branch = e4 () => (float[B,4] r) { p = Abs(b)\n r = Neg(p) }
        >
    }"""


@pytest.mark.parametrize("rate", [8000, 16000])
def test_ifs_that_ask_for_what_is_known(rate: int) -> None:
    """All branches use the same local names; only the question about the input is left."""
    source = model(IFS)
    feeds = {"x": RANDOM.standard_normal((3, 4)).astype(F32), "rate": np.array(rate, np.int64)}
    after = assert_same_in_onnxruntime(source, feeds)
    assert [node.op_type for node in after.graph.node].count("If") == 1


def embedding(tie: str) -> ModelProto:
    """A language model's first and last layer, which share one weight of 64 KiB."""
    weight = RANDOM.standard_normal((256, 64)).astype(F32)
    return model(
        f"g (int64[T] i) => (float[T,256] y) {{ {tie}\n e = Gather(w, i)\n h = Tanh(e)\n y = MatMul(h, v) }}",
        constants={"w": weight},
    )


@pytest.mark.parametrize(
    "tie",
    ["v = Transpose(w)", "k = Identity(w)\n v = Transpose(k)", "k = Identity(w)\n l = Identity(k)\n v = Transpose(l)"],
)
@pytest.mark.parametrize("math", ["exact", "relaxed"])
def test_tied_weights_stay_tied(tie: str, math: str) -> None:
    source = embedding(tie)
    after, report = optimized(source, math=math, max_growth_bytes=1024)
    assert report.constant_bytes_after == report.constant_bytes_before
    feeds = {"i": np.arange(5, dtype=np.int64)}
    assert in_onnxruntime(after, feeds)[0].tobytes() == in_onnxruntime(source, feeds)[0].tobytes()


QUANTIZED = {
    "per tensor": "d = DequantizeLinear(q, scale, point)",
    "per axis": "d = DequantizeLinear <axis = 1> (q, scales, points)",
    "cast and scale": "c = Cast <to = 1> (q)\n d = Mul(c, scale)",
    "cast, shift and scale": "c = Cast <to = 1> (q)\n p = Cast <to = 1> (point)\n s = Sub(c, p)\n d = Mul(s, scale)",
}


@pytest.mark.parametrize("form", QUANTIZED)
@pytest.mark.parametrize("math", ["exact", "relaxed"])
def test_quantized_weights_stay_quantized(form: str, math: str) -> None:
    source = model(
        f"g (float[2,64] x) => (float[2,32] y) {{ {QUANTIZED[form]}\n m = MatMul(x, d)\n y = Add(m, bias) }}",
        constants={
            "q": RANDOM.integers(-128, 128, (64, 32)).astype(np.int8), "scale": np.array(0.25, F32),
            "point": np.array(3, np.int8), "scales": np.linspace(0.1, 1, 32, dtype=F32),
            "points": np.arange(32, dtype=np.int8), "bias": np.ones(32, F32),
        },
    )  # fmt: skip
    after, report = optimized(source, math=math, max_growth_bytes=1 << 20)
    assert report.constant_bytes_after <= report.constant_bytes_before
    assert onnx.TensorProto.INT8 in {item.data_type for item in after.graph.initializer if len(item.dims) == 2}
    feeds = {"x": RANDOM.standard_normal((2, 64)).astype(F32)}
    tolerance = 1e-5 if math == "relaxed" else 0
    np.testing.assert_allclose(in_onnxruntime(after, feeds)[0], in_onnxruntime(source, feeds)[0], rtol=tolerance)


def lying(rank: int) -> tuple[ModelProto, dict[str, Array]]:
    """A result between is declared with a rank that it does not have."""
    dims = ",".join("123456"[:rank])
    source = model(
        f"""
        g (float[N,4] x) => (int64[1] y, float z) <float[{dims}] p, int64[2] t = {{2, -1}}, float one = {{1}}> {{
            p = Relu(x)
            s = Shape(p)
            y = Shape(s)
            r = Reshape(p, t)
            q = Reshape(r, t)
            z = ReduceSum <keepdims = 0> (q)
        }}"""
    )
    return source, {"x": RANDOM.standard_normal((3, 4)).astype(F32)}


@pytest.mark.parametrize("rank", [1, 3])
def test_declared_ranks_are_not_believed(rank: int) -> None:
    source, feeds = lying(rank)
    after, _ = optimized(source, check=False, again=False)
    with pytest.raises(Exception, match="rank"):
        onnx.checker.check_model(source, full_check=True)
    del source.graph.value_info[:]
    del after.graph.value_info[:]
    assert in_onnxruntime(after, feeds)[0].tolist() == in_onnxruntime(source, feeds)[0].tolist() == [2]
    onnx.checker.check_model(after, full_check=True)
