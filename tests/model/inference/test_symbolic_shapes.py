"""Symbolic shapes and partial values, spelled with the names of inputs and axes: x.0 is the first dim of x."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from maxfold.model import read_onnx
from maxfold.model.view import View
from tests.text import model

_END = (1 << 63) - 1


def derived(source: ModelProto) -> tuple[View, dict[str, Any]]:
    """A view, and the tensors by name."""
    loaded = read_onnx(source)
    tensors = [*loaded.graph.inputs, *(tensor for node in loaded.nodes() for tensor in node.outputs)]
    return View(loaded), {tensor.name: tensor for tensor in tensors}


def dims_of(body: str, inputs: str, *, opset: int = 17, constants: Mapping[str, Any] | None = None) -> str:
    """The dims of y as text, "unknown" for an unknown rank."""
    arrays = {name: np.asarray(value) for name, value in (constants or {}).items()}
    source = model(f"g ({inputs}) => (float y) {{ {body} }}", opset=opset, constants=arrays)
    view, tensors = derived(source)
    dims = view.dims(tensors["y"])
    return "unknown" if dims is None else ", ".join(map(repr, dims))


def value_of(body: str, inputs: str, *, opset: int = 17, constants: Mapping[str, Any] | None = None) -> str:
    """The elements of y as text."""
    arrays = {name: np.asarray(value) for name, value in (constants or {}).items()}
    source = model(f"g ({inputs}) => (int64 y) {{ {body} }}", opset=opset, constants=arrays)
    view, tensors = derived(source)
    value = view.value(tensors["y"])
    return "unknown" if value is None else ", ".join(map(repr, value.elements))


ONE = {"one": [1], "zero": [0], "two": [2], "minus": [-1], "m": [-1], "i": 1, "j": 0, "end": [_END]}
NCHW = "float[N,3,H,W] x"


@pytest.mark.parametrize(
    ("body", "inputs", "expected"),
    [
        ("y = Relu(x)", NCHW, "x.0, 3, x.2, x.3"),
        ("y = Add(x, k)", f"{NCHW}, float[3,1,1] k", "x.0, 3, x.2, x.3"),
        ("y = Add(x, k)", "float[N] x, float[4] k", "4"),
        ("y = Add(x, k)", "float[N] x, float[0] k", "broadcast(k.0, x.0)"),
        ("y = Add(x, z)", "float[N] x, float[N] z", "broadcast(x.0, z.0)"),
        ("a = Add(x, z)\n y = Mul(z, a)", "float[N] x, float[N] z", "broadcast(x.0, z.0)"),
        ("y = Where(c, x, z)", "bool[N,1] c, float[4] x, float[1] z", "c.0, 4"),
        # ONNX Runtime takes any rank for an input that is declared without dimensions.
        ("y = Where(c, x, z)", "bool[N,1] c, float[4] x, float z", "unknown"),
        ("y = Transpose(x)", NCHW, "x.3, x.2, 3, x.0"),
        ("y = Flatten(x)", NCHW, "x.0, 3*x.2*x.3"),
        ("y = Concat<axis = 1>(x, x)", NCHW, "x.0, 6, x.2, x.3"),
        # Sizes of empty operands are not compared: x may be one.
        ("y = Concat<axis = 0>(x, z)", "float[N,3] x, float[M,K] z", "x.0 + z.0, y.1"),
        ("y = Concat<axis = 0>(x, z)", "float[2,3] x, float[M,K] z", "z.0 + 2, 3"),
        ("y = Concat<axis = 0>(x, z)", "float[0] x, float[M,K] z", "unknown"),
        ("y = Squeeze(x, one)", "float[N,1] x", "x.0"),
        ("y = Squeeze(x)", "float[N,1] x", "unknown"),
        ("y = Squeeze(x, a)", "float[N,1] x, int64[1] a", "y.0"),
        ("y = Unsqueeze(x, minus)", "float[N] x", "x.0, 1"),
        ("y = Unsqueeze(x, a)", "float[N] x, int64[2] a", "y.0, y.1, y.2"),
        ("y = Conv(x, w)", f"{NCHW}, float[8,3,3,3] w", "x.0, 8, x.2 + -2, x.3 + -2"),
        ("y = Conv<pads = [1,1,1,1], strides = [2,2]>(x, w)", f"{NCHW}, float[8,3,3,3] w",
         "x.0, 8, floor_div(x.2 + 1, 2), floor_div(x.3 + 1, 2)"),
        ("y = Conv<auto_pad = \"SAME_UPPER\", strides = [2,2]>(x, w)", f"{NCHW}, float[8,3,3,3] w",
         "x.0, 8, floor_div(x.2 + 1, 2), floor_div(x.3 + 1, 2)"),
        ("y = ConvTranspose<strides = [2,2]>(x, w)", f"{NCHW}, float[3,8,2,2] w", "x.0, 8, 2*x.2, 2*x.3"),
        ("y = MaxPool<kernel_shape = [3,3], pads = [1,1,1,1], strides = [2,2]>(x)", NCHW,
         "x.0, 3, truncated_div(x.2 + -1, 2) + 1, truncated_div(x.3 + -1, 2) + 1"),
        ("y = MaxPool<kernel_shape = [3], pads = [1,2], strides = [2]>(x)", "float[N,3,H] x",
         "x.0, 3, floor_div(x.2, 2) + 1"),
        ('y = MaxPool<kernel_shape = [2], auto_pad = "SAME_UPPER", dilations = [2]>(x)', "float[N,3,5] x",
         "x.0, 3, y.2"),
        ('y = LpPool<kernel_shape = [2], auto_pad = "SAME_LOWER", dilations = [2]>(x)', "float[N,3,H] x",
         "x.0, 3, y.2"),
        ("y = MaxPool<kernel_shape = [2,2], strides = [2,2]>(x)", NCHW,
         "x.0, 3, truncated_div(x.2 + -2, 2) + 1, truncated_div(x.3 + -2, 2) + 1"),
        ("y = MaxPool<kernel_shape = [3,3], strides = [2,2], ceil_mode = 1>(x)", NCHW,
         "x.0, 3, floor_div(x.2, 2), floor_div(x.3, 2)"),
        ("y = MaxPool<kernel_shape = [1,1], strides = [2,2], ceil_mode = 1>(x)", NCHW, "x.0, 3, y.2, y.3"),
        ("y = GlobalAveragePool(x)", NCHW, "x.0, 3, 1, 1"),
        ("y = MatMul(x, w)", "float[N,M,K] x, float[K,5] w", "x.0, x.1, 5"),
        ("y = MatMul(x, w)", "float[K] x, float[N,K,L] w", "w.0, w.2"),
        ("y = Gemm<transB = 1>(x, w)", "float[N,K] x, float[5,K] w", "x.0, 5"),
        ("y = ReduceMean<axes = [2, -1]>(x)", NCHW, "x.0, 3, 1, 1"),
        ("y = ReduceMean<axes = [2, 3], keepdims = 0>(x)", NCHW, "x.0, 3"),
        ("y = ReduceSum<keepdims = 0>(x)", NCHW, ""),
        ("y = ReduceSum<noop_with_empty_axes = 1>(x)", NCHW, "x.0, 3, x.2, x.3"),
        ("y = ReduceSum<keepdims = 0>(x, a)", f"{NCHW}, int64[2] a", "y.0, y.1"),
        ("y = Gather<axis = 2>(x, g)", f"{NCHW}, int64[K,L] g", "x.0, 3, g.0, g.1, x.3"),
        ("y = Gather<axis = 2>(x, i)", NCHW, "x.0, 3, x.3"),
        ("y = GatherND(x, g)", f"{NCHW}, int64[K,2] g", "g.0, x.2, x.3"),
        ("y = Slice(x, one, end, two)", NCHW, "x.0, 3, max(0, x.2 + -1), x.3"),
        ("y = Slice(x, zero, minus, two)", NCHW, "x.0, 3, max(0, x.2 + -1), x.3"),
        ("y = Slice(x, zero, two, two)", NCHW, "x.0, 3, min(2, x.2), x.3"),
        ("y = Slice(x, minus, end, two)", NCHW, "x.0, 3, min(1, x.2), x.3"),
        ("y = Slice(x, zero, end, two, two)", NCHW, "x.0, 3, floor_div(x.2 + 1, 2), x.3"),
        ("y = Slice(x, zero, e, two)", f"{NCHW}, int64[1] e", "x.0, 3, y.2, x.3"),
        ("y, z = Split<axis = 0>(x)", "float[N] x", "floor_div(x.0, 2)"),
        ("y = TopK(x, two)", "float[N,M] x", "x.0, 2"),
        ("y = Tile(x, r)", "float[N,M] x, int64[2] r", "y.0, y.1"),
        ("y = Pad(x, p)", "float[N,M] x, int64[4] p", "y.0, y.1"),
        ("y = NonZero(x)", NCHW, "4, y.1"),
        ("y = NonZero(x)", "float x", "y.0, y.1"),
        ("y = Expand(x, e)", "float[N,1] x, int64[3] e", "y.0, y.1, y.2"),
        ("y = Reshape(x, r)", "float[N,1] x, int64[3] r", "y.0, y.1, y.2"),
        ("y = Reshape(x, r)", "float[N,1] x, int64[R] r", "unknown"),
        ("y, h, c = LSTM<hidden_size = 7>(x, w, r)", "float[S,N,3] x, float[1,28,3] w, float[1,28,7] r",
         "x.0, 1, x.1, 7"),
        ("y = STFT(x, one)", "float[N,L,1] x", "x.0, y.1, y.2, 2"),
    ],
)  # fmt: skip
def test_dims(body: str, inputs: str, expected: str) -> None:
    assert dims_of(body, inputs, constants=ONE) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = Reshape(x, k)", "x.0, 3*x.2*x.3"),
        ("t = Transpose<perm = [0,2,3,1]>(x)\n y = Reshape(t, k)", "x.0, 3*x.2*x.3"),
        ("s = Shape(x)\n y = Reshape(x, s)", "x.0, 3, x.2, x.3"),
        ("s = Shape(x)\n n = Gather(s, j)\n u = Unsqueeze(n, zero)\n r = Concat<axis = 0>(u, m)\n y = Reshape(x, r)",
         "x.0, 3*x.2*x.3"),
        ("s = Shape(x)\n h = Slice(s, two, end)\n r = Concat<axis = 0>(nc, h)\n y = Resize(x, , , r)",
         "2, 3, x.2, x.3"),
        ("y = Resize(x, , scales)", "x.0, 3, 2*x.2, floor_div(x.3, 2)"),
        ("s = Shape<start = 2>(x)\n p = ReduceProd<keepdims = 1>(s)\n r = Concat<axis = 0>(p, m)\n y = Reshape(x, r)",
         "nonzero(x.2*x.3, x.0), y.1"),
        ("s = Shape(x)\n y = Expand(one, s)", "x.0, 3, x.2, x.3"),
        ("s = Shape(x)\n y = ConstantOfShape(s)", "x.0, 3, x.2, x.3"),
        ("s = Size(x)\n y = Range(j, s, i)", "3*x.0*x.2*x.3"),
        ("s = Shape(x)\n n = Gather(s, i2)\n y = Range(i, n, i)", "max(0, x.2 + -1)"),
        ("s = Shape(x)\n e = Equal(s, minus)\n r = Where(e, one, s)\n y = Expand(one, r)", "x.0, 3, x.2, x.3"),
        ("s = Shape<start = 2, end = 3>(x)\n a = Add(s, one)\n d = Div(a, two)\n y = Slice(x, zero, d, two)",
         "x.0, 3, min(floor_div(x.2 + 1, 2), x.2), x.3"),
        ("s = Shape(x)\n f = Cast<to = 1>(s)\n c = Cast<to = 7>(f)\n y = ConstantOfShape(c)", "y.0, 3, y.2, y.3"),
        ("s = Shape(x)\n f = Cast<to = 6>(s)\n c = Cast<to = 7>(f)\n y = ConstantOfShape(c)", "x.0, 3, x.2, x.3"),
        ("s = Shape(x)\n f = Cast<to = 3>(s)\n c = Cast<to = 7>(f)\n y = ConstantOfShape(c)", "y.0, 3, y.2, y.3"),
    ],
)  # fmt: skip
def test_chains_of_shapes(body: str, expected: str) -> None:
    constants = {
        **ONE, "k": [0, -1], "nc": [2, 3], "scales": np.array([1, 1, 2, 0.5], np.float32), "i2": 2,
    }  # fmt: skip
    assert dims_of(body, NCHW, constants=constants, opset=16) == expected


def test_padding_to_the_same_size() -> None:
    """The idiom that asks for the size, pads to a multiple and reverses the pads' order."""
    body = """
        s = Shape(x)
        h = Gather(s, minus)
        r = Mod(h, k)
        d = Sub(k, r)
        p = Mod(d, k)
        none = ConstantOfShape<value = int64[1] {0}>(six)
        pads = Concat<axis = 0>(p, none, zero)
        rows = Reshape(pads, pairs)
        back = Slice(rows, minus, lowest, zero, minus)
        t = Transpose<perm = [1, 0]>(back)
        flat = Reshape(t, minus)
        y = Pad(x, flat)
    """
    constants = {**ONE, "k": [8], "six": [6], "pairs": [-1, 2], "lowest": [-_END]}
    assert dims_of(body, NCHW, constants=constants, opset=13) == "x.0, 3, x.2, 8*floor_div(x.3 + 7, 8)"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = Shape(x)", "x.0, 3, x.2, x.3"),
        ("y = Shape<start = -2>(x)", "x.2, x.3"),
        ("y = Size(x)", "3*x.0*x.2*x.3"),
        ("s = Shape(x)\n y = Gather(s, minus)", "x.3"),
        ("s = Shape(x)\n y = Slice(s, minus, zero, zero, minus)", "x.3, x.2, 3"),
        ("s = Shape(x)\n y = Concat<axis = 0>(s, u)", "x.0, 3, x.2, x.3, None, None"),
        ("s = Shape(x)\n y = Mul(s, s)", "x.0*x.0, 9, x.2*x.2, x.3*x.3"),
        ("s = Shape(x)\n y = Sub(s, s)", "0, 0, 0, 0"),
        ("s = Shape(x)\n y = Div(s, two)", "floor_div(x.0, 2), 1, floor_div(x.2, 2), floor_div(x.3, 2)"),
        ("s = Shape(x)\n n = Sub(zero, s)\n y = Div(n, two)", "None, -1, None, None"),
        ("s = Shape(x)\n y = Max(s, zero)", "x.0, 3, x.2, x.3"),
        ("s = Shape(x)\n y = Min(s, two)", "min(2, x.0), 2, min(2, x.2), min(2, x.3)"),
        ("s = Shape(x)\n y = GreaterOrEqual(s, zero)", "True, True, True, True"),
        ("s = Shape(x)\n y = Less(s, two)", "None, False, None, None"),
        ("s = Shape(x)\n y = Equal(s, minus)", "False, False, False, False"),
        ("s = Shape(x)\n e = Equal(s, minus)\n y = Not(e)", "True, True, True, True"),
        ("s = Shape(x)\n a = Less(s, two)\n b = Less(s, zero)\n y = And(a, b)", "False, False, False, False"),
        ("s = Shape(x)\n y = ReduceSum(s)", "x.0 + 3 + x.2 + x.3"),
        ("s = Shape(x)\n y, z = Split(s)", "x.0, 3"),
        ("s = Shape(x)\n c = Cast<to = 9>(s)\n y = Cast<to = 7>(c)", "None, 1, None, None"),
        ("y = Mul(k, k)", "0, 0"),
        ("y = Div(odd, two)", "-3, 3"),
        ("y = Mod(odd, two)", "1, 1"),
        ("y = Mod<fmod = 1>(odd, two)", "-1, 1"),
        ("y = Div(odd, zero)", "None, None"),
        ("f = Cast<to = 1>(odd)\n h = Mul(f, half)\n y = Cast<to = 7>(h)", "-3, 3"),
        ("f = Cast<to = 1>(odd)\n h = Mul(f, half)\n c = Floor(h)\n y = Cast<to = 7>(c)", "-4, 3"),
        ("y = Add(x, x)", "unknown"),
        ("y = Identity(u)", "unknown"),
    ],
)
def test_values(body: str, expected: str) -> None:
    constants = {**ONE, "k": [1 << 32, -(1 << 33)], "odd": [-7, 7], "half": np.array(0.5, np.float32)}
    assert value_of(body, f"{NCHW}, int64[2] u", constants=constants) == expected


