"""Without a chosen operator set the lowest that the model needs, from the default on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino
import openvino.opset15 as ops
import pytest

from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert
from maxfold.passes.conversion import ConversionError
from tests.passes.conversion import harness, judged

X = judged.floats(2, 3, 4)


def _reduced(folder: Path) -> Path:
    """The largest along an axis that is given at run time."""
    x, axes = ops.parameter([2, 3, 4], np.float32, name="x"), ops.parameter([1], np.int64, name="axes")
    openvino.serialize(openvino.Model([ops.reduce_max(x, axes, True)], [x, axes]), folder / "model.xml")
    return folder / "model.xml"


def test_the_lowest_that_is_needed(tmp_path: Path) -> None:
    made = convert(load(_reduced(tmp_path)), to="onnx")
    assert made.opsets(made.graph)[""] == 18
    assert made.opset_reason.startswith("ReduceMax (")
    assert "needs operator set 18" in made.opset_reason
    save(made, tmp_path / "made.onnx")
    (found,) = harness.run_onnx(tmp_path / "made.onnx", [X, np.array([1])])
    np.testing.assert_array_equal(found, X.max(axis=1, keepdims=True))


def test_the_default_where_nothing_asks_for_more(tmp_path: Path) -> None:
    x = ops.parameter([2], np.float32, name="x")
    openvino.serialize(openvino.Model([ops.relu(x)], [x]), tmp_path / "model.xml")
    made = convert(load(tmp_path / "model.xml"), to="onnx")
    assert (made.opsets(made.graph)[""], made.opset_reason) == (17, "")


def test_a_chosen_one_stays(tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match="needs operator set 18; choose --opset 18"):
        convert(load(_reduced(tmp_path)), to="onnx", opset=17)


def test_all_is_refused_where_no_operator_set_is_enough(tmp_path: Path) -> None:
    x, axes = ops.parameter([2, 3], np.float32, name="x"), ops.parameter([1], np.int64, name="axes")
    results = [ops.reduce_max(x, axes, True), ops.convert(x, openvino.Type.u1)]
    openvino.serialize(openvino.Model(results, [x, axes]), tmp_path / "model.xml")
    with pytest.raises(ConversionError) as caught:
        convert(load(tmp_path / "model.xml"), to="onnx")
    assert {refusal.opset for refusal in caught.value.refusals} == {None, 18}
