"""DetectionOutput: boxes decoded, the overlapping ones of each class dropped, the best ones of each image listed.

Source: OpenVINO 2026.4, by running it. Rows are ordered by image, class and score; behind them comes one row that
begins with -1, where there is room, then zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.boxes import Priors, clipped, decoded
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

_BOXES, _SCORES, _PRIORS, _ARM_SCORES, _ARM_BOXES = range(5)
_WITHOUT_ARM = 3
_BY_CENTER, _BY_CORNER = "center_size", "corner"
# Less than any score that is listed.
_NO_SCORE = -3e38
_FIRST_WITH_COUNT = 8


@dataclass(frozen=True, slots=True)
class _Sizes:
    """What the shapes and attributes say. `images` is None where it is not known; `best` is how many boxes of a class
    are compared, `kept` how many of an image are listed, `room` how many rows there are for each image."""

    images: int | None
    priors: int
    classes: int
    labels: list[int]
    best: int
    kept: int
    room: int


def _to_onnx(site: OnnxSite) -> None:
    if site.flag("decrease_label_id"):
        raise UnsupportedError("its attribute 'decrease_label_id' is true, which is not covered")
    result_type = dtype_of(site, _BOXES)
    sizes = _sizes(site)
    boxes = _boxes(site, sizes)
    scores = _scores(site, sizes)
    best_scores, places = site.add("TopK", [scores, vector(site, sizes.best)], {"axis": 2}, outputs=2)
    index = site.add("Expand", [unsqueezed(site, places, 3), vector(site, 1, 1, 1, 4)])
    best_boxes = shaped(site, site.add("GatherElements", [boxes, index], {"axis": 2}), -1, sizes.best, 4)
    if sizes.images == 1 and len(sizes.labels) == 1:
        rows = _rows_of_one_class(site, sizes, best_boxes, best_scores)
    else:
        rows = _rows_of_classes(site, sizes, best_boxes, best_scores, places)
    site.result(cast(site, _padded(site, sizes, rows), "FLOAT", result_type.name))


def _sizes(site: OnnxSite) -> _Sizes:
    boxes, scores, priors = (site.sizes(index, rank) for index, rank in ((_BOXES, 2), (_SCORES, 2), (_PRIORS, 3)))
    numbers, length = priors[-1], scores[-1]
    if numbers is None or length is None:
        raise UnsupportedError("how many boxes it has is not known")
    count = numbers // (4 if site.flag("normalized") else 5)
    classes = length // count if count else 0
    if site.version < _FIRST_WITH_COUNT and site.integer("num_classes") != classes:
        raise UnsupportedError(f"its num_classes is not {classes}, which its inputs have")
    background = site.integer("background_label_id")
    labels = [label for label in range(classes) if label != background]
    if not labels:
        raise UnsupportedError("it has no class but the background, or no box")
    top, keep = site.integer("top_k"), next(iter(site.integers("keep_top_k")), 0)
    if keep == 0 or top == 0:
        raise UnsupportedError("its top_k or keep_top_k is 0")
    best = min(top, count) if top > 0 else count
    kept = min(keep, len(labels) * best) if keep > 0 else len(labels) * best
    room = keep if keep > 0 else classes * (top if top > 0 else count)
    images = boxes[0] if boxes[0] is not None else scores[0]
    return _Sizes(images, count, classes, labels, best, kept, room)


def _boxes(site: OnnxSite, sizes: _Sizes) -> Tensor:
    """Boxes of images, classes and priors, by their corners."""
    code = site.text("code_type").rpartition(".")[2].lower()
    if code not in (_BY_CENTER, _BY_CORNER):
        raise UnsupportedError(f"its code_type {code!r} is not covered")
    is_shared, has_arm = site.flag("share_location"), site.input_count > _WITHOUT_ARM
    if has_arm and not (is_shared and site.flag("normalized")):
        raise UnsupportedError("its inputs of another detector are covered with normalized boxes of all classes only")
    priors = _priors(site, sizes)
    is_centered = code == _BY_CENTER
    if has_arm:
        moved = decoded(site, priors, shaped(site, wide(site, _ARM_BOXES), 0, sizes.priors, 1, 4), is_centered)
        priors = Priors(moved, priors.variances)
    per_prior = 1 if is_shared else sizes.classes
    moves = shaped(site, wide(site, _BOXES), 0, sizes.priors, per_prior, 4)
    found = decoded(site, priors, moves, is_centered)
    if site.flag("clip_before_nms"):
        found = clipped(site, found)
    if is_shared:
        found = shaped(site, found, 0, 1, sizes.priors, 4)
        count = len(sizes.labels)
        if count > 1:
            found = site.add("Expand", [found, vector(site, 1, count, 1, 1)])
        return found
    found = site.add("Transpose", [found], {"perm": [0, 2, 1, 3]})
    return _of_labels(site, sizes, found)


def _priors(site: OnnxSite, sizes: _Sizes) -> Priors:
    """Corners and variances, of images, priors, one class."""
    shape, is_normal = site.shape(_PRIORS), site.flag("normalized")
    numbers = 4 if is_normal else 5
    given = wide(site, _PRIORS)
    corners = shaped(site, sliced(site, given, 0, 1, 1), -1, sizes.priors, 1, numbers)
    if is_normal:
        site.ignore("input_height", "input_width")
    else:
        height, width = (np.float32(site.integer(name)) for name in ("input_height", "input_width"))
        scale = site.constant([width, height, width, height], np.float32)
        corners = site.add("Div", [sliced(site, corners, 1, 5, 3), scale])
    if site.flag("variance_encoded_in_target"):
        return Priors(corners, None)
    if shape is None or shape[1] != 2:
        raise UnsupportedError("its input of boxes has no variances")
    below = sliced(site, given, 1, 2, 1)
    if not is_normal:
        below = sliced(site, below, 0, 4 * sizes.priors, 2)
    return Priors(corners, shaped(site, below, -1, sizes.priors, 1, 4))


def _scores(site: OnnxSite, sizes: _Sizes) -> Tensor:
    """Scores of images, classes and priors, without the background."""
    given = shaped(site, wide(site, _SCORES), 0, sizes.priors, sizes.classes)
    if site.input_count > _WITHOUT_ARM:
        arm = sliced(site, shaped(site, wide(site, _ARM_SCORES), 0, sizes.priors, 2), 1, 2, 2)
        least = site.constant(np.float32(site.floating("objectness_score")), np.float32)
        given = site.add("Where", [site.add("Less", [arm, least]), site.constant(0, np.float32), given])
    else:
        site.ignore("objectness_score")
    return _of_labels(site, sizes, site.add("Transpose", [given], {"perm": [0, 2, 1]}))


def _of_labels(site: OnnxSite, sizes: _Sizes, tensor: Tensor) -> Tensor:
    """The classes apart from the background, along axis 1."""
    if len(sizes.labels) == sizes.classes:
        return tensor
    found: Tensor = site.add("Gather", [tensor, vector(site, *sizes.labels)], {"axis": 1})
    return found


def _chosen(site: OnnxSite, sizes: _Sizes, boxes: Tensor, scores: Tensor, most: int) -> Tensor:
    """The boxes that stay: triples of list, 0, and place in it."""
    overlap = np.float32(site.floating("nms_threshold"))
    if not 0 <= overlap <= 1:
        raise UnsupportedError(f"its nms_threshold {overlap} is not covered; it may be from 0 to 1")
    # ONNX turns boxes round whose corners are swapped. To OpenVINO they have no area.
    low, high = sliced(site, boxes, 0, 2, 2), sliced(site, boxes, 2, 4, 2)
    upright = site.add("Concat", [low, site.add("Max", [low, high])], {"axis": 2})
    operands = [
        upright, shaped(site, scores, -1, 1, sizes.best), vector(site, most), site.constant([overlap], np.float32),
        site.constant([np.float32(site.floating("confidence_threshold"))], np.float32),
    ]  # fmt: skip
    found: Tensor = site.add("NonMaxSuppression", operands)
    return found


def _rows_of_one_class(site: OnnxSite, sizes: _Sizes, boxes: Tensor, scores: Tensor) -> Tensor:
    """The rows of one image and one class, which are in order as they are chosen."""
    chosen = column(site, _chosen(site, sizes, boxes, scores, sizes.kept), 2)
    heads = site.constant(np.tile(np.asarray([0, sizes.labels[0]], np.float32), (sizes.best, 1)), np.float32)
    return _listed(site, [site.add("Gather", [heads, chosen])], boxes, scores, chosen)


def _rows_of_classes(site: OnnxSite, sizes: _Sizes, boxes: Tensor, scores: Tensor, places: Tensor) -> Tensor:
    count, best = len(sizes.labels), sizes.best
    listed = count * best
    chosen = _chosen(site, sizes, boxes, scores, best)
    lists = site.add("Mul", [column(site, chosen, 0), site.constant(best, "int64")])
    flat = site.add("Add", [lists, column(site, chosen, 2)])
    # Of equal scores the first prior is kept, so numbers of an image are laid out by priors first.
    images = _images(site, sizes)
    by_prior = site.add("Mul", [places, site.constant(count, "int64")])
    by_prior = site.add("Add", [by_prior, site.constant(np.arange(count).reshape(1, -1, 1), "int64")])
    before = site.add("Mul", [images, site.constant(count * sizes.priors, "int64")])
    index = site.add("Gather", [shaped(site, site.add("Add", [by_prior, before]), -1), flat])
    index = unsqueezed(site, index, 1)
    rank = site.add("Mod", [flat, site.constant(listed, "int64")])
    kept_scores = site.add("Gather", [shaped(site, scores, -1), flat])
    all_scores = _scattered(site, sizes, site.constant([_NO_SCORE], np.float32), index, kept_scores)
    all_ranks = _scattered(site, sizes, site.constant([listed], "int64"), index, rank)
    _, order = site.add("TopK", [all_scores, vector(site, sizes.kept)], {"axis": 1}, outputs=2)
    ranks = site.add("GatherElements", [all_ranks, order], {"axis": 1})
    ranks, _ = site.add("TopK", [ranks, vector(site, sizes.kept)], {"axis": 1, "largest": 0}, outputs=2)
    is_there = site.add("Less", [ranks, site.constant(listed, "int64")])
    before = site.add("Mul", [shaped(site, images, -1, 1), site.constant(listed, "int64")])
    places = shaped(site, site.add("Add", [ranks, before]), -1)
    chosen = site.add("Compress", [places, shaped(site, is_there, -1)])
    image = site.add("Div", [chosen, site.constant(listed, "int64")])
    labels = site.constant(np.repeat(np.asarray(sizes.labels, np.float32), best), np.float32)
    label = site.add("Gather", [labels, site.add("Mod", [chosen, site.constant(listed, "int64")])])
    heads = [unsqueezed(site, cast(site, image, "INT64", "FLOAT"), 1), unsqueezed(site, label, 1)]
    return _listed(site, heads, boxes, scores, chosen)


def _scattered(site: OnnxSite, sizes: _Sizes, filling: Tensor, index: Tensor, values: Tensor) -> Tensor:
    """Numbers of all priors and classes of images: those that were chosen, and the filling."""
    count = len(sizes.labels) * sizes.priors
    everywhere = site.add("Expand", [filling, _times(site, sizes, count)])
    return shaped(site, site.add("ScatterND", [everywhere, index, values]), -1, count)


def _listed(site: OnnxSite, heads: list[Tensor], boxes: Tensor, scores: Tensor, chosen: Tensor) -> Tensor:
    """Rows of image and label, score and corners."""
    corners = site.add("Gather", [shaped(site, boxes, -1, 4), chosen])
    if site.flag("clip_after_nms"):
        corners = clipped(site, corners)
    score = site.add("Gather", [shaped(site, scores, -1, 1), chosen])
    rows: Tensor = site.add("Concat", [*heads, score, corners], {"axis": 1})
    return rows


def _padded(site: OnnxSite, sizes: _Sizes, rows: Tensor) -> Tensor:
    """As many rows as the result has."""
    room = _times(site, sizes, sizes.room)
    end = site.constant(np.asarray([[-1, 0, 0, 0, 0, 0, 0]]), np.float32)
    if sizes.images is None:
        shape = site.add("Concat", [room, vector(site, 7)], {"axis": 0})
        zeros = site.add("Expand", [site.constant(0, np.float32), shape])
    else:
        zeros = site.constant(np.zeros((sizes.images * sizes.room, 7)), np.float32)
    filled = site.add("Concat", [rows, end, zeros], {"axis": 0})
    cut = site.add("Slice", [filled, vector(site, 0), room, vector(site, 0)])
    return shaped(site, cut, 1, 1, -1 if sizes.images is None else sizes.images * sizes.room, 7)


def _times(site: OnnxSite, sizes: _Sizes, count: int) -> Tensor:
    """So many for each image, as a vector."""
    if sizes.images is not None:
        return vector(site, sizes.images * count)
    found: Tensor = site.add("Mul", [size_of(site, site.input(_BOXES), 0), vector(site, count)])
    return found


def _images(site: OnnxSite, sizes: _Sizes) -> Tensor:
    """The numbers of images, along the first of three axes."""
    if sizes.images is not None:
        return site.constant(np.arange(sizes.images).reshape(-1, 1, 1), "int64")
    return shaped(site, numbered(site, size_of(site, site.input(_BOXES), 0)), -1, 1, 1)


ROWS: tuple[Row, ...] = (
    *from_openvino(
        "DetectionOutput-1", "NonMaxSuppression", _to_onnx, tolerance="1e-6 in corners",
        limits="`decrease_label_id`, and inputs of another detector without normalized boxes of all classes, are "
        "refused. Which of several classes is listed last is not defined where score and prior are the same.",
    ),
)  # fmt: skip
