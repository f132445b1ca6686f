"""onnx's own inference, for one node at a time: for operators that have no shape function here."""

from __future__ import annotations

import re

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, TypeProto

from maxfold.model import attributes, dtypes
from maxfold.model.data import tensor_proto
from maxfold.model.graph import Constant
from maxfold.model.inference.call import Call
from maxfold.model.inference.facts import Fact, Unknown
from maxfold.model.inference.symbolic import Dim
from maxfold.model.onnx_inference import infer_outputs

_SMALL_BYTES = 1024
# onnx's inference needs the fields of this and later versions of the file format.
_LABELS = re.compile(r"\[\w+Error\]")


def infer(call: Call, domain: str) -> list[Fact]:
    """What onnx derives of a node's results; symbolic dims pass through it as names.

    Where a dim is symbolic, numbers are not believed: onnx computes with 0 for a dim that it does not know.

    Raises `Unknown` where the operator is unknown, has subgraphs, or where onnx refuses the node.
    """
    names = _Names()
    node = _node_proto(call, domain)
    try:
        found = _outputs(call, domain, node, names)
    except Exception:  # onnx raises its own and pybind11's kinds, whatever is wrong with the node
        raise Unknown from None
    return [_fact(found.get(name), names) for name in node.output]


def refusal(call: Call, domain: str) -> str | None:
    """Why onnx, and with it a runtime that loads the model, refuses a node of which so much is known; None where not.

    Nothing is said of operators that onnx does not know, and of what is inside a node.
    """
    try:
        node = _node_proto(call, domain)
        _outputs(call, domain, node, _Names(), assumed=TensorProto.FLOAT)
    except Unknown:
        return None
    except onnx.shape_inference.InferenceError as error:
        return _LABELS.sub("", str(error)).strip() or "it is refused"
    except Exception:  # a type that the operator does not take, which no runtime would have loaded
        return None
    return None


def without_shapes(proto: TypeProto) -> TypeProto:
    """A type without the shapes in it, however deep."""
    copy = TypeProto()
    copy.CopyFrom(proto)
    inner = copy
    while True:
        kind = inner.WhichOneof("value")
        if kind in ("tensor_type", "sparse_tensor_type"):
            getattr(inner, kind).ClearField("shape")
        if kind == "map_type":
            inner = inner.map_type.value_type
        elif kind in ("sequence_type", "optional_type"):
            inner = getattr(inner, kind).elem_type
        else:
            return copy


def _outputs(
    call: Call, domain: str, node: onnx.NodeProto, names: _Names, assumed: int | None = None
) -> dict[str, TypeProto]:
    """What onnx derives of a node's results, by name; `assumed` stands for an element type that is not known.

    Raises `Unknown` and onnx's own errors.
    """
    if domain not in onnx.defs.C.schema_version_map():
        # Asked for a schema, onnx would make those of all operators before it says that it has none.
        raise Unknown
    try:
        schema = onnx.defs.get_schema(call.node.op, call.version, domain)
    except (onnx.defs.SchemaError, TypeError, UnicodeEncodeError):
        raise Unknown from None
    types: dict[str, TypeProto] = {}
    data: dict[str, TensorProto] = {}
    for index, name in enumerate(node.input):
        if name:
            types[name] = _type_proto(call.fact(index), names, assumed)
            value = _data(call, index)
            if value is not None:
                data[name] = value
    return infer_outputs(schema, node, types, data, [onnx.helper.make_opsetid(domain, call.version)])


class _Names:
    """Symbolic dims under names that onnx carries through."""

    def __init__(self) -> None:
        self._names: dict[Dim, str] = {}
        self._dims: dict[str, Dim] = {}
        self.has_unknown_rank = False

    def name(self, dim: Dim) -> str:
        name = self._names.setdefault(dim, f"d{len(self._names)}")
        self._dims[name] = dim
        return name

    def dim(self, proto: onnx.TensorShapeProto.Dimension) -> Dim | None:
        if proto.HasField("dim_value"):
            return proto.dim_value if self._are_numbers_right and proto.dim_value >= 0 else None
        return self._dims.get(proto.dim_param)

    @property
    def _are_numbers_right(self) -> bool:
        return not self._dims and not self.has_unknown_rank


def _node_proto(call: Call, domain: str) -> onnx.NodeProto:
    """The node with names of its own for inputs and outputs; a tensor that is read twice has one name."""
    node = call.node
    numbers = {tensor: f"i{number}" for number, tensor in enumerate(dict.fromkeys(node.inputs))}
    proto = onnx.NodeProto(op_type=node.op, domain=domain)
    proto.input.extend(numbers[tensor] if tensor.name else "" for tensor in node.inputs)
    proto.output.extend(f"o{number}" if tensor.name else "" for number, tensor in enumerate(node.outputs))
    for name, value in node.attrs.items():
        if attributes.is_nested(value) and not isinstance(value, Constant):
            raise Unknown
        if isinstance(value, attributes.AttributeRef):
            raise Unknown
        if isinstance(value, Constant):
            proto.attribute.append(_tensor_attribute(name, value))
        else:
            proto.attribute.append(attributes.encode(name, value))
    return proto


def _tensor_attribute(name: str, constant: Constant) -> AttributeProto:
    """A small tensor with its value, a large one without."""
    if constant.data.nbytes <= _SMALL_BYTES:
        return attributes.encode(name, constant)
    dtype = constant.data.dtype
    if dtype is None or dtype.onnx is None:
        raise Unknown
    shell = TensorProto(data_type=dtype.onnx, dims=constant.data.shape)
    return AttributeProto(name=name, type=AttributeProto.TENSOR, t=shell)


def _type_proto(fact: Fact, names: _Names, assumed: int | None = None) -> TypeProto:
    if fact.proto is not None:
        return fact.proto
    element_type = assumed if fact.dtype is None else fact.dtype.onnx
    if element_type is None:
        raise Unknown
    proto = TypeProto()
    proto.tensor_type.elem_type = element_type
    if fact.dims is None:
        names.has_unknown_rank = True
        return proto
    proto.tensor_type.shape.SetInParent()
    for dim in fact.dims:
        entry = proto.tensor_type.shape.dim.add()
        if isinstance(dim, int):
            entry.dim_value = dim
        elif dim is not None:
            entry.dim_param = names.name(dim)
    return proto


def _data(call: Call, index: int) -> TensorProto | None:
    value, dtype = call.value(index), call.dtype(index)
    if value is None or not value.is_known or dtype is None or dtype.kind not in ("int", "uint", "bool", "float"):
        return None
    return tensor_proto(value.array().astype(np.dtype(dtype.numpy)), dtype)


def _fact(proto: TypeProto | None, names: _Names) -> Fact:
    if proto is None or proto.WhichOneof("value") is None:
        return Fact()
    if proto.WhichOneof("value") != "tensor_type":
        return Fact(proto=without_shapes(proto))
    tensor = proto.tensor_type
    dtype = dtypes.from_onnx(tensor.elem_type)
    if not tensor.HasField("shape"):
        return Fact(dtype)
    return Fact(dtype, tuple(names.dim(dim) for dim in tensor.shape.dim))
