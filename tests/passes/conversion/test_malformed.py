"""Malformed nodes, for every row: refused by name, or converted to what the other runtime reads. Never a crash."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnxruntime
import openvino
import pytest
from lxml import etree

from maxfold.model import Model, ModelError
from maxfold.model.openvino.operations import OPERATIONS, operation
from maxfold.optimizer import load, optimize, save
from maxfold.optimizer.api import convert
from maxfold.passes.conversion import TABLE, ConversionError
from tests.passes.conversion import malformed, malformed_layers

_CORE = openvino.Core()
# OpenVINO reads it in the first operator set, and writes it as of the second.
_WRITTEN_AS = {"LogicalXor": 1, "ROIPooling": 1, "ReorgYolo": 1}
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
            assert refused & (_OTHERS | {operator} | {node.op for node in loaded.nodes()}), what
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


@pytest.fixture(scope="module")
def irs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return malformed_layers.sources(tmp_path_factory.mktemp("irs"))


@pytest.mark.parametrize("operation", sorted(TABLE.by_openvino))
def test_to_onnx(operation: str, irs: dict[str, Path], tmp_path: Path) -> None:
    """And `optimize` of the same IR."""
    for what in malformed_layers.mutants(irs[operation], operation, tmp_path / "m.xml"):
        try:
            loaded = load(tmp_path / "m.xml")
        except ModelError:
            continue
        converted, refused = _refused(loaded, "onnx")
        if converted is None:
            assert refused & {operation, "Parameter", "Result", *_others(irs[operation])}, what
        else:
            save(converted, tmp_path / "m.onnx")
            assert _is_readable(tmp_path / "m.onnx"), what
        optimize(loaded, math="relaxed")


def _others(path: Path) -> set[str]:
    """The operations beside the one that is changed: a change of a type may be the fault of theirs."""
    return {node.op for node in load(path).nodes()}


def _is_readable(path: Path) -> bool:
    """Whether onnx's full check passes. It demands the rank of outputs, of which ONNX Runtime may not be told."""
    model = onnx.load(path)
    if all(info.type.tensor_type.HasField("shape") for info in (*model.graph.input, *model.graph.output)):
        onnx.checker.check_model(path, full_check=True)
        return True
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return bool(onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).get_outputs())


def test_operations_are_those_of_openvino(irs: dict[str, Path], tmp_path: Path) -> None:
    """Versions, numbers of inputs and results, and attributes as OpenVINO writes them."""
    for path in irs.values():
        openvino.serialize(_CORE.read_model(path), tmp_path / "theirs.xml")
        for layer in etree.parse(tmp_path / "theirs.xml").getroot().iter("layer"):
            kind, version = layer.get("type"), int(layer.get("version").removeprefix("opset"))
            if kind in ("Parameter", "Const", "Result"):
                continue
            known = operation(kind, version)
            assert known is not None, kind
            assert known.version == _WRITTEN_AS.get(kind, version), kind
            data = layer.find("data")
            counts = len(layer.findall("input/port")), len(layer.findall("output/port"))
            attributes = {**({} if data is None else data.attrib), **{part.tag: part for part in layer}}
            known_parts = {name: value for name, value in attributes.items() if name in known.attributes}
            assert known.why_not(*counts, known_parts) is None, kind


def test_operations_of_rows_are_listed() -> None:
    for row in TABLE.rows:
        known = operation(row.openvino, max(row.since, OPERATIONS[row.openvino][0].version))
        assert known is not None, row.openvino
