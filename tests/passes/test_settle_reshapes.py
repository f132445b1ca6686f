"""settle-reshapes: constant targets where they say the same as the computed ones, for empty tensors too."""

from __future__ import annotations

import numpy as np
import pytest

from maxfold.passes.rule import DeclineRecord
from tests.passes.outcome import Outcome, outcome
from tests.run import in_onnxruntime
from tests.text import model

HEAD = """
    g (float[N,4,H] x, int64[2] k) => (float[A,B,C] y)
    <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3}, int64[1] rest = {-1}> {
        s = Shape(x)
        n = Slice(s, zero, one)
        c = Slice(s, one, two)
        h = Slice(s, two, three)
"""
SIZES = [(1, 4, 6), (3, 4, 2), (0, 4, 2), (2, 4, 0)]


def settled(body: str) -> Outcome:
    return outcome("settle-reshapes", model(f"{HEAD} {body} }}"))


def target(result: Outcome) -> list[int] | None:
    """The constant target of the Reshape that makes `y`."""
    constants = {tensor.name: tensor for tensor in result.after.graph.initializer}
    node = next(node for node in result.after.graph.node if node.output[0] == "y")
    tensor = constants.get(node.input[1])
    return None if tensor is None else np.frombuffer(tensor.raw_data, np.int64).tolist()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("t = Concat <axis = 0> (n, c, h)\n y = Reshape(x, t)", [0, 4, 0]),
        ("t = Concat <axis = 0> (n, h, c)\n y = Reshape(x, t)", None),
        ("t = Concat <axis = 0> (n, rest, h)\n y = Reshape(x, t)", [0, 4, 0]),
        ("t = Concat <axis = 0> (n, rest, one)\n y = Reshape(x, t)", [0, -1, 1]),
        ("q = Mul(n, h)\n t = Concat <axis = 0> (q, two, two)\n y = Reshape(x, t)", [-1, 2, 2]),
        ("q = Mul(n, h)\n t = Concat <axis = 0> (two, q, two)\n y = Reshape(x, t)", [2, -1, 2]),
        ("t = Concat <axis = 0> (n, two, q)\n q = Mul(h, two)\n y = Reshape(x, t)", None),
        ("t = Concat <axis = 0> (rest, n, one)\n y = Reshape(x, t)", None),
        ("t = Concat <axis = 0> (k, one)\n y = Reshape(x, t)", None),
        ("t = Concat <axis = 0> (n, c, h)\n y = Reshape <allowzero = 1> (x, t)", [0, 4, 0]),
    ],
)
def test_targets(body: str, expected: list[int] | None) -> None:
    if "q = Mul(h" in body:
        body = "\n".join(reversed(body.split("\n")[:2])) + "\n" + body.split("\n")[2]
    result = settled(body)
    assert target(result) == expected
    if expected is None:
        assert result.reasons == ["its target has more than one element that is neither known nor copied from the data"]
    for shape in SIZES:
        feeds = {"x": np.arange(np.prod(shape), dtype=np.float32).reshape(shape), "k": np.array([2, 2], np.int64)}
        before = run(result.before, feeds)
        if before is not None:
            after = run(result.after, feeds)
            assert after is not None, shape
            np.testing.assert_array_equal(after, before, strict=True)


def run(graph: object, feeds: dict[str, np.ndarray]) -> np.ndarray | None:
    """The only output, None where ONNX Runtime cannot run the model."""
    try:
        result: np.ndarray = in_onnxruntime(graph, feeds)[0]
    except Exception:
        return None
    return result


def test_what_nothing_reads_any_more_goes() -> None:
    result = settled("t = Concat <axis = 0> (n, c, h)\n y = Reshape(x, t)")
    assert [node.op_type for node in result.after.graph.node] == ["Reshape"]


def test_a_zero_that_is_meant_is_no_copy() -> None:
    source = f"{HEAD} t = Concat <axis = 0> (zero, n)\n y = Reshape <allowzero = 1> (x, t) }}"
    result = outcome("settle-reshapes", model(source.replace("float[A,B,C] y", "float[A,B] y")))
    assert result.changes == 0


