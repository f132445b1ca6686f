"""OpenVINO IR to ONNX: what rows see of an OpenVINO operation, and how they add ONNX nodes.

Types, shapes and small values are derived of the ONNX nodes that are made, since the dimensions that an IR lists at its
ports are no more than a copy of what somebody derived once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import onnx

from maxfold.model.data import Array
from maxfold.model.dtypes import DTYPES, DType
from maxfold.model.graph import Constant, Graph, Node, Tensor, new_variable
from maxfold.model.inference import Dim, Fact
from maxfold.model.model import Model
from maxfold.model.names import wish
from maxfold.model.openvino import text
from maxfold.model.openvino.operations import OPERATIONS, operation
from maxfold.model.types import value_info
from maxfold.model.view import View
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.sites.onnx_body import OnnxBody
from maxfold.passes.conversion.sites.site import Shape, Site, Target, Walk
from maxfold.passes.conversion.sites.undone import undone
from maxfold.passes.conversion.sites.widening import WIDER, kind_of, parameters, wider_types
from maxfold.passes.conversion.versions import lacking
from maxfold.passes.signature_table import signature

_REMEMBERED = "states from one run to the next, which are inputs and outputs instead"
# Parameters in half precision are read as numbers up to this size.
_MOST_WIDENED = 256
_HALVES = ("FLOAT16", "BFLOAT16")
_FLOAT = next(dtype for dtype in DTYPES if dtype.name == "FLOAT")


class OnnxTarget(Target):
    """An ONNX graph under construction, of which types are derived. Its inputs come first."""

    def __init__(
        self,
        name: str,
        opset: int,
        outer: OnnxTarget | None = None,
        *,
        widens_half: bool = False,
        composes_steps: bool = False,
    ) -> None:
        super().__init__(name, outer)
        self.opset = opset
        # Whether what the source has in half precision is in single, as where it only stores numbers in it.
        self.widens_half: bool = widens_half if outer is None else outer.widens_half
        # Whether steps of FakeQuantize are computed as OpenVINO's CPU does, not by operators of integers.
        self.composes_steps: bool = composes_steps if outer is None else outer.composes_steps
        self._remembered: dict[str, Tensor] = {}
        self.imports = [onnx.helper.make_opsetid("", opset)]
        self._around = outer
        self.graph.proto = onnx.GraphProto(name=name)

    def type_of(self, dtype: DType) -> DType:
        """The element type that a tensor of the source has here."""
        return _FLOAT if self.widens_half and dtype.name == "FLOAT16" else dtype

    @cached_property
    def view(self) -> View:
        """What is derived of the graph and its bodies, first asked for when all inputs are there."""
        if self._around is not None:
            return self._around.view
        proto = onnx.ModelProto(ir_version=onnx.helper.find_min_ir_version_for(self.imports))
        proto.opset_import.extend(self.imports)
        return View(Model(graph=self.graph, proto=proto), believes_zero=True)

    @cached_property
    def _symbols(self) -> dict[Dim, str]:
        """The names that inputs declare for their dimensions."""
        return {
            dim: declared
            for tensor in self.graph.inputs
            for dim, declared in zip(self.view.dims(tensor) or (), tensor.shape or (), strict=False)
            if isinstance(declared, str)
        }

    def _captured(self, source: Tensor, outer: Target) -> Tensor:
        """Bodies read what is around them."""
        return outer.made_of(source)

    def parameter(self, name: str, dtype: DType, shape: Shape | None) -> Tensor:
        """A new input of a body, of a shape that somebody knows."""
        if dtype.onnx is None:
            raise UnsupportedError(f"the element type {dtype} of an input of its body does not exist in ONNX")
        made = new_variable(self.fresh(name), self.graph)
        made.dtype, made.shape = dtype.numpy, shape
        self.graph.input_info[made.name] = value_info(made.name, dtype.onnx, shape)
        self.graph.inputs.append(made)
        self.view.suppose({made: Fact(dtype, shape)})
        return made

    @property
    def remembered(self) -> dict[str, Tensor]:
        return self._remembered

    def add_state(self, name: str, dtype: DType, shape: Shape) -> Tensor:
        """A new input of the model for what it remembers."""
        made = self.parameter(name, self.type_of(dtype), shape)
        self.lose(_REMEMBERED, made.name)
        return made

    def add_output(self, tensor: Tensor) -> None:
        """An output of a body: made in it, and listed once."""
        if tensor.scope is not self.graph or not tensor.inputs or tensor in self.graph.outputs:
            tensor = self.made_node("Identity", "", [tensor], {}, tensor.name, 1).outputs[0]
        self.graph.outputs.append(tensor)
        self.graph.output_info.append(self.info_of(tensor) or onnx.ValueInfoProto(name=tensor.name))

    def dims(self, tensor: Tensor) -> list[int | str | None] | None:
        """The derived shape of a target tensor, with the inputs' names for dimensions; None where unknown."""
        dims = self.view.dims(tensor)
        if dims is None:
            return None
        return [dim if isinstance(dim, int) else self._symbols.get(dim) for dim in dims]

    def info_of(self, tensor: Tensor) -> onnx.ValueInfoProto | None:
        """The declaration of a target tensor, None where its type is not known."""
        dtype = self.view.dtype(tensor)
        return None if dtype is None else value_info(tensor.name, dtype.onnx, self.dims(tensor))

    def value(self, tensor: Tensor) -> Array | None:
        """A constant's value, or integers that follow from known shapes; None where unknown."""
        if isinstance(tensor, Constant):
            return tensor.values
        value, dtype = self.view.value(tensor), self.view.dtype(tensor)
        if value is None or dtype is None:
            return _widened(tensor)
        return value.array().astype(dtype.numpy) if value.is_known else None

    def check(self, node: Node) -> None:
        """Raises `UnsupportedError` where the operator set does not have a node's operator, or not for its types."""
        reason = self._why_not(node, self.opset)
        if reason is not None:
            raise lacking(reason, lambda opset: self._why_not(node, opset), self.opset)
        reason = self._why_misfit(node) or self.view.refusal(node)
        if reason is not None:
            raise UnsupportedError(f"{node.op} of operator set {self.opset} cannot be written: {reason}")

    def _why_misfit(self, node: Node) -> str | None:
        """Why the operands of a node are not those of one, by their number and by types that have to agree."""
        found = signature(node.op, "", self.opset)
        given = [bool(tensor.name) for tensor in node.inputs]
        return None if found is None else found.why_not_inputs(given, self._dtypes(node.inputs))

    def _dtypes(self, tensors: list[Tensor]) -> list[DType | None]:
        """The derived element types of a node's operands or results, None for unknown ones and those left out."""
        return [self.view.dtype(tensor) if tensor.name else None for tensor in tensors]

    def _why_not(self, node: Node, opset: int) -> str | None:
        found = signature(node.op, "", opset)
        if found is None:
            return f"{node.op} does not exist in operator set {opset}"
        dtypes = self._dtypes(node.inputs)
        for index, dtype in enumerate(dtypes):
            # The last formal parameter stands for all that follow where it is variadic.
            if dtype is not None and f"tensor({dtype})" not in found.inputs[min(index, len(found.inputs) - 1)].types:
                return f"{node.op} of operator set {opset} has no {dtype}"
        results = self._dtypes(node.outputs)
        # What an operand may be, a result may.
        if all(dtype is None or dtype in dtypes for dtype in results):
            return None
        formals = onnx.defs.get_schema(node.op, opset).outputs
        for index, dtype in enumerate(results):
            if dtype is not None and f"tensor({dtype})" not in formals[min(index, len(formals) - 1)].types:
                return f"{node.op} of operator set {opset} has no {dtype}"
        return None


