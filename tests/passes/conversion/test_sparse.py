"""SparseFillEmptyRows to ONNX, and operations that ONNX has no form for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset15 as ov15
import openvino.opset16 as ov
import pytest

from maxfold.passes.conversion.without_form import REASONS
from tests.passes.conversion import judged
from tests.passes.conversion.built import assert_converts, assert_refused


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("places", [[[0, 0], [0, 1], [2, 0], [4, 3]], [[1, 0], [1, 1], [2, 0], [3, 3]]])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_empty_rows(dtype: Any, kind: Any, places: Any, is_dynamic: bool, tmp_path: Path) -> None:
    values = [np.array([1, 2, 3, 4], dtype), np.array([6, 4], kind), np.array(places, kind), np.array(-1, dtype)]
    assert_converts(ov.sparse_fill_empty_rows, values, tmp_path, is_dynamic=is_dynamic)


def test_no_empty_rows(tmp_path: Path) -> None:
    values = [np.ones(2, np.float32), np.array([2, 1]), np.array([[0, 0], [1, 0]]), np.float32(7)]
    assert_converts(ov.sparse_fill_empty_rows, values, tmp_path, constants=[1, 3])


def test_losses_and_strings_are_refused(tmp_path: Path) -> None:
    scores = [np.zeros((2, 4, 3), np.float32), np.array([4, 4]), np.ones((2, 4), np.int64), np.array([2, 2])]
    assert_refused(ov.ctc_loss, scores, tmp_path, REASONS["CTCLoss"])
    x = ov15.parameter([2], openvino.Type.string)
    parts = ov15.string_tensor_unpack(x)
    judged.assert_refused_in_onnx(parts.outputs(), [x], tmp_path, REASONS["StringTensorUnpack"])
