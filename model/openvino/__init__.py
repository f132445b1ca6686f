"""OpenVINO IR: reading and writing `.xml` and `.bin`, versions 10 and 11."""

from maxfold.model.openvino.reader import read_openvino
from maxfold.model.openvino.writer import write_openvino

__all__ = ["read_openvino", "write_openvino"]
