"""Malformed nodes, for every row: refused by name, or converted to what the other runtime reads. Never a crash."""

from __future__ import annotations

from pathlib import Path

import openvino
import pytest

from maxfold.model import ModelError
from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert
from maxfold.passes.conversion import TABLE, ConversionError
from tests.passes.conversion import malformed

_CORE = openvino.Core()
# Their node tests have more nodes, or none.
_WITHOUT_SOURCE: frozenset[str] = frozenset()


def test_every_operator_has_a_source() -> None:
    assert sorted(TABLE.by_onnx.keys() - malformed.sources().keys()) == sorted(_WITHOUT_SOURCE)


@pytest.mark.parametrize("operator", sorted(TABLE.by_onnx))
def test_to_openvino(operator: str, tmp_path: Path) -> None:
    if operator in _WITHOUT_SOURCE:
        return
    for what, model in malformed.mutants(malformed.sources()[operator]):
        try:
            loaded = load(model.SerializeToString())
        except ModelError:
            continue
        try:
            converted = convert(loaded, to="openvino")
        except ConversionError as error:
            assert any(item.operator in (operator, "graph", "graph input") for item in error.refusals), what
            continue
        save(converted, tmp_path / "m.xml")
        try:
            read = _CORE.read_model(tmp_path / "m.xml")
        except RuntimeError as error:
            raise AssertionError(f"{operator}, {what}: {error}") from None
        assert len(read.outputs) == len(model.graph.output), what
