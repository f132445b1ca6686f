"""Resizing of images and volumes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxfold.model.data import Array
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.resampling import resampled
from maxfold.passes.conversion.row import Row, both
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.versions import needs_opset

_MODES = {"nearest": "nearest", "linear": "linear_onnx", "cubic": "cubic"}
_ONNX_MODES = {"nearest": "nearest", "linear": "linear", "linear_onnx": "linear", "cubic": "cubic"}
_COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
_NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_AXES_SINCE = 18
# From here on coordinates have a mode of their own.
_CHOSEN_COORDINATES = 4
_FIRST_MODES = ("nearest", "linear", "cubic")
_NOT_WHOLE = "its scales do not give whole sizes, or are computed at run time, with align_corners"
# Interpolation of these dimensions and no others is the same on both sides.
_MAX_LINEAR_AXES = {"linear": 3, "cubic": 2}


def _resize_to_openvino(site: OpenvinoSite) -> None:
    _require_numbers(site)
    mode = _known(site.attribute("mode", "nearest"), _MODES, "mode")
    coordinates = site.attribute("coordinate_transformation_mode", "half_pixel")
    nearest = _known(site.attribute("nearest_mode", "round_prefer_floor"), _NEAREST, "nearest_mode")
    _refuse_others(site)
    axes = _axes(site)
    by_sizes = site.has_input(3)
    given = 3 if by_sizes else 2
    # Linear weights say nothing else without it.
    excludes = bool(site.attribute("exclude_outside", 0)) and mode != "linear"
    if excludes and mode == "nearest":
        raise UnsupportedError("its exclude_outside 1 is not covered")
    is_open = not by_sizes and coordinates == "align_corners" and _whole_sizes(site, given, axes) is None
    if mode != "nearest" and (is_open or excludes or coordinates in ("half_pixel_symmetric", "tf_crop_and_resize")):
        kept = set() if coordinates == "tf_crop_and_resize" else _kept_axes(site, given, axes)
        site.result(resampled(site, axes, kept, mode, coordinates, excludes))
        return
    # What is outside is only read by the others.
    site.ignore("extrapolation_value")
    _check_coordinates(mode, coordinates, nearest)
    if is_open:
        raise UnsupportedError(_NOT_WHOLE)
    attributes = _interpolate_attributes(_MODES[mode], coordinates, nearest, by_sizes)
    attributes["cube_coeff"] = float(site.attribute("cubic_coeff_a", -0.75))
    _check_dimensions(mode, axes, site, given)
    operands = [site.input(0), site.input(given), site.constant(axes, "int64")]
    site.result(site.add("Interpolate", operands, attributes, opset=11))


def _require_numbers(site: OpenvinoSite) -> None:
    if site.kind(0) not in ("float", "int", "uint"):
        raise UnsupportedError(f"of {site.dtype(0)} OpenVINO does not have it")


def _interpolate_attributes(mode: str, coordinates: str, nearest: str, has_sizes: bool) -> dict[str, object]:
    return {
        "mode": mode, "shape_calculation_mode": "sizes" if has_sizes else "scales",
        "coordinate_transformation_mode": coordinates, "nearest_mode": nearest, "antialias": False,
        "pads_begin": [0], "pads_end": [0], "cube_coeff": -0.75,
    }  # fmt: skip


def _refuse_others(site: OpenvinoSite) -> None:
    """What ONNX's Resize can do beyond OpenVINO's."""
    for name, default in (
        ("antialias", 0), ("keep_aspect_ratio_policy", "stretch"),
    ):  # fmt: skip
        value = site.attribute(name, default)
        if value != default:
            raise UnsupportedError(f"its {name} {value!r} is not covered")


def _all_axes(site: OpenvinoSite | OnnxSite) -> list[int]:
    return list(range(site.rank(0)))


def _axes(site: OpenvinoSite) -> list[int]:
    axes, rank = site.attribute("axes"), site.rank(0)
    return _all_axes(site) if axes is None else [int(axis) % rank for axis in axes]


def _check_coordinates(mode: str, coordinates: str, nearest: str) -> None:
    """Raises `UnsupportedError` for coordinates that the two formats do not compute alike."""
    _known(coordinates, (*_COORDINATES, "tf_half_pixel_for_nn"), "coordinate_transformation_mode")
    if coordinates == "tf_half_pixel_for_nn" and mode != "nearest":
        raise UnsupportedError(f"its coordinate mode {coordinates!r} for {mode!r} is not covered")
    if mode == "nearest" and (coordinates, nearest) == ("asymmetric", "round_prefer_ceil"):
        raise UnsupportedError("its nearest_mode 'round_prefer_ceil' of asymmetric coordinates is not covered")


def _whole_sizes(site: OpenvinoSite | OnnxSite, index: int, axes: list[int]) -> list[int | None] | None:
    """The sizes that scales give, None where one is not whole or nothing is known of it.

    A single size is None where the dimension is not known but is only multiplied.
    """
    scales, shape = site.value(index), site.shape(0)
    if scales is None or shape is None:
        return None
    sizes: list[int | None] = []
    for axis, scale in zip(axes, scales.reshape(-1).tolist(), strict=True):
        dim = shape[axis]
        if (scale if dim is None else dim * scale) % 1:
            return None
        sizes.append(None if dim is None else int(dim * scale))
    return sizes


def _check_dimensions(mode: str, axes: list[int], site: OpenvinoSite, index: int) -> None:
    """Raises `UnsupportedError` where more dimensions are interpolated than OpenVINO's CPU does."""
    limit = _MAX_LINEAR_AXES.get(mode)
    if limit is None:
        return
    changed = set(axes) - _kept_axes(site, index, axes)
    if len(changed) > limit and site.rank(0) > limit + 2:
        raise UnsupportedError(f"its mode {mode!r} over {len(changed)} dimensions is not covered")


