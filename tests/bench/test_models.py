"""The synthetic models of the benchmark."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import numpy_helper

from bench import models
from bench.structure import checker_error, count_nodes, model_files
from maxfold.optimizer import optimize


def test_a_chain_is_valid_and_has_its_nodes(tmp_path: Path) -> None:
    path = tmp_path / "chain.onnx"
    models.chain(path, nodes=41)
    assert checker_error(path) == ""
    assert count_nodes(onnx.load(str(path))) == 41


def test_a_reversed_chain_holds_the_same_nodes_last_one_first(tmp_path: Path) -> None:
    straight, reverse = tmp_path / "a.onnx", tmp_path / "b.onnx"
    models.chain(straight, nodes=8)
    models.chain(reverse, nodes=8, reverse=True)
    assert list(onnx.load(str(straight)).graph.node) == list(onnx.load(str(reverse)).graph.node)[::-1]


def test_concats_are_valid_and_one_after_maxfold(tmp_path: Path) -> None:
    path = tmp_path / "concats.onnx"
    models.concats(path, nodes=40)
    assert checker_error(path) == ""
    model = onnx.load(str(path))
    assert count_nodes(model) == 41
    optimize(model)
    assert [node.op_type for node in model.graph.node] == ["Concat", "ReduceSum"]


def test_a_fanout_reads_one_constant(tmp_path: Path) -> None:
    path = tmp_path / "fanout.onnx"
    models.fanout(path, consumers=10)
    model = onnx.load(str(path))
    assert checker_error(path) == ""
    assert sum("shared" in node.input for node in model.graph.node) == 10


def test_external_and_inline_weights_are_the_same(tmp_path: Path) -> None:
    inline, external = tmp_path / "inline.onnx", tmp_path / "external.onnx"
    models.transformer(inline, layers=2, width=16, external=False)
    models.transformer(external, layers=2, width=16, external=True)
    assert [file.name for file in model_files(external)] == ["external.onnx", "external.onnx.data"]
    assert checker_error(inline) == ""
    assert checker_error(external) == ""
    pairs = zip(onnx.load(str(inline)).graph.initializer, onnx.load(str(external)).graph.initializer, strict=True)
    for one, other in pairs:
        assert numpy_helper.to_array(one).tobytes() == numpy_helper.to_array(other).tobytes()


@pytest.mark.parametrize("external", [False, True])
def test_models_are_the_same_bytes_each_time(tmp_path: Path, external: bool) -> None:
    written = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        models.transformer(folder / "model.onnx", layers=1, width=16, external=external)
        written.append([file.read_bytes() for file in model_files(folder / "model.onnx")])
    assert written[0] == written[1]
