"""fuse-sequences: members that are read, and sequences that are put together again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import golden, model

X = np.arange(20, dtype=np.float32).reshape(5, 4)
PLACES = {f"i{place}": np.array(place) for place in range(6)} | {"m1": np.array(-1), "m5": np.array(-5)}


def fused(
    body: str, head: str = "float[5,4] x", outputs: str = "float[A,B] y", opset: int = 17, **more: Any
) -> Outcome:
    keep = more.pop("keep", [])
    constants = {name: array for name, array in (PLACES | more).items() if f"{name})" in body or f"{name}," in body}
    return outcome(
        "fuse-sequences", model(f"g ({head}) => ({outputs}) {{ {body} }}", opset=opset, constants=constants), keep=keep
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("s = SplitToSequence(x)\n y = SequenceAt(s, i2)", "y = Gather<axis=0>(x, y_constant)"),
        ("s = SplitToSequence<axis = -1>(x)\n y = SequenceAt(s, m1)", "y = Gather<axis=-1>(x, y_constant)"),
        ("s = SplitToSequence(x, k)\n y = SequenceAt(s, i0)", "y, s_split_1 = Split<axis=0>(x, s_constant)"),
        ("s = SplitToSequence(x, two)\n y = SequenceAt(s, m1)", "s_split, s_split_1, y = Split<axis=0>(x, s_constant)"),
        ("s = SplitToSequence(x, seven)\n y = SequenceAt(s, i0)", "y = Split<axis=0>(x, s_constant)"),
    ],
)
def test_one_part(body: str, expected: str) -> None:
    result = fused(body, k=np.array([2, 3]), two=np.array(2), seven=np.array(7))
    assert nodes(result) == expected
    assert_same_results(result, x=X)


@pytest.mark.parametrize(
    ("call", "rest"),
    [("SplitToSequence(x, k)", 0), ("SplitToSequence<axis = 1>(x, q)", 0), ("SplitToSequence(x)", 1),
     ("SplitToSequence<axis = 1>(x)", 1)],
)  # fmt: skip
@pytest.mark.parametrize("opset", [11, 13, 18])
def test_several_parts(call: str, rest: int, opset: int) -> None:
    parts = "a = SequenceAt(s, i1)\n b = SequenceAt(s, m1)\n c = SequenceAt(s, i1)"
    body = f"s = {call}\n {parts}\n y = Concat<axis = 0>(a, b, c)"
    result = fused(body, opset=opset, k=np.array([3, 2]), q=np.array([1, 3]))
    assert len(result.after.graph.node) == (4 if rest else 2)
    assert_same_results(result, x=X)


@pytest.mark.parametrize("sizes", [np.array([0, 5]), np.array([5]), np.array([1, 1, 1, 2])])
def test_sizes_of_parts(sizes: Any) -> None:
    result = fused("s = SplitToSequence(x, k)\n y = SequenceAt(s, i0)", k=sizes)
    assert result.changes == 1
    assert_same_results(result, x=X)


def test_slices_without_their_axis() -> None:
    body = "s = SplitToSequence<axis = 1, keepdims = 0>(x)\n y = SequenceAt(s, i3)\n z = SequenceAt(s, i0)"
    result = fused(body, outputs="float[A] y, float[B] z")
    assert nodes(result) == "y = Gather<axis=1>(x, y_constant)\nz = Gather<axis=1>(x, z_constant)"
    assert_same_results(result, x=X)
    # A list of sizes keeps the axis, whatever keepdims says.
    listed = fused("s = SplitToSequence<keepdims = 0>(x, k)\n y = SequenceAt(s, i0)", k=np.array([1, 4]))
    assert nodes(listed) == "y, s_split_1 = Split<axis=0>(x, s_constant)"
    assert_same_results(listed, x=X)


def test_a_size_that_is_not_known() -> None:
    result = fused("s = SplitToSequence(x)\n y = SequenceAt(s, m1)", head="float[N,4] x")
    assert nodes(result) == "y = Gather<axis=0>(x, y_constant)"
    assert_same_results(result, x=X)
    listed = fused("s = SplitToSequence(x, k)\n y = SequenceAt(s, m1)", head="float[N,4] x", k=np.array([2, 3]))
    assert listed.changes == 1
    assert_same_results(listed, x=X)


def test_one_part_that_is_two_graph_outputs() -> None:
    body = "s = SplitToSequence(x, k)\n y = SequenceAt(s, i0)\n z = SequenceAt(s, i0)"
    result = fused(body, outputs="float[A,B] y, float[C,D] z", k=np.array([2, 3]))
    assert nodes(result) == "y, s_split_1 = Split<axis=0>(x, s_constant)\nz = Identity(y)"
    assert_same_results(result, x=X)


@pytest.mark.parametrize("kind", ["float16", "double", "int32", "int64", "bool", "string"])
@pytest.mark.parametrize("call", ["SplitToSequence(x)", "SplitToSequence(x, k)"])
def test_types(kind: str, call: str) -> None:
    result = fused(f"s = {call}\n y = SequenceAt(s, i1)", f"{kind}[5,4] x", f"{kind}[A,B] y", k=np.array([2, 3]))
    if kind == "string" and call == "SplitToSequence(x)":
        assert (result.changes, result.reasons) == (
            0,
            ["ONNX Runtime gathers no more than the first string of each row"],
        )
        return
    assert result.changes == 1
    values = X.astype(str).astype(object) if kind == "string" else X.astype("float64" if kind == "double" else kind)
    assert_same_results(result, x=values)


CONSTRUCT = "a = Neg(x)\n s = SequenceConstruct(x, a)\n "


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p = SequenceAt(s, m1)\n y = Exp(p)", "a = Neg(x)\ny = Exp(a)"),
        ("y = SequenceAt(s, i1)", "y = Neg(x)"),
        ("y = SequenceAt(s, i0)", "y = Identity(x)"),
        ("y = ConcatFromSequence<axis = 0>(s)", "a = Neg(x)\ny = Concat<axis=0>(x, a)"),
        ("y = ConcatFromSequence<axis = -1, new_axis = 0>(s)", "a = Neg(x)\ny = Concat<axis=-1>(x, a)"),
    ],
)
def test_a_list_of_members(body: str, expected: str) -> None:
    result = fused(CONSTRUCT + body)
    assert nodes(result) == expected
    assert_same_results(result, x=X)


def test_a_list_that_is_needed_stays() -> None:
    body = CONSTRUCT + "p = SequenceAt(s, m1)\n y = Exp(p)\n n = SequenceLength(s)"
    result = fused(body, outputs="float[A,B] y, int64 n")
    assert nodes(result) == golden("""
        a = Neg(x)
        s = SequenceConstruct(x, a)
        y = Exp(a)
        n = SequenceLength(s)
        """)
    assert_same_results(result, x=X)


@pytest.mark.parametrize(
    ("split", "join", "changes"),
    [
        ("SplitToSequence(x)", "ConcatFromSequence<axis = 0>(s)", 1),
        ("SplitToSequence<axis = 1>(x)", "ConcatFromSequence<axis = -1>(s)", 1),
        ("SplitToSequence(x, k)", "ConcatFromSequence<axis = 0>(s)", 1),
        ("SplitToSequence(x, two)", "ConcatFromSequence<axis = 0>(s)", 1),
        ("SplitToSequence<keepdims = 0>(x)", "ConcatFromSequence<axis = 0, new_axis = 1>(s)", 1),
        ("SplitToSequence<axis = 1, keepdims = 0>(x)", "ConcatFromSequence<axis = -1, new_axis = 1>(s)", 1),
        ("SplitToSequence<axis = 1, keepdims = 0>(x)", "ConcatFromSequence<axis = 0, new_axis = 1>(s)", 0),
        ("SplitToSequence(x)", "ConcatFromSequence<axis = 1>(s)", 0),
        ("SplitToSequence(x)", "ConcatFromSequence<axis = 0, new_axis = 1>(s)", 0),
        ("SplitToSequence<keepdims = 0>(x)", "ConcatFromSequence<axis = 0>(s)", 0),
    ],
)
def test_what_is_split_and_joined(split: str, join: str, changes: int) -> None:
    # The rank of what a sequence gives is not always one that the graph can declare.
    source = f"s = {split}\n p = {join}\n y = Flatten<axis = 0>(p)"
    result = fused(source, k=np.array([2, 3]), two=np.array(2))
    assert result.changes == changes
    assert not changes or nodes(result) == "y = Flatten<axis=0>(x)"
    assert_same_results(result, x=X)


HEAD = "float[5,4] x, int64 i, int64[N] n"


@pytest.mark.parametrize(
    ("body", "outputs", "reason"),
    [
        ("s = SplitToSequence(x)\n y = SequenceAt(s, i)", "", "the place in the sequence is not known"),
        ("s = SplitToSequence(x)\n y = SequenceAt(s, i5)", "", "there is no place 5 in a sequence of 5"),
        ("s = SplitToSequence(x, k)\n y = SequenceAt(s, i2)", "", "there is no place 2 in a sequence of 2"),
        ("s = SplitToSequence(x, k)\n y = SequenceAt(s, m5)", "", "there is no place -5 in a sequence of 2"),
        ("s = SplitToSequence(x, n)\n y = SequenceAt(s, i0)", "", "the sizes of the parts are not known"),
        ("s = SplitToSequence<keepdims = 0>(x, one)\n y = SequenceAt(s, i0)", "",
         "runtimes differ in what keepdims means for parts of one size"),
        ("s = SplitToSequence<keepdims = 0>(x, one)\n y = ConcatFromSequence<axis = 0>(s)", "",
         "runtimes differ in what keepdims means for parts of one size"),
        ("o = Reshape(x, n)\n s = SplitToSequence(o, one)\n y = SequenceAt(s, i0)", "",
         "the number of parts is not known, or large"),
        ("o = Reshape(x, n)\n s = SplitToSequence(o)\n y = ConcatFromSequence<axis = -1>(s)", "",
         "the rank of the tensors is not known"),
        ("s = SplitToSequence(x, k)\n y = SequenceAt(s, i0)\n l = SequenceLength(s)", ", int64 l",
         "'s' is used elsewhere"),
        ("s = SplitToSequence(x, k)\n y = SequenceAt(s, i0)", ", seq(float[A,B]) s", "'s' is a graph output"),
        ("a = Neg(x)\n s = SequenceConstruct(x, a)\n y = SequenceAt(s, i2)", "",
         "there is no place 2 in a sequence of 2"),
        ("a = Transpose(x)\n s = SequenceConstruct(x, a)\n y = ConcatFromSequence<axis = 0>(s)", "",
         "the members are known not to fit together"),
    ],
)  # fmt: skip
def test_what_is_left(body: str, outputs: str, reason: str) -> None:
    result = fused(body, head=HEAD, outputs=f"float[A,B] y{outputs}", k=np.array([2, 3]), one=np.array(1))
    assert (result.changes, result.reasons) == (0, [reason])


def test_sizes_that_do_not_fit() -> None:
    source = model(
        "g (float[5,4] x) => (float[A,B] y) { s = SplitToSequence(x, k) y = SequenceAt(s, i0) }",
        constants={"k": np.array([2, 2]), "i0": PLACES["i0"]},
    )
    result = outcome("fuse-sequences", source, check=False)
    assert result.reasons == ["the sizes of the parts are not those of what is split"]


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("float[N,1,K] x", "s = SplitToSequence<axis = 2>(x) p = ConcatFromSequence<axis = 2>(s)"),
        ("float[N,1,K] x", "s = SequenceConstruct(x, x) p = ConcatFromSequence<axis = 0>(s)"),
    ],
)
def test_no_rank_is_made_known_in_front_of_a_stricter_check(head: str, body: str) -> None:
    """Kernels reduce a scalar along any axis; onnx's inference refuses that as soon as it knows."""
    body += " f = ReduceMax<axes = [0, 1, 2], keepdims = 0>(p) y = ReduceMax<axes = [0], keepdims = 0>(f)"
    source = model(f"g ({head}) => (float y) {{ {body} }}", opset=12)
    source.graph.output[0].type.tensor_type.ClearField("shape")
    result = outcome("fuse-sequences", source, check=False)
    assert result.changes == 0
    assert "ReduceMax 'y' would be refused when the file is loaded" in result.reasons[0]
    assert_same_results(result, x=np.ones((2, 1, 3), np.float32))


