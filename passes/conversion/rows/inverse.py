"""Inverse: Gauss-Jordan elimination with pivots, a column at a time, since ONNX has no inverse of a matrix."""

from __future__ import annotations

import numpy as np

from maxfold.model.dtypes import DTYPES
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.tensors import narrowed, widened
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_body import OnnxBody
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_INT64, _BOOL = (next(dtype for dtype in DTYPES if dtype.name == name) for name in ("INT64", "BOOL"))


def _inverse_to_onnx(site: OnnxSite) -> None:
    rank = site.rank(0)
    if rank < 2:
        raise UnsupportedError(f"it has {rank} dimensions, which are no matrices")
    data, dtype, back = widened(site)
    shape = site.add("Shape", [data])
    size = site.add("Gather", [shape, site.constant([-1], "int64")])
    square = site.add("Concat", [size, size], {"axis": 0})
    flat = site.add("Reshape", [data, site.add("Concat", [site.constant([-1], "int64"), square], {"axis": 0})])
    unit = site.add("EyeLike", [site.add("ConstantOfShape", [square])], {"dtype": dtype.onnx})
    units = site.add("Expand", [unit, site.add("Shape", [flat])])
    both = site.add("Concat", [flat, units], {"axis": 2})
    numbers = site.add("Range", [_number(site, 0), site.add("Squeeze", [size]), _number(site, 1)])
    body = site.scanned("elimination")
    column = body.parameter("column", _INT64, ())
    body.parameter("condition", _BOOL, ())
    state = body.parameter("rows", dtype, (None, None, None))
    _eliminate(body, column, state, numbers, site.constant(-1, dtype.numpy))
    operands = [site.add("Squeeze", [size]), site.constant(True, np.bool_), both]
    found = site.add("Loop", operands, {"body": body.graph})
    site.declare(found, both, (None, None, None))
    last, along = site.constant([np.iinfo(np.int64).max], "int64"), site.constant([2], "int64")
    result = site.add("Slice", [found, size, last, along])
    if site.flag("adjoint"):
        # The inverse of the transposed matrix.
        result = site.add("Transpose", [result], {"perm": [0, 2, 1]})
    result = site.add("Reshape", [result, shape])
    site.declare(result, both, site.shape(0) or ())
    site.result(narrowed(site, result, back))


def _eliminate(body: OnnxBody, column: Tensor, state: Tensor, numbers: Tensor, less: Tensor) -> None:
    """One column: the row with the largest element in it comes up, and makes it 0 in all others."""
    site = body.site
    candidates = site.add("Abs", [site.add("Gather", [state, column], {"axis": 2})])
    is_done = site.add("Less", [numbers, column])
    candidates = site.add("Where", [is_done, less, candidates])
    pivot = site.add("ArgMax", [candidates], {"axis": 1, "keepdims": 1})
    is_column = site.add("Equal", [numbers, column])
    moved = site.add("Where", [site.add("Equal", [numbers, pivot]), column, numbers])
    order = site.add("Where", [is_column, pivot, moved])
    ordered = site.add("GatherND", [state, _column(site, order, [2])], {"batch_dims": 1})
    row = site.add("Gather", [ordered, column], {"axis": 1})
    value = site.add("Gather", [row, column], {"axis": 1})
    row = _column(site, site.add("Div", [row, _column(site, value, [1])]), [1])
    factors = _column(site, site.add("Gather", [ordered, column], {"axis": 2}), [2])
    others = site.add("Sub", [ordered, site.add("Mul", [factors, row])])
    body.leave(site.constant(True, np.bool_))
    body.leave(site.add("Where", [_column(site, is_column, [1]), row, others]))


def _axis(site: OnnxSite, axis: int) -> Tensor:
    return site.constant([axis], "int64")


def _column(site: OnnxSite, tensor: Tensor, axes: list[int]) -> Tensor:
    column: Tensor = site.add("Unsqueeze", [tensor, site.constant(axes, "int64")])
    return column


def _number(site: OnnxSite, value: int) -> Tensor:
    return site.constant(value, np.int64)


ROWS: tuple[Row, ...] = (
    *from_openvino(
        "Inverse-14",
        "Loop",
        _inverse_to_onnx,
        tolerance="1e-4 relative, of matrices that are far from singular",
        limits="Becomes a Loop over the columns. Of singular matrices the results are not finite.",
    ),
)
