"""Optional values, of which an IR has the value alone: those that are known to be there, or not to be."""

from __future__ import annotations

from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.row import from_onnx
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite


def _value(site: OpenvinoSite) -> None:
    if not site.has_input(0):
        raise UnsupportedError("it is of no value, which IR cannot hold")
    site.result(site.input(0))


def _has_value(site: OpenvinoSite) -> None:
    """Inputs of a model are no optional values, nor is what other rows make: what there is has a value."""
    site.result(site.constant(site.has_input(0), "bool"))


_NAME = "Becomes another name for its input."

ROWS = (
    *from_onnx("Optional", "Identity-16", _value, limits=f"{_NAME} One without a value is refused."),
    *from_onnx("OptionalGetElement", "Identity-16", _value, limits=_NAME),
    *from_onnx("OptionalHasElement", "Identity-16", _has_value, limits="Becomes a constant."),
)
