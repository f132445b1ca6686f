"""FakeQuantize to ONNX: integers of 8 bits where its range is theirs, else what OpenVINO's CPU computes.

Source: OpenVINO 2026.4, by running it. With a constant range its CPU makes the factors beforehand, rounds the product
and the sum before the step, and the ones behind it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxfold.model.data import ArrayData
from maxfold.model.graph import Constant, Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST, PDPD_AXIS
from maxfold.passes.conversion.parts.operands import cast
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_Floats = NDArray[np.float32]
# Scale, zero point, and the axis along which there are several.
_Linear = tuple[_Floats, NDArray[Any], int | None]
_LEVELS = 256
# How far a zero point may be from an integer: each element then differs by as much of a step.
_NEAR_INTEGER = 1e-3
_HALVES = "how FakeQuantize rounds next to half a step, a few of a million elements"
_STORED = ("UINT8", "INT8")
_OPERANDS = ("input_low", "input_high", "output_low", "output_high")


@dataclass(frozen=True, slots=True)
class _Range:
    """The ends of what goes in and of what comes out."""

    low: _Floats
    high: _Floats
    to_low: _Floats
    to_high: _Floats

    @property
    def is_kept(self) -> bool:
        """Whether what comes out has the range of what goes in."""
        return np.array_equal(self.low, self.to_low) and np.array_equal(self.high, self.to_high)

    @property
    def is_empty(self) -> bool:
        """Whether the ends of what goes in are one somewhere."""
        return bool(np.any(self.low == self.high))

    @property
    def is_reversed(self) -> bool:
        """Whether the ends of what goes in are swapped somewhere."""
        return bool(np.any(self.low > self.high))


def _to_onnx(site: OnnxSite) -> None:
    mode = site.text(BROADCAST).lower()
    if mode not in ("numpy", "none", "explicit"):
        raise UnsupportedError(f"its auto_broadcast {mode!r} is not covered")
    # Only pdpd has an axis.
    site.ignore(PDPD_AXIS)
    levels = site.integer("levels")
    if levels < 2:
        raise UnsupportedError(f"it has {levels} levels; it takes 2 at least")
    dtype = dtype_of(site)
    x = cast(site, site.input(0), dtype.name, "FLOAT")
    found = _constant_range(site)
    if found is None or found.is_empty or found.is_reversed:
        made = _as_evaluated(site, x, levels)
    else:
        made = _of_constant_range(site, x, found, levels)
    site.result(cast(site, made, "FLOAT", dtype.name))


def _of_constant_range(site: OnnxSite, x: Tensor, found: _Range, levels: int) -> Tensor:
    weights = _stored_weights(site, x, found, levels)
    if weights is not None:
        return weights
    parameters = _linear(site, found) if levels == _LEVELS and not site.composes_steps else None
    if parameters is None:
        return _composed(site, x, found, levels)
    site.lose(_HALVES, site.node.name)
    return _quantized(site, x, *parameters)


def _constant_range(site: OnnxSite) -> _Range | None:
    """The range where all of it is constant, None where some of it is computed at run time."""
    ends = [_value(site, index) for index in range(1, len(_OPERANDS) + 1)]
    known = [end for end in ends if end is not None]
    return _Range(*known) if len(known) == len(ends) else None


def _value(site: OnnxSite, index: int) -> _Floats | None:
    """An end of the range, which old files have in half precision and newer ones store in it."""
    tensor = site.node.inputs[index]
    value = tensor.values if isinstance(tensor, Constant) else _decompressed(tensor)
    if value is None:
        value = site.value(index)
    return None if value is None else np.asarray(value, np.float32)


def _decompressed(tensor: Tensor) -> NDArray[np.generic] | None:
    """A constant behind a Convert."""
    maker = tensor.inputs[0] if tensor.inputs else None
    if maker is None or maker.op != "Convert":
        return None
    (source,) = maker.inputs
    return source.values if isinstance(source, Constant) else None


def _linear(site: OnnxSite, found: _Range) -> _Linear | None:
    """Scale, zero point and axis where the range is one of integers of 8 bits, None where it is not."""
    if not found.is_kept or np.any(found.low > 0) or np.any(found.high < 0):
        return None
    scale = np.asarray((found.high - found.low) / np.float32(_LEVELS - 1), np.float32)
    exact = -found.low.astype(np.float64) / scale
    return _placed(site.shape(0), _refined(scale, np.rint(exact), found), exact, np.iinfo(np.uint8))


def _refined(scale: _Floats, zero_point: NDArray[np.float64], found: _Range) -> _Floats:
    """The scale next to one that was rounded of which the range is made exactly, if there is one: the one that a model
    had before it became an IR."""
    refined = scale
    for candidate in (np.nextafter(scale, np.float32(0)), np.nextafter(scale, np.float32(np.inf)), scale):
        ends = ((bound - zero_point).astype(np.float32) * candidate for bound in (0, _LEVELS - 1))
        is_range = np.logical_and(*map(np.equal, ends, (found.low, found.high)))
        refined = np.where(is_range, candidate, refined)
    return refined


def _stored_weights(site: OnnxSite, x: Tensor, found: _Range, levels: int) -> Tensor | None:
    """Integers of 8 bits that the file has as such, each a step of the range; None where it has none."""
    maker = x.inputs[0] if x.inputs else None
    stored = maker.inputs[0] if maker is not None and maker.op == "Cast" else None
    if not isinstance(stored, Constant) or stored.data.dtype is None or stored.data.dtype.name not in _STORED:
        return None
    steps, values = np.float32(levels - 1), stored.values
    is_step = np.all(found.high - found.low == steps) and np.all(found.low == np.rint(found.low))
    if not is_step or not values.size or np.any(values < found.low) or np.any(values > found.high):
        return None
    step = np.asarray((found.to_high - found.to_low) / steps, np.float32)
    if not np.all(step > 0) or not np.all(np.isfinite(step)):
        return None
    exact = found.low - found.to_low.astype(np.float64) / step
    placed = _placed(stored.data.shape, step, exact, np.iinfo(stored.data.dtype.numpy))
    if placed is None:
        return None
    scale, zero_point, axis = placed
    # The names that they have where an IR multiplies weights itself, as it does on the way back.
    named = (("scale", scale.astype(np.float32)), ("zero_point", zero_point))
    parameters = [site.constant_of(ArrayData(values), f"{stored.name}_{what}") for what, values in named]
    made: Tensor = site.add("DequantizeLinear", [stored, *parameters], {} if axis is None else {"axis": axis})
    return made


def _placed(
    shape: Sequence[int | None] | None, scale: _Floats, exact: NDArray[np.float64], limits: np.iinfo[Any]
) -> _Linear | None:
    """Scale and zero point of a tensor or of an axis, None where they are neither, or a zero point is no integer."""
    point = np.rint(exact)
    is_near = np.all(abs(exact - point) < _NEAR_INTEGER)
    if not is_near or np.any(point < limits.min) or np.any(point > limits.max):
        return None
    scale, zero_point = np.broadcast_arrays(scale, point.astype(limits.dtype))
    if scale.size == 1:
        return scale.reshape(()), zero_point.reshape(()), None
    axes = [axis for axis, size in enumerate(scale.shape) if size != 1]
    if shape is None or len(axes) != 1 or scale.ndim > len(shape):
        return None
    axis = axes[0] + len(shape) - scale.ndim
    # A dimension of 1 would be broadcast.
    return None if shape[axis] != scale.size else (scale.reshape(-1), zero_point.reshape(-1), axis)


def _quantized(site: OnnxSite, x: Tensor, scale: _Floats, zero_point: NDArray[Any], axis: int | None) -> Tensor:
    attributes = {} if axis is None else {"axis": axis}
    parameters: list[Tensor] = [site.constant(scale, np.float32), site.constant(zero_point, np.uint8)]
    integers = site.add("QuantizeLinear", [x, *parameters], attributes)
    made: Tensor = site.add("DequantizeLinear", [integers, *parameters], attributes)
    return made


def _composed(site: OnnxSite, x: Tensor, found: _Range, levels: int) -> Tensor:
    """What OpenVINO's CPU computes with a constant range."""
    steps = np.float32(levels - 1)
    scale = steps / (found.high - found.low)
    shift = -found.low * scale
    step = (found.to_high - found.to_low) / steps
    held = site.add("Min", [site.add("Max", [x, _floats(site, found.low)]), _floats(site, found.high)])
    placed = site.add("Add", [site.add("Mul", [held, _floats(site, scale)]), _floats(site, shift)])
    number = site.add("Mul", [site.add("Round", [placed]), _floats(site, step)])
    made: Tensor = site.add("Add", [number, _floats(site, found.to_low)])
    return made


