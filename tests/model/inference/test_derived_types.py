"""Derived types: what may be relied on, and nothing that is only declared."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from onnx import ModelProto, helper

from maxfold.model import read_onnx
from maxfold.model.edit import Edit
from maxfold.model.view import View
from tests.text import model


def shapes(source: ModelProto) -> dict[str, tuple[int | None, ...] | None]:
    """The derived shapes of all results, by name."""
    loaded = read_onnx(source)
    view = View(loaded)
    tensors = [tensor for node in loaded.nodes() for tensor in node.outputs]
    return {tensor.name: view.shape(tensor) for tensor in (*loaded.graph.inputs, *tensors)}


def test_known_symbolic_and_unknown_dimensions() -> None:
    source = model("g (float[2,N,?] x) => (float[A,B,C] y) { p = Neg(x)\n y = Relu(p) }")
    assert shapes(source) == {"x": (2, None, None), "p": (2, None, None), "y": (2, None, None)}


@pytest.mark.parametrize("where", ["value_info", "output"])
def test_declarations_of_results_are_not_believed(where: str) -> None:
    source = model("g (float[N] x) => (float[3] y) <float[3] p> { p = Neg(x)\n y = Relu(p) }")
    if where == "output":
        del source.graph.value_info[:]
    assert shapes(source) == {"x": (None,), "p": (None,), "y": (None,)}


def test_a_wrong_rank_is_not_believed() -> None:
    source = model("g (float[3] x) => (float[1,1] y) <float[1,1] p> { p = Neg(x)\n y = Relu(p) }")
    assert shapes(source) == {"x": (3,), "p": (3,), "y": (3,)}


def test_declarations_inside_loop_and_scan_bodies_are_not_believed() -> None:
    source = model("""
        g (float[N] x, int64 n, bool go) => (float[M] y) {
            y = Loop (n, go, x) <
                body = b (int64 i, bool c, float[3] s) => (bool c2, float[3] t) <float[3] r> {
                    c2 = Identity(c)
                    r = Neg(s)
                    t = Relu(r)
                }
            >
        }""")
    found = shapes(source)
    assert found["r"] in (None, (None,))
    assert found["t"] in (None, (None,))
    assert found["y"] in (None, (None,))


def test_a_loop_may_change_the_shape_that_it_carries() -> None:
    source = model("""
        g (float[1] x, int64 n, bool go) => (float[M] y) {
            y = Loop (n, go, x) <
                body = b (int64 i, bool c, float[K] s) => (bool c2, float[L] t) {
                    c2 = Identity(c)
                    r = Neg(s)
                    t = Concat<axis = 0>(r, r)
                }
            >
        }""")
    found = shapes(source)
    for name in ("r", "t", "y"):
        assert found[name] in (None, (None,)), name


def test_branches_of_different_shape() -> None:
    source = model("""
        g (bool c, float[2] x) => (float[M] y, float[K] z) {
            y = If (c) <
                then_branch = t () => (float[2] p) { p = Neg(x) },
                else_branch = e () => (float[4] q) { q = Concat<axis = 0>(x, x) }
            >
            z = Neg(y)
        }""")
    found = shapes(source)
    assert (found["p"], found["q"], found["y"], found["z"]) == ((2,), (4,), (None,), (None,))


def test_inputs_of_other_kinds_in_bodies_stay_what_they_are() -> None:
    source = model("""
        g (seq(float[2]) x, int64 n, bool go) => (seq(float[2]) y) {
            y = Loop (n, go, x) <
                body = b (int64 i, bool c, seq(float[2]) s) => (bool c2, seq(float[2]) t, float[2] e) {
                    c2 = Identity(c)
                    t = Identity(s)
                    e = SequenceAt(s, i)
                }
            >
        }""")
    source.graph.node[0].output.append("z")
    loaded = read_onnx(source)
    view = View(loaded)
    found = {tensor.name: tensor for node in loaded.nodes() for tensor in node.outputs}
    assert (view.dtype(found["t"]), view.shape(found["t"])) == (None, None)
    assert str(view.dtype(found["e"])) == "float"


def test_slices_of_dynamic_dimensions_are_not_known() -> None:
    """onnx's inference of Slice-10 carries a dynamic dimension through; it is not the same dimension."""
    source = model("g (float[N] x, float[N] w) => (float[M] y) { s = Slice(x, k, k2)\n y = Add(s, w) }", opset=10,
                   constants={"k": np.array([1]), "k2": np.array([2])})  # fmt: skip
    found = shapes(source)
    assert found["s"] in (None, (None,), (1,))
    assert found["y"] in (None, (None,))


def test_an_unknown_rank_is_no_empty_shape() -> None:
    source = model("g (float[2] x, int64[N] s) => (float[M] y) { y = Reshape(x, s) }")
    assert shapes(source)["y"] is None


