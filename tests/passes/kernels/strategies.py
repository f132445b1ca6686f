"""Hypothesis strategies for tensors: element types, values with all the corners, shapes that broadcast.

broadcast_operands(count, dtypes)   arrays of one type that broadcast in all directions
legacy_operands(dtypes)             two arrays and the `axis` of an ONNX node before opset 7
arrays(dtype, shape)                one array: values of `elements`, one of several memory layouts
elements(dtype)                     one element as bits: specials, extremes, neighbours, anything
broadcast_shapes(count), legacy_shapes(), pdpd_shapes(), shapes()
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from maxfold.model.dtypes import DTYPES, DType
from maxfold.passes.kernels import Call, Kernel, Operand
from tests.passes.kernels.reference import FORMATS, Array, Shape, array_of

MOST_ELEMENTS = 48
"""Elements of the largest shape drawn: the reference computes one element at a time."""

BY_NAME = {dtype.name: dtype for dtype in DTYPES}
IEEE = ("FLOAT16", "FLOAT", "DOUBLE")
WIDE_INTEGERS = ("INT32", "INT64", "UINT32", "UINT64")
NARROW_INTEGERS = ("INT8", "INT16", "UINT8", "UINT16")
NUMERIC = (*IEEE, "BFLOAT16", *WIDE_INTEGERS, *NARROW_INTEGERS)

ADD_TYPES = {
    1: IEEE,
    6: (*IEEE, *WIDE_INTEGERS),
    7: (*IEEE, *WIDE_INTEGERS),
    13: (*IEEE, *WIDE_INTEGERS, "BFLOAT16"),
    14: NUMERIC,
}
"""The types that each version of ONNX Add takes, by the version's first opset."""

MAX_TYPES = {
    1: IEEE,
    6: IEEE,
    8: IEEE,
    12: (*IEEE, *WIDE_INTEGERS, *NARROW_INTEGERS),
    13: NUMERIC,
}
"""The types that each version of ONNX Max takes, by the version's first opset."""


@dataclass(frozen=True)
class LegacyOperands:
    """The inputs and the attribute `axis` (None: not set) of a node with `broadcast=1`."""

    a: Array
    b: Array
    axis: int | None


def dtypes(names: Sequence[str] = NUMERIC) -> st.SearchStrategy[DType]:
    """Element types by their ONNX names."""
    return st.sampled_from(names).map(BY_NAME.__getitem__)


def elements(dtype: DType) -> st.SearchStrategy[int]:
    """Bits of one element of a numeric type of 8 to 64 bits.

    For floats: zeros, infinities, quiet and signalling NaN of both signs, the largest, the smallest
    normal and subnormal numbers, neighbours of 1, values of exponents so near that sums round, anything.
    """
    anything = st.integers(0, (1 << dtype.bits) - 1)
    if dtype.kind != "float":
        top = 1 << (dtype.bits - 1)
        return st.sampled_from([0, 1, 2, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1]) | anything
    form = FORMATS[dtype.name]
    digits = form.precision - 1
    one, infinity, least_normal = -form.emin + 1 << digits, form.exponent_mask << digits, 1 << digits
    quiet = infinity | 1 << (digits - 1)
    magnitudes = [0, 1, 2, least_normal - 1, least_normal, least_normal + 1, one - 1, one, one + 1]
    magnitudes += [infinity - 1, infinity, infinity + 1, quiet, quiet + 1]
    near_one = st.integers(one - (4 << digits), one + (form.precision + 3 << digits))
    least = st.integers(0, 4 << digits)
    magnitude = st.sampled_from(magnitudes) | st.one_of(near_one, near_one, least)
    either_sign = st.builds(lambda size, negative: size | negative << (dtype.bits - 1), magnitude, st.booleans())
    return either_sign | anything


@st.composite
def arrays(draw: st.DrawFn, dtype: DType, shape: Shape) -> Array:
    """An array of `elements`: row-major, column-major, with strides, reversed, or read-only."""
    count = math.prod(shape)
    array = array_of(draw(st.lists(elements(dtype), min_size=count, max_size=count)), dtype, shape)
    layout = draw(st.sampled_from(["row-major", "column-major", "strided", "reversed", "read-only"]))
    if layout == "column-major" and shape:
        return np.asfortranarray(array)
    if layout == "strided" and shape:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if layout == "reversed" and shape:
        return np.ascontiguousarray(array[::-1])[::-1]
    array.flags.writeable = layout != "read-only"
    return array


