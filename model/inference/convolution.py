"""Operators that slide a window, resize, or run along a sequence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from maxfold.model.inference.call import Call, normal_axes, truncated
from maxfold.model.inference.contraction import INT32
from maxfold.model.inference.elementwise import INT64
from maxfold.model.inference.facts import Element, Fact, Unknown
from maxfold.model.inference.symbolic import Dim, Expr, ceil_div, floor_div, lower_bound, truncated_div


def convolution(call: Call, weight: int = 1) -> tuple[Dim | None, ...] | None:
    """The dims of a convolution: batch, filters, and what the window leaves of each axis."""
    dims, filters = call.dims(0), call.dims(weight)
    if dims is None:
        return None if filters is None else (None, filters[0], *(None,) * (len(filters) - 2))
    kernel = _kernel(call, filters, len(dims) - 2)
    spatial = windowed(call, dims[2:], kernel)
    return (dims[0], None if filters is None else filters[0], *spatial)


def conv(call: Call) -> Fact:
    """Conv."""
    return Fact(call.dtype(0), convolution(call))


def conv_integer(call: Call) -> Fact:
    """ConvInteger: accumulates in INT32."""
    return Fact(INT32, convolution(call))


def qlinear_conv(call: Call) -> Fact:
    """QLinearConv: of the type of its result's zero point."""
    return Fact(call.dtype(7), convolution(call, 3))


def _kernel(call: Call, filters: tuple[Dim, ...] | None, count: int) -> Sequence[Dim | None]:
    given = call.integers("kernel_shape")
    if given is not None:
        return given
    return (None,) * count if filters is None else filters[2:]


def windowed(
    call: Call, sizes: Sequence[Dim], kernel: Sequence[Dim | None], *, rounds_up: bool | None = None
) -> list[Dim | None]:
    """How often a window fits along each axis; `rounds_up` is None for convolutions."""
    count = len(sizes)
    if len(kernel) != count:
        raise Unknown
    strides = call.integers("strides") or (1,) * count
    dilations = call.integers("dilations") or (1,) * count
    pads = call.integers("pads") or (0,) * (2 * count)
    mode = call.attribute("auto_pad", "NOTSET")
    if len(strides) != count or len(dilations) != count or len(pads) != 2 * count or min(strides, default=1) < 1:
        raise Unknown
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        if rounds_up is not None and set(dilations) - {1}:
            # ONNX Runtime pads pools as if windows had no gaps, and fewer fit.
            return [None] * count
        return [ceil_div(size, stride) for size, stride in zip(sizes, strides, strict=True)]
    if mode == "VALID":
        pads = (0,) * (2 * count)
    rows = zip(sizes, kernel, strides, dilations, pads, pads[count:], strict=False)
    return [_window_count(*row, rounds_up=rounds_up) for row in rows]


def _window_count(
    size: Dim, kernel: Dim | None, stride: int, dilation: int, begin: int, end: int, *, rounds_up: bool | None
) -> Dim | None:
    """How often a window fits into a padded axis, which is empty only beside an empty batch or channel axis.

    A convolution refuses a window that does not fit; pools in ONNX Runtime do not, and their quotient is truncated.
    Rounding up counts a last window that starts in the axis or before it; versions and runtimes differ on windows
    that start behind it, so that nothing is said where there may be one.
    """
    if kernel is None:
        return None
    extent = (kernel - 1) * dilation + 1
    room = size + (begin + end) - extent
    least = max(lower_bound(size) or 0, 0)
    if rounds_up is None or (isinstance(extent, int) and begin + end + least >= extent and not rounds_up):
        return floor_div(room, stride) + 1
    if not rounds_up:
        return truncated_div(room, stride) + 1
    found = ceil_div(room, stride) + 1
    if isinstance(found, int) and isinstance(size, int):
        return found if (found - 1) * stride < size + begin else None
    return found if isinstance(extent, int) and stride <= extent - end else None


def pool(call: Call) -> list[Fact]:
    """MaxPool, AveragePool and LpPool; MaxPool's second result are indices."""
    fact = call.fact(0)
    dims = call.known_dims(0)
    kernel = call.integers("kernel_shape")
    if kernel is None:
        raise Unknown
    spatial = windowed(call, dims[2:], kernel, rounds_up=bool(call.attribute("ceil_mode", 0)))
    return [Fact(fact.dtype, (*dims[:2], *spatial)), Fact(INT64, (*dims[:2], *spatial))]


def global_pool(call: Call) -> Fact:
    """Global pools leave one element of each spatial axis."""
    dims = call.known_dims(0)
    return Fact(call.dtype(0), dims[:2] + (1,) * len(dims[2:]))


