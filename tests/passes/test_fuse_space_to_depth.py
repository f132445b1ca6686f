"""fuse-space-to-depth: strided Slices that become SpaceToDepth, the order of channels, and what stays."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from tests.passes.closeness import assert_close, nodes, random_feeds
from tests.passes.outcome import Outcome, outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import Array, model


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-space-to-depth", source, **options)


def source_of(
    order: Sequence[tuple[int, int]],
    end: str = "y = Identity(c)",
    *,
    block: int = 2,
    ends: Sequence[int] = (2**31 - 1, 2**62),
    head: str = "(float[N,3,4,8] x) => (float[A,B,C,D] y)",
    axes: Sequence[int] = (2, 3),
    **more: Array,
) -> ModelProto:
    constants: dict[str, Array] = {"ends": np.array(ends), "axes": np.array(axes), "steps": np.array([block, block])}
    lines = []
    for row, column in order:
        constants[f"s{row}{column}"] = np.array([row, column])
        lines.append(f"p{row}{column} = Slice(x, s{row}{column}, ends, axes, steps)")
    parts = ", ".join(f"p{row}{column}" for row, column in order)
    body = "\n ".join([*lines, f"c = Concat<axis = 1>({parts})", end])
    return model(f"g {head} {{ {body} }}", constants=constants | more)


BLOCK = list(itertools.product(range(2), range(2)))
YOLO = [(0, 0), (1, 0), (0, 1), (1, 1)]


def same(result: Outcome) -> None:
    feeds = random_feeds(result.before)
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(result.before, feeds), zeros_differ=True)


@pytest.mark.parametrize("height", ["4", "H"])
def test_the_same_order(height: str) -> None:
    head = f"(float[N,3,{height},8] x) => (float[A,B,C,D] y)"
    result = fused(source_of(BLOCK, head=head, ends=(2**31 - 1, 8)))
    assert nodes(result) == "c = SpaceToDepth<blocksize=2>(x)\ny = Identity(c)"
    feeds = random_feeds(result.before, {"H": 6})
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(result.before, feeds), zeros_differ=True)


@pytest.mark.parametrize("order", list(itertools.permutations(BLOCK))[1::5])
def test_another_order(order: list[tuple[int, int]]) -> None:
    result = fused(source_of(order))
    expected = "c_spacetodepth = SpaceToDepth<blocksize=2>(x)\nc = Gather<axis=1>(c_spacetodepth, c_constant)\ny = "
    assert nodes(result) == expected + "Identity(c)"
    same(result)


def test_a_convolution_takes_in_the_order() -> None:
    weight = np.random.default_rng(0).standard_normal((5, 12, 3, 3)).astype(np.float32)
    source = source_of(YOLO, "y = Conv(c, w)", w=weight, head="(float[N,3,8,8] x) => (float[A,B,C,D] y)")
    exact = fused(source)
    assert [node.op_type for node in exact.after.graph.node] == ["SpaceToDepth", "Gather", "Conv"]
    assert [decline.relaxed_gain for decline in exact.declines] == [1]
    same(exact)
    result = fused(source, math="relaxed")
    assert nodes(result) == "c_spacetodepth = SpaceToDepth<blocksize=2>(x)\ny = Conv(c_spacetodepth, w_constant)"
    assert_close(result)


@pytest.mark.parametrize(
    ("order", "more"),
    [
        ([*BLOCK[:3], (0, 2)], {}),
        (BLOCK[:2], {}),
        (BLOCK, {"block": 4}),
        (BLOCK, {"ends": (4, 7)}),
        (BLOCK, {"axes": (3, 1)}),
        (BLOCK, {"ends": (4, 8), "head": "(float[N,3,H,8] x) => (float[A,B,C,D] y)"}),
    ],
)
def test_what_stays(order: list[tuple[int, int]], more: dict[str, Any]) -> None:
    result = fused(source_of(order, **more), check=False)
    assert (result.changes, result.reasons) == (0, [])


def test_reasons() -> None:
    head = "(float[N,3,4,8] x) => (float[A,B,C,D] y, float[E,F,G,H] z)"
    used = fused(source_of(BLOCK, "y = Identity(c)\n z = Neg(p00)", head=head))
    assert used.reasons == ["'p00' is used elsewhere"]
    unknown = fused(source_of(YOLO, head="(float[N,M,4,8] x) => (float[A,B,C,D] y)"))
    assert unknown.reasons == ["the channels of 'x' are not known, and the parts in another order"]
    weight = np.ones((5, 12, 1, 1), np.float32)
    integers = fused(source_of(BLOCK, head="(int32[N,3,4,8] x) => (int32[A,B,C,D] y)"))
    assert integers.reasons == ["'x' is not of a type that SpaceToDepth takes everywhere"]
    odd = fused(source_of(BLOCK, head="(float[N,3,H,7] x) => (float[A,B,C,D] y)"), check=False)
    assert odd.reasons == ["height or width of 'x' is no multiple of 2"]
    shared = source_of(YOLO, "y = Conv(c, w)\n z = Conv(c, w)", w=weight, head=head)
    assert "'c' is used elsewhere" in fused(shared, math="relaxed").reasons
    grown = source_of(YOLO, "y = Conv(c, w)\n z = Identity(w)", w=weight, head=head)
    reason = "the file would grow by 240 bytes, more than 239; --max-growth allows more"
    assert reason in fused(grown, math="relaxed", max_growth_bytes=239).reasons
