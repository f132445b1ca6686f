"""The conversion table: the only list of rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from maxfold.passes.conversion.row import Row
from maxfold.passes.conversion.rows import (
    activation,
    arithmetic,
    broadcasting,
    cast,
    clip,
    comparison,
    convolution,
    convolution_transpose,
    generating,
    indexing,
    logic,
    lp_pooling,
    matmul,
    normalization,
    norms,
    padding,
    pooling,
    prelu,
    rearranging,
    reduction,
    resizing,
    sampling,
    scattering,
    selecting,
    shape,
    slicing,
    softmax,
    splitting,
    unary,
)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by the operator of either side, for the directions that they have; those of ONNX by its domain first."""

    rows: tuple[Row, ...]
    by_domain: dict[str, dict[str, Row]]
    by_openvino: dict[str, Row]

    @property
    def by_onnx(self) -> dict[str, Row]:
        """Rows by the operator of ONNX's own domain."""
        return self.by_domain[""]


def make_table(rows: Iterable[Row]) -> Table:
    """A table of rows; each operator has at most one row for each direction."""
    listed = tuple(rows)
    by_domain: dict[str, dict[str, Row]] = {"": {}}
    by_openvino: dict[str, Row] = {}
    for row in listed:
        by_onnx = by_domain.setdefault(row.domain, {})
        for index, key, way in ((by_onnx, row.onnx, row.to_openvino), (by_openvino, row.openvino, row.to_onnx)):
            if way is None:
                continue
            if key in index:
                raise ValueError(f"two rows convert {key}")
            index[key] = row
    return Table(listed, by_domain, by_openvino)


TABLE = make_table(
    (
        *arithmetic.ROWS,
        *unary.ROWS,
        *comparison.ROWS,
        *logic.ROWS,
        *activation.ROWS,
        *clip.ROWS,
        *prelu.ROWS,
        *softmax.ROWS,
        *cast.ROWS,
        *broadcasting.ROWS,
        *generating.ROWS,
        *indexing.ROWS,
        *padding.ROWS,
        *rearranging.ROWS,
        *scattering.ROWS,
        *selecting.ROWS,
        *shape.ROWS,
        *slicing.ROWS,
        *splitting.ROWS,
        *convolution.ROWS,
        *convolution_transpose.ROWS,
        *matmul.ROWS,
        *normalization.ROWS,
        *norms.ROWS,
        *pooling.ROWS,
        *lp_pooling.ROWS,
        *sampling.ROWS,
        *reduction.ROWS,
        *resizing.ROWS,
    )
)
