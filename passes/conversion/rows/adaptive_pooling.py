"""Pooling over cells of a given number, to ONNX.

Cell i of o covers n * i / o, rounded down, to n * (i + 1) / o, rounded up.
"""

from __future__ import annotations

import numpy as np

from maxfold.model.data import Array
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import transposed
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import is_used
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_SPATIAL = 2
_RANKS = (3, 4, 5)


def _cells(size: int, count: int) -> list[range]:
    return [range(size * place // count, -(-size * (place + 1) // count)) for place in range(count)]


def _sizes(site: OnnxSite) -> list[tuple[int, int]]:
    """Of each axis in space how long it is, and how many cells it has."""
    counts, shape = site.integers_of(1, "its output shape"), site.shape(0)
    if shape is None or len(shape) not in _RANKS or len(counts) != len(shape) - _SPATIAL:
        raise UnsupportedError(f"its data has not two dimensions more than it has numbers of cells, {len(counts)}")
    known = [size for size in shape[_SPATIAL:] if size is not None]
    if len(known) != len(counts):
        raise UnsupportedError("the sizes of its data are not known")
    if min(counts + known) < 1 or dtype_of(site).kind != "float":
        raise UnsupportedError("its data or its result has no elements, or is no float")
    return list(zip(known, counts, strict=True))


def _average(site: OnnxSite) -> None:
    if all(count == 1 for count in site.integers_of(1, "its output shape")) and site.rank(0) in _RANKS:
        site.result(site.add("GlobalAveragePool", [site.input(0)]))
        return
    sizes = _sizes(site)
    if all(size % count == 0 for size, count in sizes):
        steps = [size // count for size, count in sizes]
        site.result(site.add("AveragePool", [site.input(0)], {"kernel_shape": steps, "strides": steps}))
        return
    data = site.input(0)
    for place, (size, count) in enumerate(sizes):
        data = _along(site, data, _SPATIAL + place, _weights(size, count).astype(dtype_of(site).numpy))
    site.result(data)


def _weights(size: int, count: int) -> Array:
    """What each element adds to each cell."""
    weights = np.zeros((size, count))
    for place, cell in enumerate(_cells(size, count)):
        weights[cell.start : cell.stop, place] = 1 / len(cell)
    return weights


def _along(site: OnnxSite, data: Tensor, axis: int, weights: Array) -> Tensor:
    """A product with a matrix along an axis."""
    rank = site.rank(0)
    order = [*(item for item in range(rank) if item != axis), axis]
    product = site.add("MatMul", [transposed(site, data, order), site.constant(weights, weights.dtype)])
    return transposed(site, product, [order.index(item) for item in range(rank)])


def _maximum(site: OnnxSite) -> None:
    if is_used(site, 1):
        raise UnsupportedError("the places of its maxima are not covered")
    # Of the result that nothing reads.
    site.ignore("index_element_type")
    if all(count == 1 for count in site.integers_of(1, "its output shape")) and site.rank(0) in _RANKS:
        site.result(site.add("GlobalMaxPool", [site.input(0)]), None)
        return
    sizes = _sizes(site)
    if all(size % count == 0 for size, count in sizes):
        steps = [size // count for size, count in sizes]
        site.result(site.add("MaxPool", [site.input(0)], {"kernel_shape": steps, "strides": steps}), None)
        return
    data = site.input(0)
    for place, (size, count) in enumerate(sizes):
        data = _highest(site, data, _SPATIAL + place, _cells(size, count))
    site.result(data, None)


def _highest(site: OnnxSite, data: Tensor, axis: int, cells: list[range]) -> Tensor:
    """The maximum of each cell along an axis: of the first elements, then of all and the second ones, and so on."""
    found: Tensor | None = None
    for step in range(max(map(len, cells))):
        places = [min(cell.start + step, cell.stop - 1) for cell in cells]
        picked = site.add("Gather", [data, site.constant(places, "int64")], {"axis": axis})
        found = picked if found is None else site.add("Max", [found, picked])
    assert found is not None
    return found


_LIMITS = "The sizes of the data are known, unless there is one cell. "

ROWS: tuple[Row, ...] = (
    *from_openvino(
        "AdaptiveAvgPool-8",
        "AveragePool",
        _average,
        tolerance="1e-5 relative, 1e-6 absolute",
        limits=f"{_LIMITS}Where cells are of several sizes, what is not finite makes NaN of others too.",
    ),
    *from_openvino(
        "AdaptiveMaxPool-8",
        "MaxPool",
        _maximum,
        limits=f"{_LIMITS}The places of maxima are refused where they are read.",
    ),
)
