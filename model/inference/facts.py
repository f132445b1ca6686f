"""What is known of one tensor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import onnx

from maxfold.model.data import Array
from maxfold.model.dtypes import DType
from maxfold.model.inference.symbolic import Dim
from maxfold.model.records import frequent_value

Element = Dim | float | None
"""A number (a bool in a BOOL tensor), a symbolic one, or None for an unknown one."""

# Values with more elements are not followed.
MOST_ELEMENTS = 256


class Unknown(Exception):  # noqa: N818  # no error: shape functions leave with it where too little is known
    """Raised by a shape function that can say nothing of its node's results."""


@frequent_value
class PartialValue:
    """A small tensor's value as far as it is known: its shape, and its elements in row-major order."""

    shape: tuple[int, ...]
    elements: tuple[Element, ...]

    @property
    def is_known(self) -> bool:
        """Whether every element is a number."""
        return all(isinstance(element, (int, float)) for element in self.elements)

    def array(self) -> Array:
        """The elements as an array of objects of `shape`."""
        return object_array(self.elements).reshape(self.shape)


@frequent_value
class Fact:
    """What is known of a tensor: None for what is not, also as a dimension until the engine has named it.

    `proto` is the type of a value that is no tensor, without shapes. A fact that has been named holds for all results
    that have no value of their own and are like its tensor.
    """

    dtype: DType | None = None
    dims: tuple[Dim | None, ...] | None = None
    value: PartialValue | None = None
    proto: onnx.TypeProto | None = None
    is_named: bool = False

    def without_value(self) -> Fact:
        """The type and the dims alone."""
        return self if self.value is None else Fact(self.dtype, self.dims)


UNKNOWN = Fact(is_named=True)


def object_array(elements: Iterable[Any]) -> Array:
    """A vector of objects, whatever they are."""
    listed = list(elements)
    array = np.empty(len(listed), object)
    array[:] = listed
    return array


def value_of(array: Array) -> PartialValue | None:
    """The value in an array of objects, None where it has too many elements."""
    return PartialValue(array.shape, tuple(array.reshape(-1))) if array.size <= MOST_ELEMENTS else None


def static(dims: tuple[Dim | None, ...] | None) -> tuple[int, ...] | None:
    """The dims as numbers, None where one is none."""
    if dims is None or not all(isinstance(dim, int) for dim in dims):
        return None
    return tuple(dim for dim in dims if isinstance(dim, int))