@pytest.mark.parametrize(
    ("body", "opset", "expected"),
    [
        ("y = Add<broadcast = 1, axis = 1>(x, k)", 6, "x.0, 3, x.2, x.3"),
        ("y = Squeeze<axes = [1]>(x1)", 11, "x1.0"),
        ("y = Unsqueeze<axes = [0, 3]>(x1)", 11, "1, x1.0, 1, 1"),
        ("y = ReduceSum<axes = [-1]>(x)", 11, "x.0, 3, x.2, 1"),
        ("y = Slice<starts = [0, 1], ends = [2, 3], axes = [2, 1]>(x)", 9, "x.0, 2, min(2, x.2), x.3"),
        ("y = Slice<starts = [1], ends = [9223372036854775807], axes = [0]>(x)", 9, "max(0, x.0 + -1), 3, x.2, x.3"),
        ("y = Pad<pads = [0,0,1,2,0,0,3,4]>(x)", 10, "x.0, 3, x.2 + 4, x.3 + 6"),
        ("y = Pad<paddings = [0,0,1,2,0,0,3,4]>(x)", 1, "x.0, 3, x.2 + 4, x.3 + 6"),
        ("y = Reshape<shape = [0,-1]>(x)", 1, "x.0, 3*x.2*x.3"),
        ("y = Upsample<scales = [1.0,1.0,2.0,2.0]>(x)", 7, "x.0, 3, 2*x.2, 2*x.3"),
        ("y = Split<axis = 1, split = [1,2]>(x)", 11, "x.0, y.1, x.2, x.3"),
        ("y, z = Split<axis = 1, split = [1,2]>(x)", 11, "x.0, 1, x.2, x.3"),
        ("y, z = TopK<k = 2>(x)", 1, "x.0, 3, x.2, 2"),
        ("y = Concat(x, x)", 1, "x.0, 6, x.2, x.3"),
        ("y = Cast<to = \"FLOAT\">(x)", 1, "x.0, 3, x.2, x.3"),
        ("y = Softmax(x)", 1, "x.0, 3, x.2, x.3"),
    ],
)  # fmt: skip
def test_forms_of_older_versions(body: str, opset: int, expected: str) -> None:
    assert dims_of(body, f"{NCHW}, float[M,1] x1, float[3] k", opset=opset) == expected


@pytest.mark.parametrize("end", [(1 << 31) - 1, (1 << 63) - 1])
def test_backwards_to_an_end_that_runtimes_take_for_the_beginning(end: int) -> None:
    constants = {"start": [2], "end": [end], "axis": [1], "step": [-1]}
    assert dims_of("y = Slice(x, start, end, axis, step)", NCHW, constants=constants) == "x.0, y.1, x.2, x.3"
