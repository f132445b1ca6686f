"""What a kernel is called with: constant inputs, attributes, operator set; and what it says of its results."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from maxfold.model.data import why_no_array
from maxfold.model.dtypes import DType, from_numpy
from maxfold.model.records import frozen_value

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Shape: TypeAlias = tuple[int, ...]
Attributes: TypeAlias = Mapping[str, object]


class KernelError(ValueError):
    """A node that a kernel declines to evaluate; the message is the reason, in one line."""


@frozen_value
class Result:
    """The type of a result, known before anything is allocated. KernelError where no array has its shape."""

    dtype: DType
    shape: Shape

    def __post_init__(self) -> None:
        reason = why_no_array(self.shape)
        if reason is not None:
            raise KernelError(f"the result {reason}")


@frozen_value
class Operand:
    """A constant input: its type, and its values, which are read when `array` is first asked for.

    `load_along` reads what lies along an axis from start to stop.
    """

    dtype: DType
    shape: Shape
    load: Callable[[], Array]
    load_along: Callable[[int, slice], Array] | None = None

    @property
    def array(self) -> Array:
        """The values, read-only, of `shape`."""
        return self.load()

    def rows(self, part: slice) -> Operand:
        """Some rows of the first axis, as an operand of their own."""
        return Operand(self.dtype, (part.stop - part.start, *self.shape[1:]), functools.partial(self.along, 0, part))

    def along(self, axis: int, part: slice) -> Array:
        """The values that lie along an axis from start to stop."""
        if self.load_along is not None:
            return self.load_along(axis, part)
        return self.load()[(*[slice(None)] * axis, part)]


@frozen_value
class Piecewise:
    """A result that can be made in pieces: `rows` gives some rows of its first axis, the same each time.

    Fewer than `least_rows` cost as much.
    """

    rows: Callable[[slice], Array]
    least_rows: int = 1


@frozen_value
class Call:
    """One node whose inputs are all constant. `outputs` tells how many results it has, unnamed ones included."""

    inputs: tuple[Operand | None, ...]
    attributes: Attributes
    opset: int
    outputs: int = 1

    def optional(self, index: int) -> Operand | None:
        """An input, None where it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def operand(self, index: int) -> Operand:
        """An input that has to be there; KernelError where it is left out."""
        found = self.optional(index)
        if found is None:
            raise KernelError(f"input {index} is left out")
        return found

    def array(self, index: int) -> Array:
        """The values of an input that has to be there."""
        return self.operand(index).array

    def shape(self, index: int) -> Shape:
        """The shape of an input that has to be there."""
        return self.operand(index).shape

    def dtype(self, index: int = 0) -> DType:
        """The element type of an input that has to be there."""
        return self.operand(index).dtype

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer attribute; KernelError for one of another kind, or left out where there is no default."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int):
            raise KernelError(f"attribute {name} is not a known integer")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """A float attribute (float32 in the file)."""
        value = self.attributes.get(name, default)
        if not isinstance(value, (int, float)):
            raise KernelError(f"attribute {name} is not a known number")
        return float(value)

    def text(self, name: str, default: str) -> str:
        """A string attribute."""
        value = self.attributes.get(name, default)
        if not isinstance(value, str):
            raise KernelError(f"attribute {name} is not a known string")
        return value

    def integers(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        """An attribute that is a list of integers."""
        value = self.attributes.get(name, default)
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
            raise KernelError(f"attribute {name} is not a known list of integers")
        if not all(isinstance(item, int) for item in value):
            raise KernelError(f"attribute {name} is not a known list of integers")
        return list(value)

    def axes(self, index: int, name: str = "axes") -> list[int] | None:
        """A list of integers that is input `index` in newer versions of an operator and an attribute in older ones.

        None where it is neither.
        """
        found = self.optional(index)
        if found is not None:
            return [int(item) for item in found.array.reshape(-1)]
        return self.integers(name) if name in self.attributes else None


def of_rows(call: Call, has_rows: Sequence[bool], part: slice) -> Call:
    """A call that gives some rows of what another gives; `has_rows` tells which inputs have those rows."""
    inputs = [
        operand.rows(part) if operand is not None and is_cut else operand
        for operand, is_cut in zip(call.inputs, has_rows, strict=True)
    ]
    return dataclasses.replace(call, inputs=tuple(inputs))


def axis_of(axis: int, rank: int) -> int:
    """A possibly negative axis counted from the front; KernelError outside the rank."""
    if not -rank <= axis < rank:
        raise KernelError(f"axis {axis} is outside rank {rank}")
    return axis % rank


def operand_of(array: Array) -> Operand:
    """An operand of an array that is in memory. KernelError for a dtype that no format has."""
    dtype = from_numpy(array.dtype)
    if dtype is None:
        raise KernelError(f"an array of dtype {array.dtype} is of no known element type")
    return Operand(dtype, tuple(array.shape), lambda: array)
