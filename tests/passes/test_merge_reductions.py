"""merge-reductions: each operator and version, with the axes as they may be written, and each reason why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnx.shape_inference import infer_shapes

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import Array, model

X = np.random.default_rng(0).standard_normal((2, 1, 3, 4)).astype(np.float32)
REDUCING = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
)  # fmt: skip


def source_of(body: str, *, kind: str = "float", opset: int = 18, **axes: list[int]) -> ModelProto:
    source = model(
        f"g (float[N,1,3,K] x, int64[M] s) => ({kind}[A] y) {{ {body} }}",
        opset=opset,
        constants={name: np.array(values, np.int64) for name, values in axes.items()},
    )
    source.graph.output[0].type.tensor_type.ClearField("shape")
    source.graph.output[0].CopyFrom(infer_shapes(source).graph.output[0])
    return source


def merged(body: str, **options: Any) -> Outcome:
    return outcome("merge-reductions", source_of(body, **options))


def check(result: Outcome, *arrays: Array) -> None:
    for array in arrays or (X, X[:0], X[..., :1]):
        assert_same_results(result, x=array, s=np.array([1], np.int64))


@pytest.mark.parametrize("operator", REDUCING)
@pytest.mark.parametrize("opset", [11, 13, 18])
def test_every_reduction(operator: str, opset: int) -> None:
    has_input = opset >= (13 if operator == "ReduceSum" else 18)
    more, listed = ("", ", u") if has_input else (", axes = [1, 3]", "")
    put = "Unsqueeze<axes = [3, 1]>(r)" if opset < 13 else "Unsqueeze(r, v)"
    axes = {"u": [1, 3], "v": [3, 1]}
    used = {name: axes[name] for name in "uv" if (has_input if name == "u" else opset >= 13)}
    result = merged(f"r = {operator}<keepdims = 0{more}>(x{listed}) y = {put}", opset=opset, **used)
    attributes = "keepdims=1" if has_input else "axes=[1, 3], keepdims=1"
    assert nodes(result) == f"y = {operator}<{attributes}>(x{listed})"
    check(result, X)
    take = "Squeeze<axes = [-1, 1]>(r)" if opset < 13 else "Squeeze(r, v)"
    result = merged(f"r = {operator}<keepdims = 1{more}>(x{listed}) y = {take}", opset=opset, **used)
    assert nodes(result) == f"y = {operator}<{attributes.replace('dims=1', 'dims=0')}>(x{listed})"
    check(result, X)


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("opset", [11, 12, 13])
def test_places_of_extremes(operator: str, opset: int) -> None:
    more = ", select_last_index = 1" if opset > 11 else ""
    put, take = ((f"{name}<axes = [-1]>(r)" if opset < 13 else f"{name}(r, last)") for name in ("Unsqueeze", "Squeeze"))
    used = {"last": [-1]} if opset >= 13 else {}
    shown = more.replace(" = ", "=")
    result = merged(f"r = {operator}<axis = 3, keepdims = 0{more}>(x) y = {put}", kind="int64", opset=opset, **used)
    assert nodes(result) == f"y = {operator}<axis=3, keepdims=1{shown}>(x)"
    check(result, X)
    result = merged(f"r = {operator}<axis = 3{more}>(x) y = {take}", kind="int64", opset=opset, **used)
    assert nodes(result) == f"y = {operator}<axis=3, keepdims=0{shown}>(x)"
    check(result, X)


@pytest.mark.parametrize(
    ("body", "goes"),
    [
        ("r = ReduceMax<keepdims = 0>(x, u) y = Unsqueeze(r, n)", True),
        ("r = ReduceMax<keepdims = 0>(x, n) y = Unsqueeze(r, u)", True),
        ("r = ReduceMax(x, u) y = Squeeze(r, n)", True),
        ("r = ReduceMax(x) y = Squeeze(r, all)", True),
        ("r = ReduceMax<keepdims = 0>(x) y = Unsqueeze(r, all)", True),
        ("r = ReduceMax(x) y = Squeeze(r)", True),
        # Others than those that are reduced.
        ("r = ReduceMax<keepdims = 0>(x, u) y = Unsqueeze(r, zero)", False),
        ("r = ReduceMax<keepdims = 0>(x, u) y = Unsqueeze(r, one)", False),
        ("r = ReduceMax(x, u) y = Squeeze(r, one)", False),
        ("r = ReduceMax(x, last) y = Squeeze(r, one)", False),
        ("r = ReduceMax(x, u) y = Squeeze(r, twice)", False),
        ("r = ReduceMax<noop_with_empty_axes = 1>(x) y = Unsqueeze(r, zero)", False),
        ("r = ReduceMax<keepdims = 0, noop_with_empty_axes = 1>(x) y = Unsqueeze(r, zero)", False),
        ("r = ReduceMax<keepdims = 0>(x, none) y = Unsqueeze(r, all)", False),
        ("r = ReduceMax<keepdims = 0>(x, u) y = Neg(r)", False),
    ],
)
def test_axes(body: str, goes: bool) -> None:
    axes = {
        "u": [1, 2],
        "n": [-2, -3],
        "all": [0, 1, 2, 3],
        "zero": [0],
        "one": [1],
        "none": [],
        "last": [3],
        "twice": [2],
    }
    used = {name: values for name, values in axes.items() if f", {name})" in body}
    result = merged(body, **used)
    assert (bool(result.changes), len(result.after.graph.node)) == (goes, 1 if goes else 2)
    check(result, X)


def test_a_squeeze_of_all_that_is_one() -> None:
    """Of what it reads all sizes must be known, and only reduced axes have one element."""
    body = "r = ReduceSum(x, u) y = Squeeze(r)"
    source = model(
        f"g (float[2,5,3] x) => (float[A,B] y) {{ {body} }}", constants={"u": np.array([1], np.int64)}, opset=18
    )
    assert nodes(outcome("merge-reductions", source)) == "y = ReduceSum<keepdims=0>(x, u)"
    source = model(
        f"g (float[2,5,1] x) => (float[A] y) {{ {body} }}", constants={"u": np.array([1], np.int64)}, opset=18
    )
    assert outcome("merge-reductions", source).changes == 0


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "r = ReduceMax(x, u) q = Squeeze(r, u) z = ReduceMax<keepdims = 0>(r, u) y = Mul(q, z)",
            "'r' is used elsewhere",
        ),
        ("r = ReduceMax(x, u) y = Squeeze(r, s)", "'s' is not constant"),
        ("r = ReduceMax<keepdims = 0>(x, s) y = Unsqueeze(r, u)", "'s' is not constant"),
    ],
)
def test_reasons(body: str, reason: str) -> None:
    used = {name: values for name, values in {"u": [1], "n": [-1]}.items() if f", {name})" in body}
    source = model(
        f"g (float[N,1,3,K] x, int64[1] s) => (float[A,B,C] y) {{ {body} }}",
        constants={name: np.array(values, np.int64) for name, values in used.items()},
        opset=18,
    )
    assert outcome("merge-reductions", source).reasons == [reason]


def test_an_unknown_rank() -> None:
    body = "p = Reshape(x, s) r = ReduceMax(p, n) q = Squeeze(r, n) y = Shape(q)"
    source = source_of(body, kind="int64", n=[-1])
    assert outcome("merge-reductions", source).reasons == ["the rank of the tensor is not known"]
    assert outcome("merge-reductions", source_of(body, kind="int64", n=[0])).changes == 1


def test_what_may_be_a_scalar_gets_its_axis_from_unsqueeze() -> None:
    """Kernels reduce a scalar along an axis that it does not have, and give a scalar whatever keepdims says."""
    body = "i = Identity(z) r = ReduceMax<axes = [0], keepdims = 0>(i) u = Unsqueeze(r, n) y = Identity(u)"
    source = model(f"g (float z) => (float[A] y) {{ {body} }}", opset=17, constants={"n": np.array([0])})
    source.graph.input[0].type.tensor_type.ClearField("shape")
    result = outcome("merge-reductions", source, check=False)
    assert result.reasons == ["the rank of the tensor is not known"]
    assert_same_results(result, z=np.array(2, np.float32))


def test_graph_outputs_and_kept_names() -> None:
    source = model(
        "g (float[2,3] x) => (float[2,1] r, float[2] y) { r = ReduceMax(x, u) y = Squeeze(r, u) }",
        constants={"u": np.array([1], np.int64)},
        opset=18,
    )
    assert outcome("merge-reductions", source).reasons == ["'r' is a graph output"]
    plain = source_of("r = ReduceMax(x, u) y = Squeeze(r, u)", u=[1])
    assert outcome("merge-reductions", plain, keep=["r"]).reasons == ["'r' is to be kept"]
    assert outcome("merge-reductions", plain, keep=["y"]).changes == 0


def test_inner_graphs() -> None:
    source = model(
        """
        g (bool p, float[2,3] x) => (float[A] y) {
            r = ReduceMax(x, u)
            y = If (p) <
                then_branch = t () => (float[B] v) { v = Squeeze(r, u) },
                else_branch = e () => (float[C] w) { q = ReduceMin(x, u) w = Squeeze(q, u) }
            >
        }""",
        constants={"u": np.array([1], np.int64)},
        opset=18,
    )
    result = outcome("merge-reductions", source)
    assert (result.changes, "w = ReduceMin<keepdims=0>(x, u)" in result.text) == (1, True)
    for chosen in (True, False):
        assert_same_results(result, p=np.array(chosen), x=X[:, 0, :, 0])
