"""fuse-normalization-scales: what goes into scale and bias, of operators and of parts, and what stays behind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import reference

from tests.passes.closeness import assert_close, nodes, random_feeds
from tests.passes.normalizations import MINUS, ROOT, normalization
from tests.passes.outcome import Outcome, outcome
from tests.text import Array

LAYER = "l = LayerNormalization(x, gamma, beta)\n "
BARE = "l = LayerNormalization(x, gamma)\n "
RMS = "l = RMSNormalization(x, gamma)\n "
PARTS = MINUS + ROOT + "n = Div(d, r)\n g = Mul(n, gamma)\n l = Add(g, beta)\n "
NO_SHIFT = MINUS + ROOT + "n = Div(d, r)\n l = Mul(gamma, n)\n "
RMS_PARTS = ROOT.replace("d, two", "x, two") + "n = Div(x, r)\n l = Mul(n, gamma)\n "
VECTOR = np.linspace(-2, 3, 4, dtype=np.float32)


def taken(body: str, *, opset: int = 17, math: str = "relaxed", keep: tuple[str, ...] = (), **more: Any) -> Outcome:
    constants: dict[str, Array] = {"k": np.array(0.5, np.float32), "q": VECTOR, "w3": VECTOR.reshape(1, 1, 4)}
    source = normalization(body, opset=opset, **{**constants, **more})
    return outcome("fuse-normalization-scales", source, math=math, keep=keep)


def operators(result: Outcome) -> list[str]:
    return [node.op_type for node in result.after.graph.node]


@pytest.mark.parametrize("norm", [LAYER, BARE, PARTS, NO_SHIFT, RMS_PARTS])
@pytest.mark.parametrize("step", ["Mul(l, k)", "Mul(q, l)", "Mul(l, w3)", "Div(l, k)", "Div(l, q)"])
def test_factors(norm: str, step: str) -> None:
    result = taken(f"{norm} y = {step}")
    assert (result.changes, len(operators(result))) == (1, len(result.before.graph.node) - 1)
    assert_close(result)
    exact = taken(f"{norm} y = {step}", math="exact")
    assert (exact.changes, [decline.relaxed_gain for decline in exact.declines]) == (0, [1])


@pytest.mark.parametrize("norm", [LAYER, BARE, PARTS])
@pytest.mark.parametrize("step", ["Add(l, k)", "Add(q, l)", "Sub(l, w3)", "Sub(l, k)"])
def test_terms(norm: str, step: str) -> None:
    result = taken(f"{norm} y = {step}")
    assert (result.changes, len(operators(result))) == (1, len(result.before.graph.node) - 1)
    assert_close(result)


@pytest.mark.parametrize("step", ["Mul(l, k)", "Div(l, q)"])
def test_root_mean_squares(step: str) -> None:
    result = taken(f"{RMS} y = {step}", opset=23)
    assert operators(result) == ["RMSNormalization"]
    feeds = random_feeds(result.before)
    before, after = (reference.ReferenceEvaluator(proto).run(None, feeds) for proto in (result.before, result.after))
    np.testing.assert_allclose(after[0], before[0], atol=1e-5)


def test_several_in_a_row() -> None:
    result = taken(f"{LAYER} a = Mul(l, q)\n b = Add(a, k)\n y = Div(b, k)")
    assert operators(result) == ["LayerNormalization"]
    assert_close(result)


def test_a_scalar_scale_becomes_a_vector() -> None:
    """Of parts; the operator has a scale of the normalized shape alone."""
    result = taken(f"{RMS_PARTS} y = Mul(l, q)", gamma=np.array(2, np.float32))
    shapes = {tensor.name: list(tensor.dims) for tensor in result.after.graph.initializer}
    assert [shapes[name] for name in result.after.graph.node[-1].input if name in shapes] == [[4]]
    assert_close(result)


def test_half_precision_behind_a_cast() -> None:
    body = NO_SHIFT.replace("Mul(gamma, n)", "Mul(gamma, c)").replace("l =", "c = Cast<to = 10>(n)\n l =")
    half = {name: VECTOR.astype(np.float16) for name in ("gamma", "q")}
    result = taken(f"{body} y = Mul(l, q)", head="(float[N,3,4] x) => (float16[A,B,C] y)", **half)
    assert operators(result).count("Mul") == 1
    assert_close(result)


TWO = "(float[N,3,4] x) => (float[A,B,C] y, float[D,E,F] z)"
WIDER = "(float[N,3,4] x) => (float[A,B,C,D] y)"
SHAPE = "a scale or bias with {!r} would have another shape, or not be finite"


@pytest.mark.parametrize(
    ("body", "more", "reason"),
    [
        (f"{LAYER} y = Mul(l, k)\n z = Neg(l)", {"head": TWO}, "'l' is used elsewhere"),
        (f"{PARTS} y = Mul(l, k)\n z = Neg(g)", {"head": TWO}, None),
        (f"{LAYER} y = Mul(l, u)", {"u": np.ones((3, 1), np.float32)}, SHAPE.format("u")),
        (f"{LAYER} y = Mul(l, u)", {"u": np.full(4, 3e38, np.float32)}, SHAPE.format("u")),
        (f"{LAYER} y = Div(l, u)", {"u": np.zeros(4, np.float32)}, SHAPE.format("u")),
        (f"{LAYER} y = Mul(l, u)", {"u": np.ones((1, 1, 1, 4), np.float32), "head": WIDER},
         "'u' may give the result more dimensions"),
        (f"{RMS_PARTS} y = Add(l, k)", {}, None),
        (f"{NO_SHIFT} y = Add(l, q)", {}, None),
        (f"{LAYER} y = Sub(k, l)", {}, None),
        (f"{LAYER} y = Div(k, l)", {}, None),
        ("l = Mul(x, gamma)\n y = Mul(l, k)", {}, None),
        (f"{LAYER} y = Mul(l, l)", {}, None),
    ],
)  # fmt: skip
def test_what_stays(body: str, more: dict[str, Any], reason: str | None) -> None:
    result = taken(body, **more)
    assert (result.changes, result.reasons) == (0, [] if reason is None else [reason])


def test_statistics_that_are_returned_too() -> None:
    """The second result is the mean, which no scale changes: the rule leaves such a node alone."""
    body = "l, z = LayerNormalization(x, gamma, beta)\n y = Mul(l, k)"
    assert taken(body, head=TWO).changes == 0


def test_kept_names() -> None:
    assert taken(f"{LAYER} y = Mul(l, k)", keep=("l",)).changes == 0
    assert taken(f"{LAYER} y = Mul(l, k)", keep=("gamma",)).reasons == ["'gamma' is to be kept"]


def test_a_file_that_would_grow() -> None:
    """The scale is used elsewhere, and stays beside the new one."""
    large = {name: np.ones(20000, np.float32) for name in ("gamma", "beta")}
    head = "(float[N,3,20000] x) => (float[A,B,C] y, float[D,E,F] z)"
    result = taken(f"{BARE} y = Mul(l, k)\n z = Add(x, gamma)", head=head, **large)
    assert result.reasons == ["the file would grow by 79996 bytes, more than 65536; --max-growth allows more"]


def test_it_is_the_operator_that_reads() -> None:
    result = taken(f"{BARE} y = Add(l, q)")
    assert nodes(result) == "y = LayerNormalization(x, gamma, l_constant)"
