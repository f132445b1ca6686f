"""Transposed convolutions.

The two formats give every automatic padding another meaning, so padding is always written out.
"""

from __future__ import annotations

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.windows import Window, check_kernel_shape, onnx_window, openvino_window
from maxfold.passes.conversion.row import Row, both, from_openvino
from maxfold.passes.conversion.rows.convolution import (
    filter_shape,
    grouped_filter,
    kernel_attribute,
    ungrouped_filter,
    with_bias,
)
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.sites.site import Shape, Site

# From here on ONNX says which side an odd padding is larger at; before, its text says the opposite.
_ODD_PADDING = 11


def _to_openvino(site: OpenvinoSite) -> None:
    shape = filter_shape(site, 1)
    kernel = shape[2:]
    check_kernel_shape(site, kernel)
    window = onnx_window(site, len(kernel))
    padding = _output_padding(site.attribute("output_padding"), window.rank)
    sizes = site.attribute("output_shape")
    if sizes is not None:
        totals = _totals(site, window, kernel, padding, list(sizes)[-window.rank :])
        window, padding = _cropped(site, window, totals, padding)
    elif window.mode != "explicit":
        totals = [
            size - stride + extra
            for size, stride, extra in zip(_spans(window, kernel), window.strides, padding, strict=True)
        ]
        if min(totals) < 0:
            raise UnsupportedError("its auto_pad pads less than nothing where strides are larger than the kernel")
        window, padding = _cropped(site, window, totals, padding)
    _check_output_padding(window, padding)
    group = site.attribute("group", 1)
    filters = site.input(1) if group == 1 else grouped_filter(site, site.input(1), group, shape)
    op = "ConvolutionBackpropData" if group == 1 else "GroupConvolutionBackpropData"
    result = site.add(op, [site.input(0), filters], {**window.openvino(), "output_padding": padding})
    site.result(with_bias(site, result, len(shape)))


def _cropped(site: OpenvinoSite, window: Window, totals: list[int], padding: list[int]) -> tuple[Window, list[int]]:
    """The window with ONNX's automatic padding written out; where that is negative the output is extended instead."""
    extended = [extra + max(0, -total) for extra, total in zip(padding, totals, strict=True)]
    smaller = [max(0, total) // 2 for total in totals]
    larger = [max(0, total) - half for total, half in zip(totals, smaller, strict=True)]
    begin, end = (smaller, larger) if window.mode == "same_upper" else (larger, smaller)
    return Window(window.strides, window.dilations, begin, end, "explicit"), extended


def _to_onnx(site: OnnxSite) -> None:
    shape = filter_shape(site, 1)
    _conv_transpose(site, site.input(1), 1, shape[2:])


def _group_to_onnx(site: OnnxSite) -> None:
    shape = filter_shape(site, 1)
    filters, group = ungrouped_filter(site, shape)
    _conv_transpose(site, filters, group, shape[3:])


def _conv_transpose(site: OnnxSite, filters: Tensor, group: int, kernel: Shape) -> None:
    window = openvino_window(site, len(kernel))
    padding = _output_padding(site.integers("output_padding") or None, window.rank)
    if site.has_input(2):
        sizes = site.integers_of(2, "its output shape")
        totals = _totals(site, window, kernel, padding, sizes)
        window, padding = _cropped_to_size(window, totals, padding)
    elif window.mode != "explicit":
        none = [0] * window.rank
        window = Window(window.strides, window.dilations, none, none, "explicit")
    _check_output_padding(window, padding)
    attributes = {
        **window.onnx(), "dilations": window.dilations, "group": group, "output_padding": padding,
        **kernel_attribute(kernel),
    }  # fmt: skip
    site.result(site.add("ConvTranspose", [site.input(0), filters], attributes))


def _cropped_to_size(window: Window, totals: list[int], padding: list[int]) -> tuple[Window, list[int]]:
    """The window that gives the output size that OpenVINO was asked for, by its own rule of what is cropped where."""
    halves = [total // 2 for total in totals]
    if window.mode == "same_upper":
        begin = [total - half for total, half in zip(totals, halves, strict=True)]
    elif window.mode == "same_lower":
        begin = halves
    else:
        begin = window.pads_begin
    if min(begin) < 0:
        raise UnsupportedError("its output shape is larger than what it computes, with automatic padding")
    rest = [total - first for total, first in zip(totals, begin, strict=True)]
    extended = [extra + max(0, -last) for extra, last in zip(padding, rest, strict=True)]
    end = [max(0, last) for last in rest]
    return Window(window.strides, window.dilations, begin, end, "explicit"), extended


def _totals(site: Site, window: Window, kernel: Shape, padding: list[int], sizes: list[int]) -> list[int]:
    """How much is cropped of each dimension so that the output has the sizes asked for."""
    shape = site.shape(0)
    inputs = [] if shape is None else [dim for dim in shape[2:] if dim is not None]
    if len(inputs) != window.rank or len(sizes) != window.rank:
        raise UnsupportedError("its output shape needs an input of a known shape")
    return [
        stride * (size - 1) + span + extra - wanted
        for stride, size, span, extra, wanted in zip(
            window.strides, inputs, _spans(window, kernel), padding, sizes, strict=True
        )
    ]


def _spans(window: Window, kernel: Shape) -> list[int]:
    """How far the dilated kernel reaches."""
    known = [size for size in kernel if size is not None]
    if len(known) != window.rank:
        raise UnsupportedError("the shape of its filter is not known")
    return [(size - 1) * dilation + 1 for size, dilation in zip(known, window.dilations, strict=True)]


def _output_padding(given: list[int] | None, rank: int) -> list[int]:
    padding = [0] * rank if given is None else [int(value) for value in given]
    if len(padding) != rank or min(padding) < 0:
        raise UnsupportedError(f"its output_padding {padding} is not {rank} numbers of 0 or more")
    return padding


def _check_output_padding(window: Window, padding: list[int]) -> None:
    limits = [max(pair) for pair in zip(window.strides, window.dilations, strict=True)]
    if any(extra >= limit for extra, limit in zip(padding, limits, strict=True)):
        raise UnsupportedError(f"its output is extended by {padding}, which must be less than strides or dilations")


_TOLERANCE = "1e-4 relative, 1e-5 absolute"
_LIMITS = "Sums are made in another order. An output shape asked for needs an input of a known shape."

ROWS: tuple[Row, ...] = (
    *both("ConvTranspose", "ConvolutionBackpropData-1", _to_openvino, _to_onnx, tolerance=_TOLERANCE, limits=_LIMITS),
    *from_openvino(
        "GroupConvolutionBackpropData-1", "ConvTranspose", _group_to_onnx, tolerance=_TOLERANCE, limits=_LIMITS
    ),
)
