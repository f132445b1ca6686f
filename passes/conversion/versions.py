"""The versions of operators that rows know, and what to do about others."""

from __future__ import annotations

from collections.abc import Callable

import onnx

from maxfold.model.errors import ModelError
from maxfold.model.graph import Node
from maxfold.model.model import Model
from maxfold.model.openvino.operations import NEWEST
from maxfold.passes.conversion.errors import UnsupportedError

# The rows were compared with the operators of this operator set.
NEWEST_ONNX = 28

# The operator sets that the rows write.
OPSETS = (13, 21)


def check_model(model: Model) -> None:
    """Raises `ModelError` for a model of an operator set from the future, and for one without results."""
    if not model.graph.outputs:
        raise ModelError(f"graph {model.graph.name!r} has no outputs, so that nothing is left of it; give it some")
    opset = model.opsets(model.graph).get("", 0) if model.format == "onnx" else 0
    known = onnx.defs.onnx_opset_version()
    if opset > known:
        raise ModelError(
            f"the model is of operator set {opset}, and the newest that the installed onnx knows is {known}; export it "
            "with an older one, or install a newer onnx"
        )


def check_onnx_version(node: Node, opset: int) -> None:
    """Raises `UnsupportedError` where a node's version changed after the rows were written."""
    if opset > NEWEST_ONNX and _is_changed(node.op, opset):
        raise UnsupportedError(f"its version of operator set {opset} is newer than the table")


def _is_changed(operator: str, opset: int) -> bool:
    try:
        return int(onnx.defs.get_schema(operator, opset).since_version) > NEWEST_ONNX
    except onnx.defs.SchemaError:
        return True


def check_openvino_version(node: Node, first: int) -> None:
    """Raises `UnsupportedError` where a layer's version is before the row's first, or from the future."""
    version = node.domain.removeprefix("openvino.")
    number = version.removeprefix("opset")
    if not number.isdecimal():
        raise UnsupportedError(f"its version {version!r} is not covered")
    if int(number) < first:
        raise UnsupportedError(f"its version {version!r} is not covered; it is from opset{first} on")
    if int(number) > NEWEST:
        raise UnsupportedError(f"its version {version!r} is newer than opset{NEWEST}, the newest known")


def lacking(reason: str, why_not: Callable[[int], str | None], opset: int) -> UnsupportedError:
    """That an operator set lacks something: with the first one after it that has it, if any does."""
    later = range(opset + 1, min(NEWEST_ONNX, onnx.defs.onnx_opset_version()) + 1)
    found = next((version for version in later if why_not(version) is None), None)
    if found is None:
        return UnsupportedError(reason)
    if found > OPSETS[1]:
        return UnsupportedError(f"{reason}; operator set {found} has it, and --opset goes to {OPSETS[1]}")
    return UnsupportedError(f"{reason}; --opset {found} has it", found)


def needs_opset(what: str, opset: int) -> UnsupportedError:
    """That something can be written from an operator set on."""
    return UnsupportedError(f"{what} needs operator set {opset}; choose --opset {opset}", opset)
