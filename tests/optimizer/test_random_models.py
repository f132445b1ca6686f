"""Random models through the whole pipeline: the same bits in ONNX Runtime, valid, and done after one run."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxfold.optimizer import optimize
from tests.optimizer.optimized import optimized
from tests.passes.outcome import outcome
from tests.passes.trees import Case, add_models, max_models, mixed_models
from tests.random_models import random_model
from tests.run import assert_equal, in_onnxruntime

# Types for which ONNX Runtime's CPU provider has Add and Max.
IN_RUNTIME = {"float32", "float64", "int32", "int64"}


@pytest.mark.parametrize("seed", range(100))
def test_exact(seed: int) -> None:
    case = random_model(seed)
    onnx.checker.check_model(case.model, full_check=True)
    expected = in_onnxruntime(case.model, case.feeds)
    after, _ = optimized(case.model)
    # Which of two zeros a Max gives is nobody's promise.
    assert_equal(in_onnxruntime(after, case.feeds), expected, zeros_differ=not case.has_max)


@pytest.mark.parametrize("seed", range(1000, 1050))
def test_relaxed(seed: int) -> None:
    case = random_model(seed, finite=True)
    expected = in_onnxruntime(case.model, case.feeds)
    exact, exact_report = optimized(case.model)
    after, report = optimized(case.model, math="relaxed")
    assert len(after.graph.node) <= len(exact.graph.node)
    assert report.nodes_after <= exact_report.nodes_after
    for own, right in zip(in_onnxruntime(after, case.feeds), expected, strict=True):
        assert (own.dtype, own.shape) == (right.dtype, right.shape)
        np.testing.assert_allclose(own.astype(np.float64), right.astype(np.float64), rtol=1e-5, atol=1e-5)


def test_one_pass_at_a_time_is_right_too() -> None:
    for seed in range(200, 215):
        case = random_model(seed)
        expected = in_onnxruntime(case.model, case.feeds)
        for name in ("fold-constants", "fuse-max", "fuse-add", "remove-dead-nodes", "share-constants"):
            after, _ = optimized(case.model, passes=[name])
            assert_equal(in_onnxruntime(after, case.feeds), expected, zeros_differ=not case.has_max)


def test_the_generator_makes_what_it_should() -> None:
    operators: set[str] = set()
    gained = kept = 0
    for seed in range(40):
        case = random_model(seed)
        assert case.model == random_model(seed).model
        operators |= {node.op_type for node in case.model.graph.node}
        after, report = optimized(case.model)
        gained += report.nodes_before - report.nodes_after
        kept += report.nodes_after
        assert len(after.graph.output) == len(case.model.graph.output)
    assert operators >= {"Add", "Max", "Identity", "Relu", "Neg", "Cast", "Shape", "If", "Loop", "Constant"}
    assert gained > 100
    assert kept > 100


@pytest.mark.parametrize("models", [max_models(), add_models(), mixed_models()], ids=["max", "add", "mixed"])
def test_trees(models: st.SearchStrategy[Case]) -> None:
    ran = 0

    @given(case=models)
    @settings(max_examples=60)
    def check(case: Case) -> None:
        nonlocal ran
        types = {str(np.asarray(value).dtype) for value in case.feeds.values()} - {"bool"}
        if types <= IN_RUNTIME:
            ran += runtime_agrees(case)

    check()
    assert ran > 10


def runtime_agrees(case: Case) -> bool:
    """Whether ONNX Runtime takes the model; if so, all passes leave its results as they are."""
    before = outcome("sort-nodes", case.model, check=False).after
    for node in before.graph.node:
        node.name = ""  # it wants unique names
    try:
        expected = in_onnxruntime(before, case.feeds)
    except Exception:
        return False
    after = type(before)()
    after.CopyFrom(before)
    optimize(after)
    assert_equal(in_onnxruntime(after, case.feeds), expected, zeros_differ=False)
    return True
