"""SparseFillEmptyRows: an element in each row of a sparse tensor that has none."""

from __future__ import annotations

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import cast, int64_tensor, int64_vector
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_VALUES, _SHAPE, _INDICES, _DEFAULT = range(4)
_RANK = 2


def _fill_empty_rows_to_onnx(site: OnnxSite) -> None:
    """Elements of empty rows behind the others, then all in the order of their rows."""
    if site.rank(_INDICES) != _RANK:
        raise UnsupportedError(f"its indices have {site.rank(_INDICES)} dimensions instead of {_RANK}")
    indices, zero, flat = int64_tensor(site, _INDICES), site.constant(0, "int64"), site.constant([-1], "int64")
    row_count = site.add("Gather", [int64_vector(site, _SHAPE), site.constant([0], "int64")])
    rows = site.add("Gather", [indices, zero], {"axis": 1})
    ones = site.add("Expand", [site.constant(1, "int64"), site.add("Shape", [rows])])
    nothing = site.add("Expand", [zero, row_count])
    is_empty = site.add("Equal", [site.add("ScatterElements", [nothing, rows, ones]), zero])
    empty = site.add("Transpose", [site.add("NonZero", [is_empty])], {"perm": [1, 0]})
    first = site.add("Pad", [empty, site.constant([0, 0, 0, 1], "int64")])
    count = site.add("Shape", [site.add("Reshape", [empty, flat])])
    default = site.add("Reshape", [site.input(_DEFAULT), site.constant([1], "int64")])
    fillers = site.add("Expand", [default, count])
    all_indices = site.add("Concat", [indices, first], {"axis": 0})
    all_values = site.add("Concat", [site.input(_VALUES), fillers], {"axis": 0})
    order = _order(site, site.add("Gather", [all_indices, zero], {"axis": 1}))
    site.result(
        cast(site, site.add("Gather", [all_indices, order]), "INT64", dtype_of(site, _INDICES).name),
        site.add("Gather", [all_values, order]),
        is_empty,
    )


def _order(site: OnnxSite, rows: Tensor) -> Tensor:
    """The places of rows in ascending order; of equal ones the first comes first."""
    attributes = {"axis": 0, "largest": 0, "sorted": 1}
    _, order = site.add("TopK", [rows, site.add("Shape", [rows])], attributes, outputs=2)
    places: Tensor = order
    return places


ROWS: tuple[Row, ...] = (*from_openvino("SparseFillEmptyRows-16", "TopK", _fill_empty_rows_to_onnx),)
