"""Parts of a tensor between bounds: Slice, and StridedSlice with its masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import (
    INT64_MAX,
    INT64_MIN,
    int64_vector,
    length_of,
)
from maxfold.passes.conversion.row import Row, both, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite


def _slice_to_openvino(site: OpenvinoSite) -> None:
    steps = site.input(4) if site.has_input(4) else _ones(site)
    axes = [site.input(3)] if site.has_input(3) else []
    site.result(site.add("Slice", [site.input(0), site.input(1), site.input(2), steps, *axes], opset=8))


def _ones(site: OpenvinoSite) -> Tensor:
    """Steps of 1, of the type that the starts have."""
    dtype = site.dtype(1)
    if dtype is None:
        raise UnsupportedError("the element type of its starts is not known")
    return site.constant([1] * length_of(site, 1, "its starts"), dtype.numpy)


def _slice_to_onnx(site: OnnxSite) -> None:
    operands = [int64_vector(site, index) for index in (1, 2)]
    steps = site.value(3)
    if site.has_input(4):
        operands.append(int64_vector(site, 4))
    if steps is None or np.any(steps != 1):
        operands += [*([] if site.has_input(4) else [site.omitted()]), int64_vector(site, 3)]
    site.result(site.add("Slice", [site.input(0), *operands]))


@dataclass
class _Plan:
    """What the entries of a StridedSlice ask for.

    `entries` are the places in begin, end and strides that cut, `axes` the data's axes that they cut, counted from the
    end behind an ellipsis; `dropped` those of the axes that go, `added` the axes of the result that are new.
    """

    entries: list[int] = field(default_factory=list)
    axes: list[int] = field(default_factory=list)
    is_dropped: list[bool] = field(default_factory=list)
    added: list[int] = field(default_factory=list)

    @property
    def dropped(self) -> list[int]:
        return [axis for axis, goes in zip(self.axes, self.is_dropped, strict=True) if goes]


def _strided_slice_to_onnx(site: OnnxSite) -> None:
    count = _entry_count(site)
    plan = _plan(site, count)
    result = site.input(0)
    if plan.entries:
        bounds = _known_bounds(site, plan) or _computed_bounds(site, plan, count)
        starts, ends, steps = bounds
        result = site.add("Slice", [result, starts, ends, site.constant(plan.axes, "int64"), steps])
    else:
        # They are about what is cut.
        site.ignore("begin_mask", "end_mask")
    if plan.dropped:
        result = site.add("Squeeze", [result, site.constant(plan.dropped, "int64")])
    if plan.added:
        result = site.add("Unsqueeze", [result, site.constant(plan.added, "int64")])
    if result is site.input(0):
        result = site.add("Identity", [result])
    site.result(result)


def _entry_count(site: OnnxSite) -> int:
    """How many entries it has, which one of its vectors may be alone to say."""
    for index in (1, 2, 3):
        shape = site.shape(index) if site.has_input(index) else None
        if shape is not None and None not in shape:
            return length_of(site, index, "its entries")
    return length_of(site, 1, "its begin")


def _plan(site: OnnxSite, count: int) -> _Plan:
    new, shrink, ellipsis = (_mask(site, name, count) for name in ("new_axis", "shrink_axis", "ellipsis"))
    if sum(ellipsis) > 1:
        raise UnsupportedError("its ellipsis_mask has two ellipses")
    middle = ellipsis.index(True) if any(ellipsis) else count
    plan = _Plan()
    axis = place = 0
    for entry in range(middle):
        if new[entry]:
            plan.added.append(place)
            place += 1
            continue
        plan.entries.append(entry)
        plan.axes.append(axis)
        plan.is_dropped.append(shrink[entry])
        axis += 1
        place += not shrink[entry]
    axis = place = -1
    for entry in range(count - 1, middle, -1):
        if new[entry]:
            plan.added.append(place)
            place -= 1
            continue
        plan.entries.append(entry)
        plan.axes.append(axis)
        plan.is_dropped.append(shrink[entry])
        axis -= 1
        place -= not shrink[entry]
    return plan


def _mask(site: OnnxSite, name: str, count: int) -> list[bool]:
    """A mask with an entry for each of the begin values."""
    given = [bool(item) for item in site.integers(f"{name}_mask")][:count]
    return given + [False] * (count - len(given))


def _known_bounds(site: OnnxSite, plan: _Plan) -> list[Tensor] | None:
    """Starts, ends and steps of the cuts as constants, None where any is computed at run time."""
    begin, end = site.value(1), site.value(2)
    steps = _steps(site, plan)
    if begin is None or end is None or steps is None:
        return None
    open_begin, open_end = (_mask(site, name, begin.size) for name in ("begin", "end"))
    begins, ends = begin.reshape(-1).tolist(), end.reshape(-1).tolist()
    if len(ends) != len(begins):
        raise UnsupportedError("its begin and end are of different lengths")
    starts, stops = [], []
    for entry, step, goes in zip(plan.entries, steps, plan.is_dropped, strict=True):
        first, last = (0, INT64_MAX) if step > 0 else (INT64_MAX, INT64_MIN)
        start = first if open_begin[entry] else begins[entry]
        starts.append(start)
        stops.append(_behind(start) if goes else last if open_end[entry] else ends[entry])
    return [site.constant(values, "int64") for values in (starts, stops, steps)]


def _behind(start: int) -> int:
    return INT64_MAX if start == -1 else start + 1


def _steps(site: OnnxSite, plan: _Plan) -> list[int] | None:
    """The steps of the cuts, None where they are computed at run time; what is dropped is one element."""
    if not site.has_input(3):
        return [1] * len(plan.entries)
    values = site.value(3)
    if values is None:
        return None
    strides = values.reshape(-1).tolist()
    strides += [1] * (max(plan.entries, default=-1) + 1 - len(strides))
    return [1 if goes else strides[entry] for entry, goes in zip(plan.entries, plan.is_dropped, strict=True)]


def _computed_bounds(site: OnnxSite, plan: _Plan, count: int) -> list[Tensor]:
    """Starts, ends and steps of the cuts where begin or end is computed at run time."""
    steps = _steps(site, plan)
    if steps is None:
        raise UnsupportedError("its strides are computed at run time")
    open_begin, open_end = (_mask(site, name, count) for name in ("begin", "end"))
    begin, end = (_picked(site, int64_vector(site, index), plan.entries, count) for index in (1, 2))
    firsts = [0 if step > 0 else INT64_MAX for step in steps]
    lasts = [INT64_MAX if step > 0 else INT64_MIN for step in steps]
    starts = _where(site, [open_begin[entry] for entry in plan.entries], site.constant(firsts, "int64"), begin)
    stops = _where(site, [open_end[entry] for entry in plan.entries], site.constant(lasts, "int64"), end)
    if any(plan.is_dropped):
        is_last = site.add("Equal", [starts, site.constant([-1], "int64")])
        following = site.add("Add", [starts, site.constant([1], "int64")])
        behind = site.add("Where", [is_last, site.constant([INT64_MAX], "int64"), following])
        stops = _where(site, plan.is_dropped, behind, stops)
    return [starts, stops, site.constant(steps, "int64")]


def _picked(site: OnnxSite, vector: Tensor, entries: Sequence[int], count: int) -> Tensor:
    if list(entries) == list(range(count)):
        return vector
    picked: Tensor = site.add("Gather", [vector, site.constant(list(entries), "int64")])
    return picked


def _where(site: OnnxSite, mask: Sequence[bool], chosen: Tensor, otherwise: Tensor) -> Tensor:
    if not any(mask):
        return otherwise
    result: Tensor = site.add("Where", [site.constant(mask, np.bool_), chosen, otherwise])
    return result


ROWS: tuple[Row, ...] = (
    *both(
        "Slice",
        "Slice-8",
        _slice_to_openvino,
        _slice_to_onnx,
        limits="Steps that are left out need starts of known length.",
    ),
    *from_openvino(
        "StridedSlice-1",
        "Slice",
        _strided_slice_to_onnx,
        limits="Needs a known number of entries and constant strides.",
    ),
)
