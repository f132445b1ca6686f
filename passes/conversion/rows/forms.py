"""Forms that many rows share: the same inputs on both sides, binary operators, variadic ones."""

from __future__ import annotations

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.row import Row, ToOnnx, ToOpenvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

BROADCAST = "auto_broadcast"
PDPD_AXIS = "auto_broadcast.auto_broadcast_axis"
_BROADCASTING_OPSET = 7


def unary(onnx: str, openvino: str, *, opset: int = 1, tolerance: str = "exact", limits: str = "") -> Row:
    """A row of two operators with one input, one output and no attributes."""
    return Row(
        onnx,
        openvino,
        "same",
        same_to_openvino(openvino, opset),
        same_to_onnx(onnx),
        openvino_versions=(opset, 0),
        tolerance=tolerance,
        limits=limits,
    )


def same_to_openvino(openvino: str, opset: int) -> ToOpenvino:
    """All inputs as they are, no attributes."""

    def convert(site: OpenvinoSite) -> None:
        site.result(site.add(openvino, site.inputs(), opset=opset))

    return convert


def same_to_onnx(onnx: str) -> ToOnnx:
    """All inputs as they are, no attributes."""

    def convert(site: OnnxSite) -> None:
        site.result(site.add(onnx, site.inputs()))

    return convert


def binary(onnx: str, openvino: str, *, opset: int = 1, tolerance: str = "exact", limits: str = "") -> Row:
    """A row of two binary operators with broadcasting."""

    def to_openvino(site: OpenvinoSite) -> None:
        site.result(site.add(openvino, site.inputs(), {BROADCAST: "numpy"}, opset=opset))

    def to_onnx(site: OnnxSite) -> None:
        site.result(site.add(onnx, broadcast_operands(site)))

    return Row(
        onnx,
        openvino,
        "same",
        to_openvino,
        to_onnx,
        openvino_versions=(opset, 0),
        tolerance=tolerance,
        limits=limits,
    )


def broadcast_operands(site: OnnxSite) -> list[Tensor]:
    """The operands of a binary OpenVINO operation, the second one reshaped where `pdpd` aligns it by an axis."""
    a, b = site.inputs()
    mode = site.text(BROADCAST).lower()
    # Only pdpd has an axis, and a scalar has no place.
    site.ignore(PDPD_AXIS)
    if mode in ("numpy", "none", "explicit") or (mode == "pdpd" and site.rank(1) == 0):
        return [a, b]
    if mode != "pdpd":
        raise UnsupportedError(f"its auto_broadcast {mode!r} is not covered")
    axis = site.integer(PDPD_AXIS)
    if axis == -1:
        return [a, b]
    trailing = _trailing_ones(site.rank(0), site.rank(1), axis)
    if not trailing:
        return [a, b]
    axes = site.constant([site.rank(1) + index for index in range(trailing)], "int64")
    return [a, site.add("Unsqueeze", [b, axes])]


def _trailing_ones(a_rank: int, b_rank: int, axis: int) -> int:
    """How many dimensions of 1 the second operand needs at its end to start at `axis` of the first."""
    trailing = a_rank - axis - b_rank
    if trailing < 0 or axis < 0:
        raise UnsupportedError(f"its second operand of {b_rank} dimensions does not fit at axis {axis} of {a_rank}")
    return trailing


def variadic(onnx: str, openvino: str, *, tolerance: str = "exact", limits: str = "") -> Row:
    """A row of a variadic ONNX operator and a binary OpenVINO operation: a chain from the left."""

    def to_openvino(site: OpenvinoSite) -> None:
        operands = site.inputs()
        result = operands[0]
        for operand in operands[1:]:
            result = site.add(openvino, [result, operand], {BROADCAST: "numpy"})
        site.result(result)

    def to_onnx(site: OnnxSite) -> None:
        site.result(site.add(onnx, broadcast_operands(site)))

    return Row(
        onnx,
        openvino,
        "variadic to chain",
        to_openvino,
        to_onnx,
        tolerance=tolerance,
        limits=limits,
    )
