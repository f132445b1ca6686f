"""Sums of rows of a table, in bags: the EmbeddingBag family and EmbeddingSegmentsSum."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import int64_tensor, int64_vector, onnx_scalar
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import scalar_like
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_INT64_TYPE = 7


@dataclass(frozen=True, slots=True)
class _Bags:
    """The bag of each index, how many bags there are (a vector of one), and the operands that may be left out."""

    of_index: Tensor
    count: Tensor
    default: int
    weights: int


def _packed_to_onnx(site: OnnxSite) -> None:
    """All bags are of one size, and have a dimension of their own."""
    is_mean = _is_mean(site)
    rows = site.add("Gather", [site.input(0), int64_tensor(site, 1)])
    if site.has_input(2):
        rows = _weighted(site, rows, 2, is_mean=is_mean)
    total = site.add("ReduceSum", [rows, site.constant([1], "int64")], {"keepdims": 0})
    if is_mean:
        sizes = site.add("Shape", [site.input(1)])
        count = site.add("Gather", [sizes, _number(site, 1)])
        total = site.add("Div", [total, site.add("Cast", [count], {"to": dtype_of(site).onnx})])
    site.result(total)


def _weighted(site: OnnxSite, rows: Tensor, index: int, *, is_mean: bool) -> Tensor:
    if is_mean:
        raise UnsupportedError("it has weights, of which there is no mean")
    weighted: Tensor = site.add("Mul", [rows, _column(site, site.input(index), site.rank(0) - 1)])
    return weighted


def _is_mean(site: OnnxSite) -> bool:
    if not site.operator.endswith(("Offsets", "Packed")):
        return False
    text = site.text("reduction").lower()
    if text not in ("sum", "mean"):
        raise UnsupportedError(f"its reduction {text!r} is not covered")
    return text == "mean"


def _offsets_to_onnx(site: OnnxSite) -> None:
    """Each bag begins at its offset and ends at the next one."""
    offsets = int64_vector(site, 2)
    length = site.add("Shape", [site.input(1)])
    places = site.add("Range", [_number(site, 0), site.add("Squeeze", [length]), _number(site, 1)])
    column = site.add("Unsqueeze", [places, site.constant([1], "int64")])
    is_begun = site.add("Cast", [site.add("GreaterOrEqual", [column, offsets])], {"to": _INT64_TYPE})
    begun = site.add("ReduceSum", [is_begun, site.constant([1], "int64")], {"keepdims": 0})
    bag = site.add("Sub", [begun, _number(site, 1)])
    _reduced_in_bags(site, _Bags(bag, site.add("Shape", [offsets]), 3, 4), is_mean=_is_mean(site))


def _segments_to_onnx(site: OnnxSite) -> None:
    """Each index names its bag."""
    count = site.add("Reshape", [int64_tensor(site, 3), site.constant([1], "int64")])
    _reduced_in_bags(site, _Bags(int64_vector(site, 2), count, 4, 5), is_mean=False)


def _reduced_in_bags(site: OnnxSite, bags: _Bags, *, is_mean: bool) -> None:
    """Rows added up by bag, and a default row for bags without any."""
    rank = site.rank(0)
    rows = site.add("Gather", [site.input(0), int64_vector(site, 1)])
    if site.has_input(bags.weights):
        rows = _weighted(site, rows, bags.weights, is_mean=is_mean)
    # Rows before the first bag go to one more in front, which is cut off.
    bag = site.add("Unsqueeze", [site.add("Add", [bags.of_index, _number(site, 1)]), site.constant([1], "int64")])
    counted = site.add("Add", [bags.count, _number(site, 1)])
    shape = counted
    if rank > 1:
        sizes = site.add("Shape", [site.input(0)])
        inner = site.add("Slice", [sizes, site.constant([1], "int64"), site.constant([rank], "int64")])
        shape = site.add("Concat", [counted, inner], {"axis": 0})
    sums = _without_first(site, _summed(site, shape, bag, rows, scalar_like(site, 0)))
    if not is_mean and not site.has_input(bags.default):
        site.result(sums)
        return
    ones = site.add("Expand", [_number(site, 1), site.add("Shape", [bags.of_index])])
    counts = _without_first(site, _summed(site, counted, bag, ones, _number(site, 0)))
    if is_mean:
        least = site.add("Max", [counts, _number(site, 1)])
        dtype = dtype_of(site)
        divisor = site.add("Cast", [least], {"to": dtype.onnx})
        sums = site.add("Div", [sums, _column(site, divisor, rank - 1)])
    if site.has_input(bags.default):
        sums = _with_default(site, sums, counts, bags.default)
    site.result(sums)


def _summed(site: OnnxSite, shape: Tensor, bag: Tensor, rows: Tensor, zero: Tensor) -> Tensor:
    nothing = site.add("Expand", [zero, shape])
    summed: Tensor = site.add("ScatterND", [nothing, bag, rows], {"reduction": "add"})
    return summed


def _without_first(site: OnnxSite, tensor: Tensor) -> Tensor:
    bounds = [site.constant([bound], "int64") for bound in (1, np.iinfo(np.int64).max, 0)]
    rest: Tensor = site.add("Slice", [tensor, *bounds])
    return rest


def _with_default(site: OnnxSite, sums: Tensor, counts: Tensor, index: int) -> Tensor:
    """A row of the table in place of the sums of nothing; none for -1."""
    known = site.value(index)
    if known is not None and known.size == 1 and int(known.reshape(-1)[0]) == -1:
        return sums
    place = onnx_scalar(site, index)
    place = site.add("Cast", [place], {"to": _INT64_TYPE})
    row = site.add("Gather", [site.input(0), site.add("Max", [place, _number(site, 0)])])
    is_empty = site.add("Equal", [counts, _number(site, 0)])
    if known is None:
        is_given = site.add("GreaterOrEqual", [place, _number(site, 0)])
        is_empty = site.add("And", [is_empty, is_given])
    chosen: Tensor = site.add("Where", [_column(site, is_empty, site.rank(0) - 1), row, sums])
    return chosen


def _column(site: OnnxSite, tensor: Tensor, count: int) -> Tensor:
    """A tensor with dimensions of one behind its own."""
    if not count:
        return tensor
    axes = site.constant([-1 - offset for offset in range(count)], "int64")
    column: Tensor = site.add("Unsqueeze", [tensor, axes])
    return column


def _number(site: OnnxSite, value: int) -> Tensor:
    return site.constant(value, np.int64)


def _segment_max_to_onnx(site: OnnxSite) -> None:
    """The largest of each segment; of none of the elements 0, or the lowest number."""
    mode = site.text("fill_mode").lower()
    if mode not in ("zero", "lowest"):
        raise UnsupportedError(f"its fill_mode {mode!r} is not covered")
    dtype, rank = dtype_of(site), site.rank(0)
    if dtype.kind not in ("float", "int", "uint"):
        raise UnsupportedError(f"of {dtype} it is not covered")
    ids = int64_vector(site, 1)
    last = site.constant([-1], "int64")
    if site.has_input(2):
        count = site.add("Reshape", [int64_tensor(site, 2), site.constant([1], "int64")])
    else:
        # Ids are sorted; of none of them there are no segments.
        padded = site.add("Concat", [last, ids], {"axis": 0})
        end = site.add("Gather", [padded, last])
        count = site.add("Add", [end, _number(site, 1)])
    # What is beyond the last segment goes to one more, which is cut off.
    ids = site.add("Min", [ids, count])
    counted = site.add("Add", [count, _number(site, 1)])
    shape = counted
    if rank > 1:
        inner = site.add(
            "Slice", [site.add("Shape", [site.input(0)]), site.constant([1], "int64"), site.constant([rank], "int64")]
        )
        shape = site.add("Concat", [counted, inner], {"axis": 0})
    limits = ml_dtypes.finfo if dtype.kind == "float" else np.iinfo
    lowest = np.asarray(limits(dtype.numpy).min)
    column = site.add("Unsqueeze", [ids, site.constant([1], "int64")])
    start = site.add("Expand", [site.constant(lowest.astype(dtype.numpy), dtype.numpy), shape])
    scattered = site.add("ScatterND", [start, column, site.input(0)], {"reduction": "max"})
    largest = _without_last(site, scattered)
    if mode == "zero":
        ones = site.add("Expand", [_number(site, 1), site.add("Shape", [ids])])
        counts = _without_last(site, _summed(site, counted, column, ones, _number(site, 0)))
        is_empty = site.add("Equal", [counts, _number(site, 0)])
        largest = site.add("Where", [_column(site, is_empty, rank - 1), scalar_like(site, 0), largest])
    site.result(largest)


def _without_last(site: OnnxSite, tensor: Tensor) -> Tensor:
    bounds = [site.constant([bound], "int64") for bound in (0, -1, 0)]
    rest: Tensor = site.add("Slice", [tensor, *bounds])
    return rest


ROWS: tuple[Row, ...] = (
    *from_openvino("SegmentMax-16", "ScatterND", _segment_max_to_onnx),
    *from_openvino("EmbeddingBagPackedSum-3", "ReduceSum", _packed_to_onnx),
    *from_openvino("EmbeddingBagPacked-15", "ReduceSum", _packed_to_onnx),
    *from_openvino("EmbeddingBagOffsetsSum-3", "ScatterND", _offsets_to_onnx),
    *from_openvino("EmbeddingBagOffsets-15", "ScatterND", _offsets_to_onnx),
    *from_openvino("EmbeddingSegmentsSum-3", "ScatterND", _segments_to_onnx),
)
