"""Rows of ONNX Runtime's attention, on their way to OpenVINO, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.passes.conversion import judged
from tests.passes.conversion.microsoft import one_node

_BATCH, _TOKENS, _HEADS, _SIZE = 2, 5, 2, 4
_WIDTH = _HEADS * _SIZE


def _mask(kind: str, keys: int) -> Any:
    shape = {"keys": (_BATCH, keys), "pairs": (_BATCH, _TOKENS, keys)}[kind]
    mask = np.random.default_rng(3).integers(0, 2, shape).astype(np.int32)
    mask[..., 0] = 1
    return mask


@pytest.mark.parametrize("dynamic", [(), ("x", "mask", "past", "bias")])
@pytest.mark.parametrize(
    ("mask", "past", "has_bias", "attributes"),
    [
        (None, 0, False, {}),
        ("keys", 0, False, {}),
        ("pairs", 0, True, {"scale": 0.3}),
        ("keys", 0, False, {"unidirectional": 1, "mask_filter_value": -5.0}),
        (None, 3, False, {"unidirectional": 1}),
        ("keys", 3, False, {}),
        (None, 0, False, {"qkv_hidden_sizes": [_WIDTH, _WIDTH, 2 * _WIDTH]}),
    ],
)
def test_attention(mask: Any, past: int, has_bias: bool, attributes: Any, dynamic: Any, tmp_path: Path) -> None:
    width = sum(attributes.get("qkv_hidden_sizes", [3 * _WIDTH]))
    keys = _TOKENS + past
    operands = {
        "x": judged.floats(_BATCH, _TOKENS, 6), "w": judged.floats(6, width, seed=1), "b": judged.floats(width, seed=2),
        "mask": None if mask is None else _mask(mask, keys),
        "past": judged.floats(2, _BATCH, _HEADS, past, _SIZE, seed=4) if past else None,
        "bias": judged.floats(_BATCH, _HEADS, _TOKENS, keys, seed=5) if has_bias else None,
    }  # fmt: skip
    outputs = {"y": np.float32, "present": np.float32} if past else {"y": np.float32}
    settings: dict[str, Any] = {"constants": ("w", "b"), "dynamic": dynamic, "outputs": outputs}
    model, inputs = one_node("Attention", operands, num_heads=_HEADS, **settings, **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path)


@pytest.mark.parametrize("dynamic", [(), ("q", "k", "v", "mask", "bias", "pk", "pv")])
@pytest.mark.parametrize(
    ("mask", "past", "has_bias", "attributes"),
    [
        (None, 0, False, {}), ("keys", 0, False, {"scale": 0.3}), ("pairs", 0, True, {"mask_filter_value": -3.0}),
        (None, 3, True, {}), ("keys", 3, False, {}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("has_offset", [True, False])
def test_multi_head(
    mask: Any, past: int, has_bias: bool, attributes: Any, has_offset: bool, dynamic: Any, tmp_path: Path
) -> None:
    if has_offset and dynamic:
        dynamic = dynamic[3:]
    other = 7 if not past else _TOKENS
    keys = other + past
    cache = {name: judged.floats(_BATCH, _HEADS, past, _SIZE, seed=seed) for name, seed in (("pk", 6), ("pv", 7))}
    operands = {
        "q": judged.floats(_BATCH, _TOKENS, _WIDTH), "k": judged.floats(_BATCH, other, _WIDTH, seed=1),
        "v": judged.floats(_BATCH, other, _WIDTH, seed=2),
        "b": judged.floats(3 * _WIDTH, seed=3) if has_offset else None,
        "mask": None if mask is None else _mask(mask, keys),
        "bias": judged.floats(_BATCH, _HEADS, _TOKENS, keys, seed=5) if has_bias else None,
        **(cache if past else {}),
    }  # fmt: skip
    names = ["y", "present_key", "present_value"] if past else ["y"]
    settings: dict[str, Any] = {"constants": ("b",), "dynamic": dynamic, "outputs": dict.fromkeys(names, np.float32)}
    model, inputs = one_node("MultiHeadAttention", operands, num_heads=_HEADS, **settings, **attributes)
    judged.assert_same_in_openvino(model, inputs, tmp_path)


def test_refused(tmp_path: Path) -> None:
    operands = {
        "x": judged.floats(_BATCH, _TOKENS, 6), "w": judged.floats(6, 3 * _WIDTH), "b": judged.floats(3 * _WIDTH),
        "mask": np.array([3, 4], np.int32),
    }  # fmt: skip
    model, _ = one_node("Attention", operands, num_heads=_HEADS)
    judged.assert_refused_in_openvino(model, tmp_path, "a mask of 1 dimensions is not covered")
    q = judged.floats(_BATCH, _TOKENS, _WIDTH)
    model, _ = one_node("MultiHeadAttention", {"q": q, "k": q, "v": q}, num_heads=_HEADS, unidirectional=1)
    judged.assert_refused_in_openvino(model, tmp_path, "'unidirectional' is not covered")
    model, _ = one_node("MultiHeadAttention", {"q": q}, num_heads=_HEADS, outputs={"y": np.float32})
    judged.assert_refused_in_openvino(model, tmp_path, "MultiHeadAttention")
