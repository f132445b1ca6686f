"""Attributes as Python values, and back to the protobuf they came from.

FLOAT, INT and STRING are float, int and str (bytes where the text is not UTF-8); the plural kinds are lists;
TENSOR is a `Constant`, GRAPH a `Graph`; sparse tensors and type protos stay protos; a reference to an attribute
of the enclosing function is graphsurgeon's `Node.AttributeRef`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx_graphsurgeon as gs
from onnx import AttributeProto
from onnx_graphsurgeon.util.misc import convert_to_onnx_attr_type

from maxfold.model import dtypes
from maxfold.model.data import ArrayData, AttributeData, TensorData, tensor_proto
from maxfold.model.errors import ModelError
from maxfold.model.graph import Constant, Graph

AttributeRef = gs.Node.AttributeRef

# Kinds whose Python value holds tensors or graphs: they are read and written by whoever knows scopes.
NESTED_KINDS = {AttributeProto.TENSOR, AttributeProto.TENSORS, AttributeProto.GRAPH, AttributeProto.GRAPHS}


def kind(proto: AttributeProto) -> int:
    """The attribute's kind; files of IR version 1 do not say it, so the field that is set decides."""
    if proto.type:
        return proto.type
    for field, value in _FIELD_KINDS.items():
        if len(getattr(proto, field)) if field.endswith("s") and field != "s" else proto.HasField(field):
            return value
    return AttributeProto.UNDEFINED


_FIELD_KINDS = {
    "f": AttributeProto.FLOAT, "i": AttributeProto.INT, "s": AttributeProto.STRING, "t": AttributeProto.TENSOR,
    "g": AttributeProto.GRAPH, "tp": AttributeProto.TYPE_PROTO, "sparse_tensor": AttributeProto.SPARSE_TENSOR,
    "floats": AttributeProto.FLOATS, "ints": AttributeProto.INTS, "strings": AttributeProto.STRINGS,
    "tensors": AttributeProto.TENSORS, "graphs": AttributeProto.GRAPHS,
    "sparse_tensors": AttributeProto.SPARSE_TENSORS, "type_protos": AttributeProto.TYPE_PROTOS,
}  # fmt: skip


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value


_DECODERS: dict[int, Callable[[AttributeProto], Any]] = {
    AttributeProto.FLOAT: lambda proto: proto.f,
    AttributeProto.INT: lambda proto: proto.i,
    AttributeProto.STRING: lambda proto: _text(proto.s),
    AttributeProto.FLOATS: lambda proto: list(proto.floats),
    AttributeProto.INTS: lambda proto: list(proto.ints),
    AttributeProto.STRINGS: lambda proto: [_text(item) for item in proto.strings],
    AttributeProto.SPARSE_TENSOR: lambda proto: proto.sparse_tensor,
    AttributeProto.SPARSE_TENSORS: lambda proto: list(proto.sparse_tensors),
    AttributeProto.TYPE_PROTO: lambda proto: proto.tp,
    AttributeProto.TYPE_PROTOS: lambda proto: list(proto.type_protos),
}


def decode(proto: AttributeProto) -> Any:
    """The Python value of an attribute that holds neither tensors nor graphs.

    An attribute of a kind that is not known is its own value.
    """
    if proto.ref_attr_name:
        return AttributeRef(proto.ref_attr_name, kind(proto))
    decoder = _DECODERS.get(kind(proto))
    return proto if decoder is None else decoder(proto)


# Attributes of Constant-12 and later that are values themselves: element type, field, whether it is a list.
_CONSTANT_VALUES: dict[tuple[str, int], tuple[Any, str, bool]] = {
    ("value_float", AttributeProto.FLOAT): (np.float32, "f", False),
    ("value_floats", AttributeProto.FLOATS): (np.float32, "floats", True),
    ("value_int", AttributeProto.INT): (np.int64, "i", False),
    ("value_ints", AttributeProto.INTS): (np.int64, "ints", True),
    ("value_string", AttributeProto.STRING): (np.object_, "s", False),
    ("value_strings", AttributeProto.STRINGS): (np.object_, "strings", True),
}


def constant_data(proto: AttributeProto) -> AttributeData | None:
    """The value that an attribute of a Constant node is itself (Constant-13), None where it is a tensor or no value."""
    made = _CONSTANT_VALUES.get((proto.name, kind(proto)))
    if made is None:
        return None
    element_type, field, is_list = made
    values = list(getattr(proto, field)) if is_list else getattr(proto, field)
    return AttributeData(np.array(values, element_type))


def is_unchanged(proto: AttributeProto, value: Any) -> bool:
    """Whether a Python value is still what the file said."""
    if kind(proto) in NESTED_KINDS and not proto.ref_attr_name:
        return isinstance(value, list) and not value and not proto.tensors and not proto.graphs
    original = decode(proto)
    if type(value) is not type(original):
        return False
    if isinstance(value, list):
        return len(value) == len(original) and all(map(_is_equal, value, original))
    return _is_equal(value, original)


def _is_equal(value: Any, original: Any) -> bool:
    """Equality under which a NaN equals itself."""
    return bool(value == original) or (isinstance(value, float) and value != value and original != original)


def encode(name: str, value: Any) -> AttributeProto:
    """An attribute of a Python value that holds no graph. Raises `ModelError` for a value of another kind."""
    if isinstance(value, AttributeProto):
        return value
    if isinstance(value, AttributeRef):
        return AttributeProto(name=name, ref_attr_name=value.name, type=_reference_kind(value.type))
    if isinstance(value, gs.Constant):
        data = value.values if isinstance(value.values, TensorData) else ArrayData(value.values)
        return AttributeProto(
            name=name, type=AttributeProto.TENSOR, t=tensor_proto(data.array(), data.dtype, value.name)
        )
    if isinstance(value, type) or hasattr(value, "newbyteorder"):
        dtype = dtypes.from_numpy(np.dtype(value))
        value = dtype.onnx if dtype is not None else value
    try:
        return onnx.helper.make_attribute(name, value)
    except (TypeError, ValueError) as error:
        raise ModelError(f"attribute {name!r} has a value that ONNX cannot hold: {error}") from None


def _reference_kind(value: Any) -> Any:
    if isinstance(value, int):
        return value
    return int(convert_to_onnx_attr_type(value) or AttributeProto.UNDEFINED)


def is_nested(value: Any) -> bool:
    """Whether a Python value holds tensors or graphs."""
    if isinstance(value, list):
        return any(isinstance(item, (Constant, Graph)) for item in value)
    return isinstance(value, (Constant, Graph))
