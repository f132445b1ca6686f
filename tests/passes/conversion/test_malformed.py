"""Malformed nodes, for every row: refused by name, or converted to what the other runtime reads. Never a crash."""

from __future__ import annotations

from pathlib import Path

import onnx
import openvino
import pytest

from maxfold.model import Model, ModelError
from maxfold.optimizer import load, optimize, save
from maxfold.optimizer.api import convert
from maxfold.passes.conversion import TABLE, ConversionError
from tests.passes.conversion import malformed

_CORE = openvino.Core()
# What a refusal is about, where it is not the node.
_OTHERS = {"graph", "graph input", "graph output"}


def _loaded(model: onnx.ModelProto) -> Model | None:
    """The model, None where it cannot be read at all."""
    try:
        return load(model.SerializeToString())
    except ModelError:
        return None


def _refused(loaded: Model, to: str) -> tuple[Model | None, set[str]]:
    """The converted model, or what is refused."""
    try:
        return convert(loaded, to=to), set()
    except ConversionError as error:
        return None, {item.operator for item in error.refusals}
    except ModelError:
        # The model as a whole: an operator set from the future, no outputs.
        return None, _OTHERS


@pytest.mark.parametrize("operator", sorted(TABLE.by_onnx))
def test_to_openvino(operator: str, tmp_path: Path) -> None:
    for what, model in malformed.mutants(malformed.sources()[operator]):
        loaded = _loaded(model)
        if loaded is None:
            continue
        converted, refused = _refused(loaded, "openvino")
        if converted is None:
            assert refused & (_OTHERS | {operator}), what
            continue
        save(converted, tmp_path / "m.xml")
        try:
            read = _CORE.read_model(tmp_path / "m.xml")
        except RuntimeError as error:
            raise AssertionError(f"{operator}, {what}: {error}") from None
        assert len(read.outputs) == len(model.graph.output), what


@pytest.mark.parametrize("operator", sorted(TABLE.by_onnx))
def test_optimize(operator: str) -> None:
    """With all inputs constant too, so that kernels see the nodes."""
    for _, model in malformed.mutants(malformed.with_constants(malformed.sources()[operator])):
        loaded = _loaded(model)
        if loaded is not None:
            optimize(loaded, math="relaxed")
