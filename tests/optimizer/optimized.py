"""Optimizing a model under test; what must hold after every optimization is checked on every run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
from onnx import ModelProto

from maxfold.optimizer import Report, optimize
from tests.passes.outcome import assert_declarations_match, assert_same_interface
from tests.run import Array, assert_equal, in_onnxruntime
from tests.text import lines


def optimized(
    source: ModelProto, *, check: bool = True, again: bool = True, **options: Any
) -> tuple[ModelProto, Report]:
    """An optimized copy of a model and the report; a second run must find nothing more to do.

    `check=False` is for models that onnx's checker refuses to begin with, `again=False` leaves out the second run.
    """
    after = ModelProto()
    after.CopyFrom(source)
    report = optimize(after, **options)
    assert_same_interface(source, after)
    assert_declarations_match(after.graph)
    if check:
        onnx.checker.check_model(after, full_check=True)
    if not report.changed:
        assert after == source
    if not again:
        return after, report
    other = ModelProto()
    other.CopyFrom(after)
    second = optimize(other, **options)
    assert (second.changed, other == after) == (False, True), "a second run changes the model"
    assert second.declines == report.declines
    return after, report


def text(source: ModelProto, **options: Any) -> str:
    """The compact text of the optimized model."""
    return lines(optimized(source, **options)[0])


def assert_same_in_onnxruntime(
    source: ModelProto, feeds: Mapping[str, Array], *, zeros_differ: bool = True, **options: Any
) -> ModelProto:
    """Optimizes a copy and runs both; returns the copy."""
    after, _ = optimized(source, **options)
    assert_equal(in_onnxruntime(after, feeds), in_onnxruntime(source, feeds), zeros_differ=zeros_differ)
    return after
