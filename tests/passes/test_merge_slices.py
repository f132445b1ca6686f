"""merge-slices: two cuts are one, along different axes and along one, and each reason for leaving them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from onnx import numpy_helper

from maxfold.optimizer import optimize
from maxfold.passes.slices import Cut, cut_of_cut
from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import golden, model


def merged(body: str, *, opset: int = 17, **constants: Sequence[int]) -> Outcome:
    source = model(
        f"g (float[4,N,6] a, int64[1] x) => (float[A,B,C] y) {{ {body} y = Neg(c) }}",
        opset=opset,
        constants={name: np.array(values, np.int64) for name, values in constants.items()},
    )
    return outcome("merge-slices", source)


UNKNOWN = "both cut one axis, by bounds that cannot be told as one"
A = np.arange(72, dtype=np.float32).reshape(4, 3, 6)
LISTS = {"zero": [0], "one": [1], "two": [2], "minus": [-1], "end": [(1 << 63) - 1], "low": [-(1 << 63)]}


def integers(result: Outcome) -> list[list[int]]:
    """The bounds of the node that is made."""
    held = {item.name: numpy_helper.to_array(item).tolist() for item in result.after.graph.initializer}
    return [held[name] for name in result.after.graph.node[0].input[1:]]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("one, two, zero", "zero, two, two", [[1, 0], [2, 2], [0, 2]]),
        ("one, end, one", "minus, end, zero", [[1, -1], [LISTS["end"][0]] * 2, [1, 0]]),
        ("one, two", "zero, two, minus", [[1, 0], [2, 2], [0, 2]]),
        ("minus, low, two, minus", "zero, two, zero", [[-1, 0], [LISTS["low"][0], 2], [2, 0], [-1, 1]]),
    ],
)
def test_different_axes(first: str, second: str, expected: list[list[int]]) -> None:
    result = merged(f"b = Slice(a, {first}) c = Slice(b, {second})", **LISTS)
    assert integers(result) == expected
    assert len(result.after.graph.node) == 2
    assert_same_results(result, a=A, x=np.zeros(1, np.int64))


def test_a_chain() -> None:
    body = "d = Slice(a, one, two, zero) b = Slice(d, zero, end, one, two) c = Slice(b, one, two, two)"
    result = merged(body, **LISTS)
    assert [sorted(entry) for entry in integers(result)[2:]] == [[0, 1, 2], [1, 1, 2]]
    assert_same_results(result, a=A, x=np.zeros(1, np.int64))


def test_attributes_before_operator_set_10() -> None:
    body = "b = Slice<starts = [1], ends = [3]>(a) c = Slice<axes = [2], starts = [0], ends = [2]>(b)"
    assert nodes(merged(body, opset=9)) == golden("""
        c = Slice<axes=[0, 2], ends=[3, 2], starts=[1, 0]>(a)
        y = Neg(c)
        """)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("b = Slice(a, minus, end, one) c = Slice(b, zero, one, one)", UNKNOWN),
        ("b = Slice(a, one, two, one) c = Slice(b, zero, minus, one)", UNKNOWN),
        ("b = Slice(a, zero, minus, one) c = Slice(b, zero, two, one)", UNKNOWN),
        ("b = Slice(a, zero, end, one, minus) c = Slice(b, zero, two, one)", UNKNOWN),
        ("b = Slice(a, one, x, zero) c = Slice(b, zero, one, one)", "the bounds are not constant"),
        ("b = Slice(a, one, two, zero) c = Slice(b, zero, one, x)", "the bounds are not constant"),
        ("b = Slice(a, one, two, zero) d = Slice(b, zero, two, one) c = Add(b, d)", "'b' is used elsewhere"),
    ],
)
def test_reasons(body: str, reason: str) -> None:
    result = merged(body, **LISTS)
    assert (result.changes, result.reasons) == (0, [reason])


def test_an_unknown_rank() -> None:
    source = model(
        "g (float[4] a, int64[K] s) => (int64[R] y) "
        "{ r = Reshape(a, s) b = Slice(r, zero, one, zero) c = Slice(b, zero, one, minus) y = Shape(c) }",
        constants={name: np.array(LISTS[name]) for name in ("zero", "one", "minus")},
    )
    assert outcome("merge-slices", source).reasons == ["the rank of the tensor is not known"]


def test_an_axis_that_is_not_there() -> None:
    """The file loads where the rank cannot be told when it does; what it is read from tells that it is 0."""
    source = model(
        "g (float[4] a) => (float[R] y) { s = SplitToSequence<keepdims = 0>(a) m = SequenceAt(s, place) "
        "b = Slice(m, zero, one, minus) y = Slice(b, zero, one, minus) }",
        constants={**{name: np.array(LISTS[name]) for name in ("zero", "one", "minus")}, "place": np.array(1)},
    )
    optimize(source)
    source = model(
        "g (float a) => (float[R] y) { i = Neg(a) m = Reshape(i, none) b = Slice(m, zero, one, minus) "
        "y = Slice(b, zero, one, minus) }",
        constants={**{name: np.array(LISTS[name]) for name in ("zero", "one", "minus")}, "none": np.zeros(0, np.int64)},
    )
    assert outcome("merge-slices", source, check=False).changes == 0


def test_a_graph_output_between_them_stays() -> None:
    source = model(
        "g (float[4,4] a) => (float[A,B] b, float[C,D] y) "
        "{ b = Slice(a, zero, one, zero) y = Slice(b, zero, one, one) }",
        constants={name: np.array(LISTS[name]) for name in ("zero", "one")},
    )
    assert outcome("merge-slices", source).reasons == ["'b' is a graph output"]


FAR = (1 << 63) - 1
NUMBERS = (0, 1, 2, 3, 5, -1, -2, -4, FAR, -FAR, (1 << 31) - 1)


def random_cut(chance: random.Random) -> Cut:
    return chance.choice(NUMBERS), chance.choice(NUMBERS), chance.choice((1, 1, 1, 2, 3, -1, -2))


def taken(size: int, cut: Cut) -> list[int]:
    """The places that ONNX's document says are taken."""
    start, end, step = cut
    return list(range(size))[slice(start, end, step)]


