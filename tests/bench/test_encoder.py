"""The encoder of the benchmark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from bench.encoder import encoder
from bench.structure import checker_error
from maxfold.optimizer import load, optimize, save
from maxfold.optimizer.api import Math


def _write(path: Path) -> None:
    encoder(path, layers=2, width=16, heads=2, inner=32, vocabulary=20, positions=12)


def test_it_is_valid_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    first, second = tmp_path / "first" / "e.onnx", tmp_path / "second" / "e.onnx"
    for path in (first, second):
        path.parent.mkdir()
        _write(path)
    assert checker_error(first) == ""
    assert first.read_bytes() == second.read_bytes()
    operators = {node.op_type for node in onnx.load(str(first)).graph.node}
    assert operators.isdisjoint({"LayerNormalization", "Gelu"})


@pytest.mark.parametrize("math", ["exact", "relaxed"])
def test_it_computes_the_same_afterwards(math: Math, tmp_path: Path) -> None:
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    _write(before)
    model = load(before)
    report = optimize(model, math=math)
    assert report.nodes_after < report.nodes_before
    save(model, after)
    rng = np.random.default_rng(0)
    feeds = {"ids": rng.integers(0, 20, (2, 7)), "types": rng.integers(0, 2, (2, 7)), "mask": np.ones((2, 7), np.int64)}
    results = [
        onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feeds)
        for path in (before, after)
    ]
    for one, other in zip(*results, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
