"""CTCGreedyDecoder and CTCGreedyDecoderSeqLen: the likeliest class of each step, without blanks and repetitions."""

from __future__ import annotations

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.parts.operands import cast, index_type, int64_tensor, onnx_scalar, transposed
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_CLASSES = 2
_RANK = 3


def _by_length_to_onnx(site: OnnxSite) -> None:
    best = _best(site, site.input(0))
    shape = site.add("Shape", [best])
    step_count = site.add("Gather", [shape, _number(site, 1)])
    steps = site.add("Range", [_number(site, 0), step_count, _number(site, 1)])
    lengths = site.add("Unsqueeze", [int64_tensor(site, 1), site.constant([1], "int64")])
    is_inside = site.add("Less", [steps, lengths])
    given = cast(site, onnx_scalar(site, 2), dtype_of(site, 2).name, "INT64") if site.has_input(2) else _last(site)
    classes, counts = _decoded(site, best, is_inside, given, is_merged=site.flag("merge_repeated"))
    site.result(
        cast(site, classes, "INT64", index_type(site, "classes_index_type")),
        cast(site, counts, "INT64", index_type(site, "sequence_length_type")),
    )


def _by_mask_to_onnx(site: OnnxSite) -> None:
    best = _best(site, transposed(site, site.input(0), [1, 0, 2]))
    dtype = dtype_of(site, 1)
    mask = transposed(site, site.input(1), [1, 0])
    is_end = site.add("Equal", [mask, site.constant(0, dtype.numpy)])
    ends = site.add("CumSum", [cast(site, is_end, "BOOL", "INT64"), _number(site, 1)])
    is_inside = site.add("Equal", [ends, _number(site, 0)])
    classes, _ = _decoded(site, best, is_inside, _last(site), is_merged=site.flag("ctc_merge_repeated"))
    numbers = cast(site, classes, "INT64", dtype_of(site, 0).name)
    site.result(site.add("Unsqueeze", [numbers, site.constant([2, 3], "int64")]))


def _best(site: OnnxSite, data: Tensor) -> Tensor:
    """The likeliest class of each sequence and step, the first of several."""
    found: Tensor = site.add("ArgMax", [data], {"axis": _CLASSES, "keepdims": 0})
    return found


def _last(site: OnnxSite) -> Tensor:
    """The number of the last class, which is the blank one."""
    count = site.sizes(0, _RANK)[_CLASSES]
    if count is not None:
        return _number(site, count - 1)
    sizes = site.add("Shape", [site.input(0)])
    last: Tensor = site.add("Sub", [site.add("Gather", [sizes, _number(site, _CLASSES)]), _number(site, 1)])
    return last


def _decoded(
    site: OnnxSite, best: Tensor, is_inside: Tensor, blank: Tensor, *, is_merged: bool
) -> tuple[Tensor, Tensor]:
    """The classes that are kept, to the left and followed by -1, and how many there are of each sequence."""
    is_kept = site.add("And", [is_inside, site.add("Not", [site.add("Equal", [best, blank])])])
    if is_merged:
        padded = site.add("Pad", [best, site.constant([0, 1, 0, 0], "int64"), _number(site, -1)])
        before = site.add("Slice", [padded, *(site.constant([item], "int64") for item in (0, -1, 1))])
        is_kept = site.add("And", [is_kept, site.add("Not", [site.add("Equal", [best, before])])])
    counted = cast(site, is_kept, "BOOL", "INT64")
    place = site.add("Sub", [site.add("CumSum", [counted, _number(site, 1)]), _number(site, 1)])
    shape = site.add("Shape", [best])
    # What is dropped goes behind the last step.
    place = site.add("Where", [is_kept, place, site.add("Gather", [shape, _number(site, 1)])])
    wider = site.add("Add", [shape, site.constant([0, 1], "int64")])
    nothing = site.add("Expand", [_number(site, -1), wider])
    placed = site.add("ScatterElements", [nothing, place, best], {"axis": 1})
    classes = site.add("Slice", [placed, *(site.constant([item], "int64") for item in (0, -1, 1))])
    counts = site.add("ReduceSum", [counted, site.constant([1], "int64")], {"keepdims": 0})
    return classes, counts


def _number(site: OnnxSite, value: int) -> Tensor:
    return site.constant(value, np.int64)


ROWS: tuple[Row, ...] = (
    *from_openvino("CTCGreedyDecoder-1", "ArgMax", _by_mask_to_onnx),
    *from_openvino("CTCGreedyDecoderSeqLen-6", "ArgMax", _by_length_to_onnx),
)
