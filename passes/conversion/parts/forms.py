"""Functions that many lowerings share: the same operands on both sides."""

from __future__ import annotations

from maxfold.passes.conversion.row import ToOnnx, ToOpenvino, versioned
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite


def same_to_openvino(openvino: str) -> ToOpenvino:
    """All operands as they are, for an operation spelled with its operator set ("Erf-1"), no attributes."""
    operation, since = versioned(openvino)

    def convert(site: OpenvinoSite) -> None:
        site.result(site.add(operation, site.inputs(), opset=since))

    return convert


def same_to_onnx(onnx: str) -> ToOnnx:
    """All operands as they are, no attributes."""

    def convert(site: OnnxSite) -> None:
        site.result(site.add(onnx, site.inputs()))

    return convert
