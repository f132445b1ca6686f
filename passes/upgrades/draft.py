"""What adapters work on: a node as it will be. The model is changed only when every node of it has a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxfold.model import dtypes
from maxfold.model.attributes import AttributeRef
from maxfold.model.data import Array
from maxfold.model.dtypes import DType
from maxfold.model.graph import Constant, Node, Tensor, Variable
from maxfold.model.records import frozen_value
from maxfold.model.view import View


class Refusal(Exception):  # noqa: N818  # an answer, not a failure of the program
    """A node that a step does not cover; `str(error)` is the reason."""


@dataclass(eq=False)
class Draft:
    """A node of one operator set version, free to be changed. New ones stand before the node that reads them.

    `inputs` holds tensors of the graph, arrays that become constants, drafts whose only result is meant, and None
    for an omitted input. `node` is the node that a draft is of, None for a new one. `retyped` are the places of results
    that get another type.
    """

    op: str
    inputs: list[Value | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    node: Node | None = None
    retyped: tuple[int, ...] = ()

    @classmethod
    def of(cls, node: Node) -> Draft:
        """A draft of a node as it stands."""
        inputs: list[Value | None] = [tensor if tensor.name else None for tensor in node.inputs]
        return cls(node.op, inputs, dict(node.attrs), node)

    def input(self, index: int) -> Value | None:
        """An input, None where it is omitted."""
        return self.inputs[index] if index < len(self.inputs) else None

    def set_input(self, index: int, value: Value | None) -> None:
        """Sets an input; those before it that the node does not have are omitted ones."""
        self.inputs += [None] * (index + 1 - len(self.inputs))
        self.inputs[index] = value

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, `default` where the node has none.

        Raises `Refusal` in a function where the caller gives the value.
        """
        value = self.attributes.get(name, default)
        if isinstance(value, AttributeRef):
            raise Refusal(f"attribute {name!r} is given by the caller of the function")
        return value

    def take(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, which the node loses."""
        value = self.attribute(name, default)
        self.attributes.pop(name, None)
        return value

    def has_output(self, index: int) -> bool:
        """Whether the node names that result."""
        return self.node is not None and index < len(self.node.outputs) and bool(self.node.outputs[index].name)


Value = Tensor | Array | Draft


@frozen_value
class Facts:
    """What may be asked about values; None is the answer where nothing could be derived.

    `target` is the operator set version that the model goes to.
    """

    view: View
    target: int

    def constant(self, value: Value | None) -> Array | None:
        """The values of a constant that may be relied on."""
        if isinstance(value, np.ndarray):
            return value
        if not isinstance(value, Constant):
            return None
        constant = self.view.constant(value)
        return None if constant is None else constant.values

    def shape(self, value: Value | None) -> tuple[int | None, ...] | None:
        """The derived shape, None as a dimension for an unknown one."""
        if isinstance(value, np.ndarray):
            return tuple(value.shape)
        return None if value is None or isinstance(value, Draft) else self.view.shape(value)

    def rank(self, value: Value | None) -> int | None:
        """The derived rank."""
        shape = self.shape(value)
        return None if shape is None else len(shape)

    def dtype(self, value: Value | None) -> DType | None:
        """The derived element type."""
        if isinstance(value, np.ndarray):
            return dtypes.from_numpy(value.dtype)
        return None if value is None or isinstance(value, Draft) else self.view.dtype(value)

    def producer(self, value: Value | None) -> Node | None:
        """The node of the graph that makes a value."""
        return self.view.producer(value) if isinstance(value, (Variable, Constant)) else None

    def is_used(self, draft: Draft, index: int) -> bool:
        """Whether anything reads that result of a node."""
        if draft.node is None or not draft.has_output(index):
            return False
        tensor = draft.node.outputs[index]
        return self.view.use_count(tensor) > 0 or self.view.is_graph_output(tensor)


Adapter = Callable[[Draft, Facts], None]
"""Rewrites a draft from one version of its operator to the next, or raises `Refusal`. A guard only looks."""


def as_int64(values: Any) -> Array:
    """Integers as the constant that a former attribute becomes."""
    return np.array(values, np.int64)
