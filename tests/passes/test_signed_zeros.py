"""Zeros: each claim on special values in ONNX Runtime and in onnx's reference, and what follows for added zeros."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Iterable, Iterator

import numpy as np
import pytest
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from maxfold.model import read_onnx
from maxfold.model.view import View
from maxfold.passes import signed_zeros
from maxfold.passes.signed_zeros import UNSIGNED, Zeros, zeros
from tests.model.inference.runtime import Runtime
from tests.passes.outcome import outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import Array, model

KINDS = {"float": np.float32, "double": np.float64, "float16": np.float16}
_SPECIAL = [
    0.0, -0.0, 1.0, -1.0, 0.3, -0.3, 0.5, -0.5, 2.0, -2.0, 1e-7, -1e-7, 88.0, -88.0, 104.0, -104.0, 746.0, -746.0,
    np.inf, -np.inf, np.nan, 6e4, -6e4,
]  # fmt: skip

# Nodes over x, and y of the same shape, [2,N], by operator.
DERIVED: dict[str, list[str]] = {
    **{name: [f"z = {name}(x)"] for name in UNSIGNED if not name.startswith("Reduce")},
    **{name: [f"z = {name}<axes = [1]>(x)", f"z = {name}(x)"] for name in UNSIGNED if name.startswith("Reduce")},
    **{name: [f"z = {name}(x)"] for name in ("Ceil", "Floor", "Identity", "Reciprocal", "Relu", "Round", "Sqrt")},
    **{name: [f"z = {name}<axes = [1]>(x)", f"z = {name}(x)"] for name in ("ReduceMax", "ReduceMean", "ReduceMin")},
    **{name: [f"z = {name}(x, y)"] for name in ("Add", "Div", "Max", "Min", "Sum", "Sub")},
    "AveragePool": ["t = Reshape(x, nchw)\n z = AveragePool<kernel_shape = [2,2], pads = [1,1,1,1]>(t)"],
    "GlobalAveragePool": ["t = Reshape(x, nchw)\n z = GlobalAveragePool(t)"],
    "GlobalMaxPool": ["t = Reshape(x, nchw)\n z = GlobalMaxPool(t)"],
    "MaxPool": ["t = Reshape(x, nchw)\n z = MaxPool<kernel_shape = [2,2], pads = [1,1,1,1]>(t)"],
    "Cast": ["z = Cast<to = 1>(x)", "z = Cast<to = 11>(x)", "z = Cast<to = 10>(x)", "z = Cast<to = 16>(x)"],
    "Clip": ["z = Clip(x, zero, one)", "z = Clip(x, one)", "z = Clip(x, , one)", "z = Clip(x, least, one)"],
    "Concat": ["z = Concat<axis = 0>(x, y)"],
    "ConstantOfShape": ["z = ConstantOfShape(nchw)", "z = ConstantOfShape<value = float[1] {-0.0}>(nchw)"],
    "DepthToSpace": ["t = Reshape(x, nchw)\n z = DepthToSpace<blocksize = 2>(t)"],
    "DequantizeLinear": ["z = DequantizeLinear(whole, scale, point)", "z = DequantizeLinear(whole, none, point)"],
    "Expand": ["z = Expand(x, wide)"],
    "Flatten": ["z = Flatten(x)"],
    "Gather": ["z = Gather(x, index)"],
    "GatherElements": ["z = GatherElements(x, indices)"],
    "GatherND": ["z = GatherND(x, indices)"],
    "Mul": ["z = Mul(x, y)", "z = Mul(x, x)"],
    "Pow": ["z = Pow(x, y)", "z = Pow(x, two)"],
    "ReduceSum": ["z = ReduceSum(x)", "z = ReduceSum(x, axis)"],
    "Reshape": ["z = Reshape(x, nchw)"],
    "ReverseSequence": ["z = ReverseSequence<batch_axis = 0, time_axis = 1>(x, lengths)"],
    "Slice": ["z = Slice(x, axis, wide, axis)"],
    "SpaceToDepth": ["t = Reshape(x, nchw)\n z = SpaceToDepth<blocksize = 2>(t)"],
    "Split": ["z, t = Split<axis = 1>(x)", "t, z = Split<axis = 1>(x)"],
    "Squeeze": ["t = Reshape(x, ones)\n z = Squeeze(t)"],
    "Tile": ["z = Tile(x, wide)"],
    "Transpose": ["z = Transpose(x)"],
    "Unsqueeze": ["z = Unsqueeze(x, axis)"],
    "Where": ["c = Less(x, y)\n z = Where(c, x, y)"],
}  # fmt: skip
CARRYING: dict[str, list[str]] = {
    **{name: bodies for name, bodies in DERIVED.items() if name in signed_zeros.CARRYING},
    **{
        name: [f"z = {name}(x)"]
        for name in (
            "Asin", "Asinh", "Atan", "Atanh", "Celu", "Cos", "Elu", "Erf", "HardSigmoid", "HardSwish", "IsInf", "IsNaN",
            "LeakyRelu", "Neg", "NonZero", "Selu", "Sin", "Sinh", "Softsign", "Tan", "Tanh",
        )
    },
    **{name: [f"z = {name}<axis = 1>(x)"] for name in ("ArgMax", "ArgMin")},
    **{name: [f"z = {name}(x, y)"] for name in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Mean")},
    "BatchNormalization": ["t = Reshape(x, nchw)\n z = BatchNormalization(t, four, four, four, four)"],
    "Conv": ["t = Reshape(x, nchw)\n u = Reshape(y, nchw)\n z = Conv(t, u, bias)"],
    "ConvTranspose": ["t = Reshape(x, nchw)\n u = Reshape(y, other)\n z = ConvTranspose(t, u)"],
    "Div": ["z = Div(x, two)"],
    "Gelu": ["z = Gelu(x)"],
    "Gemm": ["z = Gemm<transB = 1>(x, y)", "z = Gemm<transA = 1>(x, y, row)"],
    "MatMul": ["t = Transpose(y)\n z = MatMul(x, t)", "t = Transpose(x)\n z = MatMul(t, y)"],
    "Pad": ["z = Pad(x, pads)", 'z = Pad<mode = "reflect">(x, pads)'],
    "Pow": ["z = Pow(x, two)", "z = Pow(x, half)"],
    "QuantizeLinear": ["z = QuantizeLinear(x, scale, point)"],
    "Resize": [
        't = Reshape(x, nchw)\n z = Resize<mode = "linear">(t, , scales)',
        't = Reshape(x, nchw)\n z = Resize<mode = "cubic">(t, , scales)',
    ],
    "Swish": ["z = Swish(x)"],
}  # fmt: skip
# Operators of newer sets than the others.
OPSETS = {"DequantizeLinear": 19, "Gelu": 20, "HardSwish": 14, "Swish": 24}
# Zeros of their second operand matter.
FIRST_ALONE = {"Div", "Pow"}
MADE = {Zeros.ANY: "Identity({})", Zeros.POSITIVE: "Add({}, zero)", Zeros.UNSIGNED: "Abs({})"}
SHAPE = (2, 16)


def built(operator: str, body: str, kind: str, levels: tuple[Zeros, Zeros] = (Zeros.ANY, Zeros.ANY)) -> ModelProto:
    """A model of which z is the only output, of whatever type; x and y have no more zeros than is said."""
    dtype = KINDS[kind]
    constants: dict[str, Array] = {
        "nchw": np.array([2, 4, 2, 2]), "other": np.array([4, 2, 2, 2]), "ones": np.array([2, 1, 16]),
        "wide": np.array([2, 16]), "axis": np.array([1]), "index": np.array([1, 0]),
        "indices": np.array([[1, 0], [0, 1]]), "lengths": np.array([3, 5]), "pads": np.array([0, 1, 0, 2]),
        "scales": np.array([1, 1, 2, 2], np.float32), "zero": np.array(0, dtype), "one": np.array(1, dtype),
        "least": np.array(-0.0, dtype), "two": np.array(2, dtype), "half": np.array(0.5, dtype),
        "bias": np.zeros(2, dtype), "four": np.array([1, 2, 3, 4], dtype), "row": np.zeros(16, dtype),
        "whole": np.arange(-9, 9, dtype=np.int8), "point": np.array(0, np.int8),
        "scale": np.array(1e-40, np.float32), "none": np.array(0, np.float32),
    }  # fmt: skip
    x, y = (MADE[level].format(name) for level, name in zip(levels, "ab", strict=True))
    proto = model(
        f"g ({kind}[2,16] a, {kind}[2,16] b) => ({kind} z) {{ x = {x}\n y = {y}\n {body} }}",
        constants=constants,
        opset=OPSETS.get(operator, 13),
        ir_version=10,
    )
    loaded = read_onnx(proto)
    found = View(loaded).dtype(loaded.graph.outputs[0])
    assert found is not None
    assert found.onnx is not None
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    proto.graph.output[0].type.tensor_type.elem_type = found.onnx
    return proto


def results(proto: ModelProto, feed_sets: Iterable[dict[str, Array]], runtime: Runtime) -> Iterator[list[Array]]:
    """What ONNX Runtime and onnx's reference give for each set, without those that do not compute it."""
    reference = ReferenceEvaluator(proto)
    for feeds in feed_sets:
        found = list((runtime.run(proto, feeds) or {}).values())
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # It has not all types of all operators.
            with contextlib.suppress(Exception):
                found.append(np.asarray(reference.run(None, feeds)[0]))
        yield found