@pytest.mark.parametrize(("size", "expected"), [(2, (2, 3)), (3, (6, 1, 1))])
def test_small_constants_take_part(size: int, expected: tuple[int, ...]) -> None:
    target = {2: np.array([2, -1]), 3: np.array([6, 1, 1])}[size]
    dims = ",".join("ABC"[:size])
    source = model(f"g (float[6] x) => (float[{dims}] y) {{ y = Reshape(x, s) }}", constants={"s": target})
    assert shapes(source)["y"] == expected


def test_large_constants_give_their_shape_only() -> None:
    source = model(
        "g (float[4,1000] x) => (float[A,B] y) { y = MatMul(x, w) }", constants={"w": np.zeros((1000, 7), np.float32)}
    )
    assert shapes(source)["y"] == (4, 7)


def test_negative_dimensions_are_unknown() -> None:
    source = model("g (float[3] x) => (float[N] y) { y = Neg(x) }")
    source.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    assert shapes(source) == {"x": (None,), "y": (None,)}


def test_defaults_that_may_be_overridden_have_the_declared_shape() -> None:
    source = model("""
        g (float[N] a, float[3] b) => (float[M] y) <float[3] a = {1, 2, 3}, float[3] b = {1, 2, 3}> {
            y = Neg(a)
            z = Neg(b)
        }""")
    view = View(loaded := read_onnx(source))
    a, b = loaded.graph.inputs
    assert (view.shape(a), view.shape(b)) == ((None,), (3,))
    assert [view.shape(node.outputs[0]) for node in loaded.graph.nodes] == [(None,), (3,)]
    source.ir_version = 3
    view = View(loaded := read_onnx(source))
    assert view.shape(loaded.graph.inputs[0]) == (3,)


def test_constants_know_their_type() -> None:
    source = model("g (float x) => (float y) <int8[2] k = {1, 2}> { c = Constant<value_ints = [1]>()\n y = Neg(x) }")
    view = View(loaded := read_onnx(source))
    types = {
        constant.name: (str(view.dtype(constant)), view.shape(constant), view.rank(constant))
        for constant in loaded.constants()
    }
    assert types == {"k": ("int8", (2,), 1), "c": ("int64", (1,), 1)}


@pytest.mark.parametrize(
    "damage",
    [
        lambda source: source.graph.node[0].attribute.add(name="axis", i=7, type=1),
        lambda source: source.graph.node.add(op_type="Concat", input=["x"], output=["c"]),
        lambda source: source.opset_import[0].CopyFrom(helper.make_opsetid("", 999)),
        lambda source: source.graph.node.add(op_type="NoSuchThing", input=["x"], output=["c"]),
        lambda source: source.graph.node.add(op_type="Add", input=["x"], output=["c"]),
    ],
)
def test_inference_that_fails_derives_less_and_raises_nothing(damage: Callable[[ModelProto], object]) -> None:
    source = model("g (float[3] x) => (float[3] y) { y = Neg(x) }")
    damage(source)
    assert shapes(source)["y"] in (None, (3,))


def test_types_are_derived_from_the_graph_and_not_from_half_an_edit() -> None:
    source = model("g (float[3] x) => (float[A] y, float[B] z) { p = Neg(x)\n q = Max(p)\n y = Relu(q)\n z = Abs(p) }")
    loaded = read_onnx(source)
    edit = Edit(loaded)
    _, q, y, z = loaded.graph.nodes
    edit.replace_uses(q.outputs[0], q.inputs[0])
    edit.remove_node(q)
    assert edit.shape(y.outputs[0]) == (3,)
    assert edit.shape(z.outputs[0]) == (3,)


def test_weights_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    source = model(
        "g (float[4,1000] x) => (float[A,B] y) { y = MatMul(x, w) }", constants={"w": np.zeros((1000, 7), np.float32)}
    )
    loaded = read_onnx(source)
    (weight,) = loaded.graph.constants

    def refuse() -> None:
        raise AssertionError("a weight was decoded")

    monkeypatch.setattr(weight.data, "array", refuse)
    view = View(loaded)
    assert view.shape(loaded.graph.outputs[0]) == (4, 7)


def test_functions_are_looked_into_for_their_results() -> None:
    source = model(
        "g (float[3] x) => (float[N] y) { y = custom.f(x) }",
        domains='"custom" : 1',
        functions='<domain: "custom", opset_import: ["" : 17]> f (a) => (b) { b = Neg(a) }',
    )
    loaded = read_onnx(source)
    view = View(loaded)
    assert view.shape(loaded.graph.outputs[0]) in ((3,), None)
    (inner,) = loaded.functions[0].nodes
    assert view.shape(inner.outputs[0]) is None
    assert view.dtype(inner.inputs[0]) is None
