"""What a model is: graph, element types, shapes, names, edits; reading and writing its files."""

from typing import TYPE_CHECKING, Any

from maxfold.model.errors import ModelError
from maxfold.model.model import Model
from maxfold.model.onnx_reader import read_onnx
from maxfold.model.onnx_writer import write_onnx

if TYPE_CHECKING:
    from maxfold.model.openvino import read_openvino, write_openvino

__all__ = ["Model", "ModelError", "read_onnx", "read_openvino", "write_onnx", "write_openvino"]


def __getattr__(name: str) -> Any:
    """OpenVINO's side, with the XML parser that it needs, when it is first asked for."""
    if name not in ("read_openvino", "write_openvino"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from maxfold.model import openvino

    return getattr(openvino, name)
