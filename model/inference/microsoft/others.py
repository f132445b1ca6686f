"""Operators of ONNX Runtime that are of no family, many of them older forms of ONNX's own."""

from __future__ import annotations

from maxfold.model import dtypes
from maxfold.model.inference import convolution
from maxfold.model.inference.call import Call, normal_axis
from maxfold.model.inference.elementwise import INT64
from maxfold.model.inference.facts import Element, Fact
from maxfold.model.inference.microsoft.row import agreed, number, ranked
from maxfold.model.inference.symbolic import Dim, Expr

_INT32, _STRING, _UINT32 = (dtypes.from_onnx(kind) for kind in (6, 8, 12))


def pad(call: Call) -> Fact:
    """Pad: as many elements more, or fewer, before and behind each axis."""
    dims, amounts = call.known_dims(0), call.vector(1)
    count = len(dims)
    if amounts is None:
        return Fact(call.dtype(0), (None,) * count)
    if len(amounts) != 2 * count:
        raise ValueError("pads has not two numbers for each axis")
    rows = zip(dims, amounts[:count], amounts[count:], strict=True)
    return Fact(call.dtype(0), tuple(_padded(*row) for row in rows))


def _padded(dim: Dim, before: Element, behind: Element) -> Dim | None:
    if not isinstance(before, (int, Expr)) or not isinstance(behind, (int, Expr)):
        return None
    return dim + before + behind


def unique(call: Call) -> list[Fact]:
    """Unique of a vector: the elements, where each is among them, and how often."""
    (length,) = ranked(call, 0, 1)
    return [Fact(call.dtype(0), (None,)), Fact(INT64, (length,)), Fact(INT64, (None,))]


def expand_dims(call: Call) -> Fact:
    """ExpandDims: a new axis."""
    dims, numbers = call.known_dims(0), call.numbers(1)
    if numbers is None or len(numbers) != 1:
        return Fact(call.dtype(0), (None,) * (len(dims) + 1))
    axis = normal_axis(numbers[0], len(dims) + 1)
    return Fact(call.dtype(0), (*dims[:axis], 1, *dims[axis:]))


def grid_sample(call: Call) -> Fact:
    """GridSample: an element of each channel for each point of the grid."""
    given, grid = ranked(call, 0, 4), ranked(call, 1, 4)
    agreed(grid[3], 2)
    return Fact(call.dtype(0), (agreed(given[0], grid[0]), given[1], grid[1], grid[2]))


def conv_transpose(call: Call) -> Fact:
    """ConvTransposeWithDynamicPads: pads that a run decides leave the spatial sizes open."""
    dims = call.known_dims(0)
    filters = ranked(call, 1, len(dims))
    group = number(call, "group", 1)
    channels = None if filters[1] is None else filters[1] * group
    return Fact(call.dtype(0), (dims[0], channels, *(None,) * (len(dims) - 2)))


def crop_and_resize(call: Call) -> Fact:
    """CropAndResize: a picture of a given size for each region."""
    given, regions = ranked(call, 0, 4), ranked(call, 1, 2)
    agreed(regions[1], 4)
    count = agreed(regions[0], ranked(call, 2, 1)[0])
    sizes = call.vector(3) or (None, None)
    if len(sizes) != 2:
        raise ValueError("crop_size is not two numbers")
    height, width = (size if isinstance(size, (int, Expr)) else None for size in sizes)
    return Fact(call.dtype(0), (count, given[1], height, width))


def murmur_hash(call: Call) -> Fact:
    """MurmurHash3: a number for each element, of type UINT32 unless it may be negative."""
    return Fact(_UINT32 if number(call, "positive", 1) else _INT32, call.dims(0))


def tokenizer(call: Call) -> Fact:
    """Tokenizer: rows of tokens, filled up to the longest."""
    dims = call.dims(0)
    return Fact(_STRING, None if dims is None else (*dims, None))


def pool_with_mask(call: Call) -> Fact:
    """MaxpoolWithMask: MaxPool of what is not masked."""
    return convolution.pool(call)[0]
