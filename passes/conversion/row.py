"""The rows of the conversion table: pairs, which are data, and lowerings, which are a function for one direction.

A row on the way from ONNX sees the newest version of its operator alone (`prepare.py`). `tolerance` says how exact
results are, `limits` what is refused or differs. A node with an attribute that its row does not ask for, and that is
not at its default, is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from maxfold.passes.conversion.pair import Pair
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

ToOpenvino = Callable[[OpenvinoSite], None]
ToOnnx = Callable[[OnnxSite], None]


@dataclass(frozen=True, slots=True)
class FromOnnx:
    """The way from an ONNX operator to what stands for it in OpenVINO: the operation `openvino`, which operator set
    `since` introduced, alone or among others."""

    onnx: str
    openvino: str
    since: int
    convert: ToOpenvino
    tolerance: str = "exact"
    limits: str = ""


@dataclass(frozen=True, slots=True)
class FromOpenvino:
    """The way from an OpenVINO operation, of operator set `since` or later, to what stands for it in ONNX: the operator
    `onnx`, alone or among others."""

    onnx: str
    openvino: str
    since: int
    convert: ToOnnx
    tolerance: str = "exact"
    limits: str = ""


Row: TypeAlias = Pair | FromOnnx | FromOpenvino


def from_onnx(
    onnx: str, openvino: str, convert: ToOpenvino, *, tolerance: str = "exact", limits: str = ""
) -> tuple[Row, ...]:
    """A lowering of an ONNX operator to an operation, spelled with the operator set that introduced it ("TopK-11").

    An operator of another domain than ONNX's own is spelled with it ("com.microsoft.BiasGelu").
    """
    return (FromOnnx(onnx, *versioned(openvino), convert, tolerance, limits),)


def from_openvino(
    openvino: str, onnx: str, convert: ToOnnx, *, tolerance: str = "exact", limits: str = ""
) -> tuple[Row, ...]:
    """A lowering of an operation, spelled with the first operator set that is covered ("TopK-11"), to ONNX."""
    return (FromOpenvino(onnx, *versioned(openvino), convert, tolerance, limits),)


def both(
    onnx: str, openvino: str, to_openvino: ToOpenvino, to_onnx: ToOnnx, *, tolerance: str = "exact", limits: str = ""
) -> tuple[Row, ...]:
    """Lowerings of an ONNX operator and an operation to each other."""
    return (
        *from_onnx(onnx, openvino, to_openvino, tolerance=tolerance, limits=limits),
        *from_openvino(openvino, onnx, to_onnx, tolerance=tolerance, limits=limits),
    )


def pair(
    onnx: str,
    openvino: str,
    attributes: str = "",
    *,
    operands: str = "same",
    tolerance: str = "exact",
    limits: str = "",
) -> tuple[Row, ...]:
    """An ONNX operator and an operation of the same meaning, which `openvino` spells with its operator set ("Elu-1").

    `attributes` lists those of both: "alpha:number" has one name and a kind, "blocksize=block_size:integer" two names,
    "mode:DCR=blocks_first|CRD=depth_first" says which texts are the same, "=mode:half_to_even" what the operation says
    and the operator does not. `operands` is "same", "broadcast" for two that are broadcast, or "chain" for an operator
    of any number of operands and an operation of two.
    """
    return (Pair.of(onnx, *versioned(openvino), attributes, operands, tolerance, limits),)


def versioned(openvino: str) -> tuple[str, int]:
    """An operation's name and the operator set behind it."""
    name, _, since = openvino.rpartition("-")
    return name, int(since)
