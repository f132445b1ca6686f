"""Right layers that pool and move parts of images, to be malformed."""

from __future__ import annotations

from typing import Any

import numpy as np
from openvino import opset1, opset2, opset3, opset4, opset8, opset9

from tests.passes.conversion.test_proposal import REAL as PROPOSAL


def _parameter(*shape: int, dtype: Any = np.float32) -> Any:
    return opset1.parameter(list(shape), dtype)


def _constant(*values: int) -> Any:
    return opset1.constant(np.array(values, np.int64))


def built() -> dict[str, Any]:
    """Nodes by operation."""
    image = _parameter(1, 4, 6, 6)
    blocks = [_constant(*values) for values in ((1, 1, 2, 3), (0, 0, 0, 0), (0, 0, 0, 0))]
    images = _parameter(2, dtype=np.int32)
    return {
        "AdaptiveAvgPool": opset8.adaptive_avg_pool(image, _constant(4, 3)),
        "AdaptiveMaxPool": opset8.adaptive_max_pool(image, _constant(4, 3), "i32"),
        "BatchToSpace": opset2.batch_to_space(_parameter(6, 4, 3, 2), *blocks),
        "ExtractImagePatches": opset3.extract_image_patches(image, [2, 3], [1, 2], [1, 1], "valid"),
        "GRN": opset1.grn(image, 0.5),
        "Proposal": opset4.proposal(_parameter(1, 12, 3, 4), _parameter(1, 24, 3, 4), _parameter(3), PROPOSAL),
        "ROIAlign": opset9.roi_align(image, _parameter(2, 4), images, 2, 3, 2, 0.5, "avg", "asymmetric"),
        "ROIPooling": opset2.roi_pooling(image, _parameter(2, 5), [2, 3], 0.5, "max"),
        "RegionYolo": opset1.region_yolo(_parameter(1, 16, 3, 3), 4, 3, 2, True, [0, 1], 1, 3, [1.0, 2.0]),
        "ReorgYolo": opset2.reorg_yolo(image, [2]),
        "ShuffleChannels": opset3.shuffle_channels(image, 1, 2),
        "SpaceToBatch": opset2.space_to_batch(image, *blocks),
    }
