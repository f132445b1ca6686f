"""All fusing passes on random models of operators that they look at: results stay what they are, up to rounding."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest
from onnx import ModelProto, checker

from maxfold.model import read_onnx, write_onnx
from maxfold.model.edit import Edit
from maxfold.passes import CATALOGUE
from maxfold.passes.driver import RulePass, run_rule_passes
from tests.run import in_onnxruntime
from tests.text import Array, model

NAMES = ("fuse-arithmetic", "fuse-pad", "fuse-slices", "hoist-above-split", "hoist-reshapes", "fuse-convolutions",
         "fuse-gemm", "fuse-scales", "fuse-sums-of-squares", "fuse-hard-swish", "fuse-layer-normalization",
         "fuse-space-to-depth")  # fmt: skip
SHAPE = (2, 4, 4, 4)
# Each keeps the shape; {a} and {b} are earlier tensors, {n} the new one.
FORMS = (
    "{n} = Mul({a}, scalar)",
    "{n} = Div({a}, other)",
    "{n} = Mul(scalar, {a})",
    "{n} = Mul({a}, channel)",
    "{n} = Add(channel, {a})",
    "{n} = Sub(other, {a})",
    "{n} = Neg({a})",
    "{n} = Relu({a})",
    "{n} = Sigmoid({a})",
    "{n} = Add({a}, {b})",
    "{n} = Mul({a}, {b})",
    "{n} = MatMul({a}, {b})",
    "{n} = MatMul({a}, matrix)",
    "{n} = Transpose<perm = [0,1,3,2]>({a})",
    "{n} = Conv({a}, pointwise, bias)",
    "{n} = Conv<pads = [1,1,1,1], group = 2>({a}, grouped)",
    "{n}p = Pad({a}, pads)\n {n} = Conv({n}p, filter)",
    "{n} = ConvTranspose({a}, pointwise)",
    "{n} = BatchNormalization({a}, bias, bias, bias, bias)",
    "{n}s = Sigmoid({a})\n {n}r = Reciprocal({n}s)\n {n} = Mul({a}, {n}r)",
    (
        "{n}c, {n}d = Split<axis = 1>({a}, halves)\n {n}f = Mul({n}c, scalar)\n {n}g = Mul({n}d, scalar)\n "
        "{n} = Concat<axis = 1>({n}f, {n}g)"
    ),
    "{n}d = Div({a}, other)\n {n}e = Erf({n}d)\n {n}f = Add({n}e, scalar)\n {n} = Mul({a}, {n}f)",
    (
        "{n}m = ReduceMean<axes = [1]>({a})\n {n}d = Sub({a}, {n}m)\n {n}q = Mul({n}d, {n}d)\n "
        "{n}v = ReduceMean<axes = [1]>({n}q)\n {n}e = Add({n}v, scalar)\n {n}r = Sqrt({n}e)\n {n} = Div({n}d, {n}r)"
    ),
)


def constants(seed: int) -> dict[str, Array]:
    draw = np.random.default_rng(seed)

    def values(*shape: int) -> Array:
        return draw.uniform(0.5, 1.5, shape).astype(np.float32)

    return {
        "scalar": values(), "other": values(1), "channel": values(4, 1, 1), "matrix": values(4, 4) / 4,
        "pointwise": values(4, 4, 1, 1) / 4, "bias": values(4), "grouped": values(4, 2, 3, 3) / 18,
        "filter": values(4, 4, 3, 3) / 36, "pads": np.array([0, 0, 1, 0, 0, 0, 1, 2]), "halves": np.array([2, 2]),
    }  # fmt: skip


def random_model(seed: int) -> ModelProto:
    """Up to ten forms in a row and across, of which the last gives the output."""
    draw = random.Random(seed)
    known, lines = ["x"], []
    for index in range(draw.randint(3, 10)):
        form = draw.choice(FORMS)
        name = f"t{index}"
        lines.append(form.format(a=draw.choice(known[-3:]), b=draw.choice(known), n=name))
        known.append(name)
    text = "\n ".join(lines)
    return model(f"g (float[N,4,4,4] x) => (float[A,B,C,D] {known[-1]}) {{ {text} }}", constants=constants(seed))


def fused(source: ModelProto, math: str) -> ModelProto:
    loaded = read_onnx(source)
    passes = [entry() for entry in CATALOGUE if entry.name in NAMES]
    run_rule_passes([entry for entry in passes if isinstance(entry, RulePass)], Edit(loaded, math=math))
    stream = io.BytesIO()
    write_onnx(loaded, stream)
    return ModelProto.FromString(stream.getvalue())


@pytest.mark.parametrize("seed", range(60))
def test_results_stay(seed: int) -> None:
    source = random_model(seed)
    x = np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32)
    (expected,) = in_onnxruntime(source, {"x": x})
    (nudged,) = in_onnxruntime(source, {"x": x * np.float32(1 + 2e-7)})
    for math in ("exact", "relaxed"):
        result = fused(source, math)
        checker.check_model(result, full_check=True)
        (actual,) = in_onnxruntime(result, {"x": x})
        assert actual.shape == expected.shape
        # What the original itself moves by when its input moves by a last place is noise.
        noise = 20 * float(np.abs(nudged - expected).max()) + 1e-5 * max(1.0, float(np.abs(expected).max()))
        assert float(np.abs(actual - expected).max()) <= (0 if math == "exact" else noise)
