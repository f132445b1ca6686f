"""What rows see of the node that they convert, and what both directions share.

A site reads one node of the source model and adds nodes to the target graph. The source is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import onnx

from maxfold.model.data import Array, ArrayData, TensorData
from maxfold.model.dtypes import DType
from maxfold.model.graph import Constant, Graph, Node, Tensor, new_constant, new_graph, new_node, new_variable
from maxfold.model.model import Lost
from maxfold.model.names import wish
from maxfold.model.wished_names import stem
from maxfold.passes.conversion.errors import UnsupportedError

Shape = tuple[int | None, ...]


class Target:
    """A graph under construction: unique names, and which source tensor became which target tensor.

    The target of a body stands in that of the graph around it, the `outer` one.
    """

    def __init__(self, name: str, outer: Target | None = None) -> None:
        self.graph = new_graph(name)
        self.outer = outer
        self._names: dict[str, int] = {} if outer is None else outer._names
        self.tensors: dict[Tensor, Tensor] = {}
        # Target tensors that are inputs or outputs: each has one name that the interface promises.
        self.shown: set[Tensor] = set()
        # What of the source has no place in the target, and what it was said of.
        self.lost: dict[str, list[str]] = {} if outer is None else outer.lost

    @property
    def remembered(self) -> Mapping[str, Tensor]:
        """What is to be remembered for the next run, by the name of the output that it becomes."""
        return {}

    def has(self, source: Tensor) -> bool:
        """Whether a source tensor was converted, here or in a graph around."""
        return self._holder_of(source) is not None

    def holder_of(self, source: Tensor) -> Target:
        """The innermost target that has a source tensor, which one has."""
        found = self._holder_of(source)
        assert found is not None
        return found

    def _holder_of(self, source: Tensor) -> Target | None:
        target: Target | None = self
        while target is not None and source not in target.tensors:
            target = target.outer
        return target

    def made_of(self, source: Tensor) -> Tensor:
        """What a source tensor became, as nodes of this graph can read it."""
        if source not in self.tensors:
            assert self.outer is not None
            self.tensors[source] = self._captured(source, self.outer)
        return self.tensors[source]

    def _captured(self, source: Tensor, outer: Target) -> Tensor:
        """A tensor that the graph around has, or one around that, as nodes of this graph can read it."""
        raise NotImplementedError

    def lose(self, what: str, name: str) -> None:
        """Notes something that does not cross."""
        self.lost.setdefault(what, []).append(name)

    def losses(self) -> tuple[Lost, ...]:
        """All that does not cross, by kind."""
        return tuple(Lost(what, len(names), names[0]) for what, names in sorted(self.lost.items()))

    def info_of(self, tensor: Tensor) -> onnx.ValueInfoProto | None:
        """The declaration of a target tensor, None where its type is not known."""
        raise NotImplementedError

    def fresh(self, base: str) -> str:
        """A name that no tensor or node of the target has."""
        count = self._names.get(base, 0)
        name = base
        while not name or name in self._names:
            name = f"{base}_{count}"
            count += 1
        self._names[name] = 1
        if name != base:
            self._names[base] = count
        return name

    def constant(self, data: TensorData, base: str, *, is_made: bool = False) -> Constant:
        """A new constant; `is_made` says that the name is of a row's making."""
        constant = new_constant(self.fresh(base), data, self.graph)
        wish(constant, base, is_made=is_made)
        self.graph.constants.append(constant)
        return constant

    def made_node(
        self, op: str, domain: str, inputs: list[Tensor], attributes: dict[str, Any], base: str, outputs: int
    ) -> Node:
        """A new node, whose name and those of its results begin with `base`, at the end of the graph."""
        base = f"{stem(base)}_{op}"
        made = [new_variable(self.fresh(base), self.graph) for _ in range(outputs)]
        node = new_node(
            op, inputs, made, self.graph, domain=domain, name=self.fresh(f"{base}_node"),
            attributes=attributes, position=len(self.graph.nodes),
        )  # fmt: skip
        for tensor in made:
            wish(tensor, base, is_made=True)
        wish(node, f"{base}_node", is_made=True)
        self.graph.nodes.append(node)
        return node


class Walk(Protocol):
    """What converts all nodes of a scope of the source."""

    def nodes(self, scope: Graph, target: Target) -> None:
        """Converts constants and nodes of a scope. Raises `InsideError` where one of a body is refused."""


