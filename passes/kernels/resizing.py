"""Resize and Upsample to the nearest element, which moves elements and computes none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from maxfold.passes.kernels.call import Array, Call, KernelError, Result, Shape, axis_of
from maxfold.passes.kernels.kernel import Kernel

# From this operator set on Resize has roi, scales and sizes as inputs, and says how coordinates are transformed.
_COORDINATES_OPSET = 11
# Upsample had its scales as an attribute before this one.
_UPSAMPLE_INPUT_OPSET = 9

_COORDINATES: dict[str, Callable[[Any, Any, int, int], Any]] = {
    "half_pixel": lambda index, scale, size, result: (index + _half(scale)) / scale - _half(scale),
    "asymmetric": lambda index, scale, size, result: index / scale,
    "pytorch_half_pixel": lambda index, scale, size, result: (
        (index + _half(scale)) / scale - _half(scale) if result > 1 else index * 0
    ),
    "align_corners": lambda index, scale, size, result: index * (size - 1) / (result - 1) if result > 1 else index * 0,
    "tf_half_pixel_for_nn": lambda index, scale, size, result: (index + _half(scale)) / scale,
}
_NEAREST: dict[str, Callable[[Any, Any], int]] = {
    "round_prefer_floor": lambda place, half: math.ceil(place - half),
    "round_prefer_ceil": lambda place, half: math.floor(place + half),
    "floor": lambda place, half: math.floor(place),
    "ceil": lambda place, half: math.ceil(place),
}


def _half(scale: Any) -> Any:
    return type(scale)(1) / 2


def _plan(call: Call) -> tuple[Shape, list[Fraction]]:
    """The result's shape, and the exact scale of each axis."""
    shape = call.shape(0)
    mode = call.text("mode", "nearest")
    if mode != "nearest":
        raise KernelError(f"mode {mode} computes new values, which are not folded")
    if 0 in shape:
        raise KernelError("there is no nearest element where there is none")
    sizes = call.optional(3) if call.opset >= _COORDINATES_OPSET else None
    if call.text("keep_aspect_ratio_policy", "stretch") != "stretch" or call.integer("antialias", 0):
        raise KernelError("only the plain way of scaling is folded")
    axes = call.integers("axes", range(len(shape)))
    places = [axis_of(axis, len(shape)) for axis in axes]
    scales = [Fraction(1)] * len(shape)
    result = list(shape)
    if sizes is not None and sizes.array.size:
        _check_count(sizes.array.size, places)
        for place, size in zip(places, sizes.array.reshape(-1).tolist(), strict=True):
            if size < 1:
                raise KernelError(f"size {size} is not positive")
            result[place], scales[place] = size, Fraction(size, shape[place])
        return tuple(result), scales
    given = _scales(call)
    _check_count(len(given), places)
    for place, scale in zip(places, given, strict=True):
        if not math.isfinite(scale) or scale <= 0:
            raise KernelError(f"scale {scale} is not positive")
        scales[place] = Fraction(scale)
        result[place] = math.floor(shape[place] * Fraction(scale))
        if result[place] != math.floor(np.float32(shape[place]) * np.float32(scale)) or not result[place]:
            raise KernelError("the size of the result depends on rounding")
    return tuple(result), scales


def _check_count(count: int, places: Sequence[int]) -> None:
    if count != len(places) or len(set(places)) != count:
        raise KernelError("there is not one scale or size for each axis")


def _scales(call: Call) -> list[float]:
    if "scales" in call.attributes or (call.opset < _UPSAMPLE_INPUT_OPSET and len(call.inputs) == 1):
        value = call.attributes.get("scales")
        if not isinstance(value, list) or not all(isinstance(item, float) for item in value):
            raise KernelError("attribute scales is not a known list of numbers")
        return list(value)
    index = 2 if call.opset >= _COORDINATES_OPSET else 1
    return [float(item) for item in call.array(index).reshape(-1)]


def _results(call: Call) -> tuple[Result, ...]:
    return (Result(call.dtype(), _plan(call)[0]),)


def _evaluate(call: Call) -> tuple[Array, ...]:
    result, scales = _plan(call)
    values = call.array(0)
    has_coordinates = call.opset >= _COORDINATES_OPSET
    transform = call.text("coordinate_transformation_mode", "half_pixel") if has_coordinates else "asymmetric"
    nearest = call.text("nearest_mode", "round_prefer_floor") if has_coordinates else "floor"
    if transform not in _COORDINATES or nearest not in _NEAREST:
        raise KernelError(f"{transform} with {nearest} is not folded")
    if result == values.shape and any(scale != 1 for scale in scales):
        raise KernelError("runtimes copy data whose shape does not change, whatever the scale")
    for axis, scale in enumerate(scales):
        if scale < 1 and not has_coordinates:
            _check_shrinking(values.shape[axis], result[axis], scale)
        if scale == 1 and result[axis] == values.shape[axis]:
            continue
        values = np.take(values, _indices(values.shape[axis], result[axis], scale, transform, nearest), axis)
    return (np.array(values, order="C"),)


def _check_shrinking(size: int, result: int, scale: Fraction) -> None:
    """Raises KernelError where it matters how a place is rounded, which old versions do not say."""
    ways = [_indices(size, result, scale, "asymmetric", nearest) for nearest in ("floor", "ceil")]
    if ways[0] != ways[1]:
        raise KernelError("which element is the nearest is not specified in this operator set")


def _indices(size: int, result: int, scale: Fraction, transform: str, nearest: str) -> list[int]:
    """Which element is the nearest to each of the result; KernelError where that depends on rounding."""
    exact = _rounded_indices(size, result, scale, transform, nearest, Fraction)
    for number in (np.float32, np.float64):
        if _rounded_indices(size, result, scale, transform, nearest, number) != exact:
            raise KernelError("which element is the nearest depends on rounding")
    return exact


def _rounded_indices(
    size: int, result: int, scale: Fraction, transform: str, nearest: str, number: Callable[[Any], Any]
) -> list[int]:
    rounded_scale = scale if number is Fraction else number(float(scale))
    places = (_COORDINATES[transform](number(index), rounded_scale, size, result) for index in range(result))
    half = number(1) / 2
    return [min(max(_NEAREST[nearest](place, half), 0), size - 1) for place in places]


def _kernel(operator: str, last: int) -> Kernel:
    return Kernel(
        operator=operator,
        domain="",
        since_version=7 if operator == "Upsample" else 10,
        last_version=last,
        numeric_policy="Exact: to the nearest element only, and only where no rounding decides which one that is.",
        results=_results,
        evaluate=_evaluate,
    )


RESIZING: tuple[Kernel, ...] = (_kernel("Resize", 19), _kernel("Upsample", 10))
