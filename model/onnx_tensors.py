"""The protobuf side of tensors: what a TensorProto says beside its data."""

from __future__ import annotations

from typing import Any

import onnx
from google.protobuf.message import Message

from maxfold.model.data import SparseData, StoredData
from maxfold.model.external import PLACE_KEYS
from maxfold.model.graph import Constant

_DATA_FIELDS = (
    "float_data", "int32_data", "string_data", "int64_data", "raw_data", "double_data", "uint64_data",
)  # fmt: skip


def tensor_shell(constant: Constant, name: str) -> onnx.TensorProto:
    """A tensor's fields without its data: those of the file, with the shape and type that it has now."""
    shell = onnx.TensorProto()
    origin = constant.origin
    if isinstance(origin, onnx.NodeProto):
        origin = origin.attribute[0].t if origin.attribute[0].HasField("t") else None
    if isinstance(origin, onnx.TensorProto):
        shell.CopyFrom(origin)
        for field in _DATA_FIELDS:
            shell.ClearField(field)
    data = constant.data
    if not isinstance(data, StoredData) or not isinstance(origin, onnx.TensorProto):
        assert data.dtype is not None
        assert data.dtype.onnx is not None
        shell.data_type = data.dtype.onnx
        shell.ClearField("dims")
        shell.dims.extend(data.shape)
    set_text(shell, "name", name)
    return shell


def bring_in(shell: onnx.TensorProto) -> None:
    """Makes a tensor that had external data one that has its own; entries that do not say where it is stay."""
    if shell.data_location != onnx.TensorProto.EXTERNAL:
        return
    shell.ClearField("data_location")
    kept = [(entry.key, entry.value) for entry in shell.external_data if entry.key not in PLACE_KEYS]
    shell.ClearField("external_data")
    for key, value in kept:
        shell.external_data.add(key=key, value=value)


def renamed_tensor(proto: onnx.TensorProto, name: str) -> onnx.TensorProto:
    if proto.name == name:
        return proto
    renamed = onnx.TensorProto()
    renamed.CopyFrom(proto)
    renamed.name = name
    return renamed


def sparse_tensor(constant: Constant) -> bytes:
    assert isinstance(constant.data, SparseData)
    proto = onnx.SparseTensorProto()
    proto.CopyFrom(constant.data.proto)
    set_text(proto.values, "name", constant.name)
    return to_bytes(proto)


def set_text(proto: Any, field: str, value: str) -> None:
    """Sets a string field only where it differs, so that absent and empty stay what they were."""
    if getattr(proto, field) != value:
        setattr(proto, field, value)


def to_bytes(proto: Message) -> bytes:
    serialized: bytes = proto.SerializeToString(deterministic=True)
    return serialized
