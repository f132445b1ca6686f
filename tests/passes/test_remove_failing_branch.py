"""remove-failing-branch: what no run survives goes, what one may survive stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from tests.passes.outcome import outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import model

WEIGHTS = {
    "w": np.linspace(-1, 1, 8 * 3, dtype=np.float32).reshape(1, 8, 3),
    "r": np.linspace(1, -1, 8 * 2, dtype=np.float32).reshape(1, 8, 2),
}
SQUEEZED = "s = Squeeze(x, last)"


def asking(then_branch: str = SQUEEZED, returned: str = "s", after: str = "", **options: Any) -> ModelProto:
    """A model that squeezes an axis only where it is 1, and then runs an LSTM."""
    return model(
        f"""
        g (float[T, B, 3, L] x) => (float[1, B, 2] y) <int64[1] last = {{-1}}, int64[1] one = {{1}}> {{
            n = Shape <start = 3> (x)
            c = Equal(n, one)
            q = If (c) < then_branch = t () => ({returned}) {{ {then_branch} }},
                         else_branch = e () => (i) {{ i = Identity(x) }} >
            {after or "h, y = LSTM <hidden_size = 2> (q, w, r)"}
        }}""",
        constants=WEIGHTS,
        **options,
    )


def test_the_other_branch() -> None:
    source = asking()
    result = outcome("remove-failing-branch", source)
    assert result.text.splitlines()[4:] == [
        "n = Shape<start=3>(x)",
        "c = Equal(n, one)",
        "s = Squeeze(x, last)",
        "h, y = LSTM<hidden_size=2>(s, w, r)",
    ]
    feeds = {"x": np.linspace(-2, 2, 5 * 4 * 3, dtype=np.float32).reshape(5, 4, 3, 1)}
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)
    for either in (source, result.after):
        with pytest.raises(Exception, match=r"3 dimensions|of input"):
            in_onnxruntime(either, {"x": np.ones((5, 4, 3, 2), np.float32)})


def test_through_what_depends_on_the_rank() -> None:
    source = asking(
        after="""
            shape = Shape(q)
            rank = Size(shape)
            three = Constant<value = int64 {3}>()
            is = Equal(rank, three)
            not = Not(is)
            p = If (not) <
                then_branch = t2 () => (u) { u = Unsqueeze(q, last) },
                else_branch = e2 () => (v) { v = Identity(q) }
            >
            h, y = LSTM <hidden_size = 2> (p, w, r)"""
    )
    result = outcome("remove-failing-branch", source)
    assert result.changes == 1
    assert result.text.splitlines()[6:13] == [
        "s = Squeeze(x, last)",
        "shape = Shape(s)",
        "rank = Size(shape)",
        "three = Constant<value=int64 {3}>()",
        "is = Equal(rank, three)",
        "not = Not(is)",
        "p = If(not)",
    ]


def test_the_same_condition_further_on() -> None:
    source = model(
        """
        g (float[T, B, 3] x, bool c) => (float[1, B, 2] y) <int64[1] last = {-1}> {
            q = If (c) < then_branch = t () => (u) { u = Unsqueeze(x, last) },
                         else_branch = e () => (i) { i = Identity(x) } >
            p = If (c) < then_branch = t2 () => (j) { j = Identity(q) },
                         else_branch = e2 () => (s) { s = Unsqueeze(q, last) } >
            d = Squeeze(p, last)
            h, y = LSTM <hidden_size = 2> (d, w, r)
        }""",
        constants=WEIGHTS,
    )
    assert outcome("remove-failing-branch", source).changes == 0


@pytest.mark.parametrize(
    "after",
    [
        "y = Neg(q)",
        "h, y = LSTM <hidden_size = 2> (x, w, r)",
        """h, z = LSTM <hidden_size = 2> (q, w, r)
        y = If (c) < then_branch = t3 () => (a) { a = Neg(q) },
                     else_branch = e3 () => (b) { h2, b = LSTM <hidden_size = 2> (q, w, r) } >""",
    ],
    ids=["no test", "another input", "only sometimes, or for nothing"],
)
def test_runs_that_may_end(after: str) -> None:
    result = outcome("remove-failing-branch", (asking(after=after)), check=False)
    assert (result.changes, result.reasons) == (0, [])


def test_branches_of_one_rank() -> None:
    result = outcome("remove-failing-branch", (asking("s = Neg(x)")), check=False)
    assert (result.changes, result.reasons) == (0, [])


def test_declined_where_something_inside_is_kept() -> None:
    result = outcome("remove-failing-branch", asking(), keep=["s"])
    assert result.reasons == ["'s' inside is to be kept"]
