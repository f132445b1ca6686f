"""The same elements under another shape or in another order of dimensions."""

from __future__ import annotations

from math import prod

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import (
    INT64_MAX,
    int64_vector,
    length_of,
    openvino_slice,
    positive_axis,
    shape_vector,
)
from maxfold.passes.conversion.parts.run_time_axes import run_time_axes, squeezed, unsqueezed
from maxfold.passes.conversion.row import Row, both, from_onnx
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.sites.site import Shape
from maxfold.passes.conversion.versions import needs_opset

# The first operator set in which the attribute exists.
_ALLOW_ZERO = 14


def _reshape_to_openvino(site: OpenvinoSite) -> None:
    special_zero = not site.attribute("allowzero", 0)
    site.result(site.add("Reshape", site.inputs(), {"special_zero": special_zero}))


def _reshape_to_onnx(site: OnnxSite) -> None:
    target = int64_vector(site, 1)
    values = site.value(1)
    zero_is_literal = not site.flag("special_zero") and (values is None or 0 in values)
    if zero_is_literal and values is not None and -1 in values:
        raise UnsupportedError("its shape has a 0 that is meant as such beside a -1")
    if zero_is_literal and site.opset < _ALLOW_ZERO:
        raise needs_opset("its special_zero 'false'", 14)
    result = site.add("Reshape", [site.input(0), target], {"allowzero": 1} if zero_is_literal else {})
    length = site.shape(1)
    if values is not None or (length is not None and None not in length):
        # onnx derives nothing where the input's shape is not known.
        dims = [0] * length_of(site, 1, "its shape") if values is None else values.reshape(-1).tolist()
        site.declare(result, site.input(0), [dim if dim > 0 else None for dim in dims])
    site.result(result)


def _flatten_to_openvino(site: OpenvinoSite) -> None:
    axis = site.attribute("axis", 1)
    if axis < 0:
        axis += site.rank(0)
    shape = site.shape(0)
    empty = _empty_shape(axis, shape)
    if empty is not None:
        sizes, is_copy = empty
        made = site.constant(sizes, "int64")
        site.result(site.add("Reshape", [site.input(0), made], {"special_zero": is_copy}))
        return
    known = _flat_shape(axis, shape)
    if known is not None and (shape is None or 0 not in shape):
        target: Tensor = site.constant(known, "int64")
        site.result(site.add("Reshape", [site.input(0), target], {"special_zero": True}))
        return
    dims = shape_vector(site, site.input(0))
    zero = site.constant([0], "int64")
    parts = [openvino_slice(site, dims, 0, axis), openvino_slice(site, dims, axis, INT64_MAX)]
    lengths = [site.add("ReduceProd", [part, zero], {"keep_dims": True}) for part in parts]
    target = site.add("Concat", lengths, {"axis": 0})
    site.result(site.add("Reshape", [site.input(0), target], {"special_zero": False}))


def _empty_shape(axis: int, shape: Shape | None) -> tuple[list[int], bool] | None:
    """The shape of a flattened tensor that has no elements, and whether a 0 in it may be taken for the input's own
    dimension at its place, which every operator set has. A -1 beside a 0 would say nothing."""
    if shape is None or 0 not in shape:
        return None
    before, after = _product(shape[:axis]), _product(shape[axis:])
    # The first dimension may be unknown where it is one of the input's: it is copied.
    is_copy = (axis == 1 or before != 0 or shape[0] == 0) and (after != 0 or shape[1:2] == (0,))
    if after is None or (before is None and not (axis == 1 and is_copy)):
        return None
    return [before or 0, after], is_copy


def _product(dims: Shape) -> int | None:
    if 0 in dims:
        return 0
    known = [dim for dim in dims if dim is not None]
    return prod(known) if len(known) == len(dims) else None


def _flat_shape(axis: int, shape: tuple[int | None, ...] | None) -> list[int] | None:
    """The shape of a flattened tensor, 0 for the input's own dimension and -1 for the rest; None where not known."""
    if axis <= 1:
        # With its size in place of -1, a batch of 0 is possible.
        size = _product(shape[1:]) if axis and shape is not None else None
        return [0 if axis else 1, -1 if size is None else size]
    if shape is None:
        return None
    before = [dim for dim in shape[:axis] if dim]
    after = [dim for dim in shape[axis:] if dim]
    if len(before) == axis:
        return [prod(before), -1]
    return [-1, prod(after)] if len(after) == len(shape) - axis else None


def _transpose_to_openvino(site: OpenvinoSite) -> None:
    order = site.attribute("perm")
    if order is None:
        # An empty order reverses the dimensions too, whatever their number.
        shape = site.shape(0)
        order = [] if shape is None else list(range(len(shape)))[::-1]
    elif site.shape(0) is not None and len(order) != site.rank(0):
        raise UnsupportedError(f"its perm {order} is none of {site.rank(0)} dimensions")
    site.result(site.add("Transpose", [site.input(0), site.constant(order, "int64")]))


