"""The table of operations says what OpenVINO reads: asked for each line of it."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maxfold.model.openvino.operation_table import ABSENT
from maxfold.model.openvino.operations import NEWEST, OPERATIONS, Attribute, Operation, operation
from tests.model.openvino.operation_samples import Sample, samples
from tests.model.openvino.oracle import Oracle, OracleError

SAMPLES = samples()
LISTED = [version for versions in OPERATIONS.values() for version in versions]
# They need more of a model than a layer: bodies, or a variable that another layer declares.
WITH_MORE = {"Assign", "If", "Loop", "TensorIterator"}
SINGLE = [item for item in LISTED if item.type not in WITH_MORE]
# What OpenVINO makes of the first version that it reads.
STORED_AS = {"LogicalXor": 2, "MVN": 2, "ROIPooling": 2, "ReorgYolo": 2}
# OpenVINO asks nothing of inputs behind the ones that it knows.
UNBOUNDED = {"ScaledDotProductAttention"}
# OpenVINO's Python package shows a dynamic shape as an empty one.
# How classes are called that layers are called otherwise.
NAMES_OF_CLASSES = {"PReLU": "PRelu", "ReLU": "Relu", "SoftMax": "Softmax"}
UNSHOWN = {"variable_shape"}
OTHER_NAMES = {
    "absolute": "abs", "ceil": "ceiling", "constant": "abs", "ifop": "if", "ops": "abs", "parameter": "abs",
    "result": "abs",
}  # fmt: skip


class Reader:
    """What OpenVINO reads, of a file in a folder."""

    def __init__(self, oracle: Oracle, folder: Path) -> None:
        self._oracle = oracle
        self._folder = folder

    def read(self, sample: Sample, known: Operation, **changes: Any) -> Any:
        """Version, attributes and number of results of the layer; the reason as text where it is not read."""
        try:
            return self._oracle.layer(sample.written(known, **changes).write(self._folder))
        except OracleError as error:
            return str(error)


@pytest.fixture
def reader(oracle: Oracle, tmp_path: Path) -> Reader:
    return Reader(oracle, tmp_path)


def test_every_operation_is_listed() -> None:
    """Names as the functions of OpenVINO's Python package have them, for each operator set."""
    lower = {name.lower(): name for name in OPERATIONS}
    for opset in range(1, NEWEST + 1):
        for function in dir(importlib.import_module(f"openvino.opset{opset}")):
            name = function.replace("_", "")
            if function.startswith("_"):
                continue
            kind = lower[OTHER_NAMES.get(name, name)]
            assert OPERATIONS[kind], function


def test_every_line_is_asked_about() -> None:
    assert SAMPLES.keys() == {(item.type, item.version) for item in SINGLE}


@pytest.mark.parametrize("kind", sorted({item.type for item in SINGLE}))
def test_versions(kind: str, reader: Reader) -> None:
    """Each operator set has the version that the table says, or does not have the operation. Asked where it changes."""
    first = [version.version for version in OPERATIONS[kind]]
    for opset in {*first, *(version - 1 for version in first if version > 1), *ABSENT.get(kind, ()), NEWEST}:
        known = operation(kind, opset)
        asked = known or OPERATIONS[kind][0]
        found = reader.read(SAMPLES[kind, asked.version][0], asked, opset=opset)
        if known is None:
            assert "contain the operation" in found, opset
        else:
            stored = STORED_AS.get(kind, 0) if known is OPERATIONS[kind][0] else 0
            assert found["version"] == f"opset{stored or known.version}", opset


@pytest.mark.parametrize("kind", sorted(WITH_MORE))
def test_versions_of_what_needs_more(kind: str, oracle: Oracle) -> None:
    for opset in range(1, NEWEST + 1):
        known = operation(kind, opset)
        found = oracle.version(kind, opset)
        assert found == (None if known is None else f"opset{known.version}"), opset


