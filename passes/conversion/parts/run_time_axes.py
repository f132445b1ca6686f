"""Dimensions of one element put in and left out at axes that are computed at run time.

OpenVINO's CPU takes no tensor whose rank follows from values, so a Reshape says how many dimensions are left.
"""

from __future__ import annotations

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.operands import shape_vector
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NUMPY = {BROADCAST: "numpy"}


def run_time_axes(site: OpenvinoSite) -> tuple[int, int] | None:
    """The rank of the first input and how many axes the second one holds, where they are computed at run time.

    None where they are constant, or where either is not known, so that nothing is left but to leave the rank open.
    """
    data, axes = site.shape(0), site.shape(1)
    if not site.has_input(1) or site.value(1) is not None or data is None or axes is None or len(axes) > 1:
        return None
    count = axes[0] if axes else 1
    return None if count is None else (len(data), count)


def squeezed(site: OpenvinoSite, data: Tensor, axes: Tensor, rank: int, count: int) -> Tensor:
    """A tensor of `rank` dimensions without `count` axes, all of one element."""
    if count == rank:
        return _reshaped(site, data, site.constant([], "int64"))
    kept = _marked(site, axes, rank, count)
    attributes = {"axis": 0, "mode": "max", "sort": "index", "index_element_type": "i64"}
    _, left = site.add("TopK", [kept, site.constant(rank - count, "int64")], attributes, opset=3, outputs=2)
    return _reshaped(site, data, _gathered(site, shape_vector(site, data), left))


def unsqueezed(site: OpenvinoSite, data: Tensor, axes: Tensor, rank: int, count: int) -> Tensor:
    """A tensor of `rank` dimensions with `count` more, at these axes of the result."""
    kept = _marked(site, axes, rank + count, count)
    # Each dimension that was there counts those up to it; the new ones take what stands before them all.
    attributes = {"exclusive": False, "reverse": False}
    numbers = site.add("CumSum", [kept, site.constant(0, "int64")], attributes, opset=3)
    places = site.add("Multiply", [numbers, kept], _NUMPY)
    sizes = site.add("Concat", [site.constant([1], "int64"), shape_vector(site, data)], {"axis": 0})
    return _reshaped(site, data, _gathered(site, sizes, places))


def _marked(site: OpenvinoSite, axes: Tensor, rank: int, count: int) -> Tensor:
    """A vector of `rank` elements: 0 at some axes, which may be negative, 1 elsewhere."""
    flat = _reshaped(site, axes, site.constant([count], "int64"))
    places = site.add("FloorMod", [flat, site.constant(rank, "int64")], _NUMPY)
    ones, zeros = site.constant([1] * rank, "int64"), site.constant([0] * count, "int64")
    scattered: Tensor = site.add(
        "ScatterElementsUpdate", [ones, places, zeros, site.constant(0, "int64")], opset=3
    )  # fmt: skip
    return scattered


def _gathered(site: OpenvinoSite, vector: Tensor, places: Tensor) -> Tensor:
    gathered: Tensor = site.add("Gather", [vector, places, site.constant(0, "int64")], {"batch_dims": 0}, opset=8)
    return gathered


def _reshaped(site: OpenvinoSite, data: Tensor, shape: Tensor) -> Tensor:
    reshaped: Tensor = site.add("Reshape", [data, shape], {"special_zero": False})
    return reshaped
