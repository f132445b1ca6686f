"""Add and Max as their documents say them, in Python integers and fractions, without numpy arithmetic.

Arrays are read and written as bit patterns. A float result that the document leaves open is None (NaN of
any sign and payload) or a set (either zero).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from maxfold.model.dtypes import DType, from_numpy

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Shape: TypeAlias = tuple[int, ...]
Expected: TypeAlias = set[int] | None
"""The bit patterns that are right for one element, or None for every NaN."""


@dataclass(frozen=True)
class FloatFormat:
    """An IEEE 754 binary format: digits of precision (the hidden one included) and exponent range."""

    precision: int
    emin: int
    emax: int

    @property
    def exponent_mask(self) -> int:
        return self.emax - self.emin + 2

    def decode(self, bits: int) -> tuple[bool, Fraction | None, bool]:
        """Sign, magnitude (None for infinity and NaN), and whether it is NaN."""
        digits = self.precision - 1
        fraction = bits & ((1 << digits) - 1)
        exponent = bits >> digits & self.exponent_mask
        negative = bool(bits >> digits > self.exponent_mask)
        if exponent == self.exponent_mask:
            return negative, None, fraction != 0
        if exponent == 0:
            return negative, Fraction(fraction) * Fraction(2) ** (self.emin - digits), False
        power = Fraction(2) ** (exponent - 1 + self.emin - digits)
        return negative, (fraction + (1 << digits)) * power, False

    def encode(self, negative: bool, magnitude: Fraction | None) -> int:
        """The bits of a magnitude (None: infinity), rounded once, to nearest with ties to even."""
        digits = self.precision - 1
        sign = int(negative) * (self.exponent_mask + 1) << digits
        infinity = self.exponent_mask << digits
        if magnitude is None:
            return sign | infinity
        # The unit in the last place, found by growing the binade until the magnitude is in it.
        exponent = self.emin
        if magnitude:
            estimate = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
            exponent = max(self.emin, estimate - (magnitude < Fraction(2) ** estimate))
        units = round(magnitude / Fraction(2) ** (exponent - digits))
        # A carry into the next binade adds one to the exponent field, which is what the sum below does.
        encoded = (exponent - self.emin << digits) + units
        return sign | min(encoded, infinity)


FORMATS = {
    "FLOAT16": FloatFormat(11, -14, 15),
    "BFLOAT16": FloatFormat(8, -126, 127),
    "FLOAT": FloatFormat(24, -126, 127),
    "DOUBLE": FloatFormat(53, -1022, 1023),
}


def dtype_of(array: Array) -> DType:
    """The element type of an array that both formats know."""
    dtype = from_numpy(array.dtype)
    assert dtype is not None
    return dtype


def bits_of(array: Array) -> list[int]:
    """The elements in row-major order as unsigned integers."""
    unsigned: list[int] = np.ascontiguousarray(array).reshape(-1).view(f"u{array.itemsize}").tolist()
    return unsigned


def array_of(bits: Sequence[int], dtype: DType, shape: Shape) -> Array:
    """The array with those bits, row-major."""
    return np.array(bits, f"u{dtype.bits // 8}").view(dtype.numpy).reshape(shape)


def signed(bits: int, dtype: DType) -> int:
    """The number that an integer type's bits stand for."""
    return bits - (1 << dtype.bits) if dtype.kind == "int" and bits >> (dtype.bits - 1) else bits


def add(dtype: DType, a: int, b: int) -> Expected:
    """The sum of two elements."""
    if dtype.kind != "float":
        return {(a + b) % (1 << dtype.bits)}
    form = FORMATS[dtype.name]
    (a_negative, a_size, a_nan), (b_negative, b_size, b_nan) = form.decode(a), form.decode(b)
    if a_nan or b_nan:
        return None
    if a_size is None and b_size is None and a_negative != b_negative:
        return None
    if a_size is None:
        return {form.encode(a_negative, None)}
    if b_size is None:
        return {form.encode(b_negative, None)}
    total = (-a_size if a_negative else a_size) + (-b_size if b_negative else b_size)
    if total == 0:
        return {form.encode(a_negative and b_negative, total)}
    return {form.encode(total < 0, abs(total))}


