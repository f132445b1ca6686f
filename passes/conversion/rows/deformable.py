"""Convolutions whose windows are bent by offsets, and what pooling left put back."""

from __future__ import annotations

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.operands import openvino_slice, shape_vector
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import per_channel, reshaped
from maxfold.passes.conversion.parts.windows import check_kernel_shape, onnx_window, openvino_window
from maxfold.passes.conversion.row import Row, both, from_onnx
from maxfold.passes.conversion.rows.convolution import filter_shape
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.sites.site import Shape

_NUMPY = {BROADCAST: "numpy"}
_RANK = 4
# Before it OpenVINO took nothing for what is next to a border.
_FIRST_WITH_PADDING = 8


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


def _deform_to_onnx(site: OnnxSite) -> None:
    shape = filter_shape(site, 2)
    if len(shape) != _RANK or any(size is None for size in shape):
        raise UnsupportedError(
            f"its filter of the shape {list(shape)} is not one of two spatial dimensions that are known"
        )
    if site.version < _FIRST_WITH_PADDING or not site.flag("bilinear_interpolation_pad"):
        raise UnsupportedError("ONNX has no form without its bilinear_interpolation_pad")
    if site.has_input(3) and site.shape(3) is None:
        raise UnsupportedError("the rank of its mask is not known")
    window = openvino_window(site, _RANK - 2)
    groups, bent = site.integer("group"), site.integer("deformable_group")
    _check_groups(site.shape(0), shape, groups, bent)
    padding = window.onnx()
    if "pads" not in padding or dtype_of(site).name not in ("FLOAT", "DOUBLE"):
        raise UnsupportedError(f"automatic padding, or {dtype_of(site)}, is not covered")
    operands = [site.input(0), site.input(2), site.input(1)]
    if site.has_input(3):
        operands += [site.omitted(), site.input(3)]
    attributes = {
        **padding, "dilations": window.dilations, "group": groups, "offset_group": bent,
        "kernel_shape": [size or 0 for size in shape[2:]],
    }  # fmt: skip
    site.result(site.add("DeformConv", operands, attributes))


def _check_groups(data: Shape | None, filters: Shape, groups: int, bent: int) -> None:
    channels = None if data is None or len(data) != _RANK else data[1]
    fits = groups > 0 and bent > 0 and (filters[0] or 0) % groups == 0
    if not fits or (channels is not None and (channels % groups or channels % bent)):
        raise UnsupportedError(f"its groups {groups} and {bent} do not divide its channels")


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
    *both(
        "DeformConv",
        "DeformableConvolution-8",
        _deform_to_openvino,
        _deform_to_onnx,
        tolerance="1e-4 relative, 1e-5 absolute",
        limits="Of two spatial dimensions. Back only with bilinear_interpolation_pad, from operator set 19 on.",
    ),
    *from_onnx(
        "MaxUnpool",
        "ScatterElementsUpdate-3",
        _unpool_to_openvino,
        limits="Of two values at one place either may stay.",
    ),
)
