"""Relaxed mode: what it may do more, how far results may move, and what exact mode says that it would gain."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

from tests.optimizer.optimized import optimized
from tests.run import Array, in_onnxruntime
from tests.text import golden, lines, model

F32 = np.float32
X = np.linspace(-3, 3, 7, dtype=F32)

HEAD = "g (float[7] x, float[7] w) => (float[7] y)"
CONSTANTS = "<float c = {1.5}, float d = {0.25}, float e = {-7}, float z = {0}>"

SIMPLE = {
    "a chain": "a = Add(x, c)\n y = Add(a, d)",
    "a long chain": "a = Add(x, c)\n b = Add(a, d)\n y = Add(b, e)",
    "through a variable": "a = Add(x, c)\n b = Add(a, w)\n y = Add(b, d)",
    "a tree": "a = Add(x, c)\n b = Add(w, d)\n y = Add(a, b)",
    "a zero": "a = Add(x, z)\n y = Neg(a)",
    "two zeros": "a = Add(x, z)\n b = Neg(a)\n c2 = Add(b, z)\n y = Neg(c2)",
    "a zero in a chain": "a = Add(x, c)\n b = Add(a, z)\n d2 = Add(b, d)\n y = Neg(d2)",
    "two chains": "a = Add(x, c)\n b = Add(a, d)\n m = Neg(b)\n n = Add(m, c)\n o = Add(n, e)\n y = Abs(o)",
    "one constant twice": "a = Add(x, c)\n b = Add(a, c)\n y = Neg(b)",
    "nothing": "a = Add(x, c)\n y = Neg(a)",
}


def difference(source: ModelProto) -> tuple[int, int]:
    """What exact mode says that relaxed mode would remove, and what it does remove beyond exact mode."""
    _, exact = optimized(source, hints=True)
    _, relaxed = optimized(source, math="relaxed", hints=True)
    assert relaxed.relaxed_gain == 0
    return exact.relaxed_gain, exact.nodes_after - relaxed.nodes_after


@pytest.mark.parametrize("body", SIMPLE.values(), ids=SIMPLE.keys())
def test_the_gain_is_what_relaxed_mode_removes(body: str) -> None:
    gain, removed = difference(model(f"{HEAD} {CONSTANTS} {{ {body} }}"))
    assert gain == removed


@pytest.mark.parametrize(
    ("body", "constants"),
    [
        ("a = Add(x, k)\n y = Add(a, l)", {"k": np.array(3e38, F32), "l": np.array(3e38, F32)}),
        ("a = Add(x, k)\n b = Add(a, l)\n y = Neg(b)", {"k": np.ones((3, 1), F32), "l": np.ones((1, 3), F32)}),
        ("a = Add(x, k)\n y = Neg(a)", {"k": np.zeros((1, 1), F32)}),
    ],
    ids=["overflow", "growth", "rank"],
)
def test_no_gain_is_claimed_where_relaxed_mode_declines_too(body: str, constants: dict[str, Array]) -> None:
    dims = "[N,M]" if np.ndim(constants["k"]) else "[N]"
    source = model(f"g (float[N] x) => (float{dims} y) {{ {body} }}", constants=constants)
    assert difference(source) == (0, 0)


@pytest.mark.parametrize("body", SIMPLE.values(), ids=SIMPLE.keys())
def test_results_stay_within_rounding(body: str) -> None:
    source = model(f"{HEAD} {CONSTANTS} {{ {body} }}")
    after, _ = optimized(source, math="relaxed")
    feeds = {"x": X, "w": X[::-1].copy()}
    np.testing.assert_allclose(in_onnxruntime(after, feeds)[0], in_onnxruntime(source, feeds)[0], rtol=1e-6, atol=1e-6)


def test_exact_mode_leaves_the_order_of_float_additions() -> None:
    source = model("g (float[1] x) => (float[1] y) <float c = {1}, float d = {-1}> { a = Add(x, c)\n y = Add(a, d) }")
    tiny = {"x": np.array([1e-10], F32)}
    after, report = optimized(source)
    assert not report.changed
    assert in_onnxruntime(after, tiny)[0] == 0
    assert optimized(source, math="relaxed")[1].changed


def test_relaxed_integers_and_max_are_still_exact() -> None:
    source = model("""
        g (int32[7] x, float[7] w) => (int32[7] y, float[7] v)
        <int32 c = {2147483647}, int32 d = {5}, float k = {1}, float l = {2}> {
            a = Add(x, c)
            y = Add(a, d)
            m = Max(w, k)
            v = Max(m, l)
        }""")
    exact, _ = optimized(source)
    relaxed, _ = optimized(source, math="relaxed")
    assert exact == relaxed


def test_relaxed_sums_do_not_turn_into_infinities() -> None:
    source = model(
        "g (float[1] x) => (float[1] y) { a = Add(x, k)\n b = Add(a, l)\n y = Add(b, m) }",
        constants={"k": np.array(3e38, F32), "l": np.array(3e38, F32), "m": np.array(-3e38, F32)},
    )
    after, _ = optimized(source, math="relaxed")
    feeds = {"x": np.array([-3e38], F32)}
    assert np.isfinite(in_onnxruntime(source, feeds)[0]).all()
    assert np.isfinite(in_onnxruntime(after, feeds)[0]).all()


def test_half_precision_sums_are_added_in_half_precision() -> None:
    source = model(
        "g (float16[1] x) => (float16[1] y) { a = Add(x, k)\n y = Add(a, l) }",
        constants={"k": np.array(2048, np.float16), "l": np.array(1, np.float16)},
    )
    after, _ = optimized(source, math="relaxed")
    assert lines(after) == golden("""
        y_constant = float16 {2048.0}
        y = Add(x, y_constant)
        """)
