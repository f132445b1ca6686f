"""ReadValue and Assign to ONNX, which remembers nothing from one run to the next: inputs and outputs of the model."""

from __future__ import annotations

import re

import numpy as np

from maxfold.model.dtypes import DType, from_openvino
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.row import Row
from maxfold.passes.conversion.row import from_openvino as lowered
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.site import Shape

# Tools that make states of inputs and outputs join both names.
_JOINED = re.compile(r"(past.+?)(present.+)")
_FIRST = "first values of states, to be fed in the first run"


def names_of(variable: str) -> tuple[str, str]:
    """What the input and the output for a variable are called."""
    joined = _JOINED.fullmatch(variable)
    return (joined[1], joined[2]) if joined is not None else (variable, f"{variable}_next")


def _read(site: OnnxSite) -> None:
    given = site.shape(0) if site.has_input(0) else None
    shape = _declared(site.text("variable_shape")) if site.version >= 6 else None
    shape = given if shape is None else shape
    dtype = _type(site)
    if shape is None or dtype is None:
        raise UnsupportedError("the element type or the number of dimensions of its variable is not known")
    made = site.state(names_of(site.text("variable_id"))[0], dtype, shape)
    first = site.value(0) if site.has_input(0) else np.zeros(())
    if first is None or np.any(first != np.zeros((), first.dtype)):
        site.lose(_FIRST, made.name)
    site.result(made)


def _type(site: OnnxSite) -> DType | None:
    named = site.text("variable_type") if site.version >= 6 else "dynamic"
    if named in ("dynamic", "undefined"):
        return site.dtype(0) if site.has_input(0) else None
    return from_openvino(named)


def _declared(text: str) -> Shape | None:
    """Dimensions as OpenVINO writes them, None for any number of them."""
    if "..." in text:
        return None
    dims = [dim.strip() for dim in text.strip("[] ").split(",") if dim.strip()]
    return tuple(int(dim) if dim.isdecimal() else None for dim in dims)


def _assign(site: OnnxSite) -> None:
    value = site.input(0)
    site.remember(names_of(site.text("variable_id"))[1], value)
    site.result(value)


ROWS: tuple[Row, ...] = (
    *lowered(
        "ReadValue-3", "Identity", _read,
        limits="Becomes an input of the model, to be fed with what the output for its Assign was, and with zeros or "
        "its initial value first; the two are named after the variable, VARIABLE and VARIABLE_next. Refused in bodies.",
    ),
    *lowered("Assign-3", "Identity", _assign, limits="Becomes an output of the model. Refused in bodies."),
)  # fmt: skip
