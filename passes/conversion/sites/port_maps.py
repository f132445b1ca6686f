"""Lines of the maps between the ports of a layer and its bodies."""

from __future__ import annotations

from maxfold.model.openvino.ir import PortMapEntry


def port_input(port: int, index: int, **attributes: str) -> PortMapEntry:
    """Maps an input of a body to a port of the layer."""
    return PortMapEntry("input", {"external_port_id": str(port), **attributes}, body_input=index)


def port_output(port: int, index: int, **attributes: str) -> PortMapEntry:
    """Maps a result of a body to a port of the layer."""
    return PortMapEntry("output", {"external_port_id": str(port), **attributes}, body_output=index)


def back_edge(body_output: int, body_input: int) -> PortMapEntry:
    """Makes a result of a body the next value of an input of it."""
    return PortMapEntry("edge", {}, body_input=body_input, body_output=body_output)
