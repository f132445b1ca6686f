"""One node as shape functions see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maxfold.model.attributes import AttributeRef
from maxfold.model.dtypes import DType
from maxfold.model.graph import Constant, Node
from maxfold.model.inference.facts import Element, Fact, PartialValue, Unknown
from maxfold.model.inference.spans import Span, span
from maxfold.model.inference.symbolic import Dim, lower_bound

if TYPE_CHECKING:
    from maxfold.model.inference.engine import Inference

Dims = tuple[Dim | None, ...]


class Call:
    """A node with what is known of its inputs.

    Attributes and inputs are read by their form rather than by operator version: in the middle of an upgrade a model
    has nodes of both.
    """

    __slots__ = ("engine", "node", "version")

    def __init__(self, engine: Inference, node: Node, version: int) -> None:
        self.engine = engine
        self.node = node
        self.version = version

    @property
    def input_count(self) -> int:
        """How many inputs are listed, omitted ones between them included."""
        return len(self.node.inputs)

    def has(self, index: int) -> bool:
        """Whether an input is given."""
        return index < len(self.node.inputs) and bool(self.node.inputs[index].name)

    def fact(self, index: int) -> Fact:
        """What is known of an input. Raises `Unknown` where it is omitted."""
        inputs = self.node.inputs
        if index >= len(inputs) or not inputs[index].name:
            raise Unknown
        return self.engine.known(inputs[index])

    def dtype(self, index: int = 0) -> DType | None:
        """The element type of an input."""
        return self.fact(index).dtype

    def dims(self, index: int = 0) -> tuple[Dim, ...] | None:
        """The dims of an input."""
        return self.fact(index).dims  # type: ignore[return-value]  # the engine has named the unknown ones

    def known_dims(self, index: int = 0) -> tuple[Dim, ...]:
        """The dims of an input. Raises `Unknown` where its rank is."""
        dims = self.dims(index)
        if dims is None:
            raise Unknown
        return dims

    def value(self, index: int) -> PartialValue | None:
        """The value of an input, as far as it is known."""
        if not self.has(index):
            return None
        tensor = self.node.inputs[index]
        return self.engine.constant_value(tensor) if isinstance(tensor, Constant) else self.fact(index).value

    def vector(self, index: int) -> tuple[Element, ...] | None:
        """The elements of an input of rank 1 or 0, all None where only their number is known."""
        value = self.value(index)
        if value is not None:
            return value.elements
        dims = self.dims(index) if self.has(index) else None
        if dims is None or len(dims) > 1:
            return None
        length = dims[0] if dims else 1
        return (None,) * length if isinstance(length, int) and 0 <= length <= 256 else None

    def numbers(self, index: int) -> tuple[int, ...] | None:
        """The elements of an integer input, None where one of them is unknown or symbolic."""
        value = self.value(index)
        if value is None or not all(isinstance(element, int) for element in value.elements):
            return None
        return tuple(element for element in value.elements if isinstance(element, int))

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute. Raises `Unknown` where it refers to one of the enclosing function."""
        value = self.node.attrs.get(name, default)
        if isinstance(value, AttributeRef):
            raise Unknown
        return value

    def integers(self, name: str) -> tuple[int, ...] | None:
        """An attribute of integers, None where it is absent."""
        value = self.attribute(name)
        return None if value is None else tuple(int(item) for item in value)

    def axes(self, index: int = 1, name: str = "axes") -> tuple[int, ...] | None:
        """Integers that are an input in newer versions and an attribute in older ones, None where absent.

        Raises `Unknown` where they are not known.
        """
        if self.has(index):
            numbers = self.numbers(index)
            if numbers is None:
                raise Unknown
            return numbers
        return self.integers(name)

    def is_at_least(self, dim: Dim, low: int) -> bool:
        """Whether a dim is provably not below a number, in every run that succeeds."""
        found = lower_bound(dim)
        if found is not None and found >= low:
            return True
        return low <= 0 and dim in self.engine.sizes

    def spans(self, dim: Dim) -> Iterator[Span | None]:
        """Numbers between which a dim lies in every run that succeeds, None where nothing is known; the costly last."""
        low = 0 if dim in self.engine.sizes else lower_bound(dim)
        for most in (None, self.engine.most):
            found = span(dim, most)
            yield found if found is None or low is None else (max(found[0], low), found[1])


def normal_axis(axis: int, rank: int) -> int:
    """An axis counted from the front. Raises `Unknown` where it is outside the rank."""
    if not -rank <= axis < rank:
        raise Unknown
    return axis % rank if rank else 0


def normal_axes(axes: Sequence[int], rank: int) -> list[int]:
    """Axes counted from the front."""
    return [normal_axis(axis, rank) for axis in axes]


def truncated(number: float) -> int:
    """A float as an integer, towards zero. Raises `Unknown` where it is none."""
    if not np.isfinite(number):
        raise Unknown
    return int(number)
