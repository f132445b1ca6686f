"""The conversion table: the only list of rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from maxfold.passes.conversion.pair import Pair
from maxfold.passes.conversion.row import FromOnnx, FromOpenvino, Row, ToOnnx, ToOpenvino
from maxfold.passes.conversion.rows import (
    activation,
    adaptive_pooling,
    arithmetic,
    attention,
    beams,
    blocks_of_space,
    broadcasting,
    cast,
    clip,
    comparison,
    control_flow,
    convolution,
    convolution_transpose,
    ctc,
    deformable,
    detection,
    detection_output,
    drawing,
    embedding,
    fake_quantize,
    fourier,
    generating,
    indexing,
    inverse,
    layers_with_bodies,
    logic,
    lp_pooling,
    matmul,
    microsoft_attention,
    microsoft_fused,
    microsoft_quantized,
    microsoft_rotary,
    microsoft_weights,
    normalization,
    norms,
    optionals,
    padding,
    pooling,
    prelu,
    prior_boxes,
    products,
    promoting,
    proposal,
    quantization,
    quantized_products,
    rearranging,
    recurrent,
    recurrent_layers,
    recurrent_quantized,
    reduction,
    region_pooling,
    resizing,
    rolling,
    sampling,
    scattering,
    searching,
    selecting,
    shape,
    slicing,
    softmax,
    sparse,
    spectra,
    splitting,
    states,
    suppression,
    unary,
)

_Way = TypeVar("_Way", ToOpenvino, ToOnnx)


@dataclass(frozen=True, slots=True)
class Table:
    """All rows, and the function that converts each operator of either side; those of ONNX by its domain first."""

    rows: tuple[Row, ...]
    by_domain: dict[str, dict[str, ToOpenvino]]
    by_openvino: dict[str, ToOnnx]
    # The first operator set of an operation that its row covers.
    since: dict[str, int]

    @property
    def by_onnx(self) -> dict[str, ToOpenvino]:
        """The functions for operators of ONNX's own domain."""
        return self.by_domain[""]


def make_table(rows: Iterable[Row]) -> Table:
    """A table of rows; each operator has at most one row for each direction."""
    listed = tuple(rows)
    table = Table(listed, {"": {}}, {}, {})
    for row in listed:
        if not isinstance(row, FromOpenvino):
            domain, _, operator = row.onnx.rpartition(".")
            _add(
                table.by_domain.setdefault(domain, {}),
                operator,
                row.to_openvino if isinstance(row, Pair) else row.convert,
            )
        if not isinstance(row, FromOnnx):
            _add(table.by_openvino, row.openvino, row.to_onnx if isinstance(row, Pair) else row.convert)
            table.since[row.openvino] = row.since
    return table


def _add(found: dict[str, _Way], operator: str, way: _Way) -> None:
    if operator in found:
        raise ValueError(f"two rows convert {operator}")
    found[operator] = way


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
        *states.ROWS,
        *convolution.ROWS,
        *convolution_transpose.ROWS,
        *matmul.ROWS,
        *normalization.ROWS,
        *norms.ROWS,
        *pooling.ROWS,
        *adaptive_pooling.ROWS,
        *region_pooling.ROWS,
        *blocks_of_space.ROWS,
        *lp_pooling.ROWS,
        *sampling.ROWS,
        *deformable.ROWS,
        *products.ROWS,
        *spectra.ROWS,
        *quantization.ROWS,
        *fake_quantize.ROWS,
        *quantized_products.ROWS,
        *microsoft_fused.ROWS,
        *microsoft_quantized.ROWS,
        *microsoft_weights.ROWS,
        *microsoft_rotary.ROWS,
        *microsoft_attention.ROWS,
        *reduction.ROWS,
        *resizing.ROWS,
        *recurrent.ROWS,
        *recurrent_layers.ROWS,
        *recurrent_quantized.ROWS,
        *detection.ROWS,
        *control_flow.ROWS,
        *layers_with_bodies.ROWS,
        *optionals.ROWS,
        *detection_output.ROWS,
        *prior_boxes.ROWS,
        *suppression.ROWS,
        *proposal.ROWS,
        *ctc.ROWS,
        *attention.ROWS,
        *searching.ROWS,
        *embedding.ROWS,
        *beams.ROWS,
        *promoting.ROWS,
        *sparse.ROWS,
        *drawing.ROWS,
        *inverse.ROWS,
        *rolling.ROWS,
        *fourier.ROWS,
    )
)
