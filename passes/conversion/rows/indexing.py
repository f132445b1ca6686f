"""Elements picked by indices that are data."""

from __future__ import annotations

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import (
    INT64_MAX,
    int64_tensor,
    one_integer,
    positive_axis,
    transposed,
)
from maxfold.passes.conversion.row import Row, both, pair
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

# Versions of OpenVINO's Gather: batch_dims, and negative indices that count from the end.
_BATCHED, _WRAPPING = 7, 8
_GATHER_ND_BATCHED = 8

_OUT_OF_RANGE = "An index out of range is an error in ONNX and gives 0 in OpenVINO"


def _gather_to_openvino(site: OpenvinoSite) -> None:
    axis = site.constant(site.attribute("axis", 0), "int64")
    site.result(site.add("Gather", [site.input(0), site.input(1), axis], {"batch_dims": 0}, opset=_WRAPPING))


def _gather_to_onnx(site: OnnxSite) -> None:
    axis = one_integer(site, 2, "its axis")
    batch_dims = site.integer("batch_dims") if site.version >= _BATCHED else 0
    indices = site.value(1)
    if site.version < _WRAPPING and indices is not None and (indices < 0).any():
        raise UnsupportedError("it has negative indices, which give 0 before version 8")
    if batch_dims < 0:
        batch_dims += site.rank(1)
    if batch_dims:
        site.result(_batched_gather(site, axis, batch_dims))
        return
    dtype = site.dtype(1)
    is_index = dtype is not None and dtype.name in ("INT32", "INT64")
    picked = site.input(1) if is_index else int64_tensor(site, 1)
    site.result(site.add("Gather", [site.input(0), picked], {"axis": axis}))


def _batched_gather(site: OnnxSite, axis: int, batch_dims: int) -> Tensor:
    """Gather within each batch: GatherND with the axis moved behind the batch dimensions, and its dimensions back."""
    rank, index_rank = site.rank(0), site.rank(1)
    axis = positive_axis(axis, rank)
    if axis < batch_dims:
        raise UnsupportedError(f"its axis {axis} is one of its {batch_dims} batch dimensions")
    between = list(range(batch_dims, axis))
    data = transposed(site, site.input(0), [*range(batch_dims), axis, *between, *range(axis + 1, rank)])
    indices = site.add("Unsqueeze", [int64_tensor(site, 1), site.constant([-1], "int64")])
    picked = site.add("GatherND", [data, indices], {"batch_dims": batch_dims})
    moved = [index_rank + offset for offset in range(len(between))]
    rest = range(index_rank + len(between), index_rank + rank - batch_dims - 1)
    return transposed(site, picked, [*range(batch_dims), *moved, *range(batch_dims, index_rank), *rest])


def _gather_nd_to_openvino(site: OpenvinoSite) -> None:
    batch_dims = site.attribute("batch_dims", 0)
    site.result(site.add("GatherND", site.inputs(), {"batch_dims": batch_dims}, opset=_GATHER_ND_BATCHED))


def _gather_nd_to_onnx(site: OnnxSite) -> None:
    batch_dims = site.integer("batch_dims")
    if batch_dims < 0:
        raise UnsupportedError(f"its batch_dims {batch_dims} is negative")
    operands = [site.input(0), int64_tensor(site, 1)]
    picked = site.add("GatherND", operands, {"batch_dims": batch_dims} if batch_dims else {})
    if site.version < _GATHER_ND_BATCHED and batch_dims > 1:
        picked = _flat_batches(site, picked, batch_dims)
    site.result(picked)


def _flat_batches(site: OnnxSite, tensor: Tensor, batch_dims: int) -> Tensor:
    """The batch dimensions as one, as OpenVINO had them before version 8."""
    bounds = [site.constant([batch_dims], "int64"), site.constant([INT64_MAX], "int64")]
    rest = site.add("Slice", [site.add("Shape", [tensor]), *bounds])
    shape = site.add("Concat", [site.constant([-1], "int64"), rest], {"axis": 0})
    result: Tensor = site.add("Reshape", [tensor, shape])
    return result


ROWS: tuple[Row, ...] = (
    *both(
        "Gather",
        "Gather-1",
        _gather_to_openvino,
        _gather_to_onnx,
        limits=f"{_OUT_OF_RANGE}; so are negative ones in OpenVINO's versions 1 and 7.",
    ),
    *pair("GatherElements", "GatherElements-6", "axis:integer", limits=f"{_OUT_OF_RANGE}."),
    *both("GatherND", "GatherND-5", _gather_nd_to_openvino, _gather_nd_to_onnx, limits=f"{_OUT_OF_RANGE}."),
)
