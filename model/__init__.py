"""What a model is: graph, element types, shapes, names, edits; reading and writing its files."""

from maxfold.model.errors import ModelError
from maxfold.model.model import Model
from maxfold.model.onnx_reader import read_onnx
from maxfold.model.onnx_writer import write_onnx
from maxfold.model.openvino import read_openvino, write_openvino

__all__ = ["Model", "ModelError", "read_onnx", "read_openvino", "write_onnx", "write_openvino"]
