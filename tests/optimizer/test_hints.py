"""What other options would gain: numbers are what they come to, nothing is read for them, and nothing is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from maxfold.model.edit import Edit
from maxfold.model.graph import Node
from maxfold.model.storage import ComputedSource, Source
from maxfold.model.view import View
from maxfold.optimizer import Report, load, optimize
from maxfold.optimizer.hints import find_hints
from maxfold.optimizer.pipeline import select_passes
from maxfold.optimizer.report import Hint
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.rule import Decline, Match
from tests.effort import calls
from tests.random_models import random_models
from tests.run import Array
from tests.text import model

F32 = np.float32
_LARGE_BYTES = 1 << 14


def convolving(*, channels: int = 64, **constants: Array) -> ModelProto:
    """A convolution of large weights and BatchNormalization."""
    rng = np.random.default_rng(0)
    given = {"w": rng.standard_normal((channels, channels, 3, 3), F32)}
    given |= {name: np.abs(rng.standard_normal(channels, F32)) for name in ("scale", "b", "mean", "var")}
    return model(
        f"""g (float[N,{channels},8,8] x) => (float[N,{channels},6,6] y) {{
            c = Conv(x, w)
            n = BatchNormalization(c, scale, b, mean, var)
            y = Relu(n)
        }}""",
        constants=given | constants,
    )


NORMALIZED = """g (float[B,L,8] x) => (float[B,L,8] y) <float two = {2}, float e = {1e-5}, float half = {0.5},
    float root = {1.4142135}, float one = {1}> {
    m = ReduceMean<axes = [-1]>(x)
    d = Sub(x, m)
    s = Pow(d, two)
    v = ReduceMean<axes = [-1]>(s)
    a = Add(v, e)
    r = Sqrt(a)
    q = Div(d, r)
    n = Mul(q, g)
    l = Add(n, b)
    t = Div(l, root)
    f = Erf(t)
    p = Add(f, one)
    h = Mul(l, p)
    y = Mul(h, half)
}"""
GAMMA = {"g": np.linspace(0.5, 1.5, 8, dtype=F32), "b": np.linspace(-1, 1, 8, dtype=F32)}

SHAPES = """g (float[B,L,8] x) => (float[L,M] y) {
    s = Shape(x)
    f = Gather(s, second)
    k = Unsqueeze(f, first)
    t = Concat<axis = 0>(k, rest)
    r = Reshape(x, t)
    y = Neg(r)
}"""
PARTS = {"second": np.array(1), "first": np.array([0]), "rest": np.array([-1])}


def run(source: ModelProto, **options: Any) -> Report:
    return optimize(load(source), **options)


def found(source: ModelProto, **options: Any) -> dict[str, Hint]:
    """The hints of a run, by their options."""
    hints = run(source, hints=True, **options).hints
    assert hints is not None
    return {hint.options: hint for hint in hints}


def assert_true(source: ModelProto, report: Report) -> None:
    """Each number is what the arguments of its hint come to."""
    assert report.hints is not None
    for hint in report.hints:
        assert report.nodes_after - run(source, **hint.arguments).nodes_after == hint.nodes, hint
    assert report.relaxed_gain == report.nodes_after - run(source, math="relaxed").nodes_after


def test_relaxed_mode_and_a_newer_operator_set() -> None:
    source = model(NORMALIZED, opset=13, constants=GAMMA)
    hints = found(source)
    newer = hints["--opset 20 --math relaxed"]
    assert newer.operators == {"Gelu": 1, "LayerNormalization": 1}
    after = load(source)
    assert optimize(after, opset=20, math="relaxed").nodes_after == 2
    assert newer.nodes == run(source).nodes_after - 2
    assert_true(source, run(source, hints=True))


def test_the_lowest_operator_set_that_has_all_of_it() -> None:
    source = model(NORMALIZED, opset=17, constants=GAMMA)
    assert [hint.arguments for hint in found(source, math="relaxed").values()] == [{"opset": 20}]
    assert "--opset" not in " ".join(found(source, opset=20, math="relaxed"))


def test_sizes_for_open_dimensions() -> None:
    source = model(SHAPES, opset=13, constants=PARTS)
    hints = found(source)
    assert [*hints] == ["--dim B=1 --dim L=16"]
    assert (
        run(source, dims={"B": 1, "L": 16}).nodes_after == run(source).nodes_after - hints["--dim B=1 --dim L=16"].nodes
    )


def test_sizes_that_the_file_contradicts() -> None:
    source = model(SHAPES.replace("float[L,M] y", "float[3,M] y"), opset=13, constants=PARTS)
    assert not [options for options in found(source) if "--dim" in options]


def test_nothing_is_said_where_nothing_is_gained() -> None:
    report = run(model("g (float[N] x) => (float[N] y) { y = Neg(x) }"), hints=True)
    assert (report.hints, report.relaxed_gain) == ((), 0)


def test_without_hints_nothing_is_known() -> None:
    report = run(convolving())
    assert (report.hints, report.relaxed_gain) == (None, None)


def test_passes_that_do_not_run_gain_nothing() -> None:
    assert not found(convolving(), skip=["fuse-convolutions"])
    assert not found(convolving(), keep=["y"], passes=["fuse-max"])


@pytest.mark.parametrize("seed", range(3))
def test_random_models(seed: int) -> None:
    for case in random_models(range(seed * 8, seed * 8 + 8)):
        report = run(case.model, hints=True)
        assert report.relaxed_gain == report.nodes_after - run(case.model, math="relaxed").nodes_after, case


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each large range that is read of any source."""
    sizes: list[int] = []

    def noting(name: str, original: Any) -> Any:
        def read(self: Source, offset: int, nbytes: int) -> Any:
            if nbytes > _LARGE_BYTES:
                sizes.append(nbytes)
            return original(self, offset, nbytes)

        return read

    for kind in (Source, ComputedSource, *Source.__subclasses__()):
        for name in {"view", "read", "fetch"} & set(vars(kind)):
            monkeypatch.setattr(kind, name, noting(name, vars(kind)[name]))
    return sizes


