"""Places of numbers among sorted ones: Bucketize and SearchSorted, as counts of those before."""

from __future__ import annotations

from maxfold.model.dtypes import DTYPES, DType
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import cast, index_type
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_FLOAT, _DOUBLE, _INT64 = (next(row for row in DTYPES if row.name == name) for name in ("FLOAT", "DOUBLE", "INT64"))
_SINGLE_BITS = 32


def _bucketize_to_onnx(site: OnnxSite) -> None:
    if site.rank(1) != 1:
        raise UnsupportedError(f"its buckets have {site.rank(1)} dimensions instead of one")
    counted = _counted(site, data=0, bounds=1, is_right=not site.flag("with_right_bound"))
    site.result(cast(site, counted, "INT64", index_type(site, "output_type")))


def _search_sorted_to_onnx(site: OnnxSite) -> None:
    """One sorted sequence for all values, or one for each row of them."""
    rank, values_rank = site.rank(0), site.rank(1)
    if rank != 1 and rank != values_rank:
        raise UnsupportedError(f"its sequence has {rank} dimensions and its values {values_rank}")
    counted = _counted(site, data=1, bounds=0, is_right=site.flag("right_mode"))
    site.result(cast(site, counted, "INT64", index_type(site, "output_type")))


def _counted(site: OnnxSite, *, data: int, bounds: int, is_right: bool) -> Tensor:
    """How many bounds, along their last dimension, are less than each number, or (`is_right`) no more than it."""
    common = _common_type(dtype_of(site, data), dtype_of(site, bounds))
    numbers, sorted_ones = (
        cast(site, site.input(index), dtype_of(site, index).name, common.name) for index in (data, bounds)
    )
    numbers = site.add("Unsqueeze", [numbers, site.constant([-1], "int64")])
    if site.rank(bounds) > 1:
        sorted_ones = site.add("Unsqueeze", [sorted_ones, site.constant([-2], "int64")])
    # NaN is before nothing and behind everything, as in a search that halves.
    is_before = site.add("Less" if is_right else "Greater", [numbers, sorted_ones])
    if is_right:
        is_before = site.add("Not", [is_before])
    each = site.add("Cast", [is_before], {"to": _INT64.onnx})
    counted: Tensor = site.add("ReduceSum", [each, site.constant([-1], "int64")], {"keepdims": 0})
    return counted


def _common_type(a: DType, b: DType) -> DType:
    """The type that numbers of two types are compared in."""
    for dtype in (a, b):
        if dtype.kind not in ("float", "int", "uint") or (dtype is not b and dtype.name == "UINT64"):
            raise UnsupportedError(f"of {dtype} it is not covered")
    if a is b and a.bits >= 8 and a.name not in ("FLOAT16", "BFLOAT16"):
        return a
    if "float" not in (a.kind, b.kind):
        return _INT64
    return _DOUBLE if _DOUBLE in (a, b) else _FLOAT


ROWS: tuple[Row, ...] = (
    *from_openvino("Bucketize-3", "ReduceSum", _bucketize_to_onnx),
    *from_openvino("SearchSorted-15", "ReduceSum", _search_sorted_to_onnx),
)
