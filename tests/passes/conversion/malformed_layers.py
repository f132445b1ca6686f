"""Malformed layers by kind, as changes of the XML of a right IR with one layer of an operation."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import openvino
from lxml import etree
from openvino import opset1, opset4, opset5, opset6, opset8, opset10, opset13, opset15, opset16

from maxfold.model import ModelError
from maxfold.model.openvino.operations import OPERATIONS
from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert
from tests.passes.conversion import malformed, malformed_layers_general, malformed_layers_vision
from tests.passes.conversion.test_detection_output import REAL
from tests.passes.conversion.test_prior_boxes import CLUSTERED, PRIOR, clustered

_VALUES = ("", "abc", "-3", "7", "1.5", "1, 2, 3", "true", "YES", "f32", "nan")
_TYPES = ("f32", "f16", "i64", "i32", "boolean", "u8", "string")
_VERSIONS = ("opset1", "opset5", "opset8", "opset13", "opset16", "opset99", "extension", "opset")

Change = Callable[[Any, Any], object]


def _parameter(*shape: int, dtype: Any = np.float32) -> Any:
    return opset1.parameter(list(shape), dtype)


def _constant(*values: int) -> Any:
    return opset1.constant(np.array(values, np.int64))


def _built() -> dict[str, Any]:
    """A node of each operation that no ONNX operator becomes."""
    image, vector = _parameter(1, 2, 5, 5), _parameter(4)
    flags = _parameter(2, 3, dtype=np.bool_)
    zeros, ones = [0, 0], [1, 1]
    filters = opset1.constant(np.ones((2, 1, 1, 3, 3), np.float32))
    low, high = (opset1.constant(np.float32(value)) for value in (-1, 1))
    boxes = [_parameter(*shape) for shape in ((1, 48), (1, 36), (1, 2, 48))]
    cell = [_parameter(3, 4), _parameter(3, 2), _parameter(3, 2)]
    weights = {
        gates: [_parameter(*shape) for shape in ((2 * gates, 4), (2 * gates, 2), (2 * gates,))] for gates in (1, 3, 4)
    }
    no_parameters: list[float] = []
    queries = [_parameter(1, 2, 3, 4) for _ in range(3)]
    return {
        "BitwiseLeftShift": opset15.bitwise_left_shift(_parameter(3, dtype=np.int32), _parameter(3, dtype=np.int32)),
        "CTCGreedyDecoder": opset1.ctc_greedy_decoder(_parameter(4, 2, 3), _parameter(4, 2), True),
        "CTCGreedyDecoderSeqLen": opset6.ctc_greedy_decoder_seq_len(_parameter(2, 4, 3), _parameter(2, dtype=np.int32)),
        "Clamp": opset1.clamp(vector, 0.0, 1.0),
        "DetectionOutput": opset8.detection_output(*boxes, REAL),
        "FakeQuantize": opset1.fake_quantize(image, low, high, low, high, 256),
        "FloorMod": opset1.floor_mod(vector, _parameter(4)),
        "GRUCell": opset5.gru_cell(*cell[:2], *weights[3], 2),
        "GroupConvolution": opset1.group_convolution(image, filters, ones, zeros, zeros, ones),
        "GroupConvolutionBackpropData": opset1.group_convolution_backprop_data(image, filters, ones),
        "HSigmoid": opset5.hsigmoid(vector),
        "Identity": opset16.identity(vector),
        "IsFinite": opset10.is_finite(vector),
        "LSTMCell": opset5.lstm_cell(*cell, *weights[4], 2),
        "NormalizeL2": opset1.normalize_l2(image, _constant(1), 1e-6, "add"),
        "NotEqual": opset1.not_equal(vector, _parameter(4)),
        "PriorBox": opset8.prior_box(_constant(3, 5), _constant(48, 83), PRIOR),
        "PriorBoxClustered": clustered(_constant(3, 5), _constant(48, 83), CLUSTERED),
        "RNNCell": opset5.rnn_cell(*cell[:2], *weights[1], 2, ["tanh"], no_parameters, no_parameters),
        "ReduceLogicalAnd": opset1.reduce_logical_and(flags, _constant(1), True),
        "ReduceLogicalOr": opset1.reduce_logical_or(flags, _constant(1), True),
        "ScaledDotProductAttention": opset13.scaled_dot_product_attention(*queries),
        "ScatterUpdate": opset4.scatter_update(vector, _constant(1), _parameter(1), opset1.constant(0)),
        "SquaredDifference": opset1.squared_difference(vector, _parameter(4)),
        "StridedSlice": opset1.strided_slice(image, _constant(0), _constant(1), _constant(1), [0], [0]),
        "Tile": opset1.tile(vector, _constant(2)),
        "VariadicSplit": opset1.variadic_split(vector, opset1.constant(0), _constant(1, 3)),
    }


@functools.cache
def sources(folder: Path) -> dict[str, Path]:
    """An IR that has a layer of each operation."""
    found: dict[str, Path] = {}
    for operator, model in malformed.sources().items():
        try:
            converted = convert(load(model), to="openvino")
        except ModelError:
            continue
        path = folder / f"{operator}.xml"
        save(converted, path)
        for node in converted.graph.nodes:
            found.setdefault(node.op, path)
    for operation, node in (_built() | malformed_layers_general.built() | malformed_layers_vision.built()).items():
        found[operation] = folder / f"built_{operation}.xml"
        openvino.serialize(openvino.Model(list(node.outputs()), _parameters(node)), found[operation])
    found["ReadValue"] = found["Assign"] = folder / "built_states.xml"
    x, start = _parameter(2, 3), opset1.constant(np.zeros((2, 3), np.float32))
    read = opset6.read_value(start, "memory", openvino.Type.f32, openvino.PartialShape([2, 3]))
    total = opset1.add(x, read)
    states = openvino.Model([opset1.result(total)], [opset6.assign(total, "memory")], [x], "states")
    openvino.serialize(states, found["ReadValue"])
    # OpenVINO's Python package has no function for this one.
    found["Reverse"] = folder / "built_Reverse.xml"
    likeness = found["NormalizeL2"].read_text(encoding="utf-8")
    data = '<data eps="9.9999999747524271e-07" eps_mode="add" />'
    assert data in likeness
    text = likeness.replace('type="NormalizeL2"', 'type="Reverse"').replace(data, '<data mode="index" />')
    found["Reverse"].write_text(text, encoding="utf-8")
    shutil.copy(found["NormalizeL2"].with_suffix(".bin"), found["Reverse"].with_suffix(".bin"))
    return found


def _parameters(node: Any) -> list[Any]:
    makers = [value.get_source_output().get_node() for value in node.inputs()]
    return [maker for maker in makers if maker.get_type_name() == "Parameter"]


def mutants(path: Path, operation: str, target: Path) -> Iterator[str]:
    """What was changed; the changed IR is at `target`."""
    root = etree.parse(path).getroot()
    shutil.copy(path.with_suffix(".bin"), target.with_suffix(".bin"))
    layer = _layer(root, operation)
    for what, change in (*_inputs(layer), *_results(layer), *_attributes(layer, operation), *_heads(), *_types(root)):
        changed = deepcopy(root)
        change(changed, _layer(changed, operation))
        target.write_bytes(etree.tostring(changed))
        yield what


def _layer(root: Any, operation: str) -> Any:
    return next(item for item in root.iter("layer") if item.get("type") == operation)


def _inputs(layer: Any) -> Iterator[tuple[str, Change]]:
    ports = layer.findall("input/port")
    for index in range(len(ports)):
        yield f"only {index} inputs", lambda root, layer, index=index: _cut(root, layer, index)
    for count in (1, 9):
        yield f"{count} more inputs", lambda root, layer, count=count: _more_inputs(root, layer, count)


def _cut(root: Any, layer: Any, count: int) -> None:
    for port in layer.findall("input/port")[count:]:
        edges = root.find("edges")
        for edge in edges.findall("edge"):
            if (edge.get("to-layer"), edge.get("to-port")) == (layer.get("id"), port.get("id")):
                edges.remove(edge)
        port.getparent().remove(port)


def _more_inputs(root: Any, layer: Any, count: int) -> None:
    group = layer.find("input")
    first = group.find("port")
    edges = root.find("edges")
    source = next(edge for edge in edges if edge.get("to-layer") == layer.get("id"))
    for index in range(count):
        port, edge = deepcopy(first), deepcopy(source)
        port.set("id", str(100 + index))
        edge.set("to-port", str(100 + index))
        group.append(port)
        edges.append(edge)


def _results(layer: Any) -> Iterator[tuple[str, Change]]:
    def add(_: Any, layer: Any) -> None:
        group = layer.find("output")
        port = deepcopy(group[-1])
        port.set("id", "200")
        port.attrib.pop("names", None)
        group.append(port)

    def add_read(root: Any, layer: Any) -> None:
        add(root, layer)
        result = deepcopy(next(item for item in root.iter("layer") if item.get("type") == "Result"))
        result.set("id", "9999")
        result.attrib.pop("output_names", None)
        root.find("layers").append(result)
        edge = {"from-layer": layer.get("id"), "from-port": "200", "to-layer": "9999"}
        port = result.find("input/port").get("id")
        etree.SubElement(root.find("edges"), "edge", {**edge, "to-port": port})

    yield "one more result", add
    yield "one more result, returned", add_read
    if len(layer.findall("output/port")) > 1:
        yield "the last result missing", lambda _, layer: layer.find("output").remove(layer.findall("output/port")[-1])


def _attributes(layer: Any, operation: str) -> Iterator[tuple[str, Change]]:
    data = layer.find("data")
    for name in () if data is None else data.attrib:
        yield f"without {name}", lambda _, layer, name=name: layer.find("data").attrib.pop(name)
    names = {"unheard_of"}.union(*(version.attributes for version in OPERATIONS[operation]))
    for name in sorted(names):
        for value in _VALUES:
            yield f"{name}={value!r}", lambda _, layer, name=name, value=value: _set(layer, name, value)


def _set(layer: Any, name: str, value: str) -> None:
    data = layer.find("data")
    if data is None:
        data = etree.Element("data")
        layer.insert(0, data)
    data.set(name, value)


def _heads() -> Iterator[tuple[str, Change]]:
    for version in _VERSIONS:
        yield f"version {version}", lambda _, layer, version=version: layer.set("version", version)
    for name in ("", "a\nb", "<&>\"'", "é", " ", "a,b", "a\\b"):
        yield f"name {name!r}", lambda _, layer, name=name: layer.set("name", name)


def _types(root: Any) -> Iterator[tuple[str, Change]]:
    def change(root: Any, index: int, key: str, value: str) -> None:
        parameters = [layer for layer in root.iter("layer") if layer.get("type") == "Parameter"]
        parameters[index].find("data").set(key, value)

    for index in range(sum(layer.get("type") == "Parameter" for layer in root.iter("layer"))):
        for dtype in _TYPES:
            yield f"input {index} of {dtype}", lambda root, _, i=index, d=dtype: change(root, i, "element_type", d)
        yield f"input {index} of any rank", lambda root, _, i=index: change(root, i, "shape", "...")
        yield f"input {index} a scalar", lambda root, _, i=index: change(root, i, "shape", "")
