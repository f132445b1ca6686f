"""IR of version 10: the interface is what OpenVINO shows of it, in both directions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import pytest
from onnx import helper, parser
from openvino import opset13

from maxfold.model import ModelError, dtypes
from maxfold.optimizer import load, optimize, save
from maxfold.optimizer.api import convert
from maxfold.passes.conversion import version_10
from tests.passes.conversion import harness

TYPES = ("f16", "f32", "f64", "bf16", "boolean", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
Interface = list[tuple[str, str]]


def written(model: openvino.Model, path: Path, *, is_named: bool = True) -> Path:
    """A model as an IR of version 10, without tensor names where it is not `is_named`, as old files are."""
    openvino.serialize(model, path)
    text = path.read_text().replace('version="11"', 'version="10"', 1)
    text = re.sub(r' output_names="[^"]*"', "", text)
    path.write_text(text if is_named else re.sub(r' names="[^"]*"', "", text))
    return path


def shown(path: Path) -> tuple[Interface, Interface]:
    """What OpenVINO shows of a file: one name and the element type of each input and output."""
    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return tuple(  # type: ignore[return-value]
        [(min(port.names), port.get_element_type().get_type_name()) for port in ports]
        for ports in (compiled.inputs, compiled.outputs)
    )


def declared(path: Path) -> tuple[Interface, Interface]:
    """The same of an ONNX file."""
    graph = onnx.load(path).graph
    found: list[Interface] = []
    for items in (graph.input, graph.output):
        kinds = [dtypes.from_onnx(item.type.tensor_type.elem_type) for item in items]
        found.append([(item.name, str(kind and kind.openvino)) for item, kind in zip(items, kinds, strict=True)])
    return found[0], found[1]


def named(node: Any, name: str) -> Any:
    node.set_friendly_name(name)
    for index in range(node.get_output_size()):
        node.output(index).set_names({name if node.get_output_size() == 1 else f"{name}:{index}"})
    return node


def parameter(name: str, kind: str, shape: Sequence[int] = (2, 3)) -> Any:
    return named(opset13.parameter(list(shape), getattr(openvino.Type, kind)), name)


def assert_as_shown(path: Path, inputs: Sequence[Any] | None) -> onnx.ModelProto:
    """The ONNX model has the interface that OpenVINO shows, and gives its results where there are inputs."""
    target = path.with_suffix(".onnx")
    model = convert(load(path), to="onnx", opset=21)
    for is_optimized in (False, True):
        if is_optimized:
            optimize(model)
        save(model, target)
        onnx.checker.check_model(target, full_check=True)
        assert declared(target) == shown(path)
        if inputs is None:
            continue
        harness.assert_close(
            harness.run_onnx(target, list(inputs)), harness.run_openvino(path, list(inputs)), rtol=0, atol=0
        )
    return onnx.load(target)


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("kind", TYPES)
def test_types_that_openvino_shows(kind: str, is_named: bool, tmp_path: Path) -> None:
    x = parameter("x", kind)
    y = named(opset13.reshape(x, opset13.constant(np.array([3, 2])), False), "y")
    path = written(openvino.Model([opset13.result(y, name="last")], [x], "m"), tmp_path / "m.xml", is_named=is_named)
    found = dtypes.from_openvino("f32" if kind == "f16" else kind)
    assert found is not None
    # Python cannot feed bf16 to ONNX Runtime.
    inputs = None if kind == "bf16" else [np.array([[0, 1, 2], [3, 4, 5]]).astype(found.numpy)]
    assert_as_shown(path, inputs)


def test_half_precision_inside(tmp_path: Path) -> None:
    """The file of most public models in FP16: its input and its output are f32 for OpenVINO, which computes in f32."""
    x, weight = parameter("data", "f16", (1, 64)), opset13.constant(np.eye(64, dtype=np.float16) * np.float16(1.5))
    product = named(opset13.matmul(x, weight, False, False), "fc")
    path = written(openvino.Model([opset13.result(product, name="fc/sink_port_0")], [x], "m"), tmp_path / "m.xml")
    # 0.1 and 70000 are no numbers of half precision.
    model = assert_as_shown(path, [np.tile(np.array([[1, 0.1, 3, 70000]], np.float32), 16)])
    assert [node.op_type for node in model.graph.node] == ["Cast", "MatMul"]
    (stored,) = model.graph.initializer
    assert stored.data_type == onnx.TensorProto.FLOAT16


def test_casts_to_half_precision(tmp_path: Path) -> None:
    x = parameter("x", "f32")
    half = opset13.convert(x, "f16")
    y = named(opset13.convert(opset13.multiply(half, opset13.constant(np.float16(3))), "f32"), "y")
    path = written(openvino.Model([opset13.result(y)], [x], "m"), tmp_path / "m.xml")
    model = assert_as_shown(path, [np.array([[0.1, 40000, 3], [1, 2, 3]], np.float32)])
    assert all(info.type.tensor_type.elem_type == onnx.TensorProto.FLOAT for info in model.graph.output)


def test_an_input_that_is_read_and_shown(tmp_path: Path) -> None:
    x = parameter("x", "f16")
    nodes = [named(opset13.relu(x), "a"), named(opset13.negative(x), "b")]
    path = written(openvino.Model([opset13.result(node) for node in nodes], [x], "m"), tmp_path / "m.xml")
    model = assert_as_shown(path, [np.arange(-3, 3).reshape(2, 3).astype(np.float32)])
    assert [node.op_type for node in model.graph.node].count("Cast") == 0


def test_outputs_are_named_after_layers(tmp_path: Path) -> None:
    """A layer of several outputs numbers them; Results' own names count for nothing."""
    x = parameter("x", "f32", (4,))
    parts = named(opset13.split(x, opset13.constant(0), 2), "parts")
    last = named(opset13.relu(parts.output(1)), "last")
    results = [opset13.result(parts.output(0), name="r0"), opset13.result(last, name="r1")]
    path = written(openvino.Model(results, [x], "m"), tmp_path / "m.xml", is_named=False)
    assert_as_shown(path, [np.array([-1, 1, -2, 2], np.float32)])
    assert declared(tmp_path / "m.onnx")[1] == [("parts.0", "f32"), ("last", "f32")]


