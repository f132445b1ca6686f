"""Rows of norms of windows, and of sums of columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.passes.conversion import harness, judged

REFUSED = {
    ("openvino", "col2im_5d"): "OpenVINO has it for two spatial dimensions, not 3",
    ("round", "col2im_5d"): "OpenVINO has it for two spatial dimensions, not 3",
}


@pytest.mark.parametrize(("way", "case"), judged.parameters("LpPool"))
def test_lp_pool_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    judged.judge(way, case, tmp_path, refused={}, limited={}, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("way", "case"), [entry for entry in judged.parameters("Col2Im") if entry.values[0] == "openvino"]
)
def test_col2im_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    judged.judge(way, case, tmp_path, refused=REFUSED, limited={}, rtol=1e-5, atol=0)


@pytest.mark.parametrize("p", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [3, 2], "strides": [2, 1]},
        {"kernel_shape": [2, 2], "pads": [1, 0, 0, 1]},
        {"kernel_shape": [2, 2], "dilations": [2, 1]},
        {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
        {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_LOWER"},
    ],
)
def test_powers_and_windows(attributes: dict[str, Any], p: int, tmp_path: Path) -> None:
    model, values = judged.one_node(
        "LpPool", {"x": judged.floats(2, 3, 6, 7)}, opset=18, p=p, dynamic=["x"], **attributes
    )  # fmt: skip
    judged.assert_same_in_openvino(model, values, tmp_path)


@pytest.mark.parametrize("pads", [[0, 0], [1, 1]])
def test_windows_beyond_the_end(pads: list[int], tmp_path: Path) -> None:
    """Zeros beyond the end add nothing to a norm."""
    x = np.arange(1, 7, dtype=np.float32).reshape(1, 1, 6)
    model, values = judged.one_node(
        "LpPool", {"x": x}, opset=18, kernel_shape=[3], strides=[2], pads=pads, ceil_mode=1
    )  # fmt: skip
    padded = np.pad(x[0, 0], (pads[0], pads[1] + 3))
    count = -(-(6 + sum(pads) - 3) // 2) + 1
    expected = [np.sqrt((padded[start * 2 : start * 2 + 3] ** 2).sum()) for start in range(count)]
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[np.array(expected, np.float32)[None, None]])


@pytest.mark.parametrize("is_known", [True, False])
def test_columns_of_any_size(is_known: bool, tmp_path: Path) -> None:
    inputs = {"x": judged.floats(2, 12, 8), "image_shape": np.array([5, 4]), "block_shape": np.array([2, 3])}
    model, values = judged.one_node(
        "Col2Im", inputs, opset=18, constants=["image_shape", "block_shape"] if is_known else [], dynamic=["x"]
    )  # fmt: skip
    judged.assert_same_in_openvino(model, values, tmp_path)
