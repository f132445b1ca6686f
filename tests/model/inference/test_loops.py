"""Shapes that hold in every iteration of a Loop or Scan."""

from __future__ import annotations

import onnx
import pytest
from onnx import parser

from maxfold.model.edit import Edit
from maxfold.model.graph import Graph, Node
from maxfold.optimizer import load


def settled(text: str) -> Edit:
    """What is derived of a model once its loops are settled."""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    onnx.checker.check_model(model)
    edit = Edit(load(model), is_checked=False)
    edit.forget_types(settles_loops=True)
    return edit


def shapes(edit: Edit, *names: str) -> list[tuple[int | None, ...] | None]:
    """The derived shapes of tensors of any scope."""
    found = {tensor.name: tensor for node in edit.nodes() for tensor in (*node.inputs, *node.outputs)}
    return [edit.shape(found[name]) for name in names]


def loop(signature: str, body: str, x: str = "float[N,3]") -> str:
    return f"""g (int64 n, {x} x) => (float y, float z) {{
        y, z = Loop (n, , x) <body = b {signature} {{ c = Identity(c0) {body} }}> }}"""


STATE = "(int64 i, bool c0, float s0) => (bool c, float s, float t)"


def test_a_state_keeps_its_shape() -> None:
    edit = settled(loop(STATE, "s = Add(s0, x) t = Relu(s0)"))
    assert shapes(edit, "s0", "s", "y", "z") == [(None, 3), (None, 3), (None, 3), (None, None, 3)]
    x, y = (next(tensor for tensor in tensors if tensor.name == name) for tensors, name in (
        (edit.model.graph.inputs, "x"), (edit.model.graph.outputs, "y"),
    ))  # fmt: skip
    assert edit.dims(x) == edit.dims(y)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("s = Concat<axis=0>(s0, x)", (None, 3)),
        ("s = Concat<axis=1>(s0, x)", (2, None)),
        ("a = Constant<value_ints=[0]>() s = Unsqueeze(s0, a)", None),
        ("s = Transpose<perm=[1, 0]>(s0)", (None, None)),
        ("a = Constant<value_ints=[-1, 3]>() s = Reshape(s0, a)", (2, 3)),
    ],
)
def test_a_state_that_changes(body: str, expected: tuple[int | None, ...] | None) -> None:
    edit = settled(loop(STATE, f"t = Relu(s0) {body}", "float[2,3]"))
    assert shapes(edit, "s0", "y") == [expected, expected]


def test_what_depends_on_a_state_that_changes() -> None:
    """The second state first seems to keep its shape."""
    edit = settled(
        """g (int64 n, float[2] x) => (float y, float z) {
            y, z = Loop (n, , x, x) <body = b (int64 i, bool c0, float s0, float t0) => (bool c, float s, float t)
              { c = Identity(c0) s = Concat<axis=0>(s0, x) q = Exp(t0) t = Identity(s0) }> }"""
    )
    assert shapes(edit, "s0", "t0", "y", "z") == [(None,)] * 4


@pytest.mark.parametrize(("declared", "expected"), [("int64", ()), ("int64[1]", (1,))])
def test_the_number_of_the_iteration(declared: str, expected: tuple[int, ...]) -> None:
    signature = f"({declared} i, bool c0, float s0) => (bool c, float s, float t)"
    edit = settled(loop(signature, "f = Cast<to=1>(i) s = Add(s0, f) t = Identity(f)"))
    assert shapes(edit, "i", "f", "z") == [expected, expected, (None, *expected)]


def test_loops_in_loops() -> None:
    edit = settled(
        """g (int64 n, float[2] x) => (float y, float z) {
            y, z = Loop (n, , x) <body = b (int64 i, bool c0, float s0) => (bool c, float s, float t) { c = Identity(c0)
              s, u = Loop (i, , s0) <body = b2 (int64 j, bool d0, float r0) => (bool d, float r, float v)
                { d = Identity(d0) r = Add(r0, s0) v = Exp(r) }>
              t = Relu(s) }> }"""
    )
    assert shapes(edit, "s0", "r0", "u", "t", "y", "z") == [(2,), (2,), (None, 2), (2,), (2,), (None, 2)]


def test_scan() -> None:
    edit = settled(
        """g (float[2] s, float[2,A] x) => (float y, float z) {
            y, z = Scan <num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[-1], body = b (float s0, float v)
              => (float s1, float o) { s1 = Add(s0, v) o = Mul(s1, v) }> (s, x) }"""
    )
    assert shapes(edit, "s0", "v", "o", "y", "z") == [(2,), (2,), (2,), (2,), (2, None)]


def test_bodies_that_fit_no_loop() -> None:
    """Nothing is supposed of them."""
    edit = settled(loop(STATE, "s = Add(s0, x) t = Relu(s0)"))
    node: Node = edit.model.graph.nodes[0]
    body: Graph = node.attrs["body"]
    body.inputs.pop()
    edit.forget_types(settles_loops=True)
    assert shapes(edit, "y", "z") == [None, None]