def test_a_target_of_unknown_length() -> None:
    source = model("g (float[N] x, int64[L] k) => (int64 y) { r = Reshape(x, k)\n y = Size(r) }")
    result = outcome("settle-reshapes", source)
    assert result.declines == (
        DeclineRecord("settle-reshapes", "r", "Reshape", "how many dimensions its target has is not known"),
    )


def test_an_output_that_is_declared_wrongly_keeps_its_file_valid() -> None:
    """As in a recognizer of captchas, whose output is declared with two dimensions and has three."""
    # The checker does not follow Abs, and knows no length of the target.
    source = f"{HEAD} l = Size(s)\n a = Abs(l)\n e = Reshape(a, rest)\n t = Slice(s, zero, e)\n y = Reshape(x, t) }}"
    result = outcome("settle-reshapes", model(source.replace("float[A,B,C] y", "float[A,B] y")))
    assert result.reasons == ["output 'y', which depends on it, is declared with a shape that it does not have"]


def test_a_computed_0_copies_a_dimension_that_is_not_0() -> None:
    """A Reshape to [-1, n] takes an empty batch, of which n copies the 4: it does not show that n is never 0."""
    source = model("""
        g (float[N,4] x, int64[1] k) => (float[A,B] q, float[C,D] y)
        <int64[1] zero = {0}, int64[1] rest = {-1}, int64[1] six = {6}> {
            s = Shape(x)
            n = Gather(s, zero)
            t = Concat <axis = 0> (rest, n)
            q = Reshape(x, t)
            u = Concat <axis = 0> (n, six)
            e = ConstantOfShape(u)
            v = Concat <axis = 0> (n, k)
            y = Reshape(e, v)
        }""")
    result = outcome("settle-reshapes", source)
    for batch in (0, 2):
        feeds = {"x": np.zeros((batch, 4), np.float32), "k": np.array([6])}
        for own, right in zip(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), strict=True):
            np.testing.assert_array_equal(own, right, strict=True)


def test_minus_one_beside_a_0_that_is_meant() -> None:
    """ONNX Runtime takes it, and leaves zeros out of the division; without `allowzero` it refuses."""
    source = model("""
        g (float[N,M] x) => (float[A,B] y) <int64[1] zero = {0}, int64[1] rest = {-1}> {
            s = Shape(x)
            n = Gather(s, zero)
            t = Concat <axis = 0> (n, rest)
            y = Reshape <allowzero = 1> (x, t)
        }""")
    for name in ("settle-reshapes", "remove-no-op-reshape"):
        assert outcome(name, source).changes == 0


@pytest.mark.parametrize(("order", "opset", "changes"), [("0, 2, 1", 11, 1), ("2, 0, 1", 11, 0), ("2, 0, 1", 17, 1)])
def test_normalizations_behind_transposes(order: str, opset: int, changes: int) -> None:
    """Settled where the Transpose can go above the Reshape, so that runtimes move it into no normalization."""
    body = f"""
        s = Shape(i)
        b = Slice(s, zero, one)
        t = Concat<axis = 0>(b, size, rest)
        f = Reshape(i, t)
        x = Transpose<perm = [{order}]>(f)
        m = ReduceMean<axes = [-1]>(x)
        d = Sub(x, m)
        p = Mul(d, d)
        v = ReduceMean<axes = [-1]>(p)
        e = Add(v, eps)
        r = Sqrt(e)
        y = Div(d, r)
    """
    constants = {"zero": np.array([0]), "one": np.array([1]), "size": np.array([4]), "rest": np.array([-1])}
    head = "g (float[N,4,H,W] i) => (float[A,B,C] y)"
    source = model(f"{head} {{ {body} }}", opset=opset, constants={**constants, "eps": np.array(1e-5, np.float32)})
    result = outcome("settle-reshapes", source)
    assert result.changes == changes
    if not changes:
        (reason,) = result.reasons
        assert reason.startswith("runtimes that know its rank move the Transpose behind it into a normalization")
