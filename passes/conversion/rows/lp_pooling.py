"""Norms of windows, and sums of columns into images."""

from __future__ import annotations

import math

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.operands import length_of
from maxfold.passes.conversion.parts.tensors import scalar_like
from maxfold.passes.conversion.parts.windows import Window
from maxfold.passes.conversion.row import Row, from_onnx
from maxfold.passes.conversion.rows.pooling import onnx_pooling
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NUMPY = {BROADCAST: "numpy"}


def _lp_pool_to_openvino(site: OpenvinoSite) -> None:
    """The mean of powers, with the padding, times the size of the window is their sum."""
    kernel, window, is_ceil = onnx_pooling(site)
    p = int(site.attribute("p", 2))
    if p < 1:
        raise UnsupportedError(f"its p {p} is not covered")
    if is_ceil and not any((*window.pads_begin, *window.pads_end)):
        # Without padding OpenVINO counts no zeros beyond the end; with it there are as many windows, rounded down.
        window, is_ceil = _padded_for_last(kernel, window), False
    attributes = {
        **window.openvino(), "kernel": kernel, "exclude-pad": False,
        "rounding_type": "ceil_torch" if is_ceil else "floor",
    }  # fmt: skip
    opset = 16 if max(window.dilations) > 1 else 14 if is_ceil else 1
    if opset < 16:
        del attributes["dilations"]
    means = site.add("AvgPool", [_powered(site, site.input(0), p)], attributes, opset=opset)
    sums = site.add("Multiply", [means, scalar_like(site, math.prod(kernel))], _NUMPY)
    site.result(_root(site, sums, p))


def _padded_for_last(kernel: list[int], window: Window) -> Window:
    ends = [stride - 1 for stride in window.strides]
    if any(end >= size for end, size in zip(ends, kernel, strict=True)):
        raise UnsupportedError(f"ceil_mode with strides above its kernel {kernel} is not covered")
    return Window(window.strides, window.dilations, window.pads_begin, ends, window.mode)


def _powered(site: OpenvinoSite, data: Tensor, p: int) -> Tensor:
    """The magnitudes to the power of p."""
    if p == 2:
        squares: Tensor = site.add("Multiply", [data, data], _NUMPY)
        return squares
    magnitudes: Tensor = site.add("Abs", [data])
    if p == 1:
        return magnitudes
    power: Tensor = site.add("Power", [magnitudes, scalar_like(site, p)], _NUMPY)
    return power


def _root(site: OpenvinoSite, sums: Tensor, p: int) -> Tensor:
    if p == 1:
        return sums
    root: Tensor = site.add("Sqrt", [sums]) if p == 2 else site.add("Power", [sums, scalar_like(site, 1 / p)], _NUMPY)
    return root


def _col2im_to_openvino(site: OpenvinoSite) -> None:
    spatial = length_of(site, 2, "its block_shape")
    if spatial != 2:
        raise UnsupportedError(f"OpenVINO has it for two spatial dimensions, not {spatial}")
    strides, dilations = (list(site.attribute(name, [1, 1])) for name in ("strides", "dilations"))
    pads = list(site.attribute("pads", [0, 0, 0, 0]))
    attributes = {"strides": strides, "dilations": dilations, "pads_begin": pads[:2], "pads_end": pads[2:]}
    site.result(site.add("Col2Im", site.inputs(), attributes, opset=15))


ROWS: tuple[Row, ...] = (
    *from_onnx(
        "LpPool",
        "AvgPool-1",
        _lp_pool_to_openvino,
        tolerance="1e-4 relative",
        limits="Becomes an AvgPool of powers. A window larger than its padded input is refused.",
    ),
    *from_onnx(
        "Col2Im", "Col2Im-15", _col2im_to_openvino, tolerance="1e-5 relative", limits="Of two spatial dimensions."
    ),
)
