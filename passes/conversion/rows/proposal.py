"""Proposal: the boxes of a region proposal network, as Faster R-CNN looks at them.

Source: OpenVINO 2026.4's CPU, by its code and by running it. Boxes of an image that are left take the rows of that
image, then come one row that begins with -1, where there is room, and zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.boxes import halves, regressed, within
from maxfold.passes.conversion.parts.onnx_nodes import (
    column,
    numbered,
    shaped,
    size_of,
    sliced,
    unsqueezed,
    vector,
    wide,
)
from maxfold.passes.conversion.parts.operands import cast
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_Floats = NDArray[np.float32]
_SCORES, _MOVES, _IMAGE = range(3)
_HALF = np.float32(0.5)
_PER_BOX = 4


@dataclass(frozen=True, slots=True)
class _Form:
    """How a framework writes boxes: `offset` is what the last pixel adds to a size."""

    offset: float
    is_downwards_first: bool
    is_clipped_first: bool
    has_whole_ratios: bool
    is_around_corner: bool


_FORMS = {
    "": _Form(1, is_downwards_first=False, is_clipped_first=False, has_whole_ratios=True, is_around_corner=False),
    "tensorflow": _Form(
        0, is_downwards_first=True, is_clipped_first=True, has_whole_ratios=False, is_around_corner=True
    ),
}


def _to_onnx(site: OnnxSite) -> None:
    framework = site.text("framework")
    if framework not in _FORMS:
        raise UnsupportedError(f"its framework {framework!r} is not covered")
    form, anchors = _FORMS[framework], _anchors(site, _FORMS[framework])
    post = site.integer("post_nms_topn")
    if post < 1 or site.integer("pre_nms_topn") < 1:
        raise UnsupportedError("its pre_nms_topn or post_nms_topn is less than 1")
    result_type = dtype_of(site, _SCORES).name
    edge, least = _edges(site, form)
    boxes = _boxes(site, form, anchors, edge)
    scores, boxes = _best(site, form, len(anchors), boxes, least)
    rows = _padded(site, *_listed(site, form, scores, boxes, edge, post), post)
    results = [sliced(site, rows, 0, 5, 1)]
    if site.output_count > 1:
        results.append(shaped(site, sliced(site, rows, 5, 6, 1), -1))
    site.result(*(cast(site, result, "FLOAT", result_type) for result in results))


def _anchors(site: OnnxSite, form: _Form) -> _Floats:
    """The corners of the boxes of a cell, of all ratios, for each all scales."""
    base, offset = np.float32(site.integer("base_size")), np.float32(form.offset)
    ratios, scales = (np.asarray(site.floatings(name), np.float32) for name in ("ratio", "scale"))
    if not len(ratios) or not len(scales) or not (ratios > 0).all():
        raise UnsupportedError("it has no ratio or no scale, or a ratio that is not positive")
    width = np.sqrt(base * base / ratios)
    width = _rounded(width) if form.has_whole_ratios else width
    height = width * ratios
    height = _rounded(height) if form.has_whole_ratios else height
    sizes = np.stack([width, height], axis=-1)[:, None] * scales[:, None]
    half = (sizes.reshape(-1, 2) - offset) * _HALF
    center = (base - offset) * _HALF
    corners = np.concatenate([center - half, center + half], axis=-1)
    return corners - base * _HALF if form.is_around_corner else corners


def _rounded(values: _Floats) -> _Floats:
    """To the nearest, from zero where two are as near; no value is negative."""
    whole = np.floor(values)
    return whole + (values - whole >= _HALF)


def _edges(site: OnnxSite, form: _Form) -> tuple[Tensor, Tensor | None]:
    """The image's size as the last corner's and again, and the size that boxes must have, None for any."""
    (length,) = site.sizes(_IMAGE, 1)
    if length not in (3, 4):
        raise UnsupportedError(f"its input of the image's size has {length or 'unknown'} numbers, not 3 or 4")
    given = wide(site, _IMAGE)
    order = [0, 1] if form.is_downwards_first else [1, 0]
    edge = site.add("Gather", [given, vector(site, *order * 2)])
    size = site.integer("min_size")
    if not size:
        return edge, None
    scales = site.add("Gather", [given, vector(site, 3 if length == _PER_BOX else 2, 2)])
    return edge, site.add("Mul", [scales, site.constant(np.float32(size), np.float32)])


def _boxes(site: OnnxSite, form: _Form, anchors: _Floats, edge: Tensor) -> Tensor:
    """Moved boxes of images, rows, columns and anchors."""
    stride = np.float32(site.integer("feat_stride"))
    first, second = (2, 3) if form.is_downwards_first else (3, 2)
    across = _steps(site, first, stride, np.asarray([1, 0, 1, 0], np.float32))
    down = _steps(site, second, stride, np.asarray([0, 1, 0, 1], np.float32))
    corners = site.add("Add", [site.add("Add", [across, down]), site.constant(anchors, np.float32)])
    if form.is_clipped_first:
        corners = within(site, corners, edge)
    moves = site.add("Transpose", [wide(site, _MOVES)], {"perm": [0, 2, 3, 1]})
    moves = shaped(site, moves, 0, 0, 0, len(anchors), _PER_BOX)
    place, size = site.floating("box_coordinate_scale"), site.floating("box_size_scale")
    if (place, size) != (1, 1):
        moves = site.add("Div", [moves, site.constant([place, place, size, size], np.float32)])
    boxes = regressed(site, corners, moves, form.offset)
    if site.flag("clip_before_nms"):
        boxes = within(site, boxes, _less(site, edge, form.offset))
    return boxes


def _steps(site: OnnxSite, axis: int, stride: np.float32, places: _Floats) -> Tensor:
    """Where cells begin along an axis of the image, at some places of a box."""
    count = site.sizes(_MOVES, 4)[axis]
    shape = [1, -1, 1, 1, 1] if axis == 2 else [1, 1, -1, 1, 1]
    if count is not None:
        steps = np.arange(count, dtype=np.float32).reshape(shape) * stride
        return site.constant(steps * places, np.float32)
    numbers = cast(site, numbered(site, size_of(site, site.input(_MOVES), axis)), "INT64", "FLOAT")
    found: Tensor = site.add("Mul", [shaped(site, numbers, *shape), site.constant(stride * places, np.float32)])
    return found


def _less(site: OnnxSite, edge: Tensor, offset: float) -> Tensor:
    if not offset:
        return edge
    found: Tensor = site.add("Sub", [edge, site.constant(np.float32(offset), np.float32)])
    return found


def _best(site: OnnxSite, form: _Form, anchors: int, boxes: Tensor, least: Tensor | None) -> tuple[Tensor, Tensor]:
    """The boxes of the highest scores, of each image in order. Those that are too small have the score 0."""
    scores = sliced(site, wide(site, _SCORES), anchors, 2 * anchors, 1)
    scores = site.add("Transpose", [scores], {"perm": [0, 2, 3, 1]})
    if least is not None:
        low, high = halves(site, boxes)
        size = site.add("Sub", [high, low])
        if form.offset:
            size = site.add("Add", [size, site.constant(np.float32(form.offset), np.float32)])
        is_long = site.add("GreaterOrEqual", [size, least])
        fits = site.add("And", [column(site, is_long, index, -1) for index in (0, 1)])
        scores = site.add("Where", [fits, scores, site.constant(0, np.float32)])
    scores = shaped(site, scores, 0, -1)
    best, places = site.add("TopK", [scores, _count(site, anchors, scores)], {"axis": 1}, outputs=2)
    index = unsqueezed(site, places, 2)
    flat = shaped(site, boxes, 0, -1, _PER_BOX)
    return best, site.add("GatherND", [flat, index], {"batch_dims": 1})


def _count(site: OnnxSite, anchors: int, scores: Tensor) -> Tensor:
    """How many boxes are compared."""
    most = site.integer("pre_nms_topn")
    height, width = site.sizes(_MOVES, 4)[2:]
    if height is not None and width is not None:
        return vector(site, min(most, anchors * height * width))
    found: Tensor = site.add("Min", [size_of(site, scores, 1), vector(site, most)])
    return found


def _listed(
    site: OnnxSite, form: _Form, scores: Tensor, boxes: Tensor, edge: Tensor, post: int
) -> tuple[Tensor, Tensor]:
    """The image of each box that stays, and rows of image, corners and score."""
    overlap = np.float32(site.floating("nms_thresh"))
    if not 0 <= overlap <= 1:
        raise UnsupportedError(f"its nms_thresh {overlap} is not covered; it may be from 0 to 1")
    compared = boxes
    if form.offset:
        compared = site.add("Add", [boxes, site.constant([0, 0, form.offset, form.offset], np.float32)])
    operands = [compared, unsqueezed(site, scores, 1), vector(site, post), site.constant([overlap], np.float32)]
    chosen = site.add("NonMaxSuppression", operands)
    images = column(site, chosen, 0)
    places = site.add("Gather", [chosen, vector(site, 0, 2)], {"axis": 1})
    corners = site.add("GatherND", [boxes, places])
    if site.flag("clip_after_nms"):
        corners = within(site, corners, edge)
    if site.flag("normalize"):
        corners = site.add("Div", [corners, edge])
    heads = unsqueezed(site, cast(site, images, "INT64", "FLOAT"), 1)
    rows = site.add(
        "Concat", [heads, corners, unsqueezed(site, site.add("GatherND", [scores, places]), 1)], {"axis": 1}
    )
    return images, rows


def _padded(site: OnnxSite, images: Tensor, rows: Tensor, post: int) -> Tensor:
    """As many rows for each image."""
    end = [-1, 0, 0, 0, 0, 0]
    if site.sizes(_SCORES, 4)[0] == 1:
        filling = site.constant([end, *[[0] * len(end)] * (post - 1)], np.float32)
        return sliced(site, site.add("Concat", [rows, filling], {"axis": 0}), 0, post, 0)
    numbers = shaped(site, numbered(site, size_of(site, wide(site, _SCORES), 0)), -1, 1)
    is_there = cast(site, site.add("Equal", [numbers, images]), "BOOL", "INT64")
    counts = site.add("ReduceSum", [is_there, vector(site, 1)], {"keepdims": 1})
    before = site.add("CumSum", [counts, site.constant(0, "int64")], {"exclusive": 1})
    slots = site.constant(np.arange(post), "int64")
    over = site.add("Min", [site.add("Sub", [slots, counts]), vector(site, 1)])
    behind = site.add("Add", [over, size_of(site, rows, 0)])
    index = site.add("Where", [site.add("Less", [slots, counts]), site.add("Add", [slots, before]), behind])
    filled = site.add("Concat", [rows, site.constant([end, [0] * len(end)], np.float32)], {"axis": 0})
    return shaped(site, site.add("Gather", [filled, index]), -1, len(end))


ROWS: tuple[Row, ...] = (
    *from_openvino(
        "Proposal-1", "NonMaxSuppression", _to_onnx, tolerance="1e-5 relative",
        limits="Which of equal scores comes first is not defined in OpenVINO; here it is the first. Boxes smaller than "
        "a pixel that are less than a pixel apart overlap. Scores behind the last box are 0.",
    ),
)  # fmt: skip
