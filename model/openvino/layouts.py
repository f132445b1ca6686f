"""What the axes of inputs and outputs mean, as OpenVINO keeps it: `layout` in the runtime information of a port.

Source: OpenVINO's "Layout API Overview": "NCHW", "N...C", "N?HW", or names in brackets as "[time,batch,features]".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lxml import etree

from maxfold.model.errors import ModelError
from maxfold.model.graph import Tensor
from maxfold.model.interface import output_names
from maxfold.model.model import Model
from maxfold.model.openvino.ir import Port, port_of
from maxfold.model.spelling import did_you_mean

_REST = "..."
_SHORT = re.compile(r"\.\.\.|[A-Za-z0-9?]", re.ASCII)
_LONG = re.compile(r"[A-Za-z0-9_]+|\?|\.\.\.", re.ASCII)
# What OpenVINO writes for these names.
_LETTERS = {"BATCH": "N", "CHANNELS": "C", "DEPTH": "D", "HEIGHT": "H", "WIDTH": "W"}


def parse_layout(text: str) -> list[str]:
    """The names of the axes, in capitals; "?" is one without a name, "..." any number of them.

    Raises `ModelError` for what is no layout.
    """
    stripped = text.strip()
    if stripped.startswith("[") and stripped.endswith("]"):
        axes = [part.strip() for part in stripped[1:-1].split(",")]
        is_right = all(_LONG.fullmatch(axis) for axis in axes)
    else:
        axes = _SHORT.findall(stripped)
        is_right = "".join(axes) == stripped and bool(axes)
    if not is_right:
        raise ModelError(f"{text!r} is no layout; give one as NCHW, N...C or [N,C,H,W]")
    axes = [_LETTERS.get(axis.upper(), axis.upper()) for axis in axes]
    named = [axis for axis in axes if axis != "?"]
    if len(set(named)) != len(named):
        raise ModelError(f"layout {text!r} names an axis twice; name each once")
    return axes


def set_layouts(model: Model, layouts: Mapping[str, str]) -> None:
    """Notes the layouts of inputs and outputs of an IR, by name; an empty name is that of the only input.

    Raises `ModelError`, and changes nothing, for a name that is none, what is no layout, or one of other dimensions.
    """
    if model.net is not None and model.net.version == 10:
        raise ModelError("layouts are kept in an IR of version 11 alone; write that, or leave them out")
    inputs, outputs = model.graph.inputs, model.graph.outputs
    known = {name: tensor for tensor in outputs for name in output_names(tensor)}
    known |= {tensor.name: tensor for tensor in inputs}
    if "" in layouts and len(inputs) != 1:
        raise ModelError(f"a layout without a name needs a model of one input; this one has {len(inputs)}")
    found: list[tuple[Tensor, list[str]]] = []
    for name, text in layouts.items():
        tensor = known.get(name) if name else inputs[0]
        if tensor is None:
            hint = did_you_mean(name, known) or f"they are {', '.join(known) or 'none'}"
            raise ModelError(f"no input or output is named {name!r}; {hint}")
        axes = parse_layout(text)
        _check_rank(tensor, axes, name, text)
        found.append((tensor, axes))
    for tensor, axes in found:
        _set(tensor, axes)


def _check_rank(tensor: Tensor, axes: list[str], name: str, text: str) -> None:
    port = port_of(tensor)
    parameter = tensor.__dict__.get("parameter")
    if port is None or (parameter is not None and parameter.data.get("shape") == _REST):
        return
    rank, named = len(port.dims), len(axes)
    if rank != named and (_REST not in axes or named - 1 > rank) and (rank or parameter is not None):
        raise ModelError(f"layout {text!r} has {named} axes, but {name or tensor.name!r} has {rank} dimensions")


def _set(tensor: Tensor, axes: list[str]) -> None:
    port: Port = tensor.__dict__["port"]
    info = next((item for item in port.extra if item.tag == "rt_info"), None)
    if info is None:
        info = etree.Element("rt_info")
        port.extra.append(info)
    for old in [item for item in info if item.get("name") == "layout"]:
        info.remove(old)
    etree.SubElement(info, "attribute", {"name": "layout", "version": "0", "layout": f"[{','.join(axes)}]"})