def drawn(kind: str, count: int) -> Iterator[dict[str, Array]]:
    """Special values in many combinations, and rows of zeros alone."""
    rng = np.random.default_rng(count)
    dtype = KINDS[kind]
    with np.errstate(over="ignore"):
        special = np.array([*_SPECIAL, np.finfo(dtype).smallest_subnormal, -np.finfo(dtype).smallest_subnormal], dtype)
    for number in range(count):
        values = special if number % 3 else np.array([0.0, -0.0], dtype)
        if number % 3 == 2:
            values = special[np.isfinite(special)]
        yield {name: rng.choice(values, SHAPE) for name in "ab"}


def with_other_zeros(feeds: dict[str, Array], names: str) -> dict[str, Array]:
    return {name: np.where(array == 0, -array, array) if name in names else array for name, array in feeds.items()}


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    started = Runtime()
    yield started
    started.close()


@pytest.mark.parametrize("operator", sorted(signed_zeros.DERIVED))
def test_what_is_said_of_zeros_holds(operator: str, runtime: Runtime) -> None:
    compared = 0
    for body, kind, *levels in itertools.product(DERIVED[operator], KINDS, Zeros, Zeros):
        if levels[1] and ", y)" not in body:
            continue
        proto = built(operator, body, kind, (levels[0], levels[1]))
        loaded = read_onnx(proto)
        level = zeros(loaded.graph.outputs[0], View(loaded))
        for result in itertools.chain.from_iterable(results(proto, drawn(kind, 9 if level else 0), runtime)):
            numbers = result.astype(np.float64).reshape(-1)
            signed = numbers[np.signbit(numbers) & ~np.isnan(numbers)]
            assert not (signed == 0).any(), (body, kind, levels)
            assert level is not Zeros.UNSIGNED or not signed.size, (body, kind, levels)
            compared += 1
    assert compared, "nothing is said"