def conv_transpose(call: Call) -> Fact:
    """ConvTranspose: spread by the strides, or what `output_shape` says."""
    dtype, filters = call.dtype(0), call.dims(1)
    dims = call.known_dims(0)
    count = len(dims) - 2
    channels = None if filters is None else filters[1] * int(call.attribute("group", 1))
    given = call.integers("output_shape")
    if given is not None:
        return Fact(dtype, (dims[0], channels, *given[-count:]))
    kernel = _kernel(call, filters, count)
    strides = call.integers("strides") or (1,) * count
    dilations = call.integers("dilations") or (1,) * count
    pads = call.integers("pads") or (0,) * (2 * count)
    extra = call.integers("output_padding") or (0,) * count
    if not len(kernel) == len(strides) == len(dilations) == len(extra) == count or len(pads) != 2 * count:
        raise Unknown
    mode = call.attribute("auto_pad", "NOTSET")
    is_same = mode in ("SAME_UPPER", "SAME_LOWER")
    if mode != "NOTSET":
        pads = (0,) * (2 * count)
    spatial: list[Dim | None] = []
    for size, window, stride, dilation, more, begin, end in zip(
        dims[2:], kernel, strides, dilations, extra, pads, pads[count:], strict=False
    ):
        extent = None if window is None else (window - 1) * dilation + 1
        if is_same:
            # What is too small is not padded, and output padding is taken differently.
            is_cut = isinstance(extent, int) and extent >= stride and more == 0
            spatial.append(size * stride if is_cut else None)
        else:
            spatial.append(None if extent is None else (size - 1) * stride + extent + more - begin - end)
    return Fact(dtype, (dims[0], channels, *spatial))


def resize(call: Call) -> Fact:
    """Resize and Upsample: sizes, or scales that are known."""
    fact = call.fact(0)
    dims = call.known_dims(0)
    axes = normal_axes(call.integers("axes") or range(len(dims)), len(dims))
    resized: list[Dim | None] = list(dims)
    for axis, size in zip(axes, _new_sizes(call, [dims[axis] for axis in axes]), strict=True):
        resized[axis] = size
    return Fact(fact.dtype, tuple(resized))


def _new_sizes(call: Call, dims: Sequence[Dim]) -> Sequence[Dim | None]:
    unknown = (None,) * len(dims)
    if call.attribute("keep_aspect_ratio_policy", "stretch") != "stretch":
        return unknown
    if call.has(3):
        sizes = call.vector(3)
        if sizes is None or len(sizes) != len(dims):
            return unknown
        return [size if isinstance(size, (int, Expr)) else None for size in sizes]
    scales = _scales(call)
    if len(scales) != len(dims) or call.attribute("coordinate_transformation_mode") == "tf_crop_and_resize":
        return unknown
    return [_scaled(dim, scale) for dim, scale in zip(dims, scales, strict=True)]


def _scales(call: Call) -> Sequence[Element]:
    """Scales are an attribute in Upsample-7, the second input in versions before 11, and the third since."""
    given = call.attribute("scales")
    if given is not None:
        return list(given)
    return call.vector(1 if call.input_count == 2 else 2) or ()


def _scaled(dim: Dim, scale: Element) -> Dim | None:
    """A size times a scale, rounded down; None where single and double precision do not give the same."""
    if isinstance(scale, Expr) or scale is None or not math.isfinite(scale) or scale <= 0:
        return None
    if isinstance(dim, int):
        single = truncated(float(np.float32(dim) * np.float32(scale)))
        return single if single == truncated(dim * float(scale)) else None
    if scale == int(scale):
        return dim * int(scale)
    mantissa, exponent = math.frexp(scale)
    return floor_div(dim, 1 << (1 - exponent)) if mantissa == 0.5 and -30 < exponent <= 0 else None


def recurrent(call: Call) -> list[Fact]:
    """LSTM, GRU and RNN: all outputs, the last ones, and LSTM's last cells."""
    dtype, dims = call.dtype(0), call.dims(0)
    directions = 2 if call.attribute("direction", "forward") == "bidirectional" else 1
    hidden: Dim | None = call.attribute("hidden_size")
    if hidden is None:
        weights = call.dims(2)
        hidden = None if weights is None or len(weights) != 3 else weights[2]
    if dims is not None and len(dims) != 3:
        raise Unknown
    is_batch_first = bool(call.attribute("layout", 0))
    length, batch = (None, None) if dims is None else dims[:2]
    if is_batch_first:
        length, batch = batch, length
        every: tuple[Dim | None, ...] = (batch, length, directions, hidden)
        last: tuple[Dim | None, ...] = (batch, directions, hidden)
    else:
        every, last = (length, directions, batch, hidden), (directions, batch, hidden)
    return [Fact(dtype, every), Fact(dtype, last), Fact(dtype, last)]


def stft(call: Call) -> Fact:
    """STFT: [batch, frames, bins, 2]; half of the bins and one, unless `onesided` is 0."""
    signal, window = call.known_dims(0), call.dims(2) if call.has(2) else None
    step, given = call.numbers(1), call.vector(3) if call.has(3) else None
    length: Element = given[0] if given is not None and len(given) == 1 else None
    if given is None and window is not None and len(window) == 1:
        length = window[0]
    if not isinstance(length, (int, Expr)):
        return Fact(call.dtype(0), (signal[0], None, None, 2))
    bins = floor_div(length, 2) + 1 if call.attribute("onesided", 1) else length
    frames = None if step is None or len(step) != 1 else floor_div(signal[1] - length, step[0]) + 1
    return Fact(call.dtype(0), (signal[0], frames, bins, 2))


SHAPE_FUNCTIONS: dict[str, Callable[[Call], Fact | list[Fact]]] = {
    **dict.fromkeys(["AveragePool", "LpPool", "MaxPool"], pool),
    **dict.fromkeys(["GRU", "LSTM", "RNN"], recurrent),
    **dict.fromkeys(["GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"], global_pool),
    **dict.fromkeys(["Resize", "Upsample"], resize),
    "Conv": conv,
    "ConvInteger": conv_integer,
    "ConvTranspose": conv_transpose,
    "QLinearConv": qlinear_conv,
    "STFT": stft,
}
