"""fuse-slices: which Slice nodes are the parts of one Split, and each reason for leaving them."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import numpy_helper

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import BOUND, Outcome, outcome
from tests.text import model

A = np.arange(24, dtype=np.float32).reshape(2, 6, 2)
CONSTANTS = {
    **{f"i{value}": np.array([value]) for value in range(7)},
    "end": np.array([(1 << 63) - 1]), "minus": np.array([-2]), "both": np.array([1, 2]), "zeros": np.array([0, 0]),
}  # fmt: skip


def fused(body: str, *, a: str = "2,6,2", keep: tuple[str, ...] = ()) -> Outcome:
    used = {name: value for name, value in CONSTANTS.items() if f"{name}," in body or f"{name})" in body}
    text = f"g (float[{a}] a, int64[1] x) => (float[K,L,M] y) {{ {body} }}"
    return outcome("fuse-slices", model(text, constants=used), keep=keep)


def sizes(result: Outcome) -> list[int]:
    split = next(node for node in result.after.graph.node if node.op_type == "Split")
    constant = next(item for item in result.after.graph.initializer if item.name == split.input[1])
    found: list[int] = numpy_helper.to_array(constant).tolist()
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p = Slice(a, i0, i2, i1) q = Slice(a, i2, end, i1) y = Concat<axis = 1>(q, p)", [2, 4]),
        ("q = Slice(a, i2, end, i1, i1) p = Slice(a, i0, i2, i1) y = Concat<axis = 1>(q, p)", [2, 4]),
        ("p = Slice(a, i0, minus, i1) q = Slice(a, minus, end, minus) y = Concat<axis = 1>(q, p)", [4, 2]),
        (
            "r = Slice(a, i3, i6, i1) p = Slice(a, i0, i1, i1) q = Slice(a, i1, i3, i1) y = Concat<axis = 1>(q, p, r)",
            [1, 2, 3],
        ),
        ("p = Slice(a, i0, i1) q = Slice(a, i1, i2) y = Sub(p, q)", [1, 1]),
    ],
)
def test_parts(body: str, expected: list[int]) -> None:
    result = fused(body)
    assert sizes(result) == expected
    assert "Slice" not in nodes(result)
    assert_same_results(result, a=A, x=np.ones(1, np.int64))


def test_text() -> None:
    result = fused("p = Slice(a, i0, i2, i1) q = Slice(a, i2, end, i1) y = Concat<axis = 1>(q, p)")
    assert nodes(result) == (
        "p_split, p_split_1 = Split<axis=1>(a, p_constant)\ny = Concat<axis=1>(p_split_1, p_split)"
    )


def test_graph_outputs_keep_their_names() -> None:
    source = model(
        "g (float[4] a) => (float[2] p, float[2] q) { p = Slice(a, i0, i2) q = Slice(a, i2, i4) }",
        constants={name: CONSTANTS[name] for name in ("i0", "i2", "i4")},
    )
    result = outcome("fuse-slices", source)
    assert nodes(result) == "p, q = Split<axis=0>(a, p_constant)"
    assert_same_results(result, a=np.arange(4, dtype=np.float32))


def test_older_versions_have_attributes() -> None:
    text = "p = Slice<axes = [1], starts = [0], ends = [2]>(a) q = Slice<axes = [1], starts = [2], ends = [9]>(a)"
    source = model(f"g (float[2,6] a) => (float[K,L] y) {{ {text} y = Concat<axis = 1>(q, p) }}", opset=9)
    result = outcome("fuse-slices", source)
    assert "p_split, p_split_1 = Split<axis=1, split=[2, 4]>(a)" in nodes(result)
    assert_same_results(result, a=A[..., 0])


@pytest.mark.parametrize(
    ("body", "a"),
    [
        ("p = Slice(a, i0, i2, i1) q = Slice(a, i3, end, i1) y = Concat<axis = 1>(q, p)", "2,6,2"),
        ("p = Slice(a, i0, i3, i1) q = Slice(a, i2, end, i1) y = Concat<axis = 1>(q, p)", "2,6,2"),
        ("p = Slice(a, i1, i2, i1) q = Slice(a, i2, end, i1) y = Concat<axis = 1>(q, p)", "2,6,2"),
        ("p = Slice(a, i0, i2, i1) q = Slice(a, i2, i5, i1) y = Concat<axis = 1>(q, p)", "2,6,2"),
        ("p = Slice(a, i0, i3, i1) q = Slice(a, i3, end, i1, i2) y = Concat<axis = 1>(q, p)", "2,6,2"),
        ("p = Slice(a, i0, i2, i1) q = Slice(a, i2, end, i1) y = Concat<axis = 1>(q, p)", "2,N,2"),
        ("p = Slice(a, i0, i1, i0) q = Slice(a, i1, end, i2) y = Sub(q, p)", "2,6,2"),
        ("p = Slice(a, i0, i2, i1) q = Slice(a, i2, x, i1) y = Concat<axis = 1>(q, p)", "2,6,2"),
        ("p = Slice(a, zeros, both, both) q = Slice(a, i1, end, i1) y = Concat<axis = 1>(q, p)", "2,6,2"),
        ("p = Slice(a, i0, i6, i1) q = Slice(a, i6, end, i1) y = Concat<axis = 1>(q, p)", "2,6,2"),
        ("p = Slice(a, i0, i2, i1) y = Neg(p)", "2,6,2"),
    ],
)
def test_what_is_not_the_whole_stays(body: str, a: str) -> None:
    result = fused(body, a=a)
    assert (result.changes, result.reasons) == (0, [])


def test_shapes_stay() -> None:
    source = model(
        "g (float[2,3,N] a) => (int64[1] p, int64[2] q) { s = Shape(a) p = Slice(s, i0, i1) q = Slice(s, i1, i3) }",
        constants={name: CONSTANTS[name] for name in ("i0", "i1", "i3")},
    )
    assert outcome("fuse-slices", source).changes == 0


def test_what_is_to_be_kept_or_trained_stays() -> None:
    body = "p = Slice(a, i0, i2, i1) q = Slice(a, i2, end, i1) y = Concat<axis = 1>(q, p)"
    assert set(fused(body, keep=("q",)).reasons) == {"it is to be kept"}
    source = fused(body).before
    source.training_info.add().update_binding.add(key="q", value="q")
    assert set(outcome("fuse-slices", source).reasons) == {f"'q' {BOUND}"}


def test_readers_in_inner_graphs() -> None:
    source = model(
        """
        g (bool c, float[4] a) => (float[N] y) {
            p = Slice(a, i0, i2)
            q = Slice(a, i2, i4)
            y = If (c) <
                then_branch = t () => (float[N] u) { u = Add(p, q) },
                else_branch = e () => (float[N] v) { v = Sub(p, q) }
            >
        }""",
        constants={name: CONSTANTS[name] for name in ("i0", "i2", "i4")},
    )
    result = outcome("fuse-slices", source)
    assert result.changes == 1
    assert_same_results(result, c=np.array(True), a=np.arange(4, dtype=np.float32))


@pytest.mark.parametrize(
    "operator", ["Relu", "LeakyRelu<alpha = 0.25>", "Neg", "Cast<to = 11>", "Sqrt", "ThresholdedRelu<alpha = 0.5>"]
)
def test_what_is_done_to_all_parts_comes_first(operator: str) -> None:
    kind = "double" if "Cast" in operator else "float"
    source = model(
        f"g (float[2,6] a) => ({kind}[2,2] q, {kind}[K,L] y) "
        f"{{ p = Slice(a, i0, i2, i1) r = Slice(a, i2, i6, i1) q = {operator}(p) s = {operator}(r) y = Identity(s) }}",
        constants={name: CONSTANTS[name] for name in ("i0", "i1", "i2", "i6")},
    )
    result = outcome("fuse-slices", source)
    assert [node.op_type for node in result.after.graph.node] == [operator.split("<")[0], "Split", "Identity"]
    assert_same_results(result, a=np.linspace(-3, 3, 12, dtype=np.float32).reshape(2, 6))


@pytest.mark.parametrize(
    "body",
    [
        "p, q = Split(a) r = Relu(p) s = Neg(q) y = Concat<axis = 1>(r, s)",
        "p, q = Split(a) r = LeakyRelu<alpha = 0.5>(p) s = LeakyRelu<alpha = 0.25>(q) y = Concat<axis = 1>(r, s)",
        "p, q = Split(a) r = Relu(p) y = Concat<axis = 1>(r, q)",
        "p, q = Split(a) r = Relu(p) s = Relu(q) t = Add(s, q) y = Concat<axis = 1>(r, t)",
        "p, q = Split(a) r = Softmax(p) s = Softmax(q) y = Concat<axis = 1>(r, s)",
        "p, q = Split(a) y = Add(p, q)",
        ", q = Split(a) y = Relu(q)",
    ],
)
def test_what_is_not_done_to_all_parts_stays(body: str) -> None:
    result = fused(body)
    assert (result.changes, result.reasons) == (0, [])


def test_parts_that_are_to_stay() -> None:
    body = "p, q = Split(a) r = Relu(p) s = Relu(q) y = Concat<axis = 1>(r, s)"
    assert fused(body, keep=("r",)).reasons == ["'r' is to be kept"]
    assert fused(body, keep=("p",)).reasons == ["it is to be kept"]
    source = fused(body).before
    source.training_info.add().update_binding.add(key="q", value="q")
    assert outcome("fuse-slices", source).reasons == [f"'q' {BOUND}"]
    outputs = model("g (float[2,6] a) => (float[1,6] p, float[1,6] s) { p, q = Split(a) r = Relu(p) s = Relu(q) }")
    assert outcome("fuse-slices", outputs).changes == 0


@pytest.mark.parametrize("operator", ["Sigmoid", "Log", "Sin", "Softplus", "Cast<to = 12>", "Cast<to = 6>"])
def test_the_place_of_an_element_may_count(operator: str) -> None:
    """ONNX Runtime computes the last elements of a tensor by other means than those before."""
    kind = {"12": "uint32", "6": "int32"}.get(operator.removesuffix(">").split(" ")[-1], "float")
    source = model(
        f"g (float[2,6] a) => ({kind}[1,6] q, {kind}[1,6] r) {{ b, c = Split(a) q = {operator}(b) r = {operator}(c) }}"
    )
    exact = outcome("fuse-slices", source)
    name = operator.split("<")[0]
    assert exact.reasons == [f"{name} may round by the place of an element; only with --math relaxed"]
    assert [decline.relaxed_gain for decline in exact.declines] == [1]
    relaxed = outcome("fuse-slices", source, math="relaxed")
    assert [node.op_type for node in relaxed.after.graph.node] == [name, "Split"]
