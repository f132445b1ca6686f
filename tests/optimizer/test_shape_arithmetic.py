"""What has been derived of a tensor stays true while it is there: through all passes, rewrite after rewrite."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from maxfold.optimizer import optimize
from tests.optimizer.optimized import optimized
from tests.passes.surviving import Watch
from tests.random_models import SHAPES, WHOLE, Kind, random_model, random_models
from tests.random_models.checking import MODES, check
from tests.run import in_onnxruntime
from tests.text import model

# A chain with a constant that another chain has elsewhere; both are wanted.
SUMS = """s = Shape(X)
 q = Shape(Y)
 t1 = Add(s, five)
 t2 = Add(t1, q)
 t3 = Add(t2, seven)
 A = Neg(t3)
 u = Add(q, s)
 v = Add(u, five)
 B = Abs(v)"""
FIVE_AND_SEVEN = {"five": np.array([5]), "seven": np.array([7])}
FEEDS = {"X": np.zeros(2, np.float32), "Y": np.zeros(3, np.float32)}
HEAD = "(float[N] X, float[M] Y) => (int64[1] A, int64[1] B)"

INNER = SUMS.replace("A = ", "A1 = ").replace("B = ", "B1 = ")
BRANCH = f"""g (float[N] X, float[M] Y, bool c) => (int64[1] A, int64[1] B) {{
    A, B = If (c) <
        then_branch = yes () => (int64[1] A1, int64[1] B1) {{ {INNER} }},
        else_branch = no () => (int64[1] A2, int64[1] B2) {{ A2 = Shape(Y)
            B2 = Shape(X) }}>
}}"""


@pytest.mark.parametrize("math", MODES)
def test_equal_sums_in_two_chains(math: str) -> None:
    source = model(f"g {HEAD} {{ {SUMS} }}", constants=FIVE_AND_SEVEN)
    after, _ = optimized(source, math=math)
    assert [array.tolist() for array in in_onnxruntime(after, FEEDS)] == [[-17], [10]]


def test_equal_sums_in_a_branch() -> None:
    source = model(BRANCH, constants=FIVE_AND_SEVEN)
    after, _ = optimized(source)
    feeds = {**FEEDS, "c": np.array(True)}
    assert [array.tolist() for array in in_onnxruntime(after, feeds)] == [[-17], [10]]


def test_equal_sums_in_an_inlined_function() -> None:
    source = model(
        f"g {HEAD} {{ A, B = f.Sums(X, Y, five, seven) }}",
        functions=f'<domain: "f", opset_import: ["" : 17]> Sums (X, Y, five, seven) => (A, B) {{ {SUMS} }}',
        domains='"f" : 1',
        constants=FIVE_AND_SEVEN,
    )
    optimize(source, inline_functions=True)
    assert not source.functions
    assert [array.tolist() for array in in_onnxruntime(source, FEEDS)] == [[-17], [10]]


@pytest.mark.parametrize("tail", ["y = Identity(t)", "y = Relu(t)", "s = Shape(t)\n e = Expand(x, s)\n y = Sub(t, e)"])
def test_a_sum_whose_inner_sums_are_narrower(tail: str) -> None:
    rng = np.random.default_rng(0)
    constants = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in (("c", (3, 1)), ("d", (3, 1)))}
    sums = "p = Add(x, c)\n q = Add(p, z)\n t = Add(q, d)"
    source = model(f"g (float[1,4] x, float[1,4] z) => (float[3,4] y) {{ {sums}\n {tail} }}", constants=constants)
    source.graph.value_info.append(onnx.helper.make_tensor_value_info("q", onnx.TensorProto.FLOAT, [3, 4]))
    after, _ = optimized(source, math="relaxed")
    feeds = {name: rng.standard_normal((1, 4)).astype(np.float32) for name in "xz"}
    np.testing.assert_allclose(in_onnxruntime(after, feeds)[0], in_onnxruntime(source, feeds)[0], rtol=1e-5, atol=1e-6)
    assert "q" not in {info.name for info in after.graph.value_info}


@pytest.mark.parametrize("seed", range(60))
def test_random_shape_arithmetic(seed: int) -> None:
    case = random_model(seed, kind=SHAPES)
    for math in MODES:
        check(case, math)


@pytest.mark.parametrize(("kind", "seeds", "least"), [(SHAPES, range(1000, 1030), 8), (WHOLE, range(1000, 1060), 22)])
def test_each_rewrite_of_random_models(kind: Kind, seeds: range, least: int) -> None:
    applied: Counter[str] = Counter()
    for case in random_models(seeds, kind=kind, finite=True):
        for math in MODES:
            watch = Watch(case.feed_sets)
            after = ModelProto()
            after.CopyFrom(case.model)
            with watch.watching():
                optimize(after, math=math)
            applied.update(watch.applied)
    assert len(applied) >= least, sorted(applied)