@pytest.mark.parametrize("seed", range(4))
def test_cuts_of_cuts(seed: int) -> None:
    """What one cut takes of any size is what two take, or it is not told."""
    chance = random.Random(seed)
    told = 0
    for _ in range(3000):
        first, second = random_cut(chance), random_cut(chance)
        size = chance.choice((None, 0, 1, 2, 4, 5, 7, 12))
        joined = cut_of_cut(first, second, size)
        if joined is None:
            continue
        told += 1
        for each in range(14) if size is None else (size,):
            inner = taken(each, first)
            expected = [inner[place] for place in taken(len(inner), second)]
            assert taken(each, joined) == expected, (first, second, each)
    assert told > 1000


def test_one_axis_in_onnxruntime() -> None:
    """Of known and of open sizes; what runtimes compute is asked."""
    chance = random.Random(9)
    merges = 0
    for _ in range(150):
        first, second = random_cut(chance), random_cut(chance)
        axis = chance.choice((1, 2))
        names = {
            f"{name}{index}": [number]
            for index, cut in enumerate((first, second))
            for name, number in zip("seq", cut, strict=True)
        }
        result = merged(
            f"b = Slice(a, s0, e0, x{axis}, q0) c = Slice(b, s1, e1, x{axis}, q1)", **names, x1=[1], x2=[-1]
        )
        merges += result.changes
        for size in (3, 5, 1, 0):
            feed = np.arange(24 * size, dtype=np.float32).reshape(4, size, 6)
            assert_same_results(result, a=feed, x=np.zeros(1, np.int64))
    assert merges > 40


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("one, end, one", "one, end, one", [[2], [FAR], [1]]),
        ("one, end, one", "zero, two, one", [[1], [3], [1]]),
        ("zero, minus, one", "one, end, one", [[1], [-1], [1]]),
        ("zero, minus, one", "one, minus, one", [[1], [-2], [1]]),
        ("one, end, two", "one, minus, two", [[2], [5], [2]]),
        ("zero, end, one, two", "one, end, one, two", [[2], [FAR], [1], [4]]),
    ],
)
def test_one_axis(first: str, second: str, expected: list[list[int]]) -> None:
    result = merged(f"b = Slice(a, {first}) c = Slice(b, {second})", **LISTS)
    assert integers(result) == expected
    for size in (0, 1, 2, 5):
        assert_same_results(result, a=np.zeros((4, size, 6), np.float32), x=np.zeros(1, np.int64))


def test_one_axis_and_another() -> None:
    body = "b = Slice(a, d, e, f) c = Slice(b, d, f, f)"
    result = merged(body, d=[1, 0], e=[4, 3], f=[1, 2])
    assert integers(result) == [[2, 0], [2, 2], [1, 2]]
    assert_same_results(result, a=A, x=np.zeros(1, np.int64))


def test_one_axis_before_operator_set_10() -> None:
    body = "b = Slice<axes = [2], starts = [1], ends = [5]>(a) c = Slice<axes = [2], starts = [-2], ends = [9]>(b)"
    result = merged(body, opset=9)
    assert nodes(result) == "c = Slice<axes=[2], ends=[5], starts=[3]>(a)\ny = Neg(c)"
    assert_same_results(result, a=A, x=np.zeros(1, np.int64))
