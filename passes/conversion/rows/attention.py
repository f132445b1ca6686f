"""ScaledDotProductAttention to ONNX: products and a softmax between."""

from __future__ import annotations

import math

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import cast, onnx_scalar, transposed
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_QUERY, _KEY, _VALUE, _MASK, _SCALE = range(5)


def _to_onnx(site: OnnxSite) -> None:
    if site.input_count > _SCALE + 1:
        raise UnsupportedError("its input of sinks is not covered")
    rank = site.rank(_KEY)
    if rank < 2:
        raise UnsupportedError(f"its keys have {rank} dimensions; they take 2 at least")
    query = site.add("Mul", [site.input(_QUERY), _scale(site)])
    key = transposed(site, site.input(_KEY), [*range(rank - 2), rank - 1, rank - 2])
    scores = site.add("MatMul", [query, key])
    if site.flag("causal"):
        # It then reads no mask.
        later = site.constant(-math.inf, dtype_of(site).numpy)
        scores = site.add("Where", [_is_later(site), later, scores])
    elif site.has_input(_MASK):
        scores = _masked(site, scores)
    weights = site.add("Softmax", [scores], {"axis": -1})
    site.result(site.add("MatMul", [weights, site.input(_VALUE)]))


def _scale(site: OnnxSite) -> Tensor:
    if site.has_input(_SCALE):
        return onnx_scalar(site, _SCALE)
    shape, dtype = site.shape(_QUERY), dtype_of(site)
    size = shape[-1] if shape else None
    if size is not None:
        return site.constant(1 / math.sqrt(size) if size else 1, dtype.numpy)
    width = cast(site, _size(site, _QUERY, -1), "INT64", dtype.name)
    found: Tensor = site.add("Div", [site.constant(1, dtype.numpy), site.add("Sqrt", [width])])
    return found


def _masked(site: OnnxSite, scores: Tensor) -> Tensor:
    """Scores with a mask: of what counts, or of what is added."""
    dtype = dtype_of(site, _MASK)
    if dtype.kind == "bool":
        never = site.constant(-math.inf, dtype_of(site).numpy)
        found: Tensor = site.add("Where", [site.input(_MASK), scores, never])
        return found
    made: Tensor = site.add("Add", [scores, site.input(_MASK)])
    return made


def _is_later(site: OnnxSite) -> Tensor:
    """Whether a key stands behind a query, counted from the first of both."""
    zero, one = site.constant(0, "int64"), site.constant(1, "int64")
    queries, keys = (site.add("Range", [zero, _size(site, index, -2), one]) for index in (_QUERY, _KEY))
    rows = site.add("Unsqueeze", [queries, site.constant([1], "int64")])
    found: Tensor = site.add("Greater", [keys, rows])
    return found


def _size(site: OnnxSite, index: int, axis: int) -> Tensor:
    """A dimension of an input."""
    shape = site.shape(index)
    if shape is not None and not -len(shape) <= axis < len(shape):
        raise UnsupportedError(f"its input {index} has {len(shape)} dimensions")
    known = None if shape is None else shape[axis]
    if known is not None:
        return site.constant(known, "int64")
    sizes = site.add("Shape", [site.input(index)])
    found: Tensor = site.add("Gather", [sizes, site.constant(axis, "int64")])
    return found


ROWS: tuple[Row, ...] = (
    *from_openvino(
        "ScaledDotProductAttention-13", "Softmax", _to_onnx, tolerance="1e-4 relative, 1e-5 absolute",
        limits="Becomes MatMul, Softmax and MatMul; a query with a mask that lets it see no key becomes NaN. The input "
        "of sinks is refused.",
    ),
)  # fmt: skip