class Site:
    """One node of the source and its place in the target."""

    def __init__(self, node: Node, target: Target, walk: Walk) -> None:
        self.node = node
        self._target = target
        self._walk = walk
        # The attributes that the row has asked for, or does not care about.
        self._seen: set[str] = set()

    def ignore(self, *names: str) -> None:
        """Says that attributes change nothing of what the row makes, whatever they are."""
        self._seen.update(names)

    def check_attributes(self) -> None:
        """Raises `UnsupportedError` for an attribute that the row has not asked for and that is not at its default."""
        for name in sorted(self.node.attrs.keys() - self._seen):
            if not self._is_default(name):
                raise UnsupportedError(f"its attribute {name!r} is not covered")

    def _is_default(self, name: str) -> bool:
        raise NotImplementedError

    @property
    def input_count(self) -> int:
        """How many inputs the node has, omitted ones in between included."""
        return len(self.node.inputs)

    @property
    def output_count(self) -> int:
        """How many outputs the node has."""
        return len(self.node.outputs)

    @property
    def operator(self) -> str:
        """The node's operator or layer type."""
        return self.node.op

    def has_input(self, index: int) -> bool:
        """Whether an optional input is there."""
        return index < len(self.node.inputs) and bool(self.node.inputs[index].name)

    def has_output(self, index: int) -> bool:
        """Whether something may read an optional output."""
        return index < len(self.node.outputs) and bool(self.node.outputs[index].name)

    def input(self, index: int) -> Tensor:
        """An input as a tensor of the target graph. Raises `UnsupportedError` where it is omitted."""
        if not self.has_input(index):
            raise UnsupportedError(f"input {index} is missing")
        return self._target.made_of(self.node.inputs[index])

    def inputs(self) -> list[Tensor]:
        """All inputs as tensors of the target graph."""
        return [self.input(index) for index in range(len(self.node.inputs))]

    def value(self, index: int) -> Array | None:
        """The value of a constant input, None where it is omitted or computed at run time."""
        if not self.has_input(index):
            return None
        tensor = self.node.inputs[index]
        return tensor.values if isinstance(tensor, Constant) else None

    def integers_of(self, index: int, what: str) -> list[int]:
        """A constant input as a flat list of integers. Raises `UnsupportedError` where it is not constant."""
        value = self.value(index)
        if value is None:
            raise UnsupportedError(f"{what} is computed at run time")
        return [int(item) for item in value.reshape(-1)]

    def dtype(self, index: int) -> DType | None:
        """The derived element type of an input, None where unknown."""
        raise NotImplementedError

    def shape(self, index: int) -> Shape | None:
        """The derived shape of an input, None for an unknown rank, None as a dimension for an unknown one."""
        raise NotImplementedError

    def rank(self, index: int) -> int:
        """The derived rank of an input. Raises `UnsupportedError` where it is not known."""
        shape = self.shape(index)
        if shape is None:
            raise UnsupportedError(f"the rank of input {index} is not known")
        return len(shape)

    def sizes(self, index: int, rank: int) -> Shape:
        """The derived shape of an input of that rank. Raises `UnsupportedError` where it has another, or none that is
        known."""
        if self.rank(index) != rank:
            raise UnsupportedError(f"its input {index} has {self.rank(index)} dimensions instead of {rank}")
        return self.shape(index) or ()

    def kind(self, index: int) -> str:
        """The kind of an input's element type ("float", "int", ...). Raises `UnsupportedError` where unknown."""
        dtype = self.dtype(index)
        if dtype is None:
            raise UnsupportedError(f"the element type of input {index} is not known")
        return dtype.kind

    def constant(self, values: Any, dtype: Any) -> Constant:
        """A new constant of the target graph, named after the node's result."""
        array = np.asarray(values, dtype)
        return self._target.constant(ArrayData(array), f"{stem(self._base)}_constant", is_made=True)

    def constant_of(self, data: TensorData, name: str) -> Constant:
        """A new constant of the target graph with data that stays where it is, such as another view of a weight."""
        return self._target.constant(data, name)

    def result(self, *tensors: Tensor | None) -> None:
        """Says which target tensors are the node's outputs; the last nodes made take the node's name and results'.
        None stands for one that nothing reads."""
        for output, tensor in zip(self.node.outputs, tensors, strict=False):
            if tensor is not None:
                self._bind(output, tensor)

    @property
    def _base(self) -> str:
        named = next((tensor.name for tensor in self.node.outputs if tensor.name), "")
        return named or self.node.name or self.node.op

    def _bind(self, output: Tensor, tensor: Tensor) -> None:
        raise NotImplementedError

    def _new_node(self, op: str, domain: str, inputs: list[Tensor], attributes: dict[str, Any], outputs: int) -> Node:
        node = self._target.made_node(op, domain, inputs, attributes, self._base, outputs)
        # It stands for no node of the source.
        node.__dict__["is_added"] = op != self.node.op
        for value in attributes.values():
            if isinstance(value, Graph):
                value.parent = node
        return node
