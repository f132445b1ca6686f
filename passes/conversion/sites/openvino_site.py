"""ONNX to OpenVINO IR: what rows see of an ONNX node, and how they add OpenVINO's operations."""

from __future__ import annotations

from typing import Any

import onnx_graphsurgeon as gs

from maxfold.model.dtypes import DType
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.openvino.ir import Port
from maxfold.model.openvino.reader import join_names, split_names
from maxfold.model.openvino.text import precision, spell
from maxfold.model.view import View
from maxfold.passes.conversion.check import check_name
from maxfold.passes.conversion.defaults import is_default
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.sites.site import Shape, Site, Target


class OpenvinoSite(Site):
    """An ONNX node on its way to OpenVINO operations."""

    def __init__(self, node: Node, target: Target, view: View) -> None:
        super().__init__(node, target)
        self._view = view

    @property
    def opset(self) -> int:
        """The version of ONNX's operator set that the node is of."""
        return self._view.opset(self.node) or 1

    def dtype(self, index: int) -> DType | None:
        return self._view.dtype(self.node.inputs[index]) if self.has_input(index) else None

    def shape(self, index: int) -> Shape | None:
        return self._view.shape(self.node.inputs[index]) if self.has_input(index) else None

    def output_shape(self, index: int = 0) -> Shape | None:
        """The derived shape of an output."""
        return self._view.shape(self.node.outputs[index])

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute as a Python value. Raises `UnsupportedError` where it refers to a function's attribute."""
        self._seen.add(name)
        value = self.node.attrs.get(name, default)
        if isinstance(value, gs.Node.AttributeRef):
            raise UnsupportedError(f"its attribute {name!r} refers to an attribute of a function")
        return value

    def _is_default(self, name: str) -> bool:
        return is_default(self.node.op, self.opset, name, self.node.attrs[name])

    def add(
        self, op: str, inputs: list[Tensor], data: dict[str, Any] | None = None, *, opset: int = 1, outputs: int = 1
    ) -> Any:
        """Adds an OpenVINO operation of the operator set that introduced its version; returns its output, or a list
        where `outputs` is not 1. Values in `data` may be text, numbers, flags and lists of integers."""
        attributes = {key: spell(value) for key, value in (data or {}).items()}
        node = self._new_node(op, f"openvino.opset{opset}", inputs, attributes, outputs)
        return node.outputs[0] if outputs == 1 else list(node.outputs)

    def _bind(self, output: Tensor, tensor: Tensor) -> None:
        """Gives the tensor the names of the output; one that another has already named gets them too.

        A graph output that is another name of an input or of another output stays a tensor of its own: OpenVINO, once
        it has compiled a model, knows only one of the names that a tensor has as results.
        """
        is_output = self._view.is_graph_output(output)
        if is_output and tensor in self._target.shown:
            tensor = self._copy(tensor, self._view.dtype(output))
        self._target.tensors[output] = tensor
        if not output.name:
            return
        if is_output:
            self._target.shown.add(tensor)
            tensor.__dict__["shown_name"] = output.name
        port = tensor.__dict__.setdefault("port", _port(tensor))
        port.names = join_names([*map(escape_name, split_names(port.names or "")), escape_name(output.name)])
        dtype, shape = self._view.dtype(output), self._view.shape(output)
        if dtype is not None and not isinstance(tensor, Constant):
            port.precision = precision(dtype)
            port.dims = ["-1" if dim is None else str(dim) for dim in shape or ()]
        producer = tensor.inputs[0] if tensor.inputs else None
        if producer is not None and producer.outputs[0] is tensor and not producer.__dict__.get("is_named"):
            producer.name = self.node.name or output.name
            producer.__dict__["is_named"] = True

    def _copy(self, tensor: Tensor, dtype: DType | None) -> Tensor:
        """An operation that gives what it reads. OpenVINO's own Identity is of operator set 16, which only recent
        releases read; to the type that a tensor has, its Convert does as well. Strings have no Convert, and with the
        Identity of OpenVINO 2026.4.1 they end the process."""
        if dtype is not None and dtype.kind == "string":
            axis = self.constant([0], "int64")
            copied: Tensor = self.add("Squeeze", [self.add("Unsqueeze", [tensor, axis]), axis])
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
