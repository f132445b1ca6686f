"""A node of each general operation that no ONNX operator becomes: searches, bags, rolled axes, transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
from openvino import opset1, opset3, opset7, opset8, opset9, opset13, opset14, opset15, opset16


def _parameter(*shape: int, dtype: Any = np.float32) -> Any:
    return opset1.parameter(list(shape), dtype)


def _constant(values: Any, dtype: Any = np.int64) -> Any:
    return opset1.constant(np.array(values, dtype))


def built() -> dict[str, Any]:
    """Nodes by operation."""
    table, places, offsets = _parameter(5, 3), _parameter(6, dtype=np.int64), _constant([0, 2, 4])
    bags = _parameter(2, 3, dtype=np.int64)
    spectrum, axes = _parameter(3, 4, 2), _constant([0])
    return {
        "Bucketize": opset3.bucketize(_parameter(4), _constant([0, 1]), "i64"),
        "ConvertPromoteTypes": opset14.convert_promote_types(_parameter(2), _parameter(2, dtype=np.int8), True),
        "FakeConvert": opset13.fake_convert(_parameter(2, 3), opset1.constant(np.float32([2]))),
        "EmbeddingBagOffsets": opset15.embedding_bag_offsets(table, places, offsets, _constant(0)),
        "EmbeddingBagOffsetsSum": opset3.embedding_bag_offsets_sum(table, places, offsets, _constant(0)),
        "EmbeddingBagPacked": opset15.embedding_bag_packed(table, bags),
        "EmbeddingBagPackedSum": opset3.embedding_bag_packed_sum(table, bags, _parameter(2, 3)),
        "EmbeddingSegmentsSum": opset3.embedding_segments_sum(
            table, places, _constant([0, 0, 1, 1, 3, 3]), _constant(4)
        ),
        "GatherTree": opset1.gather_tree(
            _parameter(5, 2, 3), _parameter(5, 2, 3), _parameter(2), opset1.constant(np.float32(1))
        ),
        "IDFT": opset7.idft(spectrum, axes),
        "IRDFT": opset9.irdft(spectrum, axes, _constant([4])),
        "ISTFT": opset16.istft(_parameter(9, 7, 2), _parameter(16), _constant(16), _constant(4), True, False),
        "Inverse": opset14.inverse(_parameter(3, 3)),
        "Multinomial": opset13.multinomial(_parameter(2, 4), _constant(3), "i64", True, False, 1, 2),
        "RandomUniform": opset8.random_uniform(
            _parameter(2, dtype=np.int64), opset1.constant(np.float32(0)), opset1.constant(np.float32(1)), "f32"
        ),
        "RDFT": opset9.rdft(_parameter(3, 4), axes, _constant([2])),
        "Roll": opset7.roll(_parameter(3, 4), _constant([1, 2]), _constant([0, 1])),
        "SearchSorted": opset15.search_sorted(_parameter(2, 4), _parameter(2, 3)),
        "SegmentMax": opset16.segment_max(_parameter(3, 4), _constant([0, 0, 2]), _constant(4), "ZERO"),
        "SparseFillEmptyRows": opset16.sparse_fill_empty_rows(
            _parameter(2), _constant([3, 2]), _constant([[0, 0], [2, 1]]), opset1.constant(np.float32(1))
        ),
        "SliceScatter": opset15.slice_scatter(
            _parameter(3, 4), _parameter(1, 4), *map(_constant, ([0], [1], [1], [0]))
        ),
    }