@pytest.mark.parametrize("operator", sorted(signed_zeros.CARRYING))
def test_other_zeros_make_other_zeros_at_most(operator: str, runtime: Runtime) -> None:
    """What differs in signs of zeros alone before these operators does so behind them, or nothing does."""
    compared = 0
    names = "a" if operator in FIRST_ALONE else "ab"
    for body, kind in itertools.product(CARRYING[operator], KINDS):
        proto = built(operator, body, kind)
        feed_sets = list(drawn(kind, 12))
        other_sets = [with_other_zeros(feeds, names) for feeds in feed_sets]
        for pair in zip(results(proto, feed_sets, runtime), results(proto, other_sets, runtime), strict=True):
            assert_equal(*pair, zeros_differ=operator in signed_zeros.SAME_OF_BOTH)
            compared += len(pair[0])
    assert compared


CONSTANTS: dict[str, Array] = {
    "z": np.array(0, np.float32), "m": np.array(-0.0, np.float32), "one": np.array(1, np.float32),
    "two": np.array(2, np.float32), "minus": np.array(-1, np.float32), "flat": np.array([-1]),
    "w": np.random.default_rng(1).standard_normal((2, 2, 3, 3)).astype(np.float32), "ones": np.ones(2, np.float32),
}  # fmt: skip
GOES = [
    # What is added to is never -0.0.
    "a = Abs(x)\n y = Add(a, z)",
    "a = Add(x, one)\n y = Add(z, a)",
    "a = Mul(x, x)\n b = ReduceMean<axes = [0]>(a)\n y = Add(b, z)",
    "a = Exp(x)\n b = Reshape(a, flat)\n y = Add(b, z)",
    "a = Mul(x, x)\n b = Sqrt(a)\n y = Sub(b, m)",
    # Of two added zeros, one stays.
    "a = Add(x, z)\n y = Add(a, z)",
    "a = Add(x, z)\n b = Add(x, z)\n y = Add(a, b)",
    # Those that read it cannot tell.
    "a = Add(x, z)\n y = Add(a, one)",
    "a = Add(x, z)\n y = Mul(a, a)",
    "a = Add(x, z)\n b = Mul(a, two)\n c = Relu(b)\n y = Add(c, one)",
    "a = Sub(x, m)\n b = Neg(a)\n y = Sigmoid(b)",
    "a = Add(x, z)\n b = Conv(a, w)\n y = Sigmoid(b)",
    "a = Add(x, z)\n b = Cast<to = 7>(a)\n y = Cast<to = 1>(b)",
]
STAYS = [
    "a = Conv(x, w, ones)\n y = Add(a, z)",
    "a = Relu(x)\n y = Add(a, z)",
    "a = Mul(x, two)\n y = Add(a, z)",
    "a = Mul(x, two)\n y = Sub(a, m)",
    "a = Add(x, z)\n y = Mul(a, two)",
    "a = Add(x, z)\n b = Conv(a, w)\n c = Sqrt(b)\n d = Reciprocal(c)\n e = Abs(a)\n y = Concat<axis = 1>(d, d)",
    "a = Add(x, z)\n y = Reciprocal(a)",
    "a = Add(x, z)\n y = Div(one, a)",
    "a = Add(x, z)\n y = Pow(a, minus)",
    "a = Add(x, z)\n b = Cast<to = 8>(a)\n y = Cast<to = 1>(b)",
]
REASONS = {f"{sum_} is not x for x = -0.0; only with --math relaxed" for sum_ in ("x + 0.0", "x - (-0.0)")}


