"""Convolutions whose windows are bent by offsets, and what pooling left put back."""

from __future__ import annotations

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.operands import openvino_slice, shape_vector
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import per_channel, reshaped
from maxfold.passes.conversion.parts.windows import check_kernel_shape, onnx_window
from maxfold.passes.conversion.row import Row, from_onnx
from maxfold.passes.conversion.rows.convolution import filter_shape
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NUMPY = {BROADCAST: "numpy"}


def _deform_to_openvino(site: OpenvinoSite) -> None:
    shape = filter_shape(site, 1)
    if len(shape) != 4:
        raise UnsupportedError(f"OpenVINO has it for two spatial dimensions, not {len(shape) - 2}")
    check_kernel_shape(site, shape[2:])
    _check_offsets(site)
    attributes = {
        **onnx_window(site, 2).openvino(), "group": int(site.attribute("group", 1)),
        "deformable_group": int(site.attribute("offset_group", 1)), "bilinear_interpolation_pad": True,
    }  # fmt: skip
    operands = [site.input(0), site.input(2), site.input(1)]
    if site.has_input(4):
        operands.append(site.input(4))
    result = site.add("DeformableConvolution", operands, attributes, opset=8)
    if site.has_input(3):
        result = site.add("Add", [result, per_channel(site, site.input(3), 4)], _NUMPY)
    site.result(result)


def _check_offsets(site: OpenvinoSite) -> None:
    """What onnx's inference does not compare: groups with channels, offsets with the result."""
    channels, filters = (site.shape(0) or (None, None))[1], site.shape(1) or (None, None)
    for name in ("group", "offset_group"):
        count = int(site.attribute(name, 1))
        if (
            count < 1
            or (channels is not None and channels % count)
            or (name == "group" and filters[0] is not None and filters[0] % count)
        ):
            raise UnsupportedError(f"its {name} {count} does not divide its channels")
    offsets, result = site.shape(2), site.output_shape()
    pairs = zip((offsets or ())[2:], (result or ())[2:], strict=False)
    if any(None not in pair and pair[0] != pair[1] for pair in pairs):
        raise UnsupportedError(
            f"its offsets of the shape {list(offsets or ())} are not for a result of {list(result or ())}"
        )


def _unpool_to_openvino(site: OpenvinoSite) -> None:
    """The values at their places in zeros of the shape that was pooled, and zeros around where it was larger."""
    spatial = site.rank(0) - 2
    kernel = [int(size) for size in site.attribute("kernel_shape", [])]
    if not 1 <= spatial == len(kernel):
        raise UnsupportedError(f"its kernel_shape {kernel} is none for {spatial} spatial dimensions")
    strides = list(site.attribute("strides") or [1] * spatial)
    pads = list(site.attribute("pads") or [0] * (2 * spatial))
    if len(strides) != spatial or len(pads) != 2 * spatial:
        raise UnsupportedError(f"its strides {strides} or pads {pads} are none for {spatial} spatial dimensions")
    own = shape_vector(site, site.input(0))
    places = [site.constant(values, "int64") for values in ([1] * spatial, strides)]
    rest = [size - pads[axis] - pads[axis + spatial] for axis, size in enumerate(kernel)]
    steps = site.add("Subtract", [openvino_slice(site, own, 2, spatial + 2), places[0]], _NUMPY)
    moved = site.add("Multiply", [steps, places[1]], _NUMPY)
    sizes = site.add("Add", [moved, site.constant(rest, "int64")], _NUMPY)
    shape = site.add("Concat", [openvino_slice(site, own, 0, 2), sizes], {"axis": 0})
    result = _scattered(site, shape)
    if site.has_input(2):
        zeros = site.constant([0] * (spatial + 2), "int64")
        beyond = site.add("Subtract", [reshaped(site, site.input(2), [spatial + 2]), shape], _NUMPY)
        zero = site.constant(0, dtype_of(site).numpy)
        result = site.add("Pad", [result, zeros, beyond, zero], {"pad_mode": "constant"})
    site.result(result)


def _scattered(site: OpenvinoSite, shape: Tensor) -> Tensor:
    """The values in zeros of a shape, at places that count all of its elements."""
    first, zero = site.constant(0, "int64"), site.constant(0, dtype_of(site).numpy)
    count = site.add("ReduceProd", [shape, site.constant([0], "int64")], {"keep_dims": True})
    zeros = site.add("Broadcast", [zero, count], {"mode": "numpy"}, opset=3)
    values, places = (reshaped(site, site.input(index), [-1]) for index in (0, 1))
    flat = site.add("ScatterElementsUpdate", [zeros, places, values, first], opset=3)
    result: Tensor = site.add("Reshape", [flat, shape], {"special_zero": False})
    return result


ROWS: tuple[Row, ...] = (
    *from_onnx(
        "DeformConv",
        "DeformableConvolution-8",
        _deform_to_openvino,
        tolerance="1e-4 relative, 1e-5 absolute",
        limits="Of two spatial dimensions.",
    ),
    *from_onnx(
        "MaxUnpool",
        "ScatterElementsUpdate-3",
        _unpool_to_openvino,
        limits="Of two values at one place either may stay.",
    ),
)
