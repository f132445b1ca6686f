"""Elements moved around the end of an axis, and parts put in place of others: Roll and SliceScatter."""

from __future__ import annotations

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import int64_vector, positive_axis
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite


def _roll_to_onnx(site: OnnxSite) -> None:
    """The end of each axis in front of its begin."""
    rank = site.rank(0)
    axes = [positive_axis(axis, rank) for axis in site.integers_of(2, "its axes")]
    shifts = site.value(1)
    if shifts is None:
        site.result(_rolled_by_computed(site, axes))
        return
    listed = [int(shift) for shift in shifts.reshape(-1)]
    if len(listed) not in (1, len(axes)):
        raise UnsupportedError(f"it has {len(listed)} shifts for {len(axes)} axes")
    totals: dict[int, int] = {}
    for axis, shift in zip(axes, listed * len(axes) if len(listed) == 1 else listed, strict=True):
        totals[axis] = totals.get(axis, 0) + shift
    data, shape = site.input(0), site.shape(0) or ()
    for axis, total in totals.items():
        size = shape[axis]
        if size is None:
            data = _parted(site, data, axis, _cut_of(site, axis, site.constant([total], "int64")))
        elif size and total % size:
            data = _parted(site, data, axis, site.constant([-total % size], "int64"))
    site.result(site.add("Identity", [data]) if data is site.input(0) else data)


def _rolled_by_computed(site: OnnxSite, axes: list[int]) -> Tensor:
    shifts, data = int64_vector(site, 1), site.input(0)
    # One shift for all axes has no dimensions; else there is one for each.
    is_one = len(axes) == 1 or site.rank(1) == 0
    for place, axis in enumerate(axes):
        shift = shifts if is_one else site.add("Gather", [shifts, site.constant([place], "int64")])
        data = _parted(site, data, axis, _cut_of(site, axis, shift))
    result: Tensor = site.add("Identity", [data]) if data is site.input(0) else data
    return result


def _cut_of(site: OnnxSite, axis: int, shift: Tensor) -> Tensor:
    """Where an axis of a size that is not known is cut, as a vector of one."""
    size = site.add("Gather", [site.add("Shape", [site.input(0)]), site.constant([axis], "int64")])
    # There is no remainder of a division by 0.
    divisor = site.add("Max", [size, site.constant([1], "int64")])
    cut: Tensor = site.add("Mod", [site.add("Neg", [shift]), divisor])
    return cut


def _parted(site: OnnxSite, data: Tensor, axis: int, cut: Tensor) -> Tensor:
    """What is behind a cut, then what is before it."""
    first, end = site.constant([0], "int64"), site.constant([np.iinfo(np.int64).max], "int64")
    along = site.constant([axis], "int64")
    parts = [site.add("Slice", [data, cut, end, along]), site.add("Slice", [data, first, cut, along])]
    rolled: Tensor = site.add("Concat", parts, {"axis": axis})
    shape = site.shape(0)
    if shape is not None:
        site.declare(rolled, site.input(0), shape)
    return rolled


def _slice_scatter_to_onnx(site: OnnxSite) -> None:
    """The same Slice of the numbers of all elements says where the updates go."""
    shape = site.add("Shape", [site.input(0)])
    flat = site.constant([-1], "int64")
    count = site.add("ReduceProd", [shape], {"keepdims": 0})
    numbers = site.add("Range", [site.constant(0, "int64"), count, site.constant(1, "int64")])
    places = site.add("Reshape", [numbers, shape], {"allowzero": 1})
    bounds = [int64_vector(site, index) for index in (2, 3, 4)]
    axes = int64_vector(site, 5) if site.has_input(5) else site.omitted()
    chosen = site.add("Slice", [places, bounds[0], bounds[1], axes, bounds[2]])
    updates = site.add("Expand", [site.input(1), site.add("Shape", [chosen])])
    data, chosen, updates = (site.add("Reshape", [item, flat]) for item in (site.input(0), chosen, updates))
    changed = site.add("ScatterElements", [data, chosen, updates], {"axis": 0})
    site.result(site.add("Reshape", [changed, shape], {"allowzero": 1}))


ROWS: tuple[Row, ...] = (
    *from_openvino("Roll-7", "Concat", _roll_to_onnx, limits="Axes that are computed at run time are refused."),
    *from_openvino("SliceScatter-15", "ScatterElements", _slice_scatter_to_onnx),
)
