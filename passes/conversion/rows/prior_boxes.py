"""Boxes that detectors start from: PriorBox and PriorBoxClustered, which become constants.

Where a box is from left to right depends on its column alone, and from top to bottom on its row, so that large results
are what these are broadcast to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_Floats = NDArray[np.float32]
_HALF, _ONE = np.float32(0.5), np.float32(1)
# Ratios that differ by less are one.
_SAME_RATIO = 1e-6
# What the nodes that broadcast boxes take in a file, or more.
_NODES_BYTES = 2048
_WITHOUT_VARIANCE = np.asarray([0.1], np.float32)
# The first version that says where the box of the largest size comes.
_ORDERED = 8


def _clustered_to_onnx(site: OnnxSite) -> None:
    height, width = _size(site, 0, "its layer's size")
    image = np.asarray(_size(site, 1, "its image's size"), np.float32)
    widths, heights = _numbers(site, "width"), _numbers(site, "height")
    if len(widths) != len(heights):
        raise UnsupportedError(f"it has {len(widths)} widths and {len(heights)} heights")
    step = np.float32(site.floating("step"))
    across, down = (np.float32(site.floating(name)) or step for name in ("step_w", "step_h"))
    if not across and not down:
        down, across = image[0] / np.float32(height), image[1] / np.float32(width)
    center_y, center_x = _centers(height, width, np.float32(site.floating("offset")), down, across)
    _finish(site, _ends(center_x, widths * _HALF) / image[1], _ends(center_y, heights * _HALF) / image[0])


def _priors_to_onnx(site: OnnxSite) -> None:
    height, width = _size(site, 0, "its layer's size")
    image = np.asarray(_size(site, 1, "its image's size"), np.float32)
    if any(site.floatings(name) for name in ("fixed_size", "fixed_ratio", "density")):
        raise UnsupportedError("its boxes of a fixed size are not covered")
    if not site.flag("scale_all_sizes"):
        raise UnsupportedError("its attribute 'scale_all_sizes' is false, which is not covered")
    step, offset = np.float32(site.floating("step")), np.float32(site.floating("offset"))
    across = down = step
    if not step:
        down, across, offset = image[0] / np.float32(height), image[1] / np.float32(width), _HALF
    halves = _half_sizes(site)
    center_y, center_x = _centers(height, width, offset, down, across)
    scale = _ONE / image
    _finish(site, _ends(center_x, halves[:, 0]) * scale[1], _ends(center_y, halves[:, 1]) * scale[0])


def _half_sizes(site: OnnxSite) -> _Floats:
    """Half the width and height of each box of a cell."""
    least, most = _numbers(site, "min_size"), _numbers(site, "max_size")
    if not all(size >= 0 for size in (*least, *most)) or not all(ratio > 0 for ratio in _numbers(site, "aspect_ratio")):
        raise UnsupportedError("its sizes and ratios are not all positive")
    ratios = _ratios(_numbers(site, "aspect_ratio"), is_flipped=site.flag("flip"))
    is_largest_second = site.version < _ORDERED or site.flag("min_max_aspect_ratios_order")
    found: list[_Floats] = []
    for index, size in enumerate(least):
        half = size * _HALF
        largest = [np.sqrt(size * most[index]) * _HALF] if index < len(most) else []
        squares = [np.asarray([side, side], np.float32) for side in largest]
        others = [np.asarray([half * root, half / root], np.float32) for root in np.sqrt(ratios)]
        found.append(np.asarray([half, half], np.float32))
        found.extend([*squares, *others] if is_largest_second else [*others, *squares])
    if not found:
        raise UnsupportedError("it has no attribute 'min_size'")
    return np.stack(found)


def _ratios(given: _Floats, *, is_flipped: bool) -> _Floats:
    """The ratios of width to height apart from 1, each once."""
    ratios = [_ONE]
    for ratio in given:
        if any(abs(ratio - other) < _SAME_RATIO for other in ratios):
            continue
        ratios.append(ratio)
        if is_flipped:
            ratios.append(_ONE / ratio)
    return np.asarray(ratios[1:], np.float32)


def _centers(
    height: int, width: int, offset: np.float32, down: np.float32, across: np.float32
) -> tuple[_Floats, _Floats]:
    """Where the cells have their boxes, broadcast over rows, columns and the boxes of a cell."""
    rows, columns = np.arange(height, dtype=np.float32), np.arange(width, dtype=np.float32)
    return ((rows + offset) * down).reshape(-1, 1, 1), ((columns + offset) * across).reshape(1, -1, 1)


def _ends(center: _Floats, half: _Floats) -> _Floats:
    """The lower and upper ends of boxes along one axis, of shape [rows, columns, boxes of a cell, 2, 1], where one of
    rows and columns is 1."""
    return np.stack([center - half, center + half], axis=-1)[..., None]


def _finish(site: OnnxSite, across: _Floats, down: _Floats) -> None:
    """The result: boxes, and their variances below."""
    if site.flag("clip"):
        across, down = (np.clip(ends, np.float32(0), _ONE) for ends in (across, down))
    variances = _numbers(site, "variance")
    if len(variances) not in (0, 1, 4):
        raise UnsupportedError(f"it has {len(variances)} variances; it may have 1 or 4")
    variances = variances if len(variances) else _WITHOUT_VARIANCE
    shape = np.broadcast_shapes(across.shape, down.shape)
    count = 2 * int(np.prod(shape, dtype=np.int64))
    stored = across.nbytes + down.nbytes + variances.nbytes
    if 2 * count * across.itemsize - stored > _NODES_BYTES:
        _add_broadcast(site, across, down, variances, count)
        return
    boxes = np.concatenate([np.broadcast_to(ends, shape) for ends in (across, down)], axis=-1)
    repeated = np.broadcast_to(variances, (count // len(variances), len(variances)))
    site.result(site.constant(np.stack([boxes.reshape(-1), repeated.reshape(-1)]), "float32"))


def _add_broadcast(site: OnnxSite, across: _Floats, down: _Floats, variances: _Floats, count: int) -> None:
    """The same as nodes, which are evaluated when the model is loaded."""
    shape = site.constant(np.broadcast_shapes(across.shape, down.shape), np.int64)
    row = site.constant([1, count], np.int64)
    ends = [site.add("Expand", [site.constant(part, np.float32), shape]) for part in (across, down)]
    boxes = site.add("Reshape", [site.add("Concat", ends, {"axis": -1}), row])
    repeats = site.constant([1, count // len(variances)], np.int64)
    repeated = site.add("Tile", [site.constant(variances[None], np.float32), repeats])
    site.result(site.add("Concat", [boxes, repeated], {"axis": 0}))


def _numbers(site: OnnxSite, name: str) -> _Floats:
    return np.asarray(site.floatings(name), np.float32)


def _size(site: OnnxSite, index: int, what: str) -> Sequence[int]:
    """Height and width."""
    sizes = site.integers_of(index, what)
    if len(sizes) != 2:
        raise UnsupportedError(f"{what} has {len(sizes)} numbers, not two")
    return sizes


_STATIC = "Becomes a constant, a large one as what is broadcast to it; sizes that are computed at run time are refused."

ROWS: tuple[Row, ...] = (
    *from_openvino("PriorBoxClustered-1", "Constant", _clustered_to_onnx, limits=_STATIC),
    *from_openvino(
        "PriorBox-1", "Constant", _priors_to_onnx,
        limits=f"{_STATIC} Boxes of a fixed size, and `scale_all_sizes` of false, are refused.",
    ),
)  # fmt: skip
