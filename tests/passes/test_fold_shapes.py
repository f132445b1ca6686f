"""fold-shapes: what follows from shapes alone is constant, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.outcome import outcome
from tests.run import in_onnxruntime
from tests.text import model


@pytest.mark.parametrize(
    ("body", "kind", "folded"),
    [
        ("y = Shape(x)", "int64[3]", "y = int64[3] {2, 3, 4}"),
        ("y = Size(x)", "int64", "y = int64 {24}"),
        ("y = Shape <start = 1> (z)", "int64[1]", "y = int64[1] {3}"),
        ("s = Shape(z)\n y = Gather(s, one)", "int64", "y = int64 {3}"),
        ("s = Shape(z)\n y = Slice(s, ones, twos)", "int64[1]", "y = int64[1] {3}"),
        ("s = Shape(z)\n r = Shape(s)\n y = Squeeze(r)", "int64", "r = int64[1] {2}"),
        ("s = Shape(z)\n r = Size(s)\n y = Equal(r, two)", "bool", "r = int64 {2}"),
        ("s = Shape(z)\n n = Gather(s, zero)\n m = Add(n, one)\n y = Greater(m, zero)", "bool", "y = bool {True}"),
        ("s = Shape(z)\n y = Sub(s, s)", "int64[2]", "y = int64[2] {0, 0}"),
    ],
)
def test_known(body: str, kind: str, folded: str) -> None:
    source = f"""
        g (float[2,3,4] x, float[N,3] z) => ({kind} y)
        <int64 zero = {{0}}, int64 one = {{1}}, int64 two = {{2}}, int64[1] ones = {{1}}, int64[1] twos = {{2}}> {{
            {body}
        }}"""
    result = outcome("fold-shapes", model(source))
    assert folded in result.text
    feeds = {"x": np.zeros((2, 3, 4), np.float32), "z": np.zeros((5, 3), np.float32)}
    np.testing.assert_array_equal(in_onnxruntime(result.after, feeds)[0], in_onnxruntime(result.before, feeds)[0])


@pytest.mark.parametrize(
    "body",
    [
        "y = Shape(z)",
        "s = Shape(z)\n y = Slice(s, zeros, ones)",
        "s = Shape(z)\n n = Slice(s, zeros, ones)\n y = Div(n, twos)",
        "y = Mul(k, k)",
        "r = Reshape(z, k)\n y = Shape(r)",
    ],
)
def test_unknown_is_left_alone(body: str) -> None:
    source = model(f"""
        g (int64[L] k, float[N,3] z) => (int64[M] y)
        <int64[1] zeros = {{0}}, int64[1] ones = {{1}}, int64[1] twos = {{2}}> {{ {body} }}""")
    result = outcome("fold-shapes", source)
    assert (result.changes, result.reasons) == (0, [])


def test_what_is_to_be_kept_stays() -> None:
    result = outcome("fold-shapes", model("g (float[2] x) => (int64[1] y) { y = Shape(x) }"), keep=["y"])
    assert (result.changes, result.reasons) == (0, ["it is to be kept"])


def test_declared_shapes_of_results_are_not_believed() -> None:
    """Exporters declare results wrongly: `p` has two dimensions, whatever the file says."""
    source = model("g (float[N,3] x) => (int64[1] y) <float[7] p> { p = Neg(x)\n y = Shape(p) }")
    assert outcome("fold-shapes", source, check=False).changes == 0


def test_an_output_that_is_declared_wrongly_keeps_its_file_valid() -> None:
    """Were its target constant, the checker would find out that the output has three dimensions."""
    source = model("""
        g (float[2,3,1] x) => (float[2,3] y) <int64[1] all = {-1}, int64[1] zero = {0}> {
            s = Shape(x)
            l = Size(s)
            a = Abs(l)
            e = Reshape(a, all)
            t = Slice(s, zero, e)
            y = Reshape(x, t)
        }
    """)
    result = outcome("fold-shapes", source)
    assert result.text.splitlines()[-2:] == ["t = Slice(s, zero, e)", "y = Reshape(x, t)"]
    assert result.reasons == [
        "output 'y', which depends on it, is declared with a shape that it does not have",
    ]


@pytest.mark.parametrize(
    ("inputs", "target", "shapes"),
    [
        ("float[N,4] x", "rest, n", [(0, 4), (2, 4), (4, 4)]),
        ("float[N,4,M] x", "m, n, four", [(0, 4, 0), (3, 4, 2)]),
    ],
)
def test_a_computed_0_in_a_target_copies_another_dimension(
    inputs: str, target: str, shapes: list[tuple[int, ...]]
) -> None:
    """Reshape of [0, 4] to [-1, 0] gives [0, 4], not [4, 0]."""
    source = model(f"""
        g ({inputs}) => (int64[K] y) <int64[1] rest = {{-1}}, int64[1] four = {{4}}, int64[1] zero = {{0}}> {{
            s = Shape(x)
            n = Slice(s, zero, o)
            m = Slice(s, rest, e)
            t = Concat <axis = 0> ({target})
            r = Reshape(x, t)
            y = Shape(r)
        }}""", constants={"o": np.array([1]), "e": np.array([9])})  # fmt: skip
    result = outcome("fold-shapes", source)
    for shape in shapes:
        feeds = {"x": np.zeros(shape, np.float32)}
        np.testing.assert_array_equal(in_onnxruntime(result.after, feeds)[0], in_onnxruntime(source, feeds)[0])