def test_a_constant_as_output(tmp_path: Path) -> None:
    x, c = parameter("x", "f32"), named(opset13.constant(np.array([1, 2], np.int64)), "c")
    y = named(opset13.relu(x), "y")
    path = written(openvino.Model([opset13.result(c), opset13.result(y)], [x], "m"), tmp_path / "m.xml")
    assert_as_shown(path, [np.ones((2, 3), np.float32)])


def made(text: str) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{text}')


REFUSED = {
    "g (float16[2] x) => (float[2] y) { y = Cast <to = 1> (x) }": "OpenVINO shows an f16 input of an IR of version 10",
    "g (float[2] x) => (float[2] x, float[2] y) { y = Relu(x) }": "it is an input too",
    **{
        f"g (float[2] x) => ({kind}[2] y) {{ y = Cast <to = {value}> (x) }}": f"OpenVINO shows {name} of an output"
        for kind, value, name in (
            ("float16", 10, "f16"), ("double", 11, "f64"), ("bool", 9, "boolean"), ("uint8", 2, "u8"),
            ("int8", 3, "i8"), ("int64", 7, "i64"), ("uint32", 12, "u32"), ("bfloat16", 16, "bf16"),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), REFUSED.items(), ids=REFUSED.values())
def test_what_would_be_shown_otherwise_is_refused(text: str, reason: str) -> None:
    convert(load(made(text)), to="openvino")
    with pytest.raises(ModelError, match=f"{reason}.*; write version 11"):
        convert(load(made(text)), to="openvino", ir_version=10)


# Nodes as (name, operator, inputs, outputs).
NAMES: dict[str, list[tuple[str, str, str, str]]] = {
    "a node named like an input": [("x", "Relu", "x", "y")],
    "nodes named like others' results": [("y", "Relu", "x", "a"), ("a", "Neg", "a", "b"), ("b", "Abs", "b", "y")],
    "nodes of one name": [("n", "Relu", "x", "a"), ("n", "Neg", "a", "b"), ("n", "Abs", "b", "y")],
    "a node named like a Result": [("y/sink_port_0", "Relu", "x", "y")],
    "a tensor named like a Result": [("n", "Neg", "x", "y/sink_port_0"), ("m", "Relu", "y/sink_port_0", "y")],
    "several results": [("y", "Split", "x", "a,b"), ("x", "Add", "a,b", "y")],
    "results named like those of a layer": [
        ("y", "Split", "x", "a,b"),
        ("m", "Neg", "b", "y.0"),
        ("x", "Add", "a,y.0", "y"),
    ],
    "other names of the result": [("n", "Relu", "x", "b"), ("", "Identity", "b", "a"), ("m", "Identity", "b", "y")],
    "other names of the input": [("", "Identity", "x", "a"), ("a", "Relu", "a", "y")],
}


@pytest.mark.parametrize("is_optimized", [False, True], ids=["plain", "optimized"])
@pytest.mark.parametrize("nodes", NAMES.values(), ids=NAMES.keys())
def test_names_of_layers(nodes: list[tuple[str, str, str, str]], is_optimized: bool, tmp_path: Path) -> None:
    """They collide with nothing, so that OpenVINO reads the file, and with the names of the model."""
    model = made("g (float[4] x) => (float[S] y) { y = Relu(x) }")
    del model.graph.node[:]
    for name, operator, inputs, outputs in nodes:
        model.graph.node.append(helper.make_node(operator, inputs.split(","), outputs.split(","), name))
    ir = convert(load(model), to="openvino", ir_version=10)
    if is_optimized:
        optimize(ir)
    save(ir, tmp_path / "m.xml")
    names = re.findall(r'<layer id="\d+" name="([^"]*)"', (tmp_path / "m.xml").read_text())
    assert len(set(names)) == len(names)
    compiled = openvino.Core().compile_model(tmp_path / "m.xml", "CPU")
    assert ["x" in compiled.inputs[0].names, "y" in compiled.outputs[0].names] == [True, True]
    for node in model.graph.node:
        node.name = ""  # ONNX Runtime wants them to be unique
    onnx.save(model, tmp_path / "m.onnx")
    x = [np.array([-1, 2, -3, 4], np.float32)]
    expected = harness.run_onnx(tmp_path / "m.onnx", x)
    harness.assert_close(harness.run_openvino(tmp_path / "m.xml", x), expected, rtol=0, atol=0)
    save(convert(load(tmp_path / "m.xml"), to="onnx"), tmp_path / "back.onnx")
    assert declared(tmp_path / "back.onnx") == declared(tmp_path / "m.onnx")


def test_many_layers_of_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers behind it are not tried anew for each layer."""
    tried: list[str] = []
    candidates = version_10._candidates

    def counted(*arguments: Any) -> Iterator[str]:
        for name in candidates(*arguments):
            tried.append(name)
            yield name

    monkeypatch.setattr(version_10, "_candidates", counted)
    count = 300
    model = made("g (float[4] x) => (float[4] t0) { t0 = Relu(x) }")
    model.graph.node[0].name = "n"
    for index in range(1, count):
        model.graph.node.append(helper.make_node("Neg", [f"t{index - 1}"], [f"t{index}"], "n"))
    ir = convert(load(model), to="openvino", ir_version=10)
    assert len({node.name for node in ir.graph.nodes}) == count
    assert len(tried) < 3 * count


def test_layers_of_several_outputs(tmp_path: Path) -> None:
    """OpenVINO numbers them, which gives a name that no other output may have."""
    model = made("g (float[4] x) => (float[2] a, float[2] c) { [s] a, b = Split <axis = 0> (x)  c = Neg(b) }")
    model.graph.output[1].name = model.graph.node[1].output[0] = "s.0"
    save(convert(load(model), to="openvino", ir_version=10), tmp_path / "m.xml")
    compiled = openvino.Core().compile_model(tmp_path / "m.xml", "CPU")
    assert ["a" in compiled.outputs[0].names, compiled.outputs[1].names] == [True, {"s.0"}]
    save(convert(load(tmp_path / "m.xml"), to="onnx"), tmp_path / "back.onnx")
    assert [name for name, _ in declared(tmp_path / "back.onnx")[1]] == ["a", "s.0"]
