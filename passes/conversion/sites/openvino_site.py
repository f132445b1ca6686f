"""ONNX to OpenVINO IR: what rows see of an ONNX node, and how they add OpenVINO's operations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import onnx_graphsurgeon as gs

from maxfold.model.dtypes import DType
from maxfold.model.graph import Constant, Graph, Node, Tensor, Variable, new_variable
from maxfold.model.names import is_made, take_back, wish_like
from maxfold.model.openvino.ir import Layer, Parameter, Port, Result
from maxfold.model.openvino.operations import BODY_TYPES
from maxfold.model.openvino.reader import join_names, split_names
from maxfold.model.openvino.text import precision, spell
from maxfold.model.view import View, domain_of
from maxfold.passes.conversion.check import check_name
from maxfold.passes.conversion.defaults import default_of, is_default
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.sites.openvino_body import Body, known_type
from maxfold.passes.conversion.sites.site import Shape, Site, Target, Walk
from maxfold.passes.conversion.sites.undone import undone


class OpenvinoTarget(Target):
    """An IR graph under construction. A body reads nothing around it but through its own inputs."""

    def __init__(
        self, name: str, view: View, outer: OpenvinoTarget | None = None, *, nameless: Collection[Tensor] = ()
    ) -> None:
        super().__init__(name, outer)
        self.view = view
        # Tensors of the source whose names are none of the file's.
        self.nameless: Collection[Tensor] = nameless if outer is None else outer.nameless
        # What the inputs of a body stand for, but for those that it has of its own, which come first.
        self.captured: list[Tensor] = []
        # Names that are to be listed at ports: many may be those of one tensor.
        self._named: dict[Tensor, list[str]] = {}

    def name(self, tensor: Tensor, name: str) -> None:
        """Gives a tensor one more name."""
        self._named.setdefault(tensor, []).append(escape_name(name))

    def list_names(self) -> None:
        """Lists the names of all tensors at their ports, when all are made."""
        for tensor, names in self._named.items():
            port = tensor.__dict__["port"]
            port.names = join_names([*map(escape_name, split_names(port.names or "")), *names])
        self._named.clear()

    def parameter(self, name: str, dtype: DType, shape: Sequence[object] | None) -> Variable:
        """A new input. `shape` is None for an unknown rank; what is no size in it stands for an unknown one."""
        made = new_variable(self.fresh(name), self.graph)
        made.dtype, made.shape = dtype.numpy, shape
        dims = ["-1" if size is None else str(size) for size in map(_size, shape or ())]
        made.__dict__["port"] = Port(precision(dtype), dims, None if self.outer else escape_name(name))
        written = "..." if shape is None else ",".join(dims).replace("-1", "?")
        data = {"shape": written, "element_type": str(dtype.openvino)}
        made.__dict__["parameter"] = Parameter(Layer(name, "Parameter", "opset1"), data, -1)
        self.graph.inputs.append(made)
        return made

    def result(self, tensor: Tensor, name: str, attributes: dict[str, str]) -> None:
        """A new output."""
        layer = Layer(self.fresh(f"{name}/sink_port_0"), "Result", "opset1", attributes)
        self.graph.outputs.append(tensor)
        self.graph.results.append(Result(layer, None, -1))

    def _captured(self, source: Tensor, outer: Target) -> Tensor:
        made = outer.holder_of(source).tensors[source]
        if isinstance(made, Constant):
            return self.constant(made.data, made.name)
        self.captured.append(outer.made_of(source))
        return self.parameter_of(source)

    def parameter_of(self, source: Tensor) -> Variable:
        """A new input of the type that is derived of a tensor of the source."""
        return self.parameter(source.name, known_type(self.view.dtype(source), source.name), self.view.shape(source))

    def inner(self, name: str) -> OpenvinoTarget:
        """A new body in this graph."""
        return OpenvinoTarget(name, self.view, self)


def _size(dim: object) -> int | None:
    return dim if isinstance(dim, int) and dim >= 0 else None


class OpenvinoSite(Site):
    """An ONNX node on its way to OpenVINO operations."""

    _target: OpenvinoTarget

    def __init__(self, node: Node, target: OpenvinoTarget, walk: Walk, view: View) -> None:
        super().__init__(node, target, walk)
        self._view = view

    def dtype(self, index: int) -> DType | None:
        return self._view.dtype(self.node.inputs[index]) if self.has_input(index) else None

    def shape(self, index: int) -> Shape | None:
        return self._view.shape(self.node.inputs[index]) if self.has_input(index) else None

    def output_shape(self, index: int = 0) -> Shape | None:
        """The derived shape of an output."""
        return self._view.shape(self.node.outputs[index])

    def maker_of(self, index: int, operator: str) -> OpenvinoSite | None:
        """A site of the node of this graph that makes an input, if it is of that operator."""
        maker = self._view.producer(self.node.inputs[index])
        if maker is None or maker.scope is not self.node.scope or not self._view.is_operator(maker, operator):
            return None
        assert isinstance(self._target, OpenvinoTarget)
        return OpenvinoSite(maker, self._target, self._walk, self._view)

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute as a Python value, its operator's default where neither the node nor the caller has one. Raises
        `UnsupportedError` where it refers to a function's attribute."""
        self._seen.add(name)
        value = self.node.attrs.get(name, default)
        if value is None and not domain_of(self.node):
            return default_of(self.node.op, self._opset, name)
        if isinstance(value, gs.Node.AttributeRef):
            raise UnsupportedError(f"its attribute {name!r} refers to an attribute of a function")
        return value

    def _is_default(self, name: str) -> bool:
        # No schema says what operators of other domains take where an attribute is missing: their rows ask for all.
        return not domain_of(self.node) and is_default(self.node.op, self._opset, name, self.node.attrs[name])

    @property
    def _opset(self) -> int:
        return self._view.opset(self.node) or 1

    def body(self, graph: Graph) -> Body:
        """A graph of one of the node's attributes, of which nothing is converted yet."""
        target = OpenvinoTarget(graph.name or "body", self._view, self._target)
        return Body(graph, target, OpenvinoSite(self.node, target, self._walk, self._view), self._walk)

    def inner(self, name: str) -> OpenvinoSite:
        """A site in the body of an operation that the row is about to make, all of it the row's own."""
        return OpenvinoSite(self.node, OpenvinoTarget(name, self._view, self._target), self._walk, self._view)

    def parameter(self, name: str, dtype: DType, shape: Shape) -> Tensor:
        """A new input of a body."""
        assert isinstance(self._target, OpenvinoTarget)
        return self._target.parameter(name, dtype, shape)

    def leave(self, tensor: Tensor) -> None:
        """Makes a tensor of a body a result of it."""
        assert isinstance(self._target, OpenvinoTarget)
        self._target.result(tensor, tensor.name, {})

    @property
    def graph(self) -> Graph:
        """The graph that operations are added to."""
        return self._target.graph

    def add(
        self, op: str, inputs: list[Tensor], data: dict[str, Any] | None = None, *, opset: int = 1, outputs: int = 1
    ) -> Any:
        """Adds an OpenVINO operation of the operator set that introduced its version; returns its output, or a list
        where `outputs` is not 1. Values in `data` may be text, numbers, flags and lists of integers, and the bodies
        and maps of operations that have them."""
        given_back = undone(self.node, op, inputs, data or {}) if outputs == 1 else None
        if given_back is not None:
            return given_back
        bodies = BODY_TYPES.get(op, ())
        attributes = {key: value if key in bodies else spell(value) for key, value in (data or {}).items()}
        node = self._new_node(op, f"openvino.opset{opset}", inputs, attributes, outputs)
        return node.outputs[0] if outputs == 1 else list(node.outputs)

    def _bind(self, output: Tensor, tensor: Tensor) -> None:
        """Gives the tensor the names of the output; one that another has already named gets them too.

        A graph output that is another name of an input or of another output stays a tensor of its own: OpenVINO, once
        it has compiled a model, knows only one of the names that a tensor has as results.
        """
        is_output = self._target.outer is None and self._view.is_graph_output(output)
        if is_output and tensor in self._target.shown:
            tensor = self._copy(tensor, self._view.dtype(output))
        self._target.tensors[output] = tensor
        if not output.name:
            return
        if is_output:
            self._target.shown.add(tensor)
            tensor.__dict__["shown_name"] = output.name
        port = tensor.__dict__.setdefault("port", _port(tensor))
        # What comes into a body has the name that it had outside.
        is_known = output not in self._target.nameless and (self._target.outer is None or bool(tensor.inputs))
        if is_known:
            self._target.name(tensor, output.name)
        dtype, shape = self._view.dtype(output), self._view.shape(output)
        if dtype is not None and not isinstance(tensor, Constant):
            port.precision = precision(dtype)
            port.dims = ["-1" if dim is None else str(dim) for dim in shape or ()]
        producer = tensor.inputs[0] if tensor.inputs else None
        if producer is not None and producer.outputs[0] is tensor and not producer.__dict__.get("is_named"):
            producer.name = self.node.name or output.name
            take_back(producer)
            if is_made(self.node):
                wish_like(producer, self.node, self.node.name)
            producer.__dict__["is_named"] = is_known

    def _copy(self, tensor: Tensor, dtype: DType | None) -> Tensor:
        """An operation that gives what it reads. OpenVINO's own Identity is of operator set 16, which only recent
        releases read; to the type that a tensor has, its Convert does as well. Strings have no Convert, and with the
        Identity of OpenVINO 2026.4.1 they end the process."""
        if dtype is not None and dtype.kind == "string":
            axis = self.constant([0], "int64")
            # Added here, where no step is left out that another undoes.
            apart = self._new_node("Unsqueeze", "openvino.opset1", [tensor, axis], {}, 1).outputs[0]
            copied: Tensor = self._new_node("Squeeze", "openvino.opset1", [apart, axis], {}, 1).outputs[0]
        elif dtype is None or dtype.openvino is None or dtype.is_packed:
            copied = self.add("Identity", [tensor], opset=16)
        else:
            copied = self.add("Convert", [tensor], {"destination_type": dtype.openvino})
        return copied


def escape_name(name: str) -> str:
    """A tensor name as a port lists it. Raises `UnsupportedError` for one that OpenVINO cannot read back."""
    if "\\" in name:
        raise UnsupportedError(f"the name {name!r} has a backslash, which IR cannot hold")
    check_name(name)
    return name.replace(",", "\\,")


def _port(tensor: Tensor) -> Port:
    dtype = tensor.data.dtype if isinstance(tensor, Constant) else None
    return Port(precision(dtype), [])
