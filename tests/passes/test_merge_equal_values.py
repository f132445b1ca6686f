"""merge-equal-values: equal polynomials over dimensions are computed once."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.outcome import outcome
from tests.run import in_onnxruntime
from tests.text import model

HEAD = """
    g (bool b, float[N,4,H] x, float[N,4,H] z) => (int64[A] y, int64[B] w)
    <int64 i = {0}, int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3}> {
        s = Shape(x)
        n = Slice(s, zero, one)
"""


@pytest.mark.parametrize(
    ("body", "changes"),
    [
        ("m = Gather(s, i)\n u = Unsqueeze(m, zero)\n y = Neg(n)\n w = Abs(u)", 2),
        ("m = Mul(n, three)\n u = Div(m, three)\n y = Neg(n)\n w = Neg(u)", 1),
        ("r = Neg(x)\n u = Shape(r)\n y = Abs(s)\n w = Neg(u)", 2),
        ("h = Slice(s, two, three)\n u = Mul(n, h)\n v = Mul(h, n)\n y = Neg(u)\n w = Neg(v)", 1),
        # Symbols of one name in two inputs are not one size: exporters use names freely.
        ("t = Shape(z)\n u = Slice(t, zero, one)\n y = Neg(n)\n w = Neg(u)", 0),
        # Another shape, another type; the two outputs are equal, and stay two.
        ("m = Gather(s, i)\n y = Neg(n)\n v = Neg(m)\n w = Unsqueeze(v, zero)", 0),
        ("m = Cast <to = 6> (n)\n v = Neg(m)\n y = Neg(n)\n w = Cast <to = 7> (v)", 0),
        # Known wholly: another pass's.
        ("c = Slice(s, one, two)\n d = Slice(s, one, two)\n y = Neg(c)\n w = Abs(d)", 0),
    ],
)
def test_merged(body: str, changes: int) -> None:
    result = outcome("merge-equal-values", model(f"{HEAD} {body} }}"))
    assert result.changes == changes
    feeds = {
        "b": np.array(True),
        "x": np.zeros((5, 4, 3), np.float32),
        "z": np.zeros((2, 4, 6), np.float32),
    }
    for after, before in zip(in_onnxruntime(result.after, feeds), in_onnxruntime(result.before, feeds), strict=True):
        np.testing.assert_array_equal(after, before, strict=True)


def test_two_outputs_stay_two() -> None:
    result = outcome("merge-equal-values", model(f"{HEAD} y = Mul(n, three)\n w = Mul(three, n) }}"))
    assert (result.changes, result.reasons) == (0, ["'w' and 'y' are both graph outputs"])


def test_an_output_that_comes_second_takes_the_place_of_the_first() -> None:
    result = outcome(
        "merge-equal-values", model(f"{HEAD} m = Mul(n, three)\n v = Neg(m)\n w = Mul(three, n)\n y = Add(v, w) }}")
    )
    assert result.changes == 1
    assert "w = Mul(n, three)\nv = Neg(w)" in result.text


def test_what_is_to_be_kept_stays() -> None:
    source = model(f"{HEAD} u = Slice(s, zero, one)\n y = Neg(n)\n w = Abs(u) }}")
    assert outcome("merge-equal-values", source, keep=["u"]).reasons == ["it is to be kept"]


def test_branches_are_by_themselves() -> None:
    source = model(f"""{HEAD}
        w = If (b) <
            then_branch = t () => (int64[1] p) {{ q = Slice(s, zero, one)\n p = Neg(q) }},
            else_branch = e () => (int64[1] r) {{ r = Abs(n) }}
        >
        y = Neg(n) }}""")
    assert outcome("merge-equal-values", source).changes == 0
