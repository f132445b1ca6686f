"""Compress."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.passes.conversion import harness
from tests.passes.conversion.judged import assert_same_in_openvino, judge, one_node, parameters


@pytest.mark.parametrize(
    ("way", "case"),
    [item for item in parameters("Compress") if item.values[0] == "openvino" and "bfloat16" not in str(item.id)],
)
def test_node_tests(way: str, case: harness.Case, tmp_path: Path) -> None:
    judge(way, case, tmp_path, refused={}, limited={}, rtol=0, atol=0)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, -3])
@pytest.mark.parametrize("condition", [(), (False,), (True, True), (False, True)])
@pytest.mark.parametrize("constants", [(), ("condition",)])
@pytest.mark.parametrize("dynamic", [(), ("x", "condition")])
def test_axes_and_conditions(
    axis: int | None, condition: Sequence[bool], constants: Sequence[str], dynamic: Sequence[str], tmp_path: Path
) -> None:
    more: dict[str, Any] = {} if axis is None else {"axis": axis}
    inputs = {"x": np.arange(24, dtype=np.float32).reshape(2, 3, 4), "condition": np.asarray(condition, bool)}
    model, arrays = one_node("Compress", inputs, opset=11, constants=constants, dynamic=dynamic, **more)
    assert_same_in_openvino(model, arrays, tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int32, np.int64, np.float16, np.float64])
def test_element_types(dtype: Any, tmp_path: Path) -> None:
    inputs = {"x": np.arange(6).reshape(2, 3).astype(dtype), "condition": np.asarray([True, False, True])}
    model, arrays = one_node("Compress", inputs, opset=11, axis=1)
    assert_same_in_openvino(model, arrays, tmp_path, rtol=0, atol=0)


def test_nothing_to_choose_from(tmp_path: Path) -> None:
    inputs = {"x": np.zeros((0, 3), np.float32), "condition": np.zeros(0, bool)}
    model, arrays = one_node("Compress", inputs, opset=11, axis=0)
    assert_same_in_openvino(model, arrays, tmp_path, rtol=0, atol=0)
