"""Elements replaced at indices that are data."""

from __future__ import annotations

import math

import numpy as np

from maxfold.model.dtypes import DType
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import (
    int64_tensor,
    one_integer,
    positive_axis,
    transposed,
)
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import scalar_like
from maxfold.passes.conversion.row import Row, both, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.versions import needs_opset

_OPENVINO_REDUCTIONS = {"none": "none", "add": "sum", "mul": "prod", "min": "min", "max": "max"}
_ONNX_REDUCTIONS = {value: key for key, value in _OPENVINO_REDUCTIONS.items()}
# Since which operator set ONNX has a reduction.
_SINCE = {"none": 13, "add": 16, "mul": 16, "min": 18, "max": 18}
# Versions of OpenVINO's operations that have reductions.
_ELEMENTS_REDUCING, _ND_REDUCING = 12, 15

_DUPLICATES = "With equal indices and no reduction either of the updates may win."


def _reduction_to_openvino(site: OpenvinoSite) -> str:
    reduction = site.attribute("reduction", "none")
    if reduction not in _OPENVINO_REDUCTIONS:
        raise UnsupportedError(f"its reduction {reduction!r} is not covered")
    return _OPENVINO_REDUCTIONS[reduction]


def _reduction_to_onnx(site: OnnxSite, since_version: int) -> dict[str, str]:
    text = site.text("reduction").lower() if site.version >= since_version else "none"
    reduction = _ONNX_REDUCTIONS.get(text)
    if reduction is None:
        raise UnsupportedError(f"its reduction {text!r} does not exist in ONNX")
    if site.opset < _SINCE[reduction]:
        raise needs_opset(f"its reduction {text!r}", _SINCE[reduction])
    return {} if reduction == "none" else {"reduction": reduction}


def _elements_to_openvino(site: OpenvinoSite) -> None:
    reduction = _reduction_to_openvino(site)
    operands = [*site.inputs(), site.constant(site.attribute("axis", 0), "int64")]
    if reduction == "none":
        site.result(site.add("ScatterElementsUpdate", operands, opset=3))
        return
    data = {"reduction": reduction, "use_init_val": True}
    site.result(site.add("ScatterElementsUpdate", operands, data, opset=_ELEMENTS_REDUCING))


def _elements_to_onnx(site: OnnxSite) -> None:
    text = site.text("reduction").lower() if site.version >= _ELEMENTS_REDUCING else "none"
    includes = site.flag("use_init_val")
    axis = one_integer(site, 3, "its axis")
    indices, data = int64_tensor(site, 1), site.input(0)
    if text == "mean":
        site.result(_averaged(site, indices, axis, includes=includes))
        return
    attributes = _reduction_to_onnx(site, _ELEMENTS_REDUCING)
    if attributes and not includes:
        data = _forgotten(site, text, indices, axis)
    site.result(site.add("ScatterElements", [data, indices, site.input(2)], {"axis": axis, **attributes}))


def _forgotten(site: OnnxSite, reduction: str, indices: Tensor, axis: int) -> Tensor:
    """The data with what changes nothing of a reduction in place of what is updated."""
    dtype = dtype_of(site)
    if dtype.kind not in ("float", "int", "uint"):
        raise UnsupportedError(f"its reduction {reduction!r} of {dtype} is not covered")
    least, most = _extremes(dtype)
    neutral = {"sum": 0, "prod": 1, "min": most, "max": least}[reduction]
    fill = site.constant(np.asarray(neutral).astype(dtype.numpy), dtype.numpy)
    updates = site.add("Expand", [fill, site.add("Shape", [indices])])
    forgotten: Tensor = site.add("ScatterElements", [site.input(0), indices, updates], {"axis": axis})
    return forgotten


def _extremes(dtype: DType) -> tuple[float, float]:
    if dtype.kind == "float":
        return -math.inf, math.inf
    limits = np.iinfo(dtype.numpy)
    return limits.min, limits.max


def _averaged(site: OnnxSite, indices: Tensor, axis: int, *, includes: bool) -> Tensor:
    """The sum of what meets at a place, by how many that is; what nothing meets stays."""
    dtype = dtype_of(site)
    if dtype.kind != "float":
        raise UnsupportedError(f"its reduction 'mean' of {dtype} is not covered")
    if site.opset < _SINCE["add"]:
        raise needs_opset("its reduction 'mean'", _SINCE["add"])
    adding = {"axis": axis, "reduction": "add"}
    data = site.input(0) if includes else _forgotten(site, "sum", indices, axis)
    total = site.add("ScatterElements", [data, indices, site.input(2)], adding)
    shape = site.add("Shape", [site.input(0)])
    start = site.add("Expand", [scalar_like(site, int(includes)), shape])
    ones = site.add("Expand", [scalar_like(site, 1), site.add("Shape", [indices])])
    counts = site.add("ScatterElements", [start, indices, ones], adding)
    if includes:
        averaged: Tensor = site.add("Div", [total, counts])
        return averaged
    # What nothing meets counts as one.
    counts = site.add("Max", [counts, scalar_like(site, 1)])
    chosen: Tensor = site.add("Div", [total, counts])
    return chosen


def _nd_to_openvino(site: OpenvinoSite) -> None:
    reduction = _reduction_to_openvino(site)
    if reduction == "none":
        site.result(site.add("ScatterNDUpdate", site.inputs(), opset=4))
    else:
        site.result(site.add("ScatterNDUpdate", site.inputs(), {"reduction": reduction}, opset=_ND_REDUCING))


def _nd_to_onnx(site: OnnxSite) -> None:
    updates = site.input(2)
    if site.version >= _ND_REDUCING and site.text("reduction").lower() == "sub":
        # Integers wrap around, so that unsigned ones have a negative too.
        updates = site.add("Sub", [scalar_like(site, 0), updates])
        if site.opset < _SINCE["add"]:
            raise needs_opset("its reduction 'sub'", _SINCE["add"])
        attributes = {"reduction": "add"}
    else:
        attributes = _reduction_to_onnx(site, _ND_REDUCING)
    site.result(site.add("ScatterND", [site.input(0), int64_tensor(site, 1), updates], attributes))


def _update_to_onnx(site: OnnxSite) -> None:
    """ScatterND along the first dimension, with the axis moved there and back."""
    rank, index_rank = site.rank(0), site.rank(1)
    axis = positive_axis(one_integer(site, 3, "its axis"), rank)
    order = [axis, *range(axis), *range(axis + 1, rank)]
    data = transposed(site, site.input(0), order)
    # Updates have the dimensions of the indices in place of the axis.
    first, behind = range(axis, axis + index_rank), range(axis + index_rank, rank + index_rank - 1)
    updates = transposed(site, site.input(2), [*first, *range(axis), *behind])
    indices = site.add("Unsqueeze", [int64_tensor(site, 1), site.constant([-1], "int64")])
    changed = site.add("ScatterND", [data, indices, updates])
    site.result(transposed(site, changed, [*range(1, axis + 1), 0, *range(axis + 1, rank)]))


ROWS: tuple[Row, ...] = (
    *both("ScatterElements", "ScatterElementsUpdate-3", _elements_to_openvino, _elements_to_onnx, limits=_DUPLICATES),
    *both("ScatterND", "ScatterNDUpdate-4", _nd_to_openvino, _nd_to_onnx, limits=_DUPLICATES),
    *from_openvino("ScatterUpdate-3", "ScatterND", _update_to_onnx, limits=_DUPLICATES),
)  # fmt: skip