def _transpose_to_onnx(site: OnnxSite) -> None:
    order = site.integers_of(1, "its order")
    site.result(site.add("Transpose", [site.input(0)], {"perm": order} if order else {}))


def _squeeze_to_openvino(site: OpenvinoSite) -> None:
    axes = site.value(1)
    if axes is not None and not axes.size:
        raise UnsupportedError("its axes are an empty list, which is read in two ways")
    open_axes = run_time_axes(site)
    # Of one axis OpenVINO knows the rank of the result.
    if open_axes is not None and open_axes[1] > 1:
        site.result(squeezed(site, site.input(0), site.input(1), *open_axes))
        return
    declared = None if site.has_input(1) else _declared_axes(site)
    if declared is not None:
        # An empty list of axes would say all that turn out to be 1.
        x = site.input(0)
        site.result(site.add("Squeeze", [x, site.constant(declared, "int64")]) if declared else x)
        return
    site.result(site.add("Squeeze", site.inputs() if site.has_input(1) else [site.input(0)]))


def _declared_axes(site: OpenvinoSite) -> list[int] | None:
    """The axes that go where none is named, if the model declares a result of as many dimensions as are not known to
    be 1. OpenVINO's CPU does not load a tensor of unknown rank."""
    shape, declared = site.shape(0), site.node.outputs[0].shape
    if shape is None or None not in shape or declared is None:
        return None
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    return ones if len(declared) == len(shape) - len(ones) else None


def _squeeze_to_onnx(site: OnnxSite) -> None:
    skips = site.version >= 15 and site.flag("allow_axis_skip")
    axes = site.value(1)
    if not site.has_input(1) or (axes is not None and not axes.size):
        site.result(site.add("Squeeze", [site.input(0)]))
        return
    if axes is None:
        if skips:
            raise UnsupportedError("its allow_axis_skip is 'true' and its axes are computed at run time")
        site.result(_with_rank(site, site.add("Squeeze", [site.input(0), int64_vector(site, 1)]), -1))
        return
    kept = _squeezable(site, [int(axis) for axis in axes.reshape(-1)], skips)
    if kept:
        site.result(site.add("Squeeze", [site.input(0), site.constant(kept, "int64")]))
    else:
        site.result(site.add("Identity", [site.input(0)]))


def _squeezable(site: OnnxSite, axes: list[int], skips: bool) -> list[int]:
    """The axes without those of other lengths than 1, which OpenVINO leaves alone and ONNX does not accept."""
    shape = site.shape(0)
    if shape is None:
        if skips:
            raise UnsupportedError("its allow_axis_skip is 'true' and the shape is not known")
        return axes
    lengths = {axis: shape[positive_axis(axis, len(shape))] for axis in axes}
    if skips and None in lengths.values():
        raise UnsupportedError("its allow_axis_skip is 'true' and the shape is not known")
    return [axis for axis in axes if lengths[axis] in (1, None)]


def _unsqueeze_to_openvino(site: OpenvinoSite) -> None:
    open_axes = run_time_axes(site)
    if open_axes is not None:
        site.result(unsqueezed(site, site.input(0), site.input(1), *open_axes))
        return
    site.result(site.add("Unsqueeze", site.inputs()))


def _unsqueeze_to_onnx(site: OnnxSite) -> None:
    axes = site.value(1)
    if axes is not None and len(set(axes.reshape(-1).tolist())) != axes.size:
        raise UnsupportedError("its axes name one axis twice")
    site.result(_with_rank(site, site.add("Unsqueeze", [site.input(0), int64_vector(site, 1)]), 1))


def _with_rank(site: OnnxSite, result: Tensor, sign: int) -> Tensor:
    """The result with its rank declared, which onnx does not derive where the axes are computed at run time."""
    shape, axes = site.shape(0), site.shape(1)
    if shape is not None and axes is not None and None not in axes:
        site.declare(result, site.input(0), [None] * (len(shape) + sign * length_of(site, 1, "its axes")))
    return result


ROWS: tuple[Row, ...] = (
    *both(
        "Reshape",
        "Reshape-1",
        _reshape_to_openvino,
        _reshape_to_onnx,
        limits="Of tensors without elements OpenVINO accepts shapes with 0 and -1 that ONNX does not.",
    ),
    *from_onnx("Flatten", "Reshape-1", _flatten_to_openvino),
    *both(
        "Transpose",
        "Transpose-1",
        _transpose_to_openvino,
        _transpose_to_onnx,
        limits="An order computed at run time has no form in ONNX.",
    ),
    *both(
        "Squeeze",
        "Squeeze-1",
        _squeeze_to_openvino,
        _squeeze_to_onnx,
        limits="A named dimension that turns out not to be 1 is an error in ONNX; OpenVINO leaves it. Where no axis is "
        "named, those go that are known to be 1, if that leaves the dimensions that the model declares; else "
        "OpenVINO's CPU plugin does not load a file whose data has open dimensions.",
    ),
    *both("Unsqueeze", "Unsqueeze-1", _unsqueeze_to_openvino, _unsqueeze_to_onnx),
)
