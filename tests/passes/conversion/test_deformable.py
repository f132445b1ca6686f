"""Rows of convolutions that are bent, and of what pooling left put back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from tests.passes.conversion import harness, judged


@pytest.mark.parametrize(
    ("way", "case"), [entry for entry in judged.parameters("DeformConv", "MaxUnpool") if entry.values[0] == "openvino"]
)
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    judged.judge(way, case, tmp_path, refused={}, limited={}, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("is_dynamic", [True, False])
@pytest.mark.parametrize(
    ("attributes", "groups"),
    [
        ({}, 1),
        ({"pads": [1, 1, 1, 1]}, 1),
        ({"strides": [2, 1], "pads": [1, 0, 0, 1]}, 2),
        ({"dilations": [2, 1], "pads": [1, 1, 1, 1], "group": 2}, 2),
    ],
)
def test_offsets_anywhere(attributes: dict[str, Any], groups: int, is_dynamic: bool, tmp_path: Path) -> None:
    """Also beyond the image, and between its border and nothing."""
    x, weights = judged.floats(2, 4, 6, 5), judged.floats(6, 4 // attributes.get("group", 1), 3, 2, seed=1)
    strides, dilations, pads = (
        attributes.get(name, default)
        for name, default in (("strides", [1, 1]), ("dilations", [1, 1]), ("pads", [0, 0, 0, 0]))
    )
    size = [
        (x.shape[axis + 2] + pads[axis] + pads[axis + 2] - (kernel - 1) * dilations[axis] - 1) // strides[axis] + 1
        for axis, kernel in enumerate((3, 2))
    ]
    inputs = {
        "x": x, "w": weights, "offset": judged.floats(2, groups * 12, *size, seed=2) * np.float32(1.5),
        "b": judged.floats(6, seed=3), "mask": judged.floats(2, groups * 6, *size, seed=4),
    }  # fmt: skip
    model, values = judged.one_node(
        "DeformConv", inputs, opset=19, constants=["w", "b"], dynamic=["x", "offset", "mask"] if is_dynamic else [],
        kernel_shape=[3, 2], offset_group=groups, **attributes,
    )  # fmt: skip
    feeds = dict(zip(("x", "offset", "mask"), values, strict=True))
    judged.assert_same_in_openvino(model, values, tmp_path, expected=ReferenceEvaluator(model).run(None, feeds))


def test_neither_bias_nor_mask(tmp_path: Path) -> None:
    inputs = {"x": judged.floats(1, 2, 4, 4), "w": judged.floats(3, 2, 2, 2), "offset": judged.floats(1, 8, 3, 3)}
    model, values = judged.one_node("DeformConv", inputs, opset=22, constants=["w"])
    feeds = dict(zip(("x", "offset"), values, strict=True))
    judged.assert_same_in_openvino(model, values, tmp_path, expected=ReferenceEvaluator(model).run(None, feeds))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("has_shape", [False, True])
def test_what_pooling_left(rank: int, has_shape: bool, tmp_path: Path) -> None:
    x = judged.floats(2, 3, *[2] * rank)
    whole = (2, 3, *[4] * rank)
    count = int(np.prod(whole))
    places = np.random.default_rng(0).permutation(count)[: x.size].reshape(x.shape)
    inputs = {"x": x, "i": places, "shape": np.array([2, 3, *[5] * rank]) if has_shape else ""}
    model, values = judged.one_node(
        "MaxUnpool", inputs, opset=22, dynamic=["x", "i"], kernel_shape=[2] * rank, strides=[2] * rank
    )  # fmt: skip
    flat = np.zeros(count, np.float32)
    flat[places.reshape(-1)] = x.reshape(-1)
    expected = flat.reshape(whole)
    if has_shape:
        expected = np.pad(expected, [(0, 0), (0, 0), *[(0, 1)] * rank])
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[expected], rtol=0, atol=0)
