"""Products of all elements up to each, and bits taken for another type."""

from __future__ import annotations

from maxfold.model.dtypes import from_onnx as dtype_from_onnx
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.operands import one_integer, positive_axis, shape_vector
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import reshaped
from maxfold.passes.conversion.row import Row, from_onnx
from maxfold.passes.conversion.rows.cast import wrapped
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NUMPY = {BROADCAST: "numpy"}


def _products_to_openvino(site: OpenvinoSite) -> None:
    """For each element the product of all along the axis, of which those that do not count yet are 1."""
    rank, dtype = site.rank(0), dtype_of(site)
    if rank == 0:
        raise UnsupportedError("its input has no dimensions")
    order = _last_axis_order(site, rank)
    # Swapping two axes is undone by doing it again.
    data = site.input(0) if order is None else site.add("Transpose", [site.input(0), order])
    places = _places(site, shape_vector(site, data), rank)
    counts = _counting(site, places, reshaped(site, places, [-1, 1]))
    factors = site.add("Select", [counts, _spread(site, data), site.constant(1, dtype.numpy)], _NUMPY)
    products = site.add("ReduceProd", [factors, site.constant([-1], "int64")], {"keep_dims": False})
    site.result(products if order is None else site.add("Transpose", [products, order]))


def _last_axis_order(site: OpenvinoSite, rank: int) -> Tensor | None:
    """The order of axes that swaps the axis with the last one; None where it is the last one."""
    if site.value(1) is not None:
        axis = positive_axis(one_integer(site, 1, "its axis"), rank)
        order = list(range(rank))
        order[axis], order[-1] = rank - 1, axis
        return None if axis == rank - 1 else site.constant(order, "int64")
    if rank == 1:
        return None
    given = site.add("Convert", [reshaped(site, site.input(1), [1])], {"destination_type": "i64"})
    axis_at_run_time = site.add("FloorMod", [given, site.constant(rank, "int64")], _NUMPY)
    first, last = site.constant(0, "int64"), site.constant([rank - 1], "int64")
    swapped = site.add(
        "ScatterElementsUpdate", [site.constant(range(rank), "int64"), axis_at_run_time, last, first], opset=3
    )
    result: Tensor = site.add("ScatterElementsUpdate", [swapped, last, axis_at_run_time, first], opset=3)
    return result


def _places(site: OpenvinoSite, shape: Tensor, rank: int) -> Tensor:
    """The indices along the last axis."""
    last, zero, one = (site.constant(item, "int64") for item in (rank - 1, 0, 1))
    length = site.add("Gather", [shape, last, zero], {"batch_dims": 0}, opset=8)
    places: Tensor = site.add("Range", [zero, length, one], {"output_type": "i64"}, opset=4)
    return places


def _counting(site: OpenvinoSite, factor: Tensor, element: Tensor) -> Tensor:
    """Which factors count for which element, [element, factor]."""
    is_exclusive = bool(site.attribute("exclusive", 0))
    op = "Greater" if site.attribute("reverse", 0) else "Less"
    counting: Tensor = site.add(op if is_exclusive else f"{op}Equal", [factor, element], _NUMPY)
    return counting


def _spread(site: OpenvinoSite, data: Tensor) -> Tensor:
    """Data with a dimension before the last one, along which all elements see the same factors."""
    spread: Tensor = site.add("Unsqueeze", [data, site.constant([-2], "int64")])
    return spread


def _bits_to_openvino(site: OpenvinoSite) -> None:
    source, to = dtype_of(site), dtype_from_onnx(site.attribute("to"))
    if to is None or to.openvino is None:
        raise UnsupportedError(f"OpenVINO has no {to}")
    are_integers = to.kind in ("int", "uint") and source.kind in ("int", "uint", "bool")
    if source is not to and not (are_integers and 8 <= source.bits == to.bits <= 32):
        raise UnsupportedError(f"OpenVINO does not take the bits of {source} for {to}")
    name = {"destination_type": to.openvino}
    if source is to or source.kind in ("bool", to.kind):
        site.result(site.add("Convert", [site.input(0)], name))
    elif to.bits < 32:
        site.result(site.add("Convert", [wrapped(site, to)], name))
    else:
        # Between two operations, since OpenVINO leaves out a Convert before another one, and with it what wraps around.
        turned = site.add("BitwiseNot", [site.input(0)], opset=13)
        site.result(site.add("BitwiseNot", [site.add("Convert", [turned], name)], opset=13))


ROWS: tuple[Row, ...] = (
    *from_onnx(
        "CumProd",
        "ReduceProd-1",
        _products_to_openvino,
        tolerance="1e-5 relative",
        limits="Becomes a product for each element, which takes memory of the data times the length of the axis.",
    ),
    *from_onnx("BitCast", "Convert-1", _bits_to_openvino, limits="Between integers of up to 32 bits."),
)
