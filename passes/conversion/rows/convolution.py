"""Convolutions: the bias is an input or an Add, groups are an attribute or a dimension of the filter."""

from __future__ import annotations

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.tensors import per_channel, reshaped
from maxfold.passes.conversion.parts.windows import (
    check_fits,
    check_kernel_shape,
    onnx_window,
    openvino_window,
    without_dilated_automatic_padding,
)
from maxfold.passes.conversion.row import Row, both, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.sites.site import Shape


def filter_shape(site: OpenvinoSite | OnnxSite, index: int) -> Shape:
    """The shape of a filter. Raises `UnsupportedError` where its rank is not known."""
    shape = site.shape(index)
    if shape is None:
        raise UnsupportedError("the rank of its filter is not known")
    return shape


def grouped_filter(site: OpenvinoSite, filters: Tensor, group: int, shape: Shape) -> Tensor:
    """An ONNX filter [G*a, b, kernel...] as OpenVINO has it with groups: [G, a, b, kernel...]."""
    rest = [dim for dim in shape[1:] if dim is not None]
    if len(rest) != len(shape) - 1:
        raise UnsupportedError("the shape of its filter is not known")
    if shape[0] is not None and shape[0] % group:
        raise UnsupportedError(f"its {shape[0]} channels do not divide into {group} groups")
    return reshaped(site, filters, [group, -1 if shape[0] is None else shape[0] // group, *rest])


def ungrouped_filter(site: OnnxSite, shape: Shape) -> tuple[Tensor, int]:
    """An OpenVINO filter [G, a, b, kernel...] as ONNX has it, [G*a, b, kernel...], and the number of groups."""
    group, rest = shape[0], [dim for dim in shape[2:] if dim is not None]
    if group is None or len(rest) != len(shape) - 2:
        raise UnsupportedError("the shape of its filter is not known")
    return reshaped(site, site.input(1), [-1 if shape[1] is None else group * shape[1], *rest]), group


def with_bias(site: OpenvinoSite, result: Tensor, rank: int) -> Tensor:
    """The result plus the optional third input, one value per channel."""
    if not site.has_input(2):
        return result
    bias = per_channel(site, site.input(2), rank)
    added: Tensor = site.add("Add", [result, bias], {BROADCAST: "numpy"})
    return added


def kernel_attribute(kernel: Shape) -> dict[str, object]:
    """The attribute `kernel_shape`, where the kernel is known."""
    return {} if None in kernel else {"kernel_shape": list(kernel)}


def convolved(site: OpenvinoSite, x: Tensor, filters: Tensor, shape: Shape) -> Tensor:
    """A convolution with the node's attributes, of tensors that stand for its first input and its filters, which have
    that shape."""
    window = onnx_window(site, len(shape) - 2)
    check_kernel_shape(site, shape[2:])
    check_fits(site, shape[2:], window)
    group = site.attribute("group", 1)
    if group == 1:
        result: Tensor = site.add("Convolution", [x, filters], window.openvino())
    else:
        operands = [x, grouped_filter(site, filters, group, shape)]
        result = site.add("GroupConvolution", operands, window.openvino())
    return result


def _conv_to_openvino(site: OpenvinoSite) -> None:
    shape = filter_shape(site, 1)
    result = convolved(site, site.input(0), site.input(1), shape)
    site.result(with_bias(site, result, len(shape)))


def _convolution_to_onnx(site: OnnxSite) -> None:
    shape = filter_shape(site, 1)
    _conv(site, site.input(1), 1, shape[2:])


def _group_convolution_to_onnx(site: OnnxSite) -> None:
    shape = filter_shape(site, 1)
    filters, group = ungrouped_filter(site, shape)
    _conv(site, filters, group, shape[3:])


def _conv(site: OnnxSite, filters: Tensor, group: int, kernel: Shape) -> None:
    if any(site.integers("output_padding")):
        raise UnsupportedError("its output_padding is not 0")
    window = openvino_window(site, len(kernel))
    known, shape = [size for size in kernel if size is not None], site.shape(0)
    if len(known) == window.rank:
        spans = [(size - 1) * dilation + 1 for size, dilation in zip(known, window.dilations, strict=True)]
        sizes = [None] * window.rank if shape is None else shape[2:]
        window = without_dilated_automatic_padding(window, spans, sizes)
    elif window.mode != "explicit" and max(window.dilations) > 1:
        raise UnsupportedError("its automatic padding of dilated windows needs a kernel of a known shape")
    attributes = {**window.onnx(), "dilations": window.dilations, "group": group, **kernel_attribute(kernel)}
    site.result(site.add("Conv", [site.input(0), filters], attributes))


_SUMS = "Sums are made in another order."
_DILATED = "To ONNX, dilated windows with automatic padding need known sizes where they stride."

ROWS: tuple[Row, ...] = (
    *both(
        "Conv",
        "Convolution-1",
        _conv_to_openvino,
        _convolution_to_onnx,
        tolerance="1e-4 relative, 1e-5 absolute",
        limits=f"{_SUMS} 1 to 3 spatial dimensions. {_DILATED}",
    ),
    *from_openvino(
        "GroupConvolution-1",
        "Conv",
        _group_convolution_to_onnx,
        tolerance="1e-4 relative, 1e-5 absolute",
        limits=f"{_SUMS} The filter's shape must be known. {_DILATED}",
    ),
)
