"""A group of rule passes keeps nothing of a run: what it does in a later round, or to another model, a new one does."""

from __future__ import annotations

import dataclasses

import pytest
from onnx import ModelProto

from maxfold.model import read_onnx
from maxfold.model.edit import Edit
from maxfold.model.view import Math
from maxfold.passes import CATALOGUE, PassResult
from maxfold.passes.driver import RuleGroup, RulePass
from tests.passes.outcome import saved
from tests.random_models import random_models

SEEDS = range(12)


def rule_passes() -> list[RulePass]:
    made = [entry() for entry in CATALOGUE]
    return [entry for entry in made if isinstance(entry, RulePass)]


def rounds(proto: ModelProto, math: Math, group: RuleGroup | None) -> tuple[list[PassResult], bytes]:
    """What rounds of rule passes report, times aside, and the model that they leave."""
    model = read_onnx(proto)
    edit = Edit(model, math=math)
    results: list[PassResult] = []
    for _ in range(3):
        found = (RuleGroup(rule_passes()) if group is None else group).run(edit)
        results += [dataclasses.replace(result, elapsed_seconds=0.0) for result in found]
        edit.forget_types()
    return results, saved(model)


@pytest.mark.parametrize("math", ["exact", "relaxed"])
def test_group_serves_all_rounds_and_models(math: Math) -> None:
    group = RuleGroup(rule_passes())
    for made in random_models(SEEDS):
        assert rounds(made.model, math, group) == rounds(made.model, math, None)
