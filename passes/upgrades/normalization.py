"""Operators that behave differently in training: BatchNormalization and Dropout; and GroupNormalization.

Source: the operators' specifications, the versions named in `ADAPTERS`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from maxfold.passes.upgrades.draft import Adapter, Draft, Facts, Refusal


def inference_only(draft: Draft) -> None:
    """Before version 14 more than one result meant training."""
    if any(draft.has_output(index) for index in range(1, 5)):
        raise Refusal("it is in training mode")


def _is_test(draft: Draft, facts: Facts) -> None:
    if not draft.take("is_test", 0):
        raise Refusal("without 'is_test' it is in training mode")
    if draft.op == "BatchNormalization":
        inference_only(draft)
        _require_spatial(draft)


def _spatial(draft: Draft, facts: Facts) -> None:
    _require_spatial(draft)
    draft.take("spatial")


def _require_spatial(draft: Draft) -> None:
    if not draft.attribute("spatial", 1):
        raise Refusal("statistics per feature (spatial = 0) have gone")


def _batch_normalization(draft: Draft, facts: Facts) -> None:
    inference_only(draft)


def _statistics_in_float(draft: Draft, facts: Facts) -> None:
    """Since version 15 statistics of training are computed in float32 where elements are smaller."""
    if not draft.attribute("training_mode", 0):
        return
    dtype = facts.dtype(draft.input(0))
    if dtype is None or dtype.name != "FLOAT":
        raise Refusal("statistics of training that are not float32 are computed differently")


def _dropout_mask(draft: Draft, facts: Facts) -> None:
    """The mask was float, and is bool since version 10."""
    if facts.is_used(draft, 1):
        raise Refusal("its mask is used, whose type has changed")
    if draft.has_output(1):
        draft.retyped = (1,)


def _dropout_ratio(draft: Draft, facts: Facts) -> None:
    """Version 12 says of an absent ratio both that it is 0.5 and that nothing is dropped."""
    if draft.input(2) is not None and draft.input(1) is None:
        raise Refusal("it has a training mode and no ratio, whose default was not clear")


def _group_normalization(draft: Draft, facts: Facts) -> None:
    """Scale and bias are per channel since version 21, and the precision of the first stage is specified."""
    data = draft.input(0)
    shape, dtype = facts.shape(data), facts.dtype(data)
    if dtype is None or dtype.name != "FLOAT":
        raise Refusal("in which precision it computes was not specified, and its input is not known to be float32")
    channels = shape[1] if shape is not None and len(shape) > 1 else None
    groups = draft.attribute("num_groups")
    scale, bias = facts.constant(draft.input(1)), facts.constant(draft.input(2))
    if channels is None or scale is None or bias is None:
        raise Refusal("its scale and bias are not constant, or its number of channels is not known")
    if not groups or channels % groups or scale.shape != (groups,) or bias.shape != (groups,):
        raise Refusal("its scale and bias are not one per group")
    for index, values in ((1, scale), (2, bias)):
        draft.set_input(index, np.repeat(values, channels // groups))


ADAPTERS: Mapping[tuple[str, int], Adapter] = {
    ("BatchNormalization", 7): _is_test,
    ("BatchNormalization", 9): _spatial,
    ("BatchNormalization", 14): _batch_normalization,
    ("BatchNormalization", 15): _statistics_in_float,
    ("Dropout", 7): _is_test,
    ("Dropout", 10): _dropout_mask,
    ("Dropout", 22): _dropout_ratio,
    ("GroupNormalization", 21): _group_normalization,
}