@pytest.mark.parametrize("known", SINGLE, ids=lambda item: item.name)
def test_numbers_of_inputs(known: Operation, reader: Reader) -> None:
    """What OpenVINO reads of so many inputs the table allows, and what the table allows some sample shows."""
    longest = max(SAMPLES[known.type, known.version], key=lambda sample: len(sample.inputs))
    for count in range(len(longest.inputs) + 2):
        inputs = [*longest.inputs, longest.inputs[-1]]
        tried = [replace(longest, inputs=inputs[:count]), *SAMPLES[known.type, known.version]]
        read = any(isinstance(reader.read(sample, known), dict) for sample in tried if len(sample.inputs) == count)
        allowed = known.takes(count)
        if count <= len(longest.inputs):
            assert read == allowed, count
        elif known.type not in UNBOUNDED:
            assert allowed or not read, count


@pytest.mark.parametrize("known", SINGLE, ids=lambda item: item.name)
def test_numbers_of_results(known: Operation, reader: Reader) -> None:
    count = reader.read(SAMPLES[known.type, known.version][0], known)["results"]
    assert known.gives(count)
    assert not known.gives(count + 1) or known.type in ("Split", "VariadicSplit")
    assert not known.gives(count - 1) or known.type in ("Split", "VariadicSplit")


@pytest.mark.parametrize("known", SINGLE, ids=lambda item: item.name)
def test_attributes(known: Operation, oracle: Oracle, reader: Reader) -> None:
    """Their names, their defaults, and which have none."""
    tried = SAMPLES[known.type, known.version]
    shown = reader.read(tried[0], known)["attributes"]
    read = {name for name, attribute in known.attributes.items() if attribute.is_read and "." not in name}
    assert shown.keys() == read
    for name in read - UNSHOWN:
        attribute = known.attributes[name]
        without = [reader.read(_without(sample, name), known) for sample in tried]
        values = [found["attributes"][name] for found in without if isinstance(found, dict)]
        if attribute.is_required:
            # A text that says nothing, or a type that is none.
            assert set(values) <= {"", "dynamic"}, name
        else:
            assert any(map(attribute.is_default, values)) or _is_made_so(known, name, oracle), (name, values)


def _without(sample: Sample, name: str) -> Sample:
    return replace(sample, attributes={key: value for key, value in sample.attributes.items() if key != name})


def _is_made_so(known: Operation, name: str, oracle: Oracle) -> bool:
    """Whether an operation starts with the default; when it is read it may then be made to fit the inputs."""
    kind = NAMES_OF_CLASSES.get(known.type, known.type)
    stored = STORED_AS.get(kind, 0) if known.version == 1 else 0
    return known.attributes[name].is_default(oracle.made(kind, stored or known.version)[name])


@pytest.mark.parametrize("known", LISTED, ids=lambda item: item.name)
def test_defaults_are_of_their_kind(known: Operation) -> None:
    given = {name: attribute.default for name, attribute in known.attributes.items() if attribute.default is not None}
    required = {name: "1" for name, attribute in known.attributes.items() if attribute.is_required}
    types = {name: "f32" for name in required if known.attributes[name].kind == "type"}
    inputs, results = known.inputs[0][0], known.results[0][0]
    assert known.why_not(inputs, results, {**given, **required, **types}) is None


@pytest.mark.parametrize(
    ("kind", "value", "default", "expected"),
    [
        ("flag", "1", "true", True),
        ("flag", "YES", "true", False),
        ("number", "1e0", "1", True),
        ("number", "nan", "1", False),
        ("integer", " 7", "7", True),
        ("integers", "1,2", "1, 2", True),
        ("integers", "1, 1", "", False),
        ("numbers", "", "", True),
        ("text", "NumPy", "numpy", True),
        ("texts", "Tanh,tanh", "tanh, tanh", True),
        ("type", "f32", "f16", False),
    ],
)
def test_defaults_by_meaning(kind: str, value: str, default: str, expected: bool) -> None:
    assert Attribute(kind, default).is_default(value) is expected


def test_bodies_are_no_defaults() -> None:
    assert not Attribute("map", "").is_default([])


def test_lists_of_numbers() -> None:
    known = OPERATIONS["PriorBox"][0]
    assert known.why_not(2, 1, {"variance": "0.1, 0.2", "min_size": ""}) is None
    assert known.why_not(2, 1, {"variance": "0.1, x"}) == "its attribute 'variance' is '0.1, x', not a list of numbers"
