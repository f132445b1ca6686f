"""Layers that move elements between channels, space and the batch, to ONNX, and those that read windows of an image."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import positive_axis, transposed
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_IMAGE_RANK = 4
_CHANNELS = 1


def _reshaped(site: OnnxSite, tensor: Tensor, shape: Sequence[int]) -> Tensor:
    result: Tensor = site.add("Reshape", [tensor, site.constant(list(shape), "int64")])
    return result


def _known(site: OnnxSite, axis: int) -> int:
    """The size of an axis of the data."""
    size = (site.shape(0) or ())[axis] if axis < site.rank(0) else None
    if size is None:
        raise UnsupportedError(f"the size of its axis {axis} is not known")
    return size


def _constants(site: OnnxSite, index: int, what: str) -> list[int]:
    values = site.integers_of(index, what)
    if len(values) != site.rank(0):
        raise UnsupportedError(f"{what} are {len(values)}, and its data has {site.rank(0)} dimensions")
    return values


def _shuffle_channels(site: OnnxSite) -> None:
    rank, groups = site.rank(0), site.integer("group")
    axis = positive_axis(site.integer("axis"), rank)
    size = _known(site, axis)
    if groups < 1 or size % groups:
        raise UnsupportedError(f"{size} channels do not divide into {groups} groups")
    # What stands behind the axis is one dimension meanwhile; 0 copies what stands before it.
    apart = _reshaped(site, site.input(0), [*[0] * axis, groups, size // groups, -1])
    moved = transposed(site, apart, [*range(axis), axis + 1, axis, axis + 2])
    shape = site.shape(0) or ()
    if None in shape:
        site.result(site.add("Reshape", [moved, site.add("Shape", [site.input(0)])]))
        return
    site.result(_reshaped(site, moved, [size or 0 for size in shape]))


def _reorg_yolo(site: OnnxSite) -> None:
    """The memory of the data is looked at as of an image of fewer channels, of which blocks become channels."""
    if site.rank(0) != _IMAGE_RANK:
        raise UnsupportedError(f"its data has {site.rank(0)} dimensions instead of 4")
    strides = site.integers("stride")
    channels, height, width = (_known(site, axis) for axis in range(1, _IMAGE_RANK))
    stride = strides[0] if strides else 0
    if stride < 1 or channels % stride**2 or height % stride or width % stride:
        raise UnsupportedError(f"its data of {list(site.shape(0) or ())} does not divide into blocks of {stride}")
    wide = _reshaped(site, site.input(0), [0, channels // stride**2, height * stride, width * stride])
    moved = site.add("SpaceToDepth", [wide], {"blocksize": stride})
    site.result(_reshaped(site, moved, [0, channels * stride**2, height // stride, width // stride]))


def _region_yolo(site: OnnxSite) -> None:
    """Sigmoid of places and of what says that something is there, Softmax or Sigmoid of classes."""
    if site.rank(0) != _IMAGE_RANK:
        raise UnsupportedError(f"its data has {site.rank(0)} dimensions instead of 4")
    coords, classes = site.integer("coords"), site.integer("classes")
    is_softmax = site.flag("do_softmax")
    boxes = site.integer("num") if is_softmax else len(site.integers("mask"))
    site.ignore("anchors", "num", "mask")
    entries = coords + 1 + classes
    if coords < 2 or classes < 1 or boxes < 1 or (site.shape(0) or ())[_CHANNELS] not in (None, boxes * entries):
        raise UnsupportedError(f"its data of {list(site.shape(0) or ())} is not of {boxes} boxes of {entries} numbers")
    shape = site.add("Shape", [site.input(0)])
    space = site.add("Slice", [shape, *(site.constant([item], "int64") for item in (2, 4, 0))])
    apart = site.add("Concat", [site.constant([0, boxes, entries], "int64"), space], {"axis": 0})
    data = site.add("Reshape", [site.input(0), apart])
    sizes = [size for size in (2, coords - 2, 1, classes) if size]
    parts = site.add("Split", [data, site.constant(sizes, "int64")], {"axis": 2}, outputs=len(sizes))
    places, there, scores = parts[0], parts[-2], parts[-1]
    made = site.add("Softmax", [scores], {"axis": 2}) if is_softmax else site.add("Sigmoid", [scores])
    joined = [site.add("Sigmoid", [places]), *parts[1:-2], site.add("Sigmoid", [there]), made]
    result = site.add("Reshape", [site.add("Concat", joined, {"axis": 2}), shape])
    if is_softmax:
        first, last = (positive_axis(site.integer(name), _IMAGE_RANK) for name in ("axis", "end_axis"))
        result = _joined(site, result, shape, first, last)
    else:
        site.ignore("axis", "end_axis")
    site.result(result)


def _joined(site: OnnxSite, data: Tensor, shape: Tensor, first: int, last: int) -> Tensor:
    """Some axes of an image made one."""
    if first >= last:
        return data
    rest = site.add("Slice", [shape, *(site.constant([item], "int64") for item in (last + 1, _IMAGE_RANK, 0))])
    target = site.add("Concat", [site.constant([*[0] * first, -1], "int64"), rest], {"axis": 0})
    result: Tensor = site.add("Reshape", [data, target])
    return result


def _space_to_batch(site: OnnxSite) -> None:
    blocks, begin, end = (_constants(site, index, what) for index, what in
                          ((1, "its block shape"), (2, "its pads before"), (3, "its pads behind")))  # fmt: skip
    _check_blocks(blocks)
    sizes = [_known(site, axis) + begin[axis] + end[axis] for axis in range(1, len(blocks))]
    is_uneven = any(size % block for size, block in zip(sizes, blocks[1:], strict=True))
    if begin[0] or end[0] or min(begin + end) < 0 or is_uneven:
        raise UnsupportedError("its padded data does not divide into its blocks")
    data = site.input(0)
    if any(begin) or any(end):
        data = site.add("Pad", [data, site.constant([*begin, *end], "int64")])
    pairs = [part for size, block in zip(sizes, blocks[1:], strict=True) for part in (size // block, block)]
    count = len(sizes)
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2)]
    moved = transposed(site, _reshaped(site, data, [-1, *pairs]), order)
    site.result(_reshaped(site, moved, [-1, *pairs[::2]]))


def _batch_to_space(site: OnnxSite) -> None:
    blocks, begin, end = (_constants(site, index, what) for index, what in
                          ((1, "its block shape"), (2, "its crops before"), (3, "its crops behind")))  # fmt: skip
    _check_blocks(blocks)
    sizes = [_known(site, axis) for axis in range(1, len(blocks))]
    count = len(sizes)
    if begin[0] or end[0] or min(begin + end) < 0:
        raise UnsupportedError("it crops the batch, or negative numbers")
    apart = _reshaped(site, site.input(0), [*blocks[1:], -1, *sizes])
    order = [count, *(axis for place in range(count) for axis in (count + 1 + place, place))]
    whole = [size * block for size, block in zip(sizes, blocks[1:], strict=True)]
    result = _reshaped(site, transposed(site, apart, order), [-1, *whole])
    if any(begin) or any(end):
        stops = [size - crop for size, crop in zip(whole, end[1:], strict=True)]
        bounds = [site.constant(item, "int64") for item in (begin[1:], stops, list(range(1, count + 1)))]
        result = site.add("Slice", [result, *bounds])
    site.result(result)


def _check_blocks(blocks: list[int]) -> None:
    if len(blocks) < 2 or min(blocks) < 1 or blocks[0] != 1:
        raise UnsupportedError(f"its block shape {blocks} is not covered")


def _extract_image_patches(site: OnnxSite) -> None:
    """A Conv of zeros and ones."""
    if site.rank(0) != _IMAGE_RANK:
        raise UnsupportedError(f"its data has {site.rank(0)} dimensions instead of 4")
    sizes, strides, rates = (site.integers(name) for name in ("sizes", "strides", "rates"))
    padding = site.text("auto_pad").lower()
    if padding not in _PADDINGS or {len(item) for item in (sizes, strides, rates)} != {2}:
        raise UnsupportedError(f"its auto_pad {padding!r}, or numbers that are not two, are not covered")
    if min(sizes + strides + rates) < 1:
        raise UnsupportedError("its sizes, strides or rates are not positive")
    channels, count, dtype = _known(site, _CHANNELS), math.prod(sizes), dtype_of(site)
    if dtype.name not in ("FLOAT", "FLOAT16", "DOUBLE"):
        raise UnsupportedError(f"{dtype} is not covered")
    # Of each result one place in the window and one channel, the channel changing first.
    ones = np.eye(count * channels, dtype=dtype.numpy).reshape(-1, *sizes, channels)
    kernel = np.ascontiguousarray(ones.transpose(0, 3, 1, 2))
    attributes: dict[str, object] = {"strides": strides, "dilations": rates, "kernel_shape": sizes}
    if padding == "valid" or max(rates) == 1:
        attributes["auto_pad"] = _PADDINGS[padding]
    else:
        # ONNX Runtime takes no dilation beside a padding of its own.
        attributes["pads"] = _pads(site, sizes, strides, rates, is_upper=padding == "same_upper")
    site.result(site.add("Conv", [site.input(0), site.constant(kernel, dtype.numpy)], attributes))


def _pads(site: OnnxSite, sizes: list[int], strides: list[int], rates: list[int], *, is_upper: bool) -> list[int]:
    begins: list[int] = []
    ends: list[int] = []
    for place, (size, stride, rate) in enumerate(zip(sizes, strides, rates, strict=True)):
        length = _known(site, _CHANNELS + 1 + place)
        total = max((-(-length // stride) - 1) * stride + (size - 1) * rate + 1 - length, 0)
        begins.append(total // 2 if is_upper else total - total // 2)
        ends.append(total - begins[-1])
    return [*begins, *ends]


_PADDINGS = {"valid": "VALID", "same_upper": "SAME_UPPER", "same_lower": "SAME_LOWER"}


def _grn(site: OnnxSite) -> None:
    """Channels over the root of the sum of their squares and a number."""
    data, bias = site.input(0), site.constant(site.floating("bias"), dtype_of(site).numpy)
    squares = site.add("ReduceSum", [site.add("Mul", [data, data]), site.constant([_CHANNELS], "int64")])
    site.result(site.add("Div", [data, site.add("Sqrt", [site.add("Add", [squares, bias])])]))


_SIZES = "Sizes of axes that are moved are known."

ROWS: tuple[Row, ...] = (
    *from_openvino("ShuffleChannels-1", "Transpose", _shuffle_channels, limits=_SIZES),
    *from_openvino("ReorgYolo-1", "SpaceToDepth", _reorg_yolo, limits=_SIZES),
    *from_openvino("RegionYolo-1", "Sigmoid", _region_yolo, tolerance="1e-5 relative, 1e-6 absolute"),
    *from_openvino("SpaceToBatch-2", "Transpose", _space_to_batch, limits=_SIZES),
    *from_openvino("BatchToSpace-2", "Transpose", _batch_to_space, limits=_SIZES),
    *from_openvino(
        "ExtractImagePatches-3",
        "Conv",
        _extract_image_patches,
        limits="The number of channels is known. What is not finite makes NaN of all places of its window.",
    ),
    *from_openvino("GRN-1", "Div", _grn, tolerance="1e-5 relative, 1e-6 absolute"),
)
