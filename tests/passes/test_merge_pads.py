"""merge-pads: what adds up, for each mode and version, and each reason why two stay."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import Array, model

A = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
F32 = np.float32


def merged(body: str, *, opset: int = 17, head: str = "float[M,N] a", **constants: Any) -> Outcome:
    arrays: dict[str, Array] = {name: np.asarray(value) for name, value in constants.items()}
    source = model(f"g ({head}) => (float[A,B] y) {{ {body} y = Neg(c) }}", opset=opset, constants=arrays)
    return outcome("merge-pads", source)


def test_an_axis_that_is_not_there() -> None:
    body = "m = Reshape(a, none) b = Pad(m, p, , last) c = Pad(b, p, , last)"
    arrays = {"none": np.zeros(0, np.int64), "p": np.array([0, 1]), "last": np.array([-1])}
    source = model(f"g (float[M] a) => (float[A] y) {{ {body} y = Neg(c) }}", opset=18, constants=arrays)
    assert outcome("merge-pads", source, check=False).changes == 0


PADS = list(itertools.product((0, 1, 2), (0, 1), (0, 2), (0, 1)))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_every_pair(mode: str) -> None:
    for first, second in itertools.product(PADS[::2], PADS[::3]):
        body = f'b = Pad<mode = "{mode}">(a, p) c = Pad<mode = "{mode}">(b, q)'
        result = merged(body, p=first, q=second)
        shared = any(any(first[axis::2]) and any(second[axis::2]) for axis in (0, 1))
        assert bool(result.changes) is (mode != "reflect" or not shared)
        assert_same_results(result, a=A)


@pytest.mark.parametrize(
    ("first", "second", "goes"),
    [
        ([-1, 0, 0, 0], [0, 2, 0, 1], True),
        ([0, 1, 0, -1], [1, 0, -2, 0], True),
        ([-1, 0, 0, 0], [0, 0, 2, 0], False),
        ([1, 0, 0, 0], [-1, 0, 0, 0], False),
        ([-1, 0, 0, 0], [-1, 0, 0, 0], False),
    ],
)
def test_less_than_nothing(first: list[int], second: list[int], goes: bool) -> None:
    result = merged("b = Pad(a, p) c = Pad(b, q)", p=first, q=second)
    assert (bool(result.changes), result.reasons) == (goes, [] if goes else ["the pads of an axis do not add up"])
    assert_same_results(result, a=A)
    body = 'b = Pad<mode = "edge">(a, p) c = Pad<mode = "edge">(b, q)'
    assert merged(body, p=first, q=second).changes == 0


def test_nothing_is_padded() -> None:
    result = merged("b = Pad(a, p) c = Pad(b, q)", p=[0, 1, 1, 0], q=[2, 0, 0, 1])
    assert result.changes == 1
    for array in (A[:0], A[:, :0]):
        assert_same_results(result, a=array)


@pytest.mark.parametrize(
    ("first", "second", "goes"),
    [
        ("", "", True),
        (", five", ", five", True),
        (", five", ", other", True),
        ("", ", zero", True),
        (", zero", "", True),
        (", five", "", False),
        ("", ", minus", False),
        (", zero", ", minus", False),
        (", given", ", given", True),
        (", given", ", five", False),
    ],
)
def test_constants(first: str, second: str, goes: bool) -> None:
    constants = {"five": F32(5), "other": F32(5), "zero": F32(0), "minus": F32(-0.0)}
    used = {name: value for name, value in constants.items() if name in f"{first}{second}"}
    head = "float[M,N] a, float given"
    result = merged(f"b = Pad(a, p{first}) c = Pad(b, q{second})", p=[1, 0, 0, 2], q=[1, 1, 0, 0], head=head, **used)
    assert (bool(result.changes), result.reasons) == (goes, [] if goes else ["the constants may differ"])
    assert_same_results(result, a=A, given=np.array(3, F32))


def test_attributes_before_operator_set_11() -> None:
    body = "b = Pad<pads = [1,0,0,0], value = 2.0>(a) c = Pad<pads = [0,1,0,2], value = {}>(b)"
    assert nodes(merged(body.format("2.0"), opset=10)) == "c = Pad<pads=[1, 1, 0, 2], value=2.0>(a)\ny = Neg(c)"
    assert merged(body.format("1.0"), opset=10).reasons == ["the constants may differ"]
    body = 'b = Pad<pads = [1,0,0,0], mode = "edge">(a) c = Pad<pads = [0,1,0,2], mode = "edge">(b)'
    assert nodes(merged(body, opset=2)) == "c = Pad<mode=edge, pads=[1, 1, 0, 2]>(a)\ny = Neg(c)"


def test_axes_from_operator_set_18_on() -> None:
    result = merged(
        "b = Pad(a, p, five, last) c = Pad(b, q, five)", opset=18, p=[1, 2], q=[1, 1, 0, 0], five=F32(5), last=[-1]
    )
    assert nodes(result) == "c = Pad(a, c_constant, five)\ny = Neg(c)"
    assert_same_results(result, a=A)
    result = merged("b = Pad(a, q) c = Pad(b, p, , last)", opset=18, p=[1, 2], q=[1, 1, 0, 0], last=[-1])
    assert nodes(result) == "c = Pad(a, c_constant)\ny = Neg(c)"
    assert_same_results(result, a=A)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('b = Pad<mode = "edge">(a, p) c = Pad(b, p)', "the modes differ"),
        ("b = Pad(a, s) c = Pad(b, p)", "the pads are not constant"),
        ("b = Pad(a, p) c = Pad(b, s)", "the pads are not constant"),
        ('b = Pad<mode = "reflect">(a, p) c = Pad<mode = "reflect">(b, p)', "the pads of an axis do not add up"),
        ("b = Pad(a, p) d = Pad(b, p) e = ReduceSum(b) c = Mul(d, e)", "'b' is used elsewhere"),
    ],
)
def test_reasons(body: str, reason: str) -> None:
    result = merged(body, head="float[3,4] a, int64[4] s", p=[1, 0, 0, 0])
    assert (result.changes, result.reasons) == (0, [reason])


def test_graph_outputs_and_inner_graphs() -> None:
    source = model(
        "g (float[2,3] a) => (float[A,B] b, float[C,D] y) { b = Pad(a, p) y = Pad(b, p) }",
        constants={"p": np.array([1, 0, 0, 0])},
    )
    assert outcome("merge-pads", source).reasons == ["'b' is a graph output"]
    source = model(
        """
        g (bool p, float[3,4] a) => (float[A,B] y) {
            b = Pad(a, q)
            y = If (p) <
                then_branch = t () => (float[C,D] v) { v = Pad(b, q) },
                else_branch = e () => (float[E,F] w) { d = Pad(b, q) w = Pad(d, q) }
            >
        }""",
        constants={"q": np.array([1, 0, 0, 0])},
    )
    result = outcome("merge-pads", source)
    assert (result.changes, "w = Pad(b, w_constant)" in result.text) == (1, True)
    for chosen in (True, False):
        assert_same_results(result, p=np.array(chosen), a=A)