def _widened(tensor: Tensor) -> Array | None:
    """A small parameter that the file has in half precision, as IR compresses all floats."""
    producer = tensor.inputs[0] if tensor.inputs else None
    if producer is None or producer.op != "Cast" or producer.attrs.get("to") != onnx.TensorProto.FLOAT:
        return None
    (source,) = producer.inputs
    if not isinstance(source, Constant) or source.data.dtype is None or source.data.dtype.name not in _HALVES:
        return None
    return source.values.astype(np.float32) if np.prod(source.data.shape) <= _MOST_WIDENED else None


class OnnxSite(Site):
    """An OpenVINO operation on its way to ONNX nodes."""

    _target: OnnxTarget

    def __init__(self, node: Node, target: OnnxTarget, walk: Walk) -> None:
        super().__init__(node, target, walk)
        self._operation = operation(node.op, self.version)
        # The bodies of the source that become bodies here.
        self.bodies: list[tuple[Graph, OnnxTarget]] = []

    @property
    def opset(self) -> int:
        """The version of ONNX's operator set that is written."""
        return self._target.opset

    @property
    def composes_steps(self) -> bool:
        """Whether steps of FakeQuantize are computed as OpenVINO's CPU does, not by operators of integers."""
        return self._target.composes_steps

    def type_of(self, dtype: DType) -> DType:
        """The element type that a tensor of the source has in the target."""
        return self._target.type_of(dtype)

    @property
    def version(self) -> int:
        """The number of the operator set that the operation is declared to be of."""
        return int(self.node.domain.removeprefix("openvino.opset"))

    def value(self, index: int) -> Array | None:
        """The value of a constant input, or of integers that follow from known shapes; None where unknown."""
        return self._target.value(self.input(index)) if self.has_input(index) else None

    def dtype(self, index: int) -> DType | None:
        return self._target.view.dtype(self.input(index))

    def shape(self, index: int) -> Shape | None:
        return self.shape_of(self.input(index))

    def dtype_of(self, tensor: Tensor) -> DType | None:
        """The derived element type of a tensor of the target."""
        return self._target.view.dtype(tensor)

    def shape_of(self, tensor: Tensor) -> Shape | None:
        """The derived shape of a tensor of the target."""
        return self._target.view.shape(tensor)

    def is_size_of(self, index: int, other: int, axis: int) -> bool:
        """Whether all elements of an input are known to be the size of an axis of another input."""
        view, tensor = self._target.view, self.input(index)
        dims = view.dims(self.input(other))
        while dims is not None:
            value = view.value(tensor)
            if value is not None:
                return all(element == dims[axis] for element in value.elements)
            producer = tensor.inputs[0] if tensor.inputs else None
            if producer is None or producer.op not in ("Cast", "Expand"):
                return False
            tensor = producer.inputs[0]
        return False

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
        known = self._operation.attributes.get(name)
        if known is not None and (known.is_read or known.is_default(self.node.attrs[name])):
            return known.is_default(self.node.attrs[name])
        # OpenVINO's reader passes over it, so that it computes nothing.
        self._target.lose(f"the attribute {name!r} of {self.node.op}, which OpenVINO ignores", self.node.name)
        return True

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

    def floatings(self, name: str) -> list[float]:
        """A list of numbers; empty text is an empty list."""
        items = self.text(name).split(",")
        if not items[-1].strip():
            items.pop()
        try:
            return [float(item) for item in items]
        except ValueError:
            raise UnsupportedError(f"its attribute {name!r} is no list of numbers") from None

    def body(self, graph: Graph) -> OnnxBody:
        """A body of the operation, of which nothing is converted yet."""
        target = OnnxTarget(graph.name or "body", self.opset, self._target)
        self.bodies.append((graph, target))
        return OnnxBody(graph, target, OnnxSite(self.node, target, self._walk), self._walk)

    def scanned(self, name: str) -> OnnxBody:
        """A body that is all of the row's own."""
        target = OnnxTarget(name, self.opset, self._target)
        return OnnxBody(self.node.scope, target, OnnxSite(self.node, target, self._walk), self._walk)

    def add(self, op: str, inputs: list[Tensor], attributes: dict[str, Any] | None = None, *, outputs: int = 1) -> Any:
        """Adds an ONNX node; returns its output, or a list where `outputs` is not 1. Its operands are cast to a wider
        type, and its results back, where ONNX Runtime does not compute it in theirs."""
        given_back = undone(self.node, op, inputs, attributes or {}) if outputs == 1 else None
        if given_back is not None:
            return given_back
        view, kind = self._target.view, kind_of(op, attributes)
        dtypes = [view.dtype(tensor) if tensor.name else None for tensor in inputs] if kind in WIDER else []
        wider = wider_types(op, self.opset, dtypes, kind)
        if wider:
            made = self._add_wider(op, inputs, attributes, outputs, wider)
        else:
            made = list(self._new_node(op, "", inputs, dict(attributes or {}), outputs).outputs)
        return made[0] if outputs == 1 else made

    def _add_wider(
        self,
        op: str,
        inputs: list[Tensor],
        attributes: dict[str, Any] | None,
        outputs: int,
        wider: dict[str, tuple[DType, DType]],
    ) -> list[Tensor]:
        formal_inputs, formal_outputs = parameters(op, self.opset)
        operands = []
        for index, tensor in enumerate(inputs):
            types = wider.get(formal_inputs[min(index, len(formal_inputs) - 1)])
            operands.append(self._cast(tensor, types[1]) if types and tensor.name else tensor)
        made = list(self._new_node(op, "", operands, dict(attributes or {}), outputs).outputs)
        for index, tensor in enumerate(made):
            types = wider.get(formal_outputs[min(index, len(formal_outputs) - 1)])
            made[index] = self._cast(tensor, types[0]) if types else tensor
        return made

    def _cast(self, tensor: Tensor, dtype: DType) -> Tensor:
        return self._new_node("Cast", "", [tensor], {"to": dtype.onnx}, 1).outputs[0]

    def declare(self, tensor: Tensor, like: Tensor, shape: Sequence[int | None]) -> None:
        """Gives a tensor of the target, made just now, a shape that is not derived, and the element type of another
        tensor. A shape that was derived stays."""
        view = self._target.view
        if view.dims(tensor) is None:
            view.suppose({tensor: Fact(view.dtype(like), tuple(shape))})

    def state(self, name: str, dtype: DType, shape: Shape) -> Tensor:
        """A new input of the model for what it remembers from its last run. Raises `UnsupportedError` in a body."""
        if self._target.outer is not None:
            raise UnsupportedError("a state inside of a body is not covered")
        return self._target.add_state(name, dtype, shape)

    def remember(self, name: str, tensor: Tensor) -> None:
        """Makes a tensor an output of the model, to be fed to its next run. Raises `UnsupportedError` in a body."""
        if self._target.outer is not None:
            raise UnsupportedError("a state inside of a body is not covered")
        self._target.remembered[self._target.fresh(name)] = tensor

    def lose(self, what: str, name: str) -> None:
        """Notes something that does not cross."""
        self._target.lose(what, name)

    def omitted(self) -> Tensor:
        """An optional input that is left out."""
        return new_variable("", self._target.graph)

    def _bind(self, output: Tensor, tensor: Tensor) -> None:
        self._target.tensors[output] = tensor
        producer = tensor.inputs[0] if tensor.inputs else None
        if producer is None or tensor.__dict__.get("is_named"):
            return
        tensor.name = self._target.fresh(output.name)
        wish(tensor, output.name, is_made=False)
        tensor.__dict__["is_named"] = True
        if producer.outputs[0] is tensor and self.node.name:
            producer.name = self._target.fresh(self.node.name)
            wish(producer, self.node.name, is_made=False)