def test_what_one_rewrite_makes_known_counts_for_the_next() -> None:
    """Also a size of 0, which is declared: it stands for an unknown one in real files, but not for static checks."""
    body = "q = SequenceConstruct(x) o = SequenceAt(q, i0) e = Expand(o, three) s = SplitToSequence(e) "
    body += "m = SequenceAt(s, i1) c = Concat<axis = 0>(m, m) y = Concat<axis = 1>(c, m)"
    source = model(
        f"g (float[0,K] x) => (float[A,B,C] y) {{ {body} }}",
        constants={"three": np.array([3, 1, 1]), "i0": PLACES["i0"], "i1": PLACES["i1"]},
    )
    result = outcome("fuse-sequences", source, check=False)
    assert result.changes == 1
    assert "Concat 'y' would be refused when the file is loaded" in result.reasons[0]
    assert_same_results(result, x=np.ones((0, 1), np.float32))


def test_what_is_kept_stays() -> None:
    body = "s = SplitToSequence(x, k)\n y = SequenceAt(s, i0)\n z = SequenceAt(s, i1)"
    for name in ("s", "y", "z", "k", "i1"):
        assert fused(body, outputs="float[A,B] y, float[C,D] z", keep=[name], k=np.array([2, 3])).changes == 0
    for name in ("y", "i1"):
        assert fused(CONSTRUCT + "y = SequenceAt(s, i1)", keep=[name]).changes == 0


def test_in_a_branch_and_across_its_border() -> None:
    source = model(
        """
        g (float[5,4] x, bool c) => (float[A,B] y) {
            s = SplitToSequence(x)
            y = If (c) <
                then_branch = t () => (float[C,D] p) { q = SplitToSequence(x, k) p = SequenceAt(q, i1) },
                else_branch = e () => (float[E,F] r) { r = SequenceAt(s, i1) }
            >
        }""",
        constants={"k": np.array([2, 3]), "i1": PLACES["i1"]},
    )
    result = outcome("fuse-sequences", source)
    assert (result.changes, result.reasons) == (1, [])
    assert "r = SequenceAt(s, i1)" in result.text
    for value in (True, False):
        assert_same_results(result, x=X, c=np.array(value))
