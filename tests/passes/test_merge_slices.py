"""merge-slices: two cuts along different axes are one, and each reason for leaving them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from onnx import numpy_helper

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
        ("b = Slice(a, one, two, zero) c = Slice(b, zero, one, zero)", "both cut one axis"),
        ("b = Slice(a, one, two, two) c = Slice(b, zero, one, minus)", "both cut one axis"),
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


def test_a_graph_output_between_them_stays() -> None:
    source = model(
        "g (float[4,4] a) => (float[A,B] b, float[C,D] y) "
        "{ b = Slice(a, zero, one, zero) y = Slice(b, zero, one, one) }",
        constants={name: np.array(LISTS[name]) for name in ("zero", "one")},
    )
    assert outcome("merge-slices", source).reasons == ["'b' is a graph output"]
