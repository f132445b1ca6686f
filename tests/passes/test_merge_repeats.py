"""merge-repeats: Tile of Tile, Expand of Expand, and each reason why two stay."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from onnx import numpy_helper

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import model

A = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)


def merged(body: str, head: str = "float[2,N] a", *, opset: int = 17, rank: int = 2, **constants: list[int]) -> Outcome:
    source = model(
        f"g ({head}) => (float[{','.join('ABCD'[:rank])}] y) {{ {body} y = Neg(c) }}",
        opset=opset,
        constants={name: np.array(values, np.int64) for name, values in constants.items()},
    )
    return outcome("merge-repeats", source)


def made(result: Outcome) -> list[int]:
    held = {item.name: numpy_helper.to_array(item).tolist() for item in result.after.graph.initializer}
    found: list[int] = held[result.after.graph.node[0].input[1]]
    return found


def test_tiles() -> None:
    for first, second in itertools.product(itertools.product((0, 1, 2, 3), repeat=2), repeat=2):
        result = merged("b = Tile(a, r) c = Tile(b, s)", r=list(first), s=list(second))
        assert made(result) == [one * other for one, other in zip(first, second, strict=True)]
        for array in (A, A[:, :0]):
            assert_same_results(result, a=array)


@pytest.mark.parametrize(
    ("shape", "first", "second", "expected"),
    [
        ((2, 1), [2, 3], [4, 1, 1], [4, 2, 3]),
        ((2, 1), [1, 3], [2, 3], [2, 3]),
        ((1, 1), [2, 1], [1, 3], [2, 3]),
        ((1, 1), [0, 1], [1, 3], [0, 3]),
        ((1, 1), [1, 3], [0, 1], [0, 3]),
        ((2, 1), [3], [2, 1, 1], [2, 1, 3]),
    ],
)
def test_shapes(shape: tuple[int, int], first: list[int], second: list[int], expected: list[int]) -> None:
    head = f"float[{shape[0]},{shape[1]}] a"
    rank = max(2, len(first), len(second))
    result = merged("b = Expand(a, r) c = Expand(b, s)", head, r=first, s=second, rank=rank)
    assert made(result) == expected
    assert [node.op_type for node in result.after.graph.node] == ["Expand", "Neg"]
    assert_same_results(result, a=A[: shape[0], : shape[1]])


def test_a_second_shape_that_does_it_all() -> None:
    head = "float[1,N] a, float[K,N] z"
    body = "r = Shape(z) b = Expand(a, r) c = Expand(b, r)"
    result = merged(body, head)
    assert nodes(result) == "r = Shape(z)\nc = Expand(a, r)\ny = Neg(c)"
    for count in (1, 2, 0):
        assert_same_results(result, a=A[:1], z=np.zeros((count, 3), np.float32))
    # The inner result is read elsewhere, and stays.
    result = merged("r = Shape(z) b = Expand(a, r) d = Expand(b, r) c = Add(b, d)", head)
    assert nodes(result) == "r = Shape(z)\nb = Expand(a, r)\nd = Expand(a, r)\nc = Add(b, d)\ny = Neg(c)"


@pytest.mark.parametrize(
    ("body", "head", "reason"),
    [
        ("b = Tile(a, s) c = Tile(b, r)", "float[2,N] a, int64[2] s", "the repeats are not constant"),
        ("b = Tile(a, r) c = Tile(b, s)", "float[2,N] a, int64[2] s", "the repeats are not constant"),
        ("b = Expand(a, s) c = Expand(b, r)", "float[2,N] a, int64[2] s", "the shapes are not constant"),
        ("b = Tile(a, r) d = Tile(b, r) e = ReduceSum<axes = [0]>(b) c = Mul(d, e)", "float[2,1] a",
         "'b' is used elsewhere"),
        ("b = Expand(a, r) d = Expand(b, t) e = ReduceSum<axes = [0]>(b) c = Mul(d, e)", "float[1,1] a",
         "'b' is used elsewhere"),
    ],
)  # fmt: skip
def test_reasons(body: str, head: str, reason: str) -> None:
    constants = {"r": [2, 1], "t": [1, 3]}
    used = {name: values for name, values in constants.items() if f", {name})" in body}
    result = merged(body, head, opset=11, **used)
    assert (result.changes, result.reasons) == (0, [reason])


def test_what_is_too_many_stays() -> None:
    result = merged("b = Tile(a, r) c = Tile(b, r)", "float[M,N] a", r=[1 << 32, 1])
    assert (result.changes, result.reasons) == (0, [])


def test_the_first_version_of_tile() -> None:
    source = model(
        "g (float[2,3] a, float t, float x) => (float[A,B] y) { b = Tile(a, t, x) y = Tile(b, t, x) }", opset=5
    )
    assert outcome("merge-repeats", source, check=False).changes == 0


def test_graph_outputs_and_inner_graphs() -> None:
    source = model(
        "g (float[2,3] a) => (float[A,B] b, float[C,D] y) { b = Tile(a, r) y = Tile(b, r) }",
        constants={"r": np.array([2, 1])},
    )
    assert outcome("merge-repeats", source).reasons == ["'b' is a graph output"]
    source = model(
        """
        g (bool p, float[2,3] a) => (float[A,B] y) {
            b = Tile(a, r)
            y = If (p) <
                then_branch = t () => (float[C,D] v) { v = Tile(b, r) },
                else_branch = e () => (float[E,F] w) { d = Tile(b, r) w = Tile(d, r) }
            >
        }""",
        constants={"r": np.array([2, 1])},
    )
    result = outcome("merge-repeats", source)
    assert (result.changes, "w = Tile(b, w_constant)" in result.text) == (1, True)
    for chosen in (True, False):
        assert_same_results(result, p=np.array(chosen), a=A)
