"""OpenVINO IR to ONNX: what rows see of an OpenVINO operation, and how they add ONNX nodes.

Types are derived step by step with onnx's own inference of the nodes that are made, since the dimensions that an IR
lists at its ports are no more than a copy of what somebody derived once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx import numpy_helper

from maxfold.model.attributes import encode
from maxfold.model.data import Array
from maxfold.model.dtypes import DType, from_onnx
from maxfold.model.graph import Constant, Node, Tensor, new_variable
from maxfold.model.onnx_inference import infer_outputs
from maxfold.model.openvino import text
from maxfold.model.openvino.operations import OPERATIONS, operation
from maxfold.passes.conversion.check import one_line
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.known import values_of
from maxfold.passes.conversion.sites.site import Shape, Site, Target
from maxfold.passes.conversion.versions import opset_hint

# Values up to this size take part in shape inference.
_SMALL_BYTES = 4096


class OnnxTarget(Target):
    """An ONNX graph under construction, with the derived types of its tensors."""

    def __init__(self, name: str, opset: int) -> None:
        super().__init__(name)
        self.opset = opset
        self.imports = [onnx.helper.make_opsetid("", opset)]
        self.types: dict[Tensor, onnx.TypeProto] = {}
        # What onnx says of nodes whose types do not belong together.
        self.rejected: dict[Node, str] = {}
        self.known: dict[Tensor, Array] = {}

    def type_of(self, tensor: Tensor) -> onnx.TypeProto | None:
        """The derived type of a target tensor, None where unknown."""
        if isinstance(tensor, Constant):
            assert tensor.data.dtype is not None
            return onnx.helper.make_tensor_type_proto(tensor.data.dtype.onnx or 0, tensor.data.shape)
        return self.types.get(tensor)

    def info_of(self, tensor: Tensor) -> onnx.ValueInfoProto | None:
        """The declaration of a target tensor, None where its type is not known."""
        found = self.type_of(tensor)
        return None if found is None else onnx.ValueInfoProto(name=tensor.name, type=found)

    def value_of(self, tensor: Tensor) -> Array | None:
        """The value of a small constant, or of integers that follow from known shapes; None where unknown."""
        if isinstance(tensor, Constant):
            return tensor.values if tensor.data.nbytes <= _SMALL_BYTES else None
        return self.known.get(tensor)

    def infer(self, node: Node) -> None:
        """Derives the types of a node's outputs, and their values where these follow from known shapes."""
        values = [self.value_of(tensor) for tensor in node.inputs]
        known = values_of(node, values, [self.type_of(tensor) for tensor in node.inputs])
        self.known.update(zip(node.outputs, known, strict=False))
        proto = onnx.NodeProto(op_type=node.op)
        proto.input.extend(tensor.name for tensor in node.inputs)
        proto.output.extend(tensor.name for tensor in node.outputs)
        proto.attribute.extend(encode(name, value) for name, value in node.attrs.items())
        types, data = {}, {}
        for tensor in node.inputs:
            known_type = self.type_of(tensor) if tensor.name else None
            if known_type is not None:
                types[tensor.name] = known_type
            if isinstance(tensor, Constant) and tensor.data.nbytes <= _SMALL_BYTES:
                data[tensor.name] = numpy_helper.from_array(tensor.values, tensor.name)
            elif tensor in self.known:
                data[tensor.name] = numpy_helper.from_array(self.known[tensor], tensor.name)
        try:
            schema = onnx.defs.get_schema(node.op, self.opset)
        except onnx.defs.SchemaError:
            return
        try:
            derived = infer_outputs(schema, proto, types, data, self.imports)
        except onnx.checker.ValidationError as error:
            self.rejected[node] = str(error)
            return
        except onnx.shape_inference.InferenceError as error:
            self.rejected[node] = one_line(error)
            derived = {}
        except (RuntimeError, ValueError, KeyError):
            derived = {}
        derived = {**_element_types(schema, node, types), **derived}
        self.types.update((tensor, derived[tensor.name]) for tensor in node.outputs if tensor.name in derived)

    def check(self, node: Node) -> None:
        """Raises `UnsupportedError` where the operator set does not have a node's operator, or not for its types."""
        reason = self._why_not(node, self.opset)
        if reason is not None:
            raise UnsupportedError(reason + opset_hint(lambda opset: self._why_not(node, opset), self.opset))
        if node in self.rejected:
            raise UnsupportedError(f"{node.op} of operator set {self.opset} cannot be written: {self.rejected[node]}")

    def _why_not(self, node: Node, opset: int) -> str | None:
        try:
            schema = onnx.defs.get_schema(node.op, opset)
        except onnx.defs.SchemaError:
            return f"{node.op} does not exist in operator set {opset}"
        for tensors, formals in ((node.inputs, schema.inputs), (node.outputs, schema.outputs)):
            for index, tensor in enumerate(tensors):
                # The last formal parameter stands for all that follow where it is variadic.
                formal = formals[min(index, len(formals) - 1)]
                found = self.type_of(tensor) if tensor.name else None
                if found is None or not found.tensor_type.elem_type:
                    continue
                name = onnx.TensorProto.DataType.Name(found.tensor_type.elem_type).lower()
                if f"tensor({name})" not in formal.types:
                    return f"{node.op} of operator set {opset} has no {name}"
        return None


