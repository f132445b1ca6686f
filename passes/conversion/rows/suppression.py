"""OpenVINO's NonMaxSuppression to ONNX's."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.onnx_nodes import wide
from maxfold.passes.conversion.parts.operands import cast, index_type, int64_vector
from maxfold.passes.conversion.parts.scalars import number_of
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_BOXES, _SCORES, _MOST, _OVERLAP, _LEAST, _SIGMA = range(6)
# A little more than half a unit in the last place of 1: it makes of a number the one before it.
_PART = float(np.nextafter(np.float32(2**-24), np.float32(1)))
_ENCODINGS = {"corner": 0, "center": 1}


def _to_onnx(site: OnnxSite) -> None:
    encoding = site.text("box_encoding").lower()
    if encoding not in _ENCODINGS:
        raise UnsupportedError(f"its box_encoding {encoding!r} is not covered")
    if site.has_input(_SIGMA) and number_of(site, _SIGMA, "its sigma"):
        raise UnsupportedError("it makes scores less by how much boxes overlap, which ONNX does not")
    scores = wide(site, _SCORES)
    most, allowed = _limits(site)
    operands = [wide(site, _BOXES), scores, most, allowed, _least(site)]
    chosen = site.add("NonMaxSuppression", operands, {"center_point_box": _ENCODINGS[encoding]})
    if site.flag("sort_result_descending"):
        found = site.add("GatherND", [scores, chosen])
        order = site.add("TopK", [found, site.add("Shape", [found])], outputs=2)[1]
        chosen = site.add("Gather", [chosen, order])
    kind = index_type(site, "output_type")
    results: list[Any] = [cast(site, chosen, "INT64", kind)]
    if site.output_count > 1:
        sizes = site.add("Shape", [chosen])
        count = site.add("Slice", [sizes, *(site.constant([item], "int64") for item in (0, 1, 0))])
        results += [_scored(site, scores, chosen), cast(site, count, "INT64", kind)]
    site.result(*results)


def _limits(site: OnnxSite) -> tuple[Tensor, Tensor]:
    """How many boxes there may be of a class, and how much they may overlap.

    OpenVINO suppresses what overlaps as much as its threshold, ONNX what does more, so it gets the number before. At 0,
    all boxes overlap as much as that.
    """
    most = int64_vector(site, _MOST) if site.has_input(_MOST) else site.constant([0], "int64")
    one = site.constant([1], "int64")
    if site.has_input(_OVERLAP) and site.value(_OVERLAP) is None:
        given = site.add("Reshape", [wide(site, _OVERLAP), one])
        less = site.add("Sub", [given, site.add("Mul", [given, site.constant(_PART, np.float32)])])
        zero, highest = site.constant(0, np.float32), site.constant(1, np.float32)
        is_nothing = site.add("LessOrEqual", [given, zero])
        most = site.add("Where", [is_nothing, site.add("Min", [most, one]), most])
        return most, site.add("Clip", [less, zero, highest])
    overlap = number_of(site, _OVERLAP, "its threshold of overlap") if site.has_input(_OVERLAP) else 0.0
    if overlap <= 0:
        return site.add("Min", [most, one]), site.constant([0], np.float32)
    before = np.nextafter(np.float32(overlap), np.float32(0))
    return most, site.constant([min(before, np.float32(1))], np.float32)


def _least(site: OnnxSite) -> Tensor:
    """The score that boxes must pass, 0 where it is left out."""
    if not site.has_input(_LEAST):
        return site.constant([0], np.float32)
    value = site.value(_LEAST)
    if value is not None:
        return site.constant(value.reshape(-1), np.float32)
    flat: Tensor = site.add("Reshape", [wide(site, _LEAST), site.constant([1], "int64")])
    return flat


def _scored(site: OnnxSite, scores: Tensor, chosen: Tensor) -> Tensor:
    """Rows of image, class and score."""
    ends = [site.constant([item], "int64") for item in (0, 2, 1)]
    places = cast(site, site.add("Slice", [chosen, *ends]), "INT64", "FLOAT")
    found = site.add("Unsqueeze", [site.add("GatherND", [scores, chosen]), site.constant([1], "int64")])
    rows: Tensor = site.add("Concat", [places, found], {"axis": 1})
    return rows


ROWS: tuple[Row, ...] = (
    *from_openvino(
        "NonMaxSuppression-1", "NonMaxSuppression", _to_onnx,
        limits="OpenVINO suppresses at the threshold too, so ONNX gets the number before it. A sigma is refused.",
    ),
)  # fmt: skip
