"""Tensors repeated along dimensions: Expand and Tile."""

from __future__ import annotations

from typing import cast

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import (
    int64_vector,
    length_of,
    shape_vector,
)
from maxfold.passes.conversion.row import Row, both
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite


def _expand_to_openvino(site: OpenvinoSite) -> None:
    site.result(site.add("Broadcast", site.inputs(), {"mode": "bidirectional"}, opset=3))


def _broadcast_to_onnx(site: OnnxSite) -> None:
    """Expand; by an axes mapping it needs dimensions of 1 where the mapping has none."""
    mode = site.text("mode").lower()
    target = int64_vector(site, 1)
    # Version 1 writes explicit as none, and may have a mapping that another mode does not read.
    if mode in ("explicit", "none"):
        site.result(site.add("Expand", [_mapped(site), target]))
        return
    if mode not in ("numpy", "bidirectional"):
        raise UnsupportedError(f"its mode {mode!r} is not covered")
    site.result(site.add("Expand", [site.input(0), target]))


def _mapped(site: OnnxSite) -> Tensor:
    mapping = site.integers_of(2, "its axes mapping")
    if mapping != sorted(set(mapping)):
        raise UnsupportedError("its axes mapping is not in ascending order")
    missing = [axis for axis in range(length_of(site, 1, "its target shape")) if axis not in mapping]
    if not missing:
        return site.input(0)
    result: Tensor = site.add("Unsqueeze", [site.input(0), site.constant(missing, "int64")])
    return result


def _tile_to_openvino(site: OpenvinoSite) -> None:
    shape = site.shape(0)
    is_plain = site.value(1) is not None or not shape
    site.result(site.add("Tile", site.inputs()) if is_plain else _computed_tile(site, len(shape or ())))


def _computed_tile(site: OpenvinoSite, rank: int) -> Tensor:
    """Tile as Broadcast, with a dimension in front of each for its repeats.

    OpenVINO's CPU gives garbage for a Tile of four or more dimensions whose repeats are computed at run time.
    """
    last, flat = site.constant(-1, "int64"), site.constant([-1], "int64")
    shape, repeats = site.sizes(0, rank), site.input(1)
    dims = shape_vector(site, site.input(0)) if None in shape else site.constant(shape, "int64")

    def before_each(first: Tensor | None) -> Tensor:
        """A number before each dimension, 1 if none is given."""
        if first is None and shape.count(None) <= 1 and 0 not in shape:
            known = [-1 if size is None else size for size in shape]
            return site.constant(np.stack([np.ones(rank), np.asarray(known)], 1).reshape(-1), "int64")
        column = site.constant(np.ones((rank, 1)), "int64") if first is None else site.add("Unsqueeze", [first, last])
        pairs = site.add("Concat", [column, site.add("Unsqueeze", [dims, last])], {"axis": 1})
        return cast(Tensor, site.add("Reshape", [pairs, flat], {"special_zero": False}))

    apart = site.add("Reshape", [site.input(0), before_each(None)], {"special_zero": False})
    repeated = site.add("Broadcast", [apart, before_each(repeats)], {"mode": "numpy"}, opset=3)
    known = site.output_shape()
    if known is None or None in known:
        wanted: Tensor = site.add("Multiply", [dims, repeats], {"auto_broadcast": "numpy"})
    else:
        wanted = site.constant(known, "int64")
    tiled: Tensor = site.add("Reshape", [repeated, wanted], {"special_zero": False})
    return tiled


def _tile_to_onnx(site: OnnxSite) -> None:
    """Tile with as many repeats as dimensions, where OpenVINO fills up either with ones in front."""
    data, repeats = site.input(0), int64_vector(site, 1)
    count = length_of(site, 1, "its repeats")
    missing = site.rank(0) - count
    values = site.value(1)
    if missing > 0 and values is not None:
        repeats = site.constant([1] * missing + values.reshape(-1).tolist(), "int64")
    elif missing > 0:
        repeats = site.add("Concat", [site.constant([1] * missing, "int64"), repeats], {"axis": 0})
    if missing < 0:
        data = site.add("Unsqueeze", [data, site.constant(list(range(-missing)), "int64")])
    site.result(site.add("Tile", [data, repeats]))


ROWS: tuple[Row, ...] = (
    *both(
        "Expand",
        "Broadcast-1",
        _expand_to_openvino,
        _broadcast_to_onnx,
        limits="A target shape that does not contain the input's is an error in OpenVINO's mode numpy, not in ONNX.",
    ),
    *both(
        "Tile",
        "Tile-1",
        _tile_to_openvino,
        _tile_to_onnx,
        limits="OpenVINO's CPU gives garbage for a Tile of four dimensions with repeats computed at run time.",
    ),
)