def _kept_axes(site: OpenvinoSite, index: int, axes: list[int]) -> set[int]:
    """The axes that are known to stay as they are."""
    values, shape = site.value(index), site.shape(0)
    if values is None or shape is None:
        return set()
    return {axis for position, axis in enumerate(axes) if _keeps(values[position], shape[axis])}


def _keeps(value: np.generic, size: int | None) -> bool:
    is_scale = np.asarray(value).dtype.kind == "f"
    return bool(value == 1) if is_scale else size is not None and bool(value == size)


def _interpolate_to_onnx(site: OnnxSite) -> None:
    if site.version < _CHOSEN_COORDINATES:
        site.result(_first_interpolate(site))
        return
    mode = site.text("mode").lower()
    if mode not in _ONNX_MODES:
        raise UnsupportedError(f"its mode {mode!r} is not covered")
    coordinates, nearest = site.text("coordinate_transformation_mode").lower(), site.text("nearest_mode").lower()
    _check_coordinates(mode, coordinates, _known(nearest, _NEAREST, "nearest_mode"))
    if site.flag("antialias") or any((*site.integers("pads_begin"), *site.integers("pads_end"))):
        raise UnsupportedError("its antialias or padding is not covered")
    attributes: dict[str, object] = {"mode": _ONNX_MODES[mode], "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        attributes["nearest_mode"] = nearest
    coefficient = site.floating("cube_coeff")
    if mode == "cubic":
        attributes["cubic_coeff_a"] = coefficient
    given, axes = _sizes_or_scales(site)
    none = site.omitted()
    site.result(site.add("Resize", [site.input(0), none, *given], {**attributes, **axes}))


def _first_interpolate(site: OnnxSite) -> Tensor:
    """Interpolate of operator set 1, to sizes, with the first elements on each other.

    Source: OpenVINO 2026.4 on its CPU: antialias does nothing; nearest takes the element before a place
    between two where an axis grows, the one behind it where it shrinks.
    """
    mode = _known(site.text("mode").lower(), _FIRST_MODES, "mode")
    site.ignore("antialias")
    if any((*site.integers("pads_begin"), *site.integers("pads_end"))):
        raise UnsupportedError("its padding is not covered")
    rank = site.rank(0)
    axes = [axis % rank if rank else axis for axis in site.integers("axes")]
    if len(set(axes)) != len(axes) or any(axis >= rank for axis in axes):
        raise UnsupportedError(f"its axes {site.integers('axes')} are no different ones of {rank} dimensions")
    coordinates = "align_corners" if site.flag("align_corners") else "asymmetric"
    attributes: dict[str, object] = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode != "nearest":
        if site.kind(0) != "float":
            raise UnsupportedError(f"its mode {mode!r} of {site.dtype(0)} is not covered")
        given, chosen = _given(site, 1, axes, by_sizes=True)
        resized: Tensor = site.add("Resize", [site.input(0), site.omitted(), *given], {**attributes, **chosen})
        return resized
    data, sizes = site.input(0), list(site.shape(0) or ())
    wanted = dict(zip(axes, site.integers_of(1, "its sizes, for the mode 'nearest',"), strict=True))
    if any(sizes[axis] is None for axis in axes):
        raise UnsupportedError("the sizes of its data are not known, for the mode 'nearest'")
    for nearest in ("floor", "ceil"):
        changed = {axis: size for axis, size in wanted.items() if _is_wanted(nearest, size, sizes[axis])}
        if not changed:
            continue
        sizes = [changed.get(axis, size) for axis, size in enumerate(sizes)]
        target = _with_run_time_sizes(site, sizes) if None in sizes else site.constant(sizes, "int64")
        operands = [data, site.omitted(), site.omitted(), target]
        data = site.add("Resize", operands, {**attributes, "nearest_mode": nearest})
    return data


def _is_wanted(nearest: str, size: int, have: int | None) -> bool:
    """Whether an axis is resized with that choice between two elements."""
    return have is not None and (size > have if nearest == "floor" else size < have)


def _sizes_or_scales(site: OnnxSite) -> tuple[list[Tensor], dict[str, object]]:
    """The inputs scales and sizes of Resize, of which one is left out, and the axes where it has the attribute."""
    calculation = _known(site.text("shape_calculation_mode").lower(), ("sizes", "scales"), "shape_calculation_mode")
    by_sizes, is_latest = calculation == "sizes", site.version >= 11
    index, axes_index = (1 if is_latest or by_sizes else 2), (2 if is_latest else 3)
    rank, every = site.rank(0), _all_axes(site)
    if not rank:
        raise UnsupportedError("its input has no dimensions")
    has_axes = site.has_input(axes_index)
    axes = [axis % rank for axis in site.integers_of(axes_index, "axes")] if has_axes else every
    if not by_sizes and site.text("coordinate_transformation_mode").lower() == "align_corners":
        sizes = _whole_sizes(site, index, axes)
        if sizes is None:
            raise UnsupportedError(_NOT_WHOLE)
    return _given(site, index, axes, by_sizes=by_sizes)


def _given(site: OnnxSite, index: int, axes: list[int], *, by_sizes: bool) -> tuple[list[Tensor], dict[str, object]]:
    """The inputs scales and sizes of Resize for an input that gives one of them for some axes, and its axes."""
    value, every = site.value(index), _all_axes(site)
    attribute: dict[str, object] = {}
    if value is not None:
        given = _for_all_axes(site, value, axes, by_sizes)
    elif axes != every and site.opset < _AXES_SINCE:
        what = "sizes" if by_sizes else "scales"
        raise needs_opset(f"that its {what} are computed at run time", _AXES_SINCE)
    else:
        given = site.add("Cast", [site.input(index)], {"to": 7 if by_sizes else 1})
        if site.shape(index) != (len(axes),):
            # onnx's checker refuses sizes of a number that it does not know.
            given = site.add("Reshape", [given, site.constant([len(axes)], "int64")])
        if axes != every:
            attribute["axes"] = axes
    return ([site.omitted(), given] if by_sizes else [given]), attribute


def _for_all_axes(site: OnnxSite, value: Array, axes: list[int], by_sizes: bool) -> Tensor:
    """Known sizes or scales of some axes, completed for all of them."""
    shape = site.shape(0) or ()
    whole: list[int | float | None] = list(shape) if by_sizes else [1.0] * len(shape)
    for axis, item in zip(axes, value.reshape(-1).tolist(), strict=True):
        whole[axis] = item
    if None in whole:
        return _with_run_time_sizes(site, whole)
    return site.constant(whole, "int64" if by_sizes else "float32")


def _with_run_time_sizes(site: OnnxSite, sizes: Sequence[int | float | None]) -> Tensor:
    """Sizes of which those that are not known are the input's own."""
    own = site.add("Shape", [site.input(0)])
    parts = []
    for axis, size in enumerate(sizes):
        if size is not None:
            parts.append(site.constant([size], "int64"))
            continue
        parts.append(site.add("Gather", [own, site.constant([axis], "int64")], {"axis": 0}))
    result: Tensor = site.add("Concat", parts, {"axis": 0})
    return result


def _known(value: str, values: object, name: str) -> str:
    if value not in values:  # type: ignore[operator]
        raise UnsupportedError(f"its {name} {value!r} is not covered")
    return value


_LIMITS = (
    "From ONNX, exclude_outside, half_pixel_symmetric, tf_crop_and_resize, and align_corners where sizes may not be "
    "whole become products with matrices of weights, in which what is not finite spreads along its axes; for nearest "
    "they are refused. antialias, keep_aspect_ratio_policy and padding are refused, and so are the modes "
    "bilinear_pillow, bicubic_pillow and simple, and round_prefer_ceil of asymmetric coordinates, by which OpenVINO "
    "takes other elements half-way between two. Of operator set 1, nearest needs sizes that are known."
)

ROWS: tuple[Row, ...] = (
    *both(
        "Resize",
        "Interpolate-1",
        _resize_to_openvino,
        _interpolate_to_onnx,
        tolerance="1e-4 relative, 1e-5 absolute",
        limits=_LIMITS,
    ),
)
