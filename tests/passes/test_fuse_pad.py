"""fuse-pad: pads that a convolution or pooling takes in, and each reason why one stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from tests.passes.closeness import nodes, random_feeds
from tests.passes.outcome import Outcome, outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import Array, model


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-pad", source, **options)


def source_of(body: str, pads: list[int], opset: int = 13, value: float = 0.0, axes: Any = None) -> ModelProto:
    weight = np.random.default_rng(1).standard_normal((2, 3, 3, 3)).astype(np.float32)
    everything: dict[str, Array] = {"w": weight, "a": np.array(pads), "v": np.array(value, np.float32)}
    everything["axes"] = np.array(axes if axes is not None else [0])
    used = {name: array for name, array in everything.items() if f" {name})" in body or f" {name}," in body}
    outputs = ", float[E,F,G,H] z" if "z = " in body else ""
    return model(f"g (float[N,3,7,6] x) => (float[A,B,C,D] y{outputs}) {{ {body} }}", opset=opset, constants=used)


RELAXED = "runtimes pool -0.0, -inf and NaN otherwise where they pad themselves; only with --math relaxed"
SPATIAL = [0, 0, 1, 0, 0, 0, 2, 1]


@pytest.mark.parametrize(
    ("body", "pads", "more", "expected"),
    [
        ("p = Pad(x, a)\n y = Conv(p, w)", SPATIAL, {}, "y = Conv<pads=[1, 0, 2, 1]>(x, w)"),
        ("p = Pad(x, a, v)\n y = Conv<auto_pad = \"VALID\">(p, w)", SPATIAL, {}, "y = Conv<pads=[1, 0, 2, 1]>(x, w)"),
        ("p = Pad(x, a, v)\n y = Conv<pads = [1,1,0,0], strides = [2,1]>(p, w)", SPATIAL, {},
         "y = Conv<pads=[2, 1, 2, 1], strides=[2, 1]>(x, w)"),
        ("p = Pad<pads = [0,0,1,1,0,0,1,1]>(x)\n y = Conv(p, w)", [], {"opset": 10},
         "y = Conv<pads=[1, 1, 1, 1]>(x, w)"),
        ("p = Pad(x, a, , axes)\n y = Conv(p, w)", [1, 2, 3, 4], {"opset": 18, "axes": [-1, 2]},
         "y = Conv<pads=[2, 1, 4, 3]>(x, w)"),
        ("p = Pad(x, a)\n y = AveragePool<kernel_shape = [3,3]>(p)", SPATIAL, {},
         "y = AveragePool<count_include_pad=1, kernel_shape=[3, 3], pads=[1, 0, 2, 1]>(x)"),
        ("p = Pad(x, a)\n y = AveragePool<kernel_shape = [3,3], pads = [1,1,0,0], count_include_pad = 1>(p)", SPATIAL,
         {}, "y = AveragePool<count_include_pad=1, kernel_shape=[3, 3], pads=[2, 1, 2, 1]>(x)"),
        ("p = Pad(x, a, v)\n y = MaxPool<kernel_shape = [3,3], strides = [2,2]>(p)", SPATIAL, {"value": -np.inf},
         "y = MaxPool<kernel_shape=[3, 3], pads=[1, 0, 2, 1], strides=[2, 2]>(x)"),
    ],
)  # fmt: skip
def test_what_is_taken_in(body: str, pads: list[int], more: dict[str, Any], expected: str) -> None:
    source = source_of(body, pads, **more)
    if "Pool" in body:
        exact = fused(source)
        assert (exact.changes, exact.reasons) == (0, [RELAXED])
        assert [decline.relaxed_gain for decline in exact.declines] == [1]
    result = fused(source, math="relaxed" if "Pool" in body else "exact")
    assert nodes(result) == expected
    feeds = random_feeds(result.before)
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(result.before, feeds), zeros_differ=True)


POOL = "p = Pad(x, a, v)\n y = AveragePool<kernel_shape = [3,3]{}>(p)"


@pytest.mark.parametrize(
    ("body", "pads", "value", "reason"),
    [
        ("p = Pad<mode = \"reflect\">(x, a)\n y = Conv(p, w)", SPATIAL, 0, "the Pad before it is of mode reflect"),
        ("p = Pad(x, a, v)\n y = Conv(p, w)", SPATIAL, 1, "Conv pads with zeros, and the Pad before it does not"),
        ("p = Pad(x, a, v)\n y = Conv(p, w)", SPATIAL, -0.0, "Conv pads with zeros, and the Pad before it does not"),
        ("p = Pad(x, a, v)\n y = MaxPool<kernel_shape = [3,3]>(p)", SPATIAL, 0,
         "MaxPool pads with -inf, and the Pad before it does not"),
        ("p = Pad(x, a, v)\n y = MaxPool<kernel_shape = [2,2], dilations = [2,1]>(p)", SPATIAL, -np.inf,
         "pooling takes no pads as wide as its kernel"),
        ("p = Pad(x, a, v)\n y = MaxPool<kernel_shape = [3,3], dilations = [2,1]>(p)", SPATIAL, -np.inf,
         "with dilations, a window may hold nothing but pads"),
        ("p = Pad(x, a)\n y = Conv(p, w)", [1, 0, 0, 0, 0, 0, 0, 0], 0,
         "the Pad before it pads the batch or the channels"),
        ("p = Pad(x, a)\n y = Conv(p, w)", [0, 0, 1, 0, 0, 0, -1, 0], 0, "the Pad before it crops"),
        ("p = Pad(x, a)\n y = Conv<auto_pad = \"SAME_UPPER\">(p, w)", SPATIAL, 0, "the node pads by SAME_UPPER"),
        ("p = Pad(x, a)\n z = Relu(p)\n y = Conv(p, w)", SPATIAL, 0, "'p' is used elsewhere"),
        ("z = Pad(x, a)\n y = Conv(z, w)", SPATIAL, 0, "'z' is a graph output"),
        (POOL.format(", ceil_mode = 1"), SPATIAL, 0, "with ceil_mode, windows may begin in the pads"),
        (POOL.format(""), [0, 0, 3, 0, 0, 0, 0, 0], 0, "pooling takes no pads as wide as its kernel"),
        (POOL.format(", pads = [1,1,1,1]"), [0, 0, 1, 0, 0, 0, 0, 0], 0,
         "AveragePool does not count its own pads, and counts those of the Pad before it"),
    ],
)  # fmt: skip
def test_what_is_left(body: str, pads: list[int], value: float, reason: str) -> None:
    result = fused(source_of(body, pads, value=value))
    assert (result.changes, result.reasons) == (0, [reason])


def test_pads_that_are_computed_stay() -> None:
    source = model(
        "g (float[1,3,7,6] x, int64[8] a) => (float[A,B,C,D] y) { p = Pad(x, a)\n y = Conv(p, w) }",
        constants={"w": np.ones((2, 3, 3, 3), np.float32)},
    )
    assert fused(source).reasons == ["kernel or pads are not known"]


@pytest.mark.parametrize(
    "weight",
    [
        # A weight that is fed, one with an open kernel, one that a node makes, and a default that may be overridden.
        "float[2,3,3,3] w", "float[2,3,K,K] w", "float[2,3,9] v", "float[2,3,3,3] w0",
    ],
)  # fmt: skip
def test_the_kernel_is_known_by_the_shape_of_the_weight(weight: str) -> None:
    made = {"v": "w = Reshape(v, s)", "w0": "w = Relu(w0)"}.get(weight.split()[1], "")
    constants: dict[str, Array] = {"a": np.array(SPATIAL), "s": np.array([2, 3, 3, 3])}
    if weight.endswith("w0"):
        constants["w0"] = np.random.default_rng(1).standard_normal((2, 3, 3, 3)).astype(np.float32)
    source = model(
        f"g (float[N,3,7,6] x, {weight}) => (float[A,B,C,D] y) {{ {made} p = Pad(x, a)\n y = Conv(p, w) }}",
        constants=constants,
    )
    result = fused(source)
    assert nodes(result).endswith("y = Conv<pads=[1, 0, 2, 1]>(x, w)")
    feeds = random_feeds(source)
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)


def test_a_weight_of_unknown_rank() -> None:
    source = model(
        "g (float[N,3,7,6] x, float[54] v, int64[R] s) => (float[A,B,C,D] y) "
        "{ w = Reshape(v, s) p = Pad(x, a)\n y = Conv(p, w) }",
        constants={"a": np.array(SPATIAL)},
    )
    assert fused(source).reasons == ["kernel or pads are not known"]


def test_what_is_kept_stays() -> None:
    source = source_of("p = Pad(x, a)\n y = Conv(p, w)", SPATIAL)
    for name in ("p", "y", "a"):
        assert fused(source, keep=[name]).changes == 0
