"""What operators share that read or give integers with a scale and a zero point: how these stand beside the tensor, and
steps from real numbers to integers and back."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxfold.model.data import Array
from maxfold.model.dtypes import DType
from maxfold.model.graph import Constant, Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.operands import positive_axis
from maxfold.passes.conversion.parts.tensors import reshaped
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

NUMPY = {BROADCAST: "numpy"}
_HIGHEST_BYTE = 255
# Zero points of more elements are not decoded to find that all of them are 0.
_MOST_LOOKED_AT = 1 << 16
# A FakeQuantize divides by the width of its range, and neither may be near the ends of f32.
_LEAST_SCALE, _MOST_SCALE = 1e-30, 1e30
# Of a scale with more significant bits f32 has no number half-way between two multiples, but for the first few.
_SHORT_SIGNIFICAND_BITS = 14


@dataclass(frozen=True, slots=True)
class Integers:
    """An integer type's range."""

    lowest: int
    highest: int

    @property
    def levels(self) -> int:
        """How many integers there are."""
        return self.highest - self.lowest + 1


def integers_of(dtype: DType) -> Integers:
    """The range of an integer type. Raises `UnsupportedError` for another."""
    if dtype.kind == "uint":
        return Integers(0, (1 << dtype.bits) - 1)
    if dtype.kind != "int":
        raise UnsupportedError(f"{dtype} are no integers")
    return Integers(-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1)


def input_type(site: OpenvinoSite, index: int) -> DType:
    """The element type of an input, which OpenVINO has. Raises `UnsupportedError`."""
    dtype = site.dtype(index)
    if dtype is None:
        raise UnsupportedError(f"the element type of input {index} is not known")
    if dtype.openvino is None:
        raise UnsupportedError(f"OpenVINO has no {dtype}")
    return dtype


def converted(site: OpenvinoSite, tensor: Tensor, have: DType, want: str) -> Tensor:
    """A tensor in another type, by OpenVINO's name; itself where it has that."""
    if have.openvino == want:
        return tensor
    result: Tensor = site.add("Convert", [tensor], {"destination_type": want})
    return result


def aligned(site: OpenvinoSite, index: int, rank: int | None, axis: int) -> Tensor:
    """A scale or zero point that is a scalar, or a vector along an axis of a tensor of that rank, shaped to broadcast
    with the tensor. Raises `UnsupportedError`."""
    tensor, shape = site.input(index), site.shape(index)
    if shape == ():
        return tensor
    if shape is None or len(shape) > 1:
        raise UnsupportedError(f"input {index} is neither a scalar nor a vector")
    is_beyond = rank is not None and not -rank <= axis < rank
    if shape[0] == 1 or (shape[0] is None and is_beyond):
        # Runtimes take one element for a scalar, along whatever axis.
        return reshaped(site, tensor, [])
    if rank is None:
        raise UnsupportedError("the rank of the tensor that its scale is for is not known")
    place = positive_axis(axis, rank)
    return reshaped(site, tensor, [*[1] * place, -1, *[1] * (rank - place - 1)])


def is_zero(site: OpenvinoSite, index: int) -> bool:
    """Whether a zero point is left out, or a constant of zeros."""
    if not site.has_input(index):
        return True
    given = site.node.inputs[index]
    if not isinstance(given, Constant) or math.prod(given.data.shape) > _MOST_LOOKED_AT:
        return False
    return not np.any(given.values.astype(np.float32))


def real(
    site: OpenvinoSite, tensor: Tensor, dtype: DType, scale: Tensor | None, zero_point: Tensor | None, wide: str
) -> Tensor:
    """The real numbers that integers stand for, computed in a type: Convert, Subtract and Multiply, which OpenVINO's
    low-precision transformations look for. The scale has that type, the zero point that of the integers."""
    if dtype.name == "INT32" and zero_point is not None:
        # A difference that f32 does not hold.
        tensor, zero_point = site.add("Subtract", [tensor, zero_point], NUMPY), None
    result = converted(site, tensor, dtype, wide)
    if zero_point is not None:
        result = site.add("Subtract", [result, converted(site, zero_point, dtype, wide)], NUMPY)
    if scale is not None:
        result = site.add("Multiply", [result, scale], NUMPY)
    return result


