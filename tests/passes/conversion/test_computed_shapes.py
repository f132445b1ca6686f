"""Shapes that a model computes and OpenVINO's IR need not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from maxfold.model import read_onnx
from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert
from maxfold.passes.conversion import TABLE
from maxfold.passes.conversion.prepare import prepare
from tests.passes.conversion import harness
from tests.text import model

SHAPE = "s = Shape(x)\n b = Gather(s, zero)\n h = Gather(s, two)\n w = Gather(s, three)"
CONSTANTS = {
    **{name: np.array([value]) for name, value in (("zero", 0), ("one", 1), ("two", 2), ("three", 3), ("six", 6))},
    "half": np.array([0.5], np.float32),
}


def _model(body: str) -> onnx.ModelProto:
    head = "g (float[n,6,a,c] x) => (float[p,q,r,t] y)"
    return model(f"{head} {{ {SHAPE}\n {body} }}", constants=CONSTANTS)


def _operators(proto: onnx.ModelProto) -> list[str]:
    return [node.op for node in prepare(read_onnx(proto), TABLE.by_onnx).model.nodes()]


def _assert_right(proto: onnx.ModelProto, folder: Path) -> None:
    """The IR gives what the model gives, for sizes that differ and for empty tensors."""
    onnx.save(proto, folder / "m.onnx")
    save(convert(load(folder / "m.onnx"), to="openvino"), folder / "m.xml")
    for shape in ((2, 6, 4, 3), (3, 6, 1, 5), (0, 6, 2, 2)):
        x: Any = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        expected = harness.run_onnx(folder / "m.onnx", [x])
        harness.assert_close(harness.run_openvino(folder / "m.xml", [x]), expected, rtol=0, atol=0)


def test_dimensions_that_reshape_copies(tmp_path: Path) -> None:
    proto = _model(
        "t = Concat<axis = 0>(b, two, three, h, w)\n u = Reshape(x, t)\n y = ReduceSum<keepdims = 0>(u, one)"
    )
    # The height is not where the data has it, nor is the width.
    assert _operators(proto) == ["Shape", "Gather", "Gather", "Concat", "Reshape", "ReduceSum"]
    _assert_right(proto, tmp_path)


@pytest.mark.parametrize(
    ("body", "gathers"),
    [
        # The batch is copied, the others are in other places.
        ("t = Concat<axis = 0>(b, w, six, h)\n y = Reshape(x, t)", 2),
        # Of another tensor than the one that is reshaped.
        ("k = Transpose<perm = [0, 1, 3, 2]>(x)\n t = Concat<axis = 0>(b, six, h, w)\n y = Reshape(k, t)", 2),
        # All but one are copied: a constant says it.
        ("t = Concat<axis = 0>(b, six, h, w)\n y = Reshape(x, t)", 0),
        # 0 is a size here.
        ("t = Concat<axis = 0>(b, six, w, h)\n y = Reshape<allowzero = 1>(x, t)", 3),
        # Others read the shape too.
        ("t = Concat<axis = 0>(b, six, w, h)\n u = Reshape(x, t)\n y = Expand(u, t)", 3),
    ],
)
def test_dimensions_that_stay_computed(body: str, gathers: int, tmp_path: Path) -> None:
    proto = _model(body)
    assert _operators(proto).count("Gather") == gathers
    _assert_right(proto, tmp_path)


def test_operands_that_are_expanded_for_an_operator_that_broadcasts(tmp_path: Path) -> None:
    proto = _model("e = Expand(half, s)\n y = Mul(x, e)")
    assert "Expand" not in _operators(proto)
    _assert_right(proto, tmp_path)
