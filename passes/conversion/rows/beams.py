"""GatherTree: the sequences that the beams of a search end in, found by going back over their parents."""

from __future__ import annotations

import numpy as np

from maxfold.model.dtypes import DTYPES
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import cast, int64_vector, onnx_scalar
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_body import OnnxBody
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_RANK = 3
_INT64 = next(dtype for dtype in DTYPES if dtype.name == "INT64")


def _gather_tree_to_onnx(site: OnnxSite) -> None:
    """Scan from the last step to the first. Behind an end there are only ends."""
    if (site.rank(0), site.rank(1)) != (_RANK, _RANK):
        raise UnsupportedError("its ids and parents have other dimensions than steps, batch and beams")
    dtype = dtype_of(site)
    ids, end = site.input(0), onnx_scalar(site, 3)
    parents = cast(site, site.input(1), dtype_of(site, 1).name, "INT64")
    shape = site.add("Shape", [ids])
    count, beam_count = (site.add("Gather", [shape, _number(site, axis)]) for axis in (0, 2))
    lengths = site.add("Unsqueeze", [int64_vector(site, 2), site.constant([1], "int64")])
    sizes = site.add("Slice", [shape, site.constant([1], "int64"), site.constant([3], "int64")])
    own = site.add("Range", [_number(site, 0), beam_count, _number(site, 1)])
    own = site.add("Expand", [own, sizes])
    steps = site.add("Range", [_number(site, 0), count, _number(site, 1)])
    known = site.shape(0) or (None,) * _RANK
    inner = known[1:]
    body = site.scanned("beams")
    state = body.parameter("beam", _INT64, inner)
    step = body.parameter("step", _INT64, ())
    step_ids, step_parents = body.parameter("ids", dtype, inner), body.parameter("parents", _INT64, inner)
    _leave(body, state, step, step_ids, step_parents, lengths, end)
    attributes = {
        "body": body.graph, "num_scan_inputs": 3,
        "scan_input_directions": [1, 1, 1], "scan_output_directions": [1],
    }  # fmt: skip
    _, found = site.add("Scan", [own, steps, ids, parents], attributes, outputs=2)
    site.declare(found, ids, known)
    site.result(_ended(site, found, end))


def _leave(
    body: OnnxBody, state: Tensor, step: Tensor, ids: Tensor, parents: Tensor, lengths: Tensor, end: Tensor
) -> None:
    """One step: which of its ids the beams have, and whose children those are."""
    site = body.site
    is_inside = site.add("Less", [step, lengths])
    followed = site.add("GatherElements", [parents, state], {"axis": 1})
    body.leave(site.add("Where", [is_inside, followed, state]))
    chosen = site.add("GatherElements", [ids, state], {"axis": 1})
    body.leave(site.add("Where", [is_inside, chosen, end]))


def _ended(site: OnnxSite, found: Tensor, end: Tensor) -> Tensor:
    is_end = site.add("Cast", [site.add("Equal", [found, end])], {"to": _INT64.onnx})
    before = site.add("CumSum", [is_end, _number(site, 0)], {"exclusive": 1})
    is_behind = site.add("Greater", [before, _number(site, 0)])
    result: Tensor = site.add("Where", [is_behind, end, found])
    return result


def _number(site: OnnxSite, value: int) -> Tensor:
    return site.constant(value, np.int64)


ROWS: tuple[Row, ...] = (*from_openvino("GatherTree-1", "Scan", _gather_tree_to_onnx),)