def test_weights_are_not_read(tmp_path: Path, reads: list[int]) -> None:
    onnx.save(convolving(), tmp_path / "m.onnx")
    report = optimize(load(tmp_path / "m.onnx"), hints=True)
    assert report.relaxed_gain == 1
    assert not reads
    optimize(load(tmp_path / "m.onnx"), math="relaxed")
    assert reads


def test_no_number_where_weights_would_have_to_be_read() -> None:
    """A shift before a convolution without pads goes into the bias, a sum of all weights."""
    source = model(
        """g (float[N,64,8,8] x) => (float[N,64,6,6] y) { a = Add(x, s)  c = Conv(a, w, b)  y = Relu(c) }""",
        constants={
            "s": np.ones((64, 1, 1), F32), "b": np.ones(64, F32), "w": np.ones((64, 64, 3, 3), F32),
        },
    )  # fmt: skip
    report = run(source, hints=True)
    assert (report.relaxed_gain, report.hints) == (None, ())
    assert run(source, math="relaxed").nodes_after < report.nodes_after


def test_the_model_and_the_rest_of_the_report_are_the_same() -> None:
    for source in (
        convolving(),
        model(NORMALIZED, opset=13, constants=GAMMA),
        model(SHAPES, opset=13, constants=PARTS),
    ):
        plain, hinted = load(source), load(source)
        one, two = optimize(plain), optimize(hinted, hints=True)
        assert one.declines == two.declines
        assert one.changes == two.changes
        assert plain.to_proto() == hinted.to_proto()


def test_the_cost_is_a_fraction_of_the_run() -> None:
    """Many nodes that relaxed mode has nothing to do with, and one that it has."""
    body = "a0 = Add(x, k)  b0 = Add(a0, l)  " + "  ".join(
        f"s{i} = Exp(b{i})  t{i} = Shape(s{i})  b{i + 1} = Reshape(s{i}, t{i})" for i in range(60)
    )
    source = model(
        f"g (float[8] x) => (float[8] y) <float k = {{1}}, float l = {{2}}> {{ {body}  y = Neg(b60) }}", opset=17
    )
    optimize(load(source), hints=True)
    whole, hinted = calls(lambda: optimize(load(source))), calls(lambda: optimize(load(source), hints=True))
    assert hinted - whole < 0.5 * whole


GROWING = {
    "QuantizeLinear": ("y = QuantizeLinear(n, one, zero)", "uint8[4] y"),
    "Round": ("y = Round(n)", "float[4] y"),
    "ArgMax": ("r = Neg(n)  y = ArgMax<keepdims = 0>(r)", "int64 y"),
    "Cast": ("y = Cast<to = 7>(n)", "int64[4] y"),
}


@pytest.mark.parametrize("operator", GROWING)
def test_a_step_behind_a_relaxed_rewrite(operator: str) -> None:
    body, output = GROWING[operator]
    source = model(
        f"""g (float[4] x) => ({output}) <float k = {{1.5}}, float l = {{2}}, float one = {{1}}, uint8 zero = {{0}}> {{
            a = Add(x, k)  n = Add(a, l)  {body} }}""",
        opset=17,
    )
    (line,) = run(source, math="relaxed").warnings
    assert line == f"small differences may grow in 1 {operator}, which depend on what may be rounded differently"
    assert line in str(run(source, math="relaxed"))
    assert run(source).warnings == ()


def test_no_step_depends_on_it() -> None:
    source = model(
        """g (float[4] x) => (float[4] y, float[4] z) <float k = {1.5}, float l = {2}> {
            r = Neg(x)  a = Add(r, k)  y = Add(a, l)  z = Round(r) }""",
        opset=17,
    )
    report = run(source, math="relaxed")
    assert report.changed
    assert report.warnings == ()


def test_python_is_told_arguments() -> None:
    text = str(run(model(NORMALIZED, opset=13, constants=GAMMA), hints=True))
    assert 'opset=20, math="relaxed" would remove' in text
    assert "  1 Gelu and 1 LayerNormalization would become one node each" in text


class FailingGelu(SingleRulePass):
    """Somebody's own pass, which fails in any other operator set."""

    name = "failing-gelu"
    summary = "fail"
    makes = frozenset({"Gelu"})
    operators = frozenset({("", "Mul")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Fails."""
        if view.opset(node) != 13:
            raise ValueError
        return None


def test_a_pass_of_ones_own_is_not_asked_about_another_operator_set() -> None:
    source = model(NORMALIZED, opset=13, constants=GAMMA)
    edit = Edit(load(source))
    passes = [*select_passes(None, (), {}), FailingGelu()]
    _, hints = find_hints(edit.model, edit, passes, was_frozen=False)
    assert [hint.options for hint in hints] == ["--opset 20 --math relaxed"]