@st.composite
def shapes(draw: st.DrawFn, *, min_rank: int = 0, max_rank: int = 6, min_size: int = 0) -> Shape:
    """A shape of at most MOST_ELEMENTS elements; sizes 0 (from `min_size` on), 1 and more."""
    shape: list[int] = []
    for _ in range(draw(st.integers(min_rank, max_rank))):
        room = MOST_ELEMENTS // max(1, math.prod(size for size in shape if size))
        shape.append(draw(st.sampled_from([size for size in (2, 3, 1, 4, 0) if min_size <= size <= room])))
    return tuple(shape)


@st.composite
def broadcast_shapes(draw: st.DrawFn, count: int, *, max_rank: int = 6) -> list[Shape]:
    """Shapes that broadcast in all directions: of each, leading dimensions go and others become 1."""
    whole = draw(shapes(max_rank=max_rank))
    return [
        tuple(draw(st.sampled_from([size, size, 1])) for size in whole[draw(st.integers(0, len(whole))) :])
        if draw(st.booleans())
        else whole
        for _ in range(count)
    ]


@st.composite
def legacy_shapes(draw: st.DrawFn) -> tuple[Shape, Shape, int | None]:
    """`a`, `b` and `axis` as ONNX before opset 7 allows them with `broadcast=1`; often all sizes agree."""
    a = draw(shapes())
    if draw(st.booleans()):
        a = (draw(st.integers(2, 3)),) * min(len(a), 3)
    if draw(st.integers(0, 3)) == 0:
        return a, (1,) * draw(st.integers(0, len(a))), draw(st.none() | st.integers(0, len(a)))
    start = draw(st.integers(0, len(a)))
    stop = draw(st.integers(start, len(a)))
    if stop == len(a) and draw(st.booleans()):
        return a, a[start:], None
    return a, a[start:stop], start - len(a) if start < len(a) and draw(st.booleans()) else start


@st.composite
def pdpd_shapes(draw: st.DrawFn) -> tuple[Shape, Shape, int]:
    """`a`, `b` and `axis` as OpenVINO's `auto_broadcast="pdpd"` allows them."""
    a = draw(shapes())
    start = draw(st.integers(0, len(a)))
    stop = draw(st.integers(start, len(a)))
    b = tuple(draw(st.sampled_from([size, size, 1])) for size in a[start:stop])
    return a, b, -1 if stop == len(a) and draw(st.booleans()) else start


@st.composite
def broadcast_operands(draw: st.DrawFn, count: int, names: Sequence[str] = NUMERIC) -> list[Array]:
    """`count` arrays of one type whose shapes broadcast in all directions."""
    dtype = draw(dtypes(names))
    return [draw(arrays(dtype, shape)) for shape in draw(broadcast_shapes(count))]


@st.composite
def equal_operands(draw: st.DrawFn, count: int, names: Sequence[str] = NUMERIC) -> list[Array]:
    """`count` arrays of one type and one shape."""
    dtype, shape = draw(dtypes(names)), draw(shapes())
    return [draw(arrays(dtype, shape)) for _ in range(count)]


@st.composite
def legacy_operands(draw: st.DrawFn, names: Sequence[str] = NUMERIC) -> LegacyOperands:
    """The operands of a binary ONNX node before opset 7 with `broadcast=1`."""
    dtype = draw(dtypes(names))
    a, b, axis = draw(legacy_shapes())
    return LegacyOperands(draw(arrays(dtype, a)), draw(arrays(dtype, b)), axis)


def shape_of(kernel: Kernel, shapes: Sequence[Shape], attributes: Mapping[str, object], opset: int) -> Shape:
    """The shape of a kernel's first result for float inputs of these shapes, which are never allocated."""
    inputs = tuple(Operand(BY_NAME["FLOAT"], shape, unread) for shape in shapes)
    return kernel.results(Call(inputs, attributes, opset))[0].shape


def unread() -> Any:
    raise AssertionError("the values of an input were read")