def adding(body: str) -> ModelProto:
    proto = model(f"g (float[1,2,4,4] x) => (float y) {{ {body} }}", constants=CONSTANTS, opset=13)
    loaded = read_onnx(proto)
    for size in View(loaded).shape(loaded.graph.outputs[0]) or ():
        proto.graph.output[0].type.tensor_type.shape.dim.add(dim_value=size)
    return proto


@pytest.mark.parametrize("body", GOES)
def test_an_added_zero_goes(body: str) -> None:
    result = outcome("remove-neutral-operand" if "Sub" in body else "fuse-add", adding(body))
    assert result.changes == 1
    values = np.array([0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30, np.inf, -np.inf, np.nan], np.float32)
    for seed in range(8):
        given = values[: 4 if seed % 2 else None] if "to = 7" not in body else values[:4]
        feeds = {"x": np.random.default_rng(seed).choice(given, (1, 2, 4, 4))}
        assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(result.before, feeds), zeros_differ=True)


@pytest.mark.parametrize("body", STAYS)
def test_an_added_zero_stays(body: str) -> None:
    result = outcome("remove-neutral-operand" if "Sub" in body else "fuse-add", adding(body))
    assert result.changes == 0
    assert set(result.reasons) <= REASONS


def test_what_an_output_shows_is_kept() -> None:
    proto = model(
        "g (float[4] x) => (float[4] y, float[4] b) { a = Add(x, z)\n b = Neg(a)\n y = Exp(b) }", constants=CONSTANTS
    )
    assert outcome("fuse-add", proto).changes == 0


def test_what_holds_other_zeros_is_another_tensor() -> None:
    """So that whatever was derived of what was there is of what was there."""
    result = outcome("fuse-add", adding("a = Add(x, z)\n b = Neg(a)\n c = Relu(b)\n y = Sigmoid(c)"))
    assert result.text.splitlines()[-3:] == ["b_new = Neg(x)", "c_new = Relu(b_new)", "y = Sigmoid(c_new)"]


def test_many_operands_take_no_longer_than_a_few() -> None:
    """Eight concatenations of 200 operands each, which are concatenations themselves."""
    body = "a0 = Abs(x)\n" + "\n".join(
        f"a{level + 1} = Concat<axis = 0>({', '.join([f'a{level}'] * 200)})" for level in range(7)
    )
    loaded = read_onnx(model(f"g (float[2] x) => (float[N] a7) {{ {body} }}"))
    assert zeros(loaded.graph.outputs[0], View(loaded)) is Zeros.UNSIGNED


def test_far_operands_are_not_looked_at() -> None:
    body = "a0 = Abs(x)\n" + "\n".join(f"a{level + 1} = Reshape(a{level}, flat)" for level in range(9))
    loaded = read_onnx(model(f"g (float[2] x) => (float[N] a9) {{ {body} }}", constants=CONSTANTS))
    view = View(loaded)
    found = [zeros(node.outputs[0], view) for node in loaded.graph.nodes]
    assert found == [Zeros.UNSIGNED] * 8 + [Zeros.ANY] * 2
