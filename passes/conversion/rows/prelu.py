"""LeakyRelu and PRelu. OpenVINO has PReLU alone, and lays a slope of one dimension along the channels."""

from __future__ import annotations

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import scalar_like
from maxfold.passes.conversion.row import Row, both, from_onnx
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.sites.site import Shape

_CHANNELS = 1


def _leaky_relu_to_openvino(site: OpenvinoSite) -> None:
    slope = scalar_like(site, site.attribute("alpha", 0.01))
    site.result(site.add("PReLU", [site.input(0), slope]))


def _to_openvino(site: OpenvinoSite) -> None:
    """Two dimensions are enough to have a slope broadcast from the right."""
    x, slope = site.inputs()
    shape = site.shape(1)
    if shape is None:
        raise UnsupportedError("the rank of its slope is not known")
    if _is_vector(shape) and site.rank(0) > 2:
        slope = site.add("Unsqueeze", [slope, site.constant([0], "int64")])
    site.result(site.add("PReLU", [x, slope]))


def _to_onnx(site: OnnxSite) -> None:
    x = site.input(0)
    value = site.value(1)
    if value is not None and value.size == 1 and dtype_of(site).name == "FLOAT":
        site.result(site.add("LeakyRelu", [x], {"alpha": float(value.reshape(-1)[0])}))
        return
    rank, slope_rank = site.rank(0), site.rank(1)
    if slope_rank > rank:
        raise UnsupportedError(f"its slope has {slope_rank} dimensions and its data {rank}")
    slope = site.input(1)
    if slope_rank == 1 and rank > 2 and _is_of_channels(site):
        slope = _unsqueezed(site, slope, rank)
    site.result(site.add("PRelu", [x, slope]))


def _unsqueezed(site: OnnxSite, slope: Tensor, rank: int) -> Tensor:
    axes = site.constant(list(range(1, rank - _CHANNELS)), "int64")
    result: Tensor = site.add("Unsqueeze", [slope, axes])
    return result


def _is_of_channels(site: OnnxSite) -> bool:
    """Whether a slope of one dimension lies along axis 1: where its length is that of the axis, and else not."""
    shape, slope_shape = site.shape(0), site.shape(1)
    assert shape is not None
    assert slope_shape is not None
    channels, length = shape[_CHANNELS], slope_shape[0]
    if channels is None or length is None:
        raise UnsupportedError("whether its slope has as many elements as its data has channels is not known")
    return channels == length


def _is_vector(shape: Shape | None) -> bool:
    """Whether a shape is of one dimension, of more than one element as far as known."""
    return shape is not None and len(shape) == 1 and shape[0] != 1


ROWS: tuple[Row, ...] = (
    *from_onnx("LeakyRelu", "PReLU-1", _leaky_relu_to_openvino),
    *both(
        "PRelu",
        "PReLU-1",
        _to_openvino,
        _to_onnx,
        limits="A slope of one dimension is reshaped where the two sides would lay it along different axes. "
        "A constant slope of one element becomes LeakyRelu.",
    ),
)