def rounded(site: OpenvinoSite, quotient: Tensor, zero_point: Tensor | None, to: DType) -> Tensor:
    """Quotients as integers: rounded half to even, then moved by a zero point of f32, then held within the type."""
    span = integers_of(to)
    result = site.add("Round", [quotient], {"mode": "half_to_even"}, opset=5)
    if zero_point is not None:
        result = site.add("Add", [result, zero_point], NUMPY)
    result = site.add("Clamp", [result], {"min": span.lowest, "max": span.highest})
    made: Tensor = site.add("Convert", [result], {"destination_type": to.openvino})
    return made


def faked(site: OpenvinoSite, x: Tensor, scale: Array, zero_point: Array, to: DType) -> Tensor:
    """Real numbers as integers by a FakeQuantize, as OpenVINO's own conversion writes it for its low-precision
    transformations. Scale and zero point are shaped to broadcast with the tensor."""
    span = integers_of(to)
    integers = _fake(site, x, _ends(scale, zero_point, span), (span.lowest, span.highest), span)
    made: Tensor = site.add("Convert", [integers], {"destination_type": to.openvino})
    return made


def faked_and_back(site: OpenvinoSite, x: Tensor, scale: Array, zero_point: Array, to: DType) -> Tensor:
    """Real numbers as the real numbers that their integers stand for, by one FakeQuantize; arguments as `faked`."""
    span = integers_of(to)
    ends = _ends(scale, zero_point, span)
    return _fake(site, x, ends, ends, span)


def _ends(scale: Array, zero_point: Array, span: Integers) -> tuple[Array, Array]:
    """The real numbers that the ends of an integer range stand for."""
    low, high = (
        ((np.float32(bound) - zero_point.astype(np.float32)) * scale.astype(np.float32)).astype(np.float32)
        for bound in (span.lowest, span.highest)
    )
    return low, high


def _fake(
    site: OpenvinoSite, x: Tensor, ends: tuple[Array, Array], results: tuple[Array | int, Array | int], span: Integers
) -> Tensor:
    bounds = [site.constant(value, np.float32) for value in (*ends, *results)]
    made: Tensor = site.add("FakeQuantize", [x, *bounds], {"levels": span.levels, BROADCAST: "numpy"})
    return made


def byte_steps(site: OpenvinoSite, width: Tensor) -> Tensor:
    """A 255th of the width of a range, correctly rounded, as runtimes have it.

    OpenVINO's CPU divides by multiplying with an inverse, and a step that is off by its last bit moves numbers of the
    whole tensor to other integers. So what the product leaves over is shared out again. An infinite width gives NaN.
    """
    share = site.constant(np.float32(1) / np.float32(_HIGHEST_BYTE), np.float32)
    near = site.add("Multiply", [width, share], NUMPY)
    taken = site.add("Multiply", [near, site.constant(_HIGHEST_BYTE, np.float32)], NUMPY)
    rest = site.add("Multiply", [site.add("Subtract", [width, taken], NUMPY), share], NUMPY)
    made: Tensor = site.add("Add", [near, rest], NUMPY)
    return made


def why_not_faked(scale: Array | None, zero_point: Array, to: DType) -> str | None:
    """Why a FakeQuantize would give other integers than the operator, or would not help.

    It rounds after the zero point is added. Half-way between two integers that is the other one, if the zero point is
    an odd number of steps from the lowest integer. Few scales have numbers that are exactly half-way.
    """
    if scale is None:
        return "its scale is computed at run time"
    if to.bits > 8:
        return "low-precision transformations are for 8 bits"
    numbers = scale.astype(np.float32).reshape(-1)
    if not ((numbers > _LEAST_SCALE) & (numbers < _MOST_SCALE)).all():
        return "its scale is no usual number"
    is_odd = (integers_of(to).lowest - zero_point.astype(np.int64)) % 2 != 0
    if np.any(is_odd) and any(_significant_bits(number) < _SHORT_SIGNIFICAND_BITS for number in numbers):
        return "numbers half-way between two integers would be rounded to the other one"
    return None


def _significant_bits(number: np.float32) -> int:
    numerator, _ = float(number).as_integer_ratio()
    return len(bin(numerator).rstrip("0")) - 2


def placed_value(site: OpenvinoSite, index: int, tensor: Tensor) -> Array | None:
    """The value of an input that is constant, in the shape of the tensor that it was made to."""
    value = site.value(index)
    if value is None or not isinstance(tensor, Constant):
        return None
    return value.reshape(tensor.data.shape)
