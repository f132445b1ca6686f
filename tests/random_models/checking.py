"""One random model through the whole pipeline, in both modes, with all that must hold."""

from __future__ import annotations

from typing import Any

from onnx import ModelProto

from maxfold.model.view import Math
from maxfold.optimizer import optimize
from tests.optimizer.optimized import optimized
from tests.random_models import RandomModel, random_model
from tests.random_models.judging import judge

MODES: tuple[Math, ...] = ("exact", "relaxed")


def check(case: RandomModel, math: Math, **options: Any) -> str:
    """Optimizes a model, for the runtime that was drawn unless `options` name another, and judges it; how it is right.

    The interface stays, onnx's checker accepts the result, a second run changes nothing, and another run on the
    original gives the same bytes. Raises `AssertionError` where any of that does not hold.
    """
    options.setdefault("target", case.target)
    after = ModelProto()
    after.CopyFrom(case.model)
    report = optimize(after, math=math, **options)
    # Wrong results are told first: they are worse than whatever else may be found.
    verdict = judge(case, after, relaxed=math == "relaxed", rounded=bool(report.notes))
    other, _ = optimized(case.model, again=False, math=math, **options)
    assert other.SerializeToString() == after.SerializeToString(), "two runs give different bytes"
    second = optimize(other, math=math, **options)
    assert (second.changed, other == after) == (False, True), "a second run changes the model"
    return verdict


def check_seed(seed: int) -> dict[str, str]:
    """`check` of the model of a seed in each mode. Raises `NoModelError` where there is none."""
    case = random_model(seed)
    return {math: check(case, math) for math in MODES}
