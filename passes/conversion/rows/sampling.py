"""Grids of positions, and samples of images at them."""

from __future__ import annotations

from functools import reduce

import numpy as np

from maxfold.model.data import Array
from maxfold.model.dtypes import DType
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.operands import length_of
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import reshaped
from maxfold.passes.conversion.row import Row, both, from_onnx
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NUMPY = {BROADCAST: "numpy"}
_MODES = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}
_ONNX_MODES = {openvino: onnx for onnx, openvino in _MODES.items()}
_PADDINGS = ("zeros", "border", "reflection")
_RENAMED_OPSET = 20


def _grid_sample_to_openvino(site: OpenvinoSite) -> None:
    rank, mode, padding = site.rank(0), site.attribute("mode", "linear"), site.attribute("padding_mode", "zeros")
    if rank != 4:
        raise UnsupportedError(f"OpenVINO samples images only, not data of {rank} dimensions")
    if mode not in _MODES or padding not in _PADDINGS:
        raise UnsupportedError(f"its mode {mode!r} with padding_mode {padding!r} is not covered")
    if site.kind(0) != "float":
        raise UnsupportedError(f"of {site.dtype(0)} OpenVINO does not have it")
    attributes = {
        "align_corners": bool(site.attribute("align_corners", 0)), "mode": _MODES[mode], "padding_mode": padding,
    }  # fmt: skip
    site.result(site.add("GridSample", site.inputs(), attributes, opset=9))


def _grid_sample_to_onnx(site: OnnxSite) -> None:
    mode, padding = site.text("mode").lower(), site.text("padding_mode").lower()
    if mode not in _ONNX_MODES or padding not in _PADDINGS:
        raise UnsupportedError(f"its mode {mode!r} with padding_mode {padding!r} is not covered")
    attributes = {
        "align_corners": int(site.flag("align_corners")), "padding_mode": padding,
        "mode": _ONNX_MODES[mode] if site.opset >= _RENAMED_OPSET else mode,
    }  # fmt: skip
    site.result(site.add("GridSample", site.inputs(), attributes))


def _affine_grid_to_openvino(site: OpenvinoSite) -> None:
    """The columns of theta times the positions along each axis, which broadcast to the grid."""
    spatial, dtype = length_of(site, 1, "its size") - 2, dtype_of(site)
    if spatial not in (2, 3):
        raise UnsupportedError(f"its size has {spatial} spatial dimensions")
    splits = {"num_splits": spatial + 1}
    columns = site.add("Split", [site.input(0), site.constant(2, "int64")], splits, outputs=spatial + 1)
    aligned = bool(site.attribute("align_corners", 0))
    ones = [1] * spatial
    *factors, offset = (reshaped(site, column, [-1, *ones, spatial]) for column in columns)
    terms = [
        # The first column belongs to the last axis.
        site.add("Multiply", [factor, _positions(site, spatial - 1 - index, spatial, dtype, aligned)], _NUMPY)
        for index, factor in enumerate(factors)
    ]
    site.result(reduce(lambda left, right: site.add("Add", [left, right], _NUMPY), [*terms, offset]))


def _positions(site: OpenvinoSite, axis: int, spatial: int, dtype: DType, aligned: bool) -> Tensor:
    """The positions along a spatial axis, between -1 and 1, shaped to broadcast along it."""
    shape = [1, *(-1 if index == axis else 1 for index in range(spatial)), 1]
    known = site.value(1)
    if known is not None:
        size = int(known.reshape(-1)[axis + 2])
        return site.constant(_known_positions(size, dtype, aligned).reshape(shape), dtype.numpy)
    single = [site.constant(item, "int64") for item in (axis + 2, 0)]
    size_at_run_time = site.add("Gather", [site.input(1), *single], {"batch_dims": 0}, opset=8)
    bounds = [site.constant(item, "int64") for item in (0, 1)]
    steps = site.add("Range", [bounds[0], size_at_run_time, bounds[1]], {"output_type": "i64"}, opset=4)
    to = {"destination_type": str(dtype.openvino)}
    count, steps = site.add("Convert", [size_at_run_time], to), site.add("Convert", [steps], to)
    one, two = (site.constant(item, dtype.numpy) for item in (1, 2))
    if aligned:
        # A single position is 0 steps away from the start, whatever a step is.
        count = site.add("Maximum", [site.add("Subtract", [count, one], _NUMPY), one], _NUMPY)
    step = site.add("Divide", [two, count], {**_NUMPY, "m_pythondiv": True})
    start: Tensor = site.constant(-1, dtype.numpy)
    if not aligned:
        half = site.add("Multiply", [step, site.constant(0.5, dtype.numpy)], _NUMPY)
        start = site.add("Add", [start, half], _NUMPY)
    moved = site.add("Add", [site.add("Multiply", [steps, step], _NUMPY), start], _NUMPY)
    return reshaped(site, moved, shape)


def _known_positions(size: int, dtype: DType, aligned: bool) -> Array:
    one, two = (dtype.numpy.type(item) for item in (1, 2))
    count = dtype.numpy.type(size)
    if aligned:
        count = max(count - one, one)
    step = two / count
    start = -one if aligned else step / two - one
    positions: Array = np.arange(size).astype(dtype.numpy) * step + start
    return positions


ROWS: tuple[Row, ...] = (
    *both(
        "GridSample",
        "GridSample-9",
        _grid_sample_to_openvino,
        _grid_sample_to_onnx,
        tolerance="1e-4 relative, 1e-5 absolute",
        limits="From ONNX, data of 5 dimensions and data that are not floating-point are refused.",
    ),
    *from_onnx(
        "AffineGrid",
        "Multiply-1",
        _affine_grid_to_openvino,
        tolerance="1e-5 relative",
        limits="Becomes a Multiply for each axis and their sum. A single position of aligned corners is at -1.",
    ),
)