def _floats(site: OnnxSite, values: _Floats) -> Tensor:
    return site.constant(values, np.float32)


def _as_evaluated(site: OnnxSite, x: Tensor, levels: int) -> Tensor:
    """What OpenVINO computes with a range that is not known beforehand, or of which ends are one or swapped."""
    low, high, to_low, to_high = (
        cast(site, site.input(index), dtype_of(site, index).name, "FLOAT") for index in range(1, len(_OPERANDS) + 1)
    )
    steps = site.constant(levels - 1, np.float32)
    width = site.add("Sub", [high, low])
    place = site.add("Div", [site.add("Sub", [x, low]), width])
    number = site.add("Div", [site.add("Round", [site.add("Mul", [place, steps])]), steps])
    made = site.add("Add", [site.add("Mul", [number, site.add("Sub", [to_high, to_low])]), to_low])
    is_below = site.add("LessOrEqual", [x, site.add("Min", [low, high])])
    is_above = site.add("Greater", [x, site.add("Max", [low, high])])
    inner = site.add("Where", [is_above, to_high, made])
    result: Tensor = site.add("Where", [is_below, to_low, inner])
    return result


ROWS: tuple[Row, ...] = (
    *from_openvino(
        "FakeQuantize-1", "QuantizeLinear", _to_onnx, tolerance="1 step, where a number is half-way between two",
        limits="Becomes QuantizeLinear and DequantizeLinear where 256 levels keep their range and 0 falls on one of "
        "them, which may be a thousandth of a step away; weights stored in 8 bits stay so. Else becomes what "
        "OpenVINO's CPU computes without its low-precision transformations. NaN does not become the lowest number.",
    ),
)  # fmt: skip
