"""Resizing in forms that OpenVINO's Interpolate does not have: a product with a matrix of weights for each axis."""

from __future__ import annotations

from dataclasses import dataclass

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.operands import shape_vector
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import reshaped
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NUMPY = {BROADCAST: "numpy"}
# How many elements beyond the edge a cubic kernel reads.
_BEYOND = 2
COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric",
               "tf_crop_and_resize")  # fmt: skip


class _Arithmetic:
    """Operations on float32 tensors of the target and on numbers."""

    def __init__(self, site: OpenvinoSite) -> None:
        self.site = site

    def of(self, op: str, *operands: Tensor | float) -> Tensor:
        """A binary operation with broadcasting."""
        given = [self.site.constant(item, "float32") if isinstance(item, (int, float)) else item for item in operands]
        result: Tensor = self.site.add(op, given, {**_NUMPY, "m_pythondiv": True} if op == "Divide" else _NUMPY)
        return result

    def to(self, tensor: Tensor, name: str) -> Tensor:
        """A tensor of another type."""
        result: Tensor = self.site.add("Convert", [tensor], {"destination_type": name})
        return result

    def element(self, vector: Tensor, index: int) -> Tensor:
        """An element of a vector, without dimensions."""
        place, axis = self.site.constant(index, "int64"), self.site.constant(0, "int64")
        result: Tensor = self.site.add("Gather", [vector, place, axis], {"batch_dims": 0}, opset=8)
        return result

    def steps(self, count: Tensor) -> Tensor:
        """0, 1, 2 and so on."""
        bounds = [self.site.constant(item, "int64") for item in (0, 1)]
        steps = self.site.add("Range", [bounds[0], count, bounds[1]], {"output_type": "i64"}, opset=4)
        return self.to(steps, "f32")


@dataclass(frozen=True, slots=True)
class _Axis:
    """Sizes along an axis: of the data, of the result as they are asked for and as a whole number, and their ratio."""

    size: Tensor
    asked: Tensor
    whole: Tensor
    scale: Tensor


def resampled(
    site: OpenvinoSite, axes: list[int], kept: set[int], mode: str, coordinates: str, excludes: bool
) -> Tensor:  # fmt: skip
    """The data resized along axes but for those that are kept, "linear" or "cubic", at the positions of ONNX's text."""
    if mode == "nearest" or coordinates not in COORDINATES:
        raise UnsupportedError(f"its mode {mode!r} with coordinates {coordinates!r} is not covered")
    if site.kind(0) != "float":
        raise UnsupportedError(f"of {site.dtype(0)} it is not covered in this form")
    does, dtype, rank = _Arithmetic(site), dtype_of(site), site.rank(0)
    is_wide = dtype.name == "FLOAT"
    data = site.input(0) if is_wide else does.to(site.input(0), "f32")
    outside = float(site.attribute("extrapolation_value", 0.0))
    for index, place in enumerate(axes):
        if place in kept:
            continue
        axis = _sizes(does, index, place)
        positions = _positions(does, axis, coordinates, index, len(axes))
        order = list(range(rank))
        order[place], order[-1] = order[-1], order[place]
        swap = site.constant(order, "int64")
        turned = site.add("Transpose", [data, swap])
        read, weights = _weighted(does, turned, rank, axis, positions, mode, excludes)
        made = site.add("MatMul", [read, weights], {"transpose_a": False, "transpose_b": True})
        if coordinates == "tf_crop_and_resize":
            is_before, is_behind = does.of("Less", positions, 0.0), does.of("Greater", positions, _last(does, axis))
            is_outside = site.add("LogicalOr", [is_before, is_behind], _NUMPY)
            made = site.add("Select", [is_outside, site.constant(outside, "float32"), made], _NUMPY)
        data = site.add("Transpose", [made, swap])
    return data if is_wide else does.to(data, str(dtype.openvino))


def _sizes(does: _Arithmetic, index: int, place: int) -> _Axis:
    site = does.site
    size = does.to(does.element(shape_vector(site, site.input(0)), place), "f32")
    if site.has_input(3):
        whole = does.element(does.to(site.input(3), "i64"), index)
        asked = does.to(whole, "f32")
        return _Axis(size, asked, whole, does.of("Divide", asked, size))
    scale = does.element(does.to(site.input(2), "f32"), index)
    asked = does.of("Multiply", size, scale)
    return _Axis(size, asked, does.to(site.add("Floor", [asked]), "i64"), scale)


def _last(does: _Arithmetic, axis: _Axis) -> Tensor:
    return does.of("Subtract", axis.size, 1.0)


