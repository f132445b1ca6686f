"""Rows that are data: how they are written, and what they do in both directions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import openvino.opset13 as ops
import pytest

from maxfold.optimizer import load, save
from maxfold.passes.conversion import convert_to_onnx, convert_to_openvino
from maxfold.passes.conversion.pair import Pair
from maxfold.passes.conversion.row import pair
from maxfold.passes.conversion.table import make_table
from tests.passes.conversion import harness, judged

X = judged.floats(1, 8, 2, 3)
TABLE = make_table(
    (
        *pair("Elu", "Elu-1", "alpha:number"),
        *pair("DepthToSpace", "DepthToSpace-1", "blocksize=block_size:integer mode:DCR=blocks_first|CRD=depth_first"),
        *pair("IsInf", "IsInf-10", "detect_negative:flag detect_positive:flag"),
        *pair("Round", "Round-5", "=mode:half_to_even"),
        *pair("Sub", "Subtract-1", operands="broadcast"),
        *pair("Min", "Minimum-1", operands="chain"),
    )
)


@pytest.mark.parametrize(
    ("operator", "operands", "attributes"),
    [
        ("Elu", 1, {}),
        ("Elu", 1, {"alpha": 0.25}),
        ("DepthToSpace", 1, {"blocksize": 2}),
        ("DepthToSpace", 1, {"blocksize": 2, "mode": "CRD"}),
        ("IsInf", 1, {"detect_negative": 0}),
        ("Round", 1, {}),
        ("Sub", 2, {}),
        ("Min", 4, {}),
    ],
)
def test_there_and_back(operator: str, operands: int, attributes: dict[str, Any], tmp_path: Path) -> None:
    inputs = {f"x{index}": X * (index + 1) for index in range(operands)}
    model, values = judged.one_node(operator, inputs, opset=17, **attributes)
    onnx.save(model, tmp_path / "there.onnx")
    expected = harness.run_onnx(tmp_path / "there.onnx", values)
    save(convert_to_openvino(load(tmp_path / "there.onnx"), TABLE), tmp_path / "there.xml")
    harness.assert_close(harness.run_openvino(tmp_path / "there.xml", values), expected, rtol=1e-6, atol=1e-6)
    save(convert_to_onnx(load(tmp_path / "there.xml"), TABLE), tmp_path / "back.onnx")
    harness.assert_close(harness.run_onnx(tmp_path / "back.onnx", values), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda x: ops.round(x, "half_away_from_zero"), "its mode 'half_away_from_zero' is not covered"),
        (lambda x: ops.abs(x), "the operator is not covered"),
    ],
)
def test_what_the_operator_cannot_say_is_refused(made: Any, reason: str, tmp_path: Path) -> None:
    x = ops.parameter([2, 3], np.float32, name="x")
    openvino.serialize(openvino.Model([made(x)], [x]), tmp_path / "model.xml")
    with pytest.raises(harness.ModelError, match=reason):
        convert_to_onnx(load(tmp_path / "model.xml"), TABLE)


@pytest.mark.parametrize(
    ("attributes", "operands", "reason"),
    [("alpha", "same", "kind"), ("alpha:float", "same", "kind"), ("", "variadic", "operands")],
)
def test_what_is_no_pair(attributes: str, operands: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        pair("Elu", "Elu-1", attributes, operands=operands)


def test_attributes_are_read() -> None:
    (row,) = pair(
        "DepthToSpace", "DepthToSpace-1", "blocksize=block_size:integer mode:DCR=blocks_first|CRD=depth_first"
    )
    assert isinstance(row, Pair)
    assert [(item.onnx, item.openvino, item.kind) for item in row.attributes] == [
        ("blocksize", "block_size", "integer"),
        ("mode", "mode", "text"),
    ]
    assert row.attributes[1].words == {"DCR": "blocks_first", "CRD": "depth_first"}
