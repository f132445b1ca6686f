"""Pad: elements added around a tensor, or cut off where the number is negative."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxfold.model.graph import Constant, Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import (
    int64_vector,
    onnx_scalar,
    openvino_scalar,
    positive_axis,
    shape_vector,
)
from maxfold.passes.conversion.row import Row, both
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_MODES = ("constant", "edge", "reflect")
_NEGATIVE_PADS = 12


def _pad_to_openvino(site: OpenvinoSite) -> None:
    mode = site.attribute("mode", "constant")
    if mode not in _MODES:
        raise UnsupportedError(f"its mode {mode!r} does not exist in OpenVINO")
    bounds = _begin_and_end(site)
    if mode == "reflect" and 0 in (site.shape(0) or ()):
        # OpenVINO does not read it, not even where nothing is added.
        if not all(isinstance(bound, Constant) and not bound.values.any() for bound in bounds):
            raise UnsupportedError("mode 'reflect' of a dimension without elements")
        site.result(site.input(0))
        return
    fill = [_fill(site)] if mode == "constant" else []
    if fill and not isinstance(fill[0], Constant):
        site.result(_filled(site, bounds, fill[0]))
        return
    site.result(site.add("Pad", [site.input(0), *bounds, *fill], {"pad_mode": mode}, opset=_NEGATIVE_PADS))


def _filled(site: OpenvinoSite, bounds: list[Tensor], fill: Tensor) -> Tensor:
    """A Pad whose value is computed at run time: chosen by a mask that is padded too.

    OpenVINO's CPU takes 0 for such a value where the pads are constants.
    """
    dtype = site.dtype(0)
    if dtype is None:
        raise UnsupportedError("its element type is not known")
    mode = {"pad_mode": "constant"}
    zero, one = site.constant(0, "float32"), site.constant(1, "float32")
    ones = site.add("Broadcast", [one, shape_vector(site, site.input(0))], {"mode": "numpy"}, opset=3)
    mask = site.add("Pad", [ones, *bounds, zero], mode, opset=_NEGATIVE_PADS)
    is_data = site.add("Convert", [mask], {"destination_type": "boolean"})
    operands = [site.input(0), *bounds, site.constant(0, dtype.numpy)]
    data = site.add("Pad", operands, mode, opset=_NEGATIVE_PADS)
    chosen: Tensor = site.add("Select", [is_data, data, fill], {"auto_broadcast": "numpy"})
    return chosen


def _fill(site: OpenvinoSite) -> Tensor:
    """The padded value, of the data's type."""
    if site.has_input(2):
        return openvino_scalar(site, 2)
    dtype = site.dtype(0)
    if dtype is None:
        raise UnsupportedError("its element type is not known")
    return site.constant(0, dtype.numpy)


def _begin_and_end(site: OpenvinoSite) -> list[Tensor]:
    """The numbers of added elements in front and behind, for all dimensions."""
    has_axes = site.has_input(3)
    if site.value(1) is not None:
        pads = site.integers_of(1, "pads")
        if len(pads) % 2:
            raise UnsupportedError("its pads are odd in number")
        half = len(pads) // 2
        parts = [pads[:half], pads[half:]]
        if not has_axes:
            return [site.constant(part, "int64") for part in parts]
        if site.value(3) is not None:
            return [site.constant(_for_all_axes(site, part), "int64") for part in parts]
        return [_scattered(site, site.constant(part, "int64")) for part in parts]
    split = site.add("Split", [site.input(1), site.constant(0, "int64")], {"num_splits": 2}, outputs=2)
    return [_scattered(site, part) for part in split] if has_axes else list(split)


def _for_all_axes(site: OpenvinoSite, part: list[int]) -> list[int]:
    """The numbers of all dimensions, of those that are given for some axes."""
    rank = site.rank(0)
    axes = [positive_axis(axis, rank) for axis in site.integers_of(3, "axes")]
    if len(set(axes)) != len(axes) or len(axes) != len(part):
        raise UnsupportedError("its axes do not match its pads")
    given = dict(zip(axes, part, strict=True))
    return [given.get(axis, 0) for axis in range(rank)]


def _scattered(site: OpenvinoSite, part: Tensor) -> Tensor:
    """As `_for_all_axes`, for axes computed at run time."""
    operands = [site.constant([0] * site.rank(0), "int64"), site.input(3), part, site.constant(0, "int64")]
    result: Tensor = site.add("ScatterElementsUpdate", operands, opset=3)
    return result


def _pad_to_onnx(site: OnnxSite) -> None:
    mode = site.text("pad_mode").lower()
    if mode == "symmetric":
        site.result(_mirrored(site))
        return
    if mode not in _MODES:
        raise UnsupportedError(f"its pad_mode {mode!r} does not exist in ONNX")
    operands = [site.input(0), _pads(site)]
    if mode == "constant" and site.has_input(3):
        operands.append(onnx_scalar(site, 3))
    attributes: dict[str, Any] = {} if mode == "constant" else {"mode": mode}
    site.result(site.add("Pad", operands, attributes))


def _mirrored(site: OnnxSite) -> Tensor:
    """The border is repeated, unlike in ONNX's mode reflect: what to take of each axis is counted."""
    pads = [site.integers_of(index, what) for index, what in ((1, "its pads before"), (2, "its pads behind"))]
    data, shape = site.input(0), site.shape(0)
    if shape is None or {len(item) for item in pads} != {len(shape)}:
        raise UnsupportedError("the rank of its data is not known, or not the number of its pads")
    for axis, (size, before, behind) in enumerate(zip(shape, *pads, strict=True)):
        if min(before, behind) < 0 or (size is not None and max(before, behind) > size):
            raise UnsupportedError(f"its pads {before} and {behind} of axis {axis} are not covered")
        if before or behind:
            data = site.add("Gather", [data, _mirror(site, axis, before, behind)], {"axis": axis})
    return data


def _mirror(site: OnnxSite, axis: int, before: int, behind: int) -> Tensor:
    """The places along an axis, there and back."""
    size = (site.shape(0) or ())[axis]
    if size is not None:
        places = [*range(before - 1, -1, -1), *range(size), *range(size - 1, size - 1 - behind, -1)]
        return site.constant(places, "int64")
    length = site.add("Gather", [site.add("Shape", [site.input(0)]), site.constant(axis, "int64")])
    own = site.add("Range", [site.constant(0, "int64"), length, site.constant(1, "int64")])
    back = site.add("Sub", [length, site.constant(list(range(1, behind + 1)), "int64")])
    parts = [*([site.constant(list(range(before - 1, -1, -1)), "int64")] if before else []), own]
    joined: Tensor = site.add("Concat", [*parts, *([back] if behind else [])], {"axis": 0})
    return joined


def _pads(site: OnnxSite) -> Tensor:
    begin, end = site.value(1), site.value(2)
    if begin is not None and end is not None:
        return site.constant(np.concatenate([begin.reshape(-1), end.reshape(-1)]).astype(np.int64), "int64")
    joined: Tensor = site.add("Concat", [int64_vector(site, 1), int64_vector(site, 2)], {"axis": 0})
    return joined


ROWS: tuple[Row, ...] = (
    *both(
        "Pad",
        "Pad-1",
        _pad_to_openvino,
        _pad_to_onnx,
        limits="ONNX has no mode symmetric, which becomes a Gather along each axis, OpenVINO no mode wrap. A value "
        "computed at run time becomes a Select.",
    ),
)
