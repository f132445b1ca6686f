"""Elements reversed, summed up or moved between dimensions: CumSum, ReverseSequence, DepthToSpace, Einsum."""

from __future__ import annotations

import numpy as np

from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import (
    INT64_MIN,
    int64_tensor,
    int64_vector,
    onnx_scalar,
    openvino_scalar,
    positive_axis,
    transposed,
)
from maxfold.passes.conversion.row import Row, both, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_MODES = {"DCR": "blocks_first", "CRD": "depth_first"}
_IMAGE_RANK = 4


def _cum_sum_to_openvino(site: OpenvinoSite) -> None:
    data = {name: bool(site.attribute(name, 0)) for name in ("exclusive", "reverse")}
    site.result(site.add("CumSum", [site.input(0), openvino_scalar(site, 1)], data, opset=3))


def _cum_sum_to_onnx(site: OnnxSite) -> None:
    axis = onnx_scalar(site, 1) if site.has_input(1) else site.constant(0, "int64")
    attributes = {name: int(site.flag(name)) for name in ("exclusive", "reverse")}
    site.result(site.add("CumSum", [site.input(0), axis], attributes))


def _reverse_sequence_to_openvino(site: OpenvinoSite) -> None:
    data = {"batch_axis": site.attribute("batch_axis", 1), "seq_axis": site.attribute("time_axis", 0)}
    site.result(site.add("ReverseSequence", site.inputs(), data))


def _reverse_sequence_to_onnx(site: OnnxSite) -> None:
    """ONNX has sequences along the first two axes only; others become these, and go back."""
    batch, time = (site.integer(name) for name in ("batch_axis", "seq_axis"))
    if min(batch, time) < 0 or {batch, time} != {0, 1}:
        batch, time = (positive_axis(axis, site.rank(0)) for axis in (batch, time))
    if batch == time:
        raise UnsupportedError(f"its batch_axis and its seq_axis are both {batch}")
    lengths = int64_tensor(site, 1)
    if {batch, time} == {0, 1}:
        operands = [site.input(0), lengths]
        site.result(site.add("ReverseSequence", operands, {"batch_axis": batch, "time_axis": time}))
        return
    order = [batch, time, *(axis for axis in range(site.rank(0)) if axis not in (batch, time))]
    moved = transposed(site, site.input(0), order)
    reversed_ones = site.add("ReverseSequence", [moved, lengths], {"batch_axis": 0, "time_axis": 1})
    site.result(transposed(site, reversed_ones, [order.index(axis) for axis in range(len(order))]))


def _reverse_to_onnx(site: OnnxSite) -> None:
    """A Slice with steps of -1."""
    mode = site.text("mode").lower()
    if mode not in ("index", "mask"):
        raise UnsupportedError(f"its mode {mode!r} is not covered")
    if mode == "index" and site.value(1) is None:
        axes = int64_vector(site, 1)
        shape = site.add("Shape", [axes])
        bounds = [site.add("Expand", [site.constant([value], "int64"), shape]) for value in (-1, INT64_MIN, -1)]
        site.result(site.add("Slice", [site.input(0), bounds[0], bounds[1], axes, bounds[2]]))
        return
    given = site.integers_of(1, "its mask")
    known = given if mode == "index" else [int(axis) for axis in np.flatnonzero(given)]
    if not known:
        site.result(site.add("Identity", [site.input(0)]))
        return
    first, last = site.constant([-1] * len(known), "int64"), site.constant([INT64_MIN] * len(known), "int64")
    site.result(site.add("Slice", [site.input(0), first, last, site.constant(known, "int64"), first]))


def _blocks_to_openvino(site: OpenvinoSite) -> None:
    """DepthToSpace and SpaceToDepth, whose attributes are the same."""
    mode = site.attribute("mode", "DCR")
    if mode not in _MODES:
        raise UnsupportedError(f"its mode {mode!r} is not covered")
    size, shape = site.attribute("blocksize"), site.shape(0) or ()
    blocks, dims = (size * size, shape[1:2]) if site.operator == "DepthToSpace" else (size, shape[2:])
    if size < 1 or any(dim is not None and dim % blocks for dim in dims):
        raise UnsupportedError(f"its input of {list(shape)} does not divide into blocks of {size}")
    data = {"block_size": site.attribute("blocksize"), "mode": _MODES[mode]}
    site.result(site.add(site.operator, [site.input(0)], data))


def _blocks_of(site: OnnxSite) -> tuple[str, int]:
    """ONNX's mode, and the size of blocks."""
    text = site.text("mode").lower()
    mode = next((key for key, value in _MODES.items() if value == text), None)
    if mode is None:
        raise UnsupportedError(f"its mode {text!r} is not covered")
    if site.rank(0) != _IMAGE_RANK:
        raise UnsupportedError(f"it has {site.rank(0)} dimensions instead of 4")
    return mode, site.integer("block_size")


def _depth_to_space_to_onnx(site: OnnxSite) -> None:
    mode, size = _blocks_of(site)
    site.result(site.add("DepthToSpace", [site.input(0)], {"blocksize": size, "mode": mode}))


def _space_to_depth_to_onnx(site: OnnxSite) -> None:
    """ONNX up to operator set 21 has blocks before depth only; the other order is that of the channels."""
    mode, size = _blocks_of(site)
    moved = site.add("SpaceToDepth", [site.input(0)], {"blocksize": size})
    if mode == "CRD":
        shape = site.shape(0)
        channels = None if shape is None else shape[1]
        if channels is None:
            raise UnsupportedError("its mode 'depth_first' needs a known number of channels")
        order = np.arange(size * size * channels).reshape(size * size, channels).T.reshape(-1)
        moved = site.add("Gather", [moved, site.constant(order, "int64")], {"axis": 1})
    site.result(moved)


def _einsum_to_openvino(site: OpenvinoSite) -> None:
    equation = site.attribute("equation").replace(" ", "")
    site.result(site.add("Einsum", site.inputs(), {"equation": equation}, opset=7))


def _einsum_to_onnx(site: OnnxSite) -> None:
    site.result(site.add("Einsum", site.inputs(), {"equation": site.text("equation")}))


ROWS: tuple[Row, ...] = (
    *both("CumSum", "CumSum-3", _cum_sum_to_openvino, _cum_sum_to_onnx),
    *both(
        "ReverseSequence",
        "ReverseSequence-1",
        _reverse_sequence_to_openvino,
        _reverse_sequence_to_onnx,
        limits="Sequences along other axes than the first two become these by a Transpose, and back.",
    ),
    *from_openvino("Reverse-1", "Slice", _reverse_to_onnx),
    *both(
        "DepthToSpace",
        "DepthToSpace-1",
        _blocks_to_openvino,
        _depth_to_space_to_onnx,
        limits="ONNX has images of two dimensions only.",
    ),
    *both(
        "SpaceToDepth",
        "SpaceToDepth-1",
        _blocks_to_openvino,
        _space_to_depth_to_onnx,
        limits="ONNX has images of two dimensions only.",
    ),
    *both("Einsum", "Einsum-7", _einsum_to_openvino, _einsum_to_onnx, tolerance="1e-5 relative"),
)