def _positions(does: _Arithmetic, axis: _Axis, coordinates: str, index: int, count: int) -> Tensor:
    """Where in the data each element of the result lies, along an axis."""
    steps = does.steps(axis.whole)
    if coordinates == "asymmetric":
        return does.of("Divide", steps, axis.scale)
    if coordinates in ("align_corners", "tf_crop_and_resize"):
        return _between_corners(does, axis, steps, coordinates == "tf_crop_and_resize", index, count)
    centres = does.of("Subtract", does.of("Divide", does.of("Add", steps, 0.5), axis.scale), 0.5)
    if coordinates == "pytorch_half_pixel":
        is_single, first = does.of("Equal", axis.asked, 1.0), does.site.constant(-0.5, "float32")
        placed: Tensor = does.site.add("Select", [is_single, first, centres], _NUMPY)
        return placed
    if coordinates == "half_pixel":
        return centres
    ratio = does.of("Divide", does.to(axis.whole, "f32"), axis.asked)
    left = does.of("Multiply", does.of("Multiply", axis.size, 0.5), does.of("Subtract", 1.0, ratio))
    return does.of("Add", centres, left)


def _between_corners(
    does: _Arithmetic, axis: _Axis, steps: Tensor, has_region: bool, index: int, count: int
) -> Tensor:  # fmt: skip
    """Positions from the first to the last element, or between those that the region of interest names."""
    site, last = does.site, _last(does, axis)
    # A single position has no step.
    is_single = does.of("Equal", axis.asked, 1.0)
    between = site.add("Select", [is_single, axis.asked, does.of("Subtract", axis.asked, 1.0)], _NUMPY)
    if not has_region:
        step = does.of("Divide", last, between)
        moved = does.of("Multiply", steps, step)
        spread: Tensor = site.add("Select", [is_single, site.constant(0.0, "float32"), moved], _NUMPY)
        return spread
    region = does.to(site.input(1), "f32")
    start, end = does.element(region, index), does.element(region, index + count)
    reach = does.of("Multiply", does.of("Subtract", end, start), last)
    moved = does.of("Multiply", steps, does.of("Divide", reach, between))
    placed = site.add("Select", [is_single, does.of("Multiply", reach, 0.5), moved], _NUMPY)
    return does.of("Add", placed, does.of("Multiply", start, last))


def _weighted(
    does: _Arithmetic, data: Tensor, rank: int, axis: _Axis, positions: Tensor, mode: str, excludes: bool
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The data, with its edge repeated where the kernel reads beyond, and the weights [result, data]."""
    site = does.site
    elements = does.steps(does.to(axis.size, "i64"))
    if mode == "linear":
        # Beyond an edge there is the edge.
        inside = does.of("Minimum", does.of("Maximum", positions, 0.0), _last(does, axis))
        distance = site.add("Abs", [does.of("Subtract", elements, reshaped(site, inside, [-1, 1]))])
        return data, does.of("Maximum", does.of("Subtract", 1.0, distance), 0.0)
    if not excludes:
        pads = site.constant([0] * (rank - 1) + [_BEYOND], "int64")
        data = site.add("Pad", [data, pads, pads], {"pad_mode": "edge"})
        wider = does.of("Add", axis.size, 2.0 * _BEYOND)
        elements = does.of("Subtract", does.steps(does.to(wider, "i64")), float(_BEYOND))
    distance = site.add("Abs", [does.of("Subtract", elements, reshaped(site, positions, [-1, 1]))])
    weights = _cubic(does, distance, float(site.attribute("cubic_coeff_a", -0.75)))
    if excludes:
        sums = site.add("ReduceSum", [weights, site.constant([-1], "int64")], {"keep_dims": True})
        weights = does.of("Divide", weights, sums)
    return data, weights


def _cubic(does: _Arithmetic, x: Tensor, a: float) -> Tensor:
    """The kernel of two pieces, 0 from a distance of 2 on."""
    near = _polynomial(does, x, (a + 2, -(a + 3), 0.0, 1.0))
    far = _polynomial(does, x, (a, -5 * a, 8 * a, -4 * a))
    site = does.site
    rest = site.add("Select", [does.of("Less", x, 2.0), far, site.constant(0.0, "float32")], _NUMPY)
    result: Tensor = site.add("Select", [does.of("LessEqual", x, 1.0), near, rest], _NUMPY)
    return result


def _polynomial(does: _Arithmetic, x: Tensor, factors: tuple[float, ...]) -> Tensor:
    result = does.of("Multiply", x, factors[0])
    for factor in factors[1:-1]:
        result = does.of("Multiply", does.of("Add", result, factor), x)
    return does.of("Add", result, factors[-1])
