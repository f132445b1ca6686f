"""hoist-reshapes: a Reshape that goes into a constant, and each reason why one stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from tests.passes.closeness import nodes, random_feeds
from tests.passes.outcome import Outcome, outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import model


def hoisted(source: ModelProto, **options: Any) -> Outcome:
    return outcome("hoist-reshapes", source, **options)


# The rank of an input that is declared without dimensions is not believed.
SCALAR = "s = Squeeze(g)\n"


def source_of(body: str, head: str = "(float[1] g) => (float[A,B,C] y)", shape: Any = (1, 3, 2)) -> ModelProto:
    body = SCALAR + body if "float[1] g)" in head else body
    constants = {"c": np.arange(1, 7, dtype=np.float32), "shape": np.array(shape)}
    used = {name: array for name, array in constants.items() if f" {name})" in body or f"({name}" in body}
    return model(f"g {head} {{ {body} }}", constants=used)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p = Div(c, s)\n y = Reshape(p, shape)", "y = Div(y_constant, s)"),
        ("p = Mul(s, c)\n y = Reshape(p, shape)", "y = Mul(s, y_constant)"),
        ("p = Div(c, s)\n q = Floor(p)\n r = Cast<to = 6>(q)\n t = Cast<to = 1>(r)\n y = Reshape(t, shape)",
         "y_div = Div(y_constant, s)\ny_floor = Floor(y_div)\ny_cast = Cast<to=6>(y_floor)\ny = Cast<to=1>(y_cast)"),
    ],
)  # fmt: skip
def test_what_moves(body: str, expected: str) -> None:
    for shape in ((1, 3, 2), (1, -1, 2), (0, 1, 1)):
        result = hoisted(source_of(body, shape=shape))
        assert nodes(result) == SCALAR + expected
        feeds = random_feeds(result.before)
        assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(result.before, feeds), zeros_differ=True)


HEAD = "(float[1] g) => (float[A,B,C] y, float[N] z)"


@pytest.mark.parametrize(
    ("body", "head", "reason"),
    [
        ("z = Div(c, s)\n y = Reshape(z, shape)", HEAD, "'z' is a graph output"),
        ("p = Div(c, s)\n z = Neg(p)\n y = Reshape(p, shape)", HEAD, "'p' is used elsewhere"),
        ("p = Div(c, s)\n y = Reshape(p, shape)", "(float[1] s) => (float[A,B,C] y)", None),
        ("p = Div(c, s)\n y = Reshape(p, shape)", "(float[N] s) => (float[A,B,C] y)", None),
        ("p = Softmax(c)\n q = Mul(p, s)\n y = Reshape(q, shape)", "(float[1] g) => (float[A,B,C] y)", None),
        ("p = Neg(s)\n q = Expand(p, shape)\n y = Reshape(q, shape)", "(float[1] g) => (float[A,B,C] y)", None),
    ],
)
def test_what_stays(body: str, head: str, reason: str | None) -> None:
    result = hoisted(source_of(body, head))
    assert (result.changes, result.reasons) == (0, [] if reason is None else [reason])


def test_powers_depend_on_the_shape() -> None:
    source = source_of("p = Pow(c, s)\n y = Reshape(p, shape)")
    exact = hoisted(source)
    assert exact.reasons == ["Pow may round differently in other shapes; only with --math relaxed"]
    assert exact.declines[0].relaxed_gain == 1
    assert nodes(hoisted(source, math="relaxed")) == SCALAR + "y = Pow(y_constant, s)"


def test_growth_and_kept_names() -> None:
    body = "p = Div(c, s)\n y = Reshape(p, shape)"
    shared = source_of(f"{body}\n z = Mul(c, s)", HEAD)
    assert hoisted(shared, max_growth_bytes=23).reasons == [
        "the file would grow by 24 bytes, more than 23; --max-growth allows more"
    ]
    assert hoisted(shared, max_growth_bytes=24).changes == 1
    for name in ("p", "y", "c"):
        assert hoisted(source_of(body), keep=[name]).changes == 0


def test_a_target_without_axes_stays() -> None:
    source = model("g (float s) => (float y) { p = Div(c, s)\n y = Reshape(p, shape) }",
                   constants={"c": np.ones(1, np.float32), "shape": np.zeros(0, np.int64)})  # fmt: skip
    assert hoisted(source).changes == 0