def _element_types(
    schema: onnx.defs.OpSchema, node: Node, types: Mapping[str, onnx.TypeProto]
) -> dict[str, onnx.TypeProto]:
    """The types without shapes of those outputs that are of an input's type by the operator's schema.

    onnx infers nothing where one input is unknown, and refuses Resize to a number of sizes that it does not know.
    """
    known: dict[str, int] = {}
    for formal, tensor in zip(schema.inputs, node.inputs, strict=False):
        if tensor.name in types:
            known.setdefault(formal.type_str, types[tensor.name].tensor_type.elem_type)
    return {
        tensor.name: onnx.helper.make_tensor_type_proto(known[formal.type_str], None)
        for formal, tensor in zip(schema.outputs, node.outputs, strict=False)
        if known.get(formal.type_str)
    }


class OnnxSite(Site):
    """An OpenVINO operation on its way to ONNX nodes."""

    _target: OnnxTarget

    def __init__(self, node: Node, target: OnnxTarget) -> None:
        super().__init__(node, target)
        self._operation = operation(node.op, self.version)

    @property
    def opset(self) -> int:
        """The version of ONNX's operator set that is written."""
        return self._target.opset

    @property
    def version(self) -> int:
        """The number of the operator set that the operation is declared to be of."""
        return int(self.node.domain.removeprefix("openvino.opset"))

    def value(self, index: int) -> Array | None:
        """The value of a constant input, or of integers that follow from known shapes; None where unknown."""
        constant = super().value(index)
        if constant is not None or not self.has_input(index):
            return constant
        return self._target.known.get(self.input(index))

    def dtype(self, index: int) -> DType | None:
        found = self._target.type_of(self.input(index))
        return None if found is None else from_onnx(found.tensor_type.elem_type)

    def shape(self, index: int) -> Shape | None:
        return self.shape_of(self.input(index))

    def shape_of(self, tensor: Tensor) -> Shape | None:
        """The derived shape of a tensor of the target."""
        found = self._target.type_of(tensor)
        if found is None or not found.tensor_type.HasField("shape"):
            return None
        return tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in found.tensor_type.shape.dim)

    def text(self, name: str) -> str:
        """An attribute as text, its reader's default where the file does not have it."""
        self._seen.add(name)
        value = self.node.attrs.get(name, self._default(name))
        if value is None:
            raise UnsupportedError(f"its attribute {name!r} is missing")
        try:
            return text.spell(value)
        except TypeError as error:
            raise UnsupportedError(f"its attribute {name!r} is no text: {error}") from None

    def flag(self, name: str) -> bool:
        """A boolean attribute; a value that is none counts as the default."""
        return text.boolean(self.text(name), text.boolean(self._default(name) or "", default=False))

    def _default(self, name: str) -> str | None:
        """What OpenVINO takes where an attribute is missing; a version that does not have it does what the default of a
        later one says."""
        versions = (self._operation, OPERATIONS[self.node.op][-1])
        known = next(version.attributes[name] for version in versions if version and name in version.attributes)
        return known.default

    def _is_default(self, name: str) -> bool:
        assert self._operation is not None
        known = self._operation.attributes[name]
        return not known.is_read or known.is_default(self.node.attrs[name])

    def integer(self, name: str) -> int:
        """An integer attribute."""
        return text.integer(self.text(name), f"attribute {name!r}")

    def integers(self, name: str) -> list[int]:
        """A list of integers."""
        return text.integers(self.text(name), f"attribute {name!r}")

    def floating(self, name: str) -> float:
        """A number."""
        try:
            return float(self.text(name))
        except ValueError:
            raise UnsupportedError(f"its attribute {name!r} is no number") from None

    def add(self, op: str, inputs: list[Tensor], attributes: dict[str, Any] | None = None, *, outputs: int = 1) -> Any:
        """Adds an ONNX node; returns its output, or a list where `outputs` is not 1."""
        node = self._new_node(op, "", inputs, dict(attributes or {}), outputs)
        self._target.infer(node)
        return node.outputs[0] if outputs == 1 else list(node.outputs)

    def declare(self, tensor: Tensor, like: Tensor, shape: Sequence[int | None]) -> None:
        """Gives a tensor of the target, made just now, a shape that onnx's inference does not derive, and the element
        type of another tensor. A shape that was derived stays."""
        known = self._target.type_of(like)
        if known is not None and self.shape_of(tensor) is None:
            self._target.types[tensor] = onnx.helper.make_tensor_type_proto(known.tensor_type.elem_type, shape)

    def omitted(self) -> Tensor:
        """An optional input that is left out."""
        return new_variable("", self._target.graph)

    def _bind(self, output: Tensor, tensor: Tensor) -> None:
        self._target.tensors[output] = tensor
        producer = tensor.inputs[0] if tensor.inputs else None
        if producer is None or tensor.__dict__.get("is_named"):
            return
        tensor.name = self._target.fresh(output.name)
        tensor.__dict__["is_named"] = True
        if producer.outputs[0] is tensor and self.node.name:
            producer.name = self._target.fresh(self.node.name)