def maximum(dtype: DType, operands: Sequence[int]) -> Expected:
    """The greatest of one or more elements; either zero where zeros of both signs are the greatest."""
    if dtype.kind != "float":
        return {max(operands, key=lambda bits: signed(bits, dtype))}
    form = FORMATS[dtype.name]
    decoded = [form.decode(bits) for bits in operands]
    if any(nan for _, _, nan in decoded):
        return None
    beyond_all = Fraction(2) ** (form.emax + 1)
    values = [(-1 if negative else 1) * (beyond_all if size is None else size) for negative, size, _ in decoded]
    return {bits for bits, value in zip(operands, values, strict=True) if value == max(values)}


def broadcast_shape(shapes: Sequence[Shape]) -> Shape:
    """The shape that numpy-style broadcasting of shapes gives, which must exist."""
    padded = list(itertools.zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1))
    sizes = [{size for size in column if size != 1} or {1} for column in reversed(padded)]
    assert all(len(size) == 1 for size in sizes)
    return tuple(size.pop() for size in sizes)


def tail_index(index: Shape, shape: Shape) -> Shape:
    """Where an output index reads an operand of `shape` that is aligned at its last dimension."""
    tail = index[len(index) - len(shape) :]
    return tuple(0 if size == 1 else place for size, place in zip(shape, tail, strict=True))


def axis_index(index: Shape, shape: Shape, axis: int | None) -> Shape:
    """Where a legacy node reads its second operand of `shape`: from `axis` on, or its one element."""
    if math.prod(shape) == 1:
        return (0,) * len(shape)
    start = len(index) - len(shape) if axis is None else axis % len(index)
    return index[start : start + len(shape)]


def indices(shape: Shape) -> Iterator[Shape]:
    """All indices of a shape, row-major."""
    return itertools.product(*map(range, shape))


def element(bits: Sequence[int], shape: Shape, index: Shape) -> int:
    """The element at an index of row-major bits."""
    flat = 0
    for size, place in zip(shape, index, strict=True):
        flat = flat * size + place
    return bits[flat]


def add_arrays(a: Array, b: Array, b_index: Callable[[Shape], Shape], shape: Shape) -> list[Expected]:
    """The sums; `b_index` says which element of `b` meets an output index."""
    a_bits, b_bits = bits_of(a), bits_of(b)
    return [
        add(
            dtype_of(a),
            element(a_bits, a.shape, tail_index(index, a.shape)),
            element(b_bits, b.shape, b_index(index)),
        )
        for index in indices(shape)
    ]


def max_arrays(arrays: Sequence[Array]) -> list[Expected]:
    """The maxima of arrays that broadcast as numpy does."""
    shapes = [array.shape for array in arrays]
    bits = [bits_of(array) for array in arrays]
    dtype = dtype_of(arrays[0])
    return [
        maximum(
            dtype,
            [element(own, shape, tail_index(index, shape)) for own, shape in zip(bits, shapes, strict=True)],
        )
        for index in indices(broadcast_shape(shapes))
    ]


def assert_elements(actual: Array, expected: Sequence[Expected]) -> None:
    """Fail where an element of an array is not one of those expected."""
    dtype = dtype_of(actual)
    bits = bits_of(actual)
    assert len(bits) == len(expected)
    for position, (own, right) in enumerate(zip(bits, expected, strict=True)):
        if right is None:
            assert FORMATS[dtype.name].decode(own)[2], f"element {position} is {own:#x}, not NaN"
        else:
            assert own in right, f"element {position} is {own:#x}, not {[hex(bits) for bits in right]}"
