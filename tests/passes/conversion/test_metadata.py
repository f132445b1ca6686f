"""What files say beside the graph crosses to the other format, which its runtime reads, and comes back equal."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from onnx import TensorProto, helper, numpy_helper

from maxfold.model.in_memory import to_proto
from maxfold.model.model import Model
from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert

PAIRS = [
    ("1a", "one"), ("a b", "two"), ("<", ">&\"'"), ("", "empty key"), ("empty value", ""), ("k\x01\x00", "\x07"),
    ("twice", "1"), ("twice", "2"), ("line", "a\nb\tc\r"), ("info", "x"), ("xml", "y"), ("é\ufffe", "\u2028"),
    ("labels", "cat dog"),
]  # fmt: skip


def _say(proto: Any, text: str) -> None:
    proto.doc_string = f"{text}: <doc>\x02"
    for key, value in PAIRS:
        proto.metadata_props.add(key=key, value=f"{text} {value}")


def _model() -> onnx.ModelProto:
    """A model that says something of everything."""
    graph = helper.make_graph(
        [
            helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.ones((2, 3), np.float32))),
            helper.make_node("Max", ["x", "w"], ["m"], name="largest"),
            helper.make_node("Mul", ["m", "c"], ["r"], name="times"),
            helper.make_node("Split", ["r"], ["y", "z"], name="halves", axis=0),
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3]) for name in "yz"],
        [numpy_helper.from_array(np.full((2, 3), 2, np.float32), "w")],
        value_info=[helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "mr"],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    model.producer_name, model.producer_version, model.domain, model.model_version = "some\x01", "<1>", "org.a", -7
    _say(model, "model")
    _say(graph, "graph")
    for item in (*graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer):
        _say(item, item.op_type if isinstance(item, onnx.NodeProto) else item.name)
    graph.input[0].type.denotation = "IMAGE"
    graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    graph.node[0].attribute[0].t.doc_string = "of the value"
    model.graph.CopyFrom(graph)
    return model


def _there_and_back(model: onnx.ModelProto) -> onnx.ModelProto:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.xml"
        save(convert(load(model), to="openvino"), path)
        return to_proto(convert(load(path), to="onnx"))


def _facts(model: onnx.ModelProto) -> dict[str, Any]:
    """All that is said, by what it is said of."""
    facts: dict[str, Any] = {
        "model": (model.producer_name, model.producer_version, model.domain, model.model_version),
        "input": str([info.type for info in model.graph.input]),
    }
    named = {"model texts": model, "graph texts": model.graph}
    for item in (*model.graph.node, *model.graph.input, *model.graph.output, *model.graph.value_info):
        is_node = isinstance(item, onnx.NodeProto)
        named[f"node {item.op_type} {list(item.output)}" if is_node else f"value {item.name}"] = item
    for constant in model.graph.initializer:
        named[f"constant {constant.name}"] = constant
    for node in model.graph.node:
        if node.op_type == "Constant":
            named[f"value of {node.output[0]}"] = node.attribute[0].t
    for name, item in named.items():
        pairs = [(entry.key, entry.value) for entry in item.metadata_props]
        if item.doc_string or pairs:
            facts[name] = item.doc_string, pairs
    return facts


def test_onnx_through_openvino(tmp_path: Path) -> None:
    model = _model()
    first = convert(load(model), to="openvino")
    assert first.lost == ()
    save(first, tmp_path / "m.xml")
    read = openvino.Core().read_model(tmp_path / "m.xml")
    assert read.get_rt_info(["framework", "1a"]).astype(str) == "model one"
    assert read.get_rt_info(["framework", "a b"]).astype(str) == "model two"
    assert read.get_rt_info(["framework", "<"]).astype(str) == "model >&\"'"
    assert read.get_rt_info(["framework", "labels"]).astype(str) == "model cat dog"
    back = to_proto(convert(load(tmp_path / "m.xml"), to="onnx"))
    assert _facts(back) == _facts(model)
    # The checker wants keys once, and of the original too.
    back.ClearField("metadata_props")
    onnx.checker.check_model(back, full_check=True)


def test_onnx_through_what_openvino_writes(tmp_path: Path) -> None:
    """OpenVINO keeps it when it reads and writes the IR."""
    save(convert(load(_model()), to="openvino"), tmp_path / "m.xml")
    openvino.serialize(openvino.Core().read_model(tmp_path / "m.xml"), tmp_path / "theirs.xml")
    back = to_proto(convert(load(tmp_path / "theirs.xml"), to="onnx"))
    wanted, found = _facts(_model()), _facts(back)
    assert {key: found.get(key) for key in wanted} == wanted


def test_metadata_of_openvinos_own_conversion(tmp_path: Path) -> None:
    """It puts metadata_props under <framework>, sorted; they are metadata_props again."""
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Relu", ["x"], ["y"])], "g",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "x"],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "y"],
        )
    )  # fmt: skip
    helper.set_model_props(model, {"1a": "one", "labels": "cat dog"})
    onnx.save(model, tmp_path / "m.onnx")
    openvino.serialize(openvino.Core().read_model(tmp_path / "m.onnx"), tmp_path / "theirs.xml")
    made = convert(load(tmp_path / "theirs.xml"), to="onnx")
    assert [(entry.key, entry.value) for entry in made.proto.metadata_props[:2]] == [
        ("1a", "one"),
        ("labels", "cat dog"),
    ]
    _assert_comes_back(tmp_path / "theirs.xml", tmp_path)


IR = """<?xml version="1.0"?>
<net name="g" version="11" origin="somewhere">
	<layers>
		<layer id="0" name="x" type="Parameter" version="opset1" mark="p">
			<data shape="1..4,3" element_type="f32" extra="kept"/>
			<rt_info><attribute name="old_api_map_order" version="0" value="1,0"/></rt_info>
			<output>
				<port id="0" precision="FP32" names="x">
					<dim>-1</dim><dim>3</dim>
					<rt_info><attribute name="layout" version="0" layout="[N,C]"/></rt_info>
				</port>
			</output>
		</layer>
		<layer id="1" name="positive" type="ReLU" version="opset1" PrimitivesPriority="cpu:ref">
			<rt_info><user_data name="mine" value="&lt;1&gt;" version=""/></rt_info>
			<input>
				<port id="0" precision="FP32" mark="in">
					<dim>-1</dim><dim>3</dim>
					<rt_info><user_data name="of port" value="a" version=""/></rt_info>
				</port>
			</input>
			<output><port id="1" precision="FP32" names="y"><dim>-1</dim><dim>3</dim></port></output>
		</layer>
		<layer id="2" name="y/sink_port_0" type="Result" version="opset1" output_names="y" mark="r">
			<rt_info><user_data name="of result" value="b" version=""/></rt_info>
			<input><port id="0" precision="FP32"><dim>-1</dim><dim>3</dim></port></input>
		</layer>
	</layers>
	<edges>
		<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
		<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
	</edges>
	<rt_info>
		<Runtime_version value="2026.4.1"/>
		<model_info>
			<labels value="cat dog"/>
			<info name="1a" value="&lt;"/>
			<nested><info name="" value="empty"/><deeper value="1"/></nested>
		</model_info>
		<framework><info name="a b" value="c"/></framework>
	</rt_info>
	<meta_data><cli_parameters><unset unset_cli_parameters="a, b"/></cli_parameters></meta_data>
</net>
"""


def _assert_comes_back(path: Path, folder: Path) -> Model:
    """IR, ONNX and IR again: all but the shapes that ONNX declared in between is as it was."""
    made = convert(load(path), to="onnx")
    save(made, folder / "between.onnx")
    onnx.checker.check_model(folder / "between.onnx", full_check=True)
    again = convert(load(folder / "between.onnx"), to="openvino")
    save(again, folder / "again.xml")
    openvino.Core().read_model(folder / "again.xml")
    assert _texts(folder / "again.xml") == _texts(path)
    return made


def _texts(path: Path) -> list[Any]:
    """The file without what we note for ourselves, without empty elements, by lines."""
    root = etree.parse(path, etree.XMLParser(remove_blank_text=True)).getroot()
    for item in [*root.iter("maxfold_declared_shapes"), *(item for item in root.iter("rt_info") if not len(item))]:
        item.getparent().remove(item)
    for item in [item for item in root.iter("rt_info") if not len(item)]:
        item.getparent().remove(item)
    for layer in root.iter("layer"):
        del layer.attrib["name"]
    return [(item.tag, sorted(item.attrib.items())) for item in root.iter()]


def test_openvino_through_onnx(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(IR, encoding="utf-8")
    (tmp_path / "m.bin").write_bytes(b"")
    read = openvino.Core().read_model(tmp_path / "m.xml")
    assert read.get_rt_info(["model_info", "labels"]).astype(str) == "cat dog"
    made = _assert_comes_back(tmp_path / "m.xml", tmp_path)
    assert made.lost == ()
    assert [(entry.key, entry.value) for entry in made.proto.metadata_props[:1]] == [("a b", "c")]
    again = openvino.Core().read_model(tmp_path / "again.xml")
    assert again.get_rt_info(["model_info", "labels"]).astype(str) == "cat dog"
    assert again.get_rt_info(["model_info", "nested", "deeper"]).astype(str) == "1"


def test_what_is_lost() -> None:
    graph = helper.make_graph(
        [
            helper.make_node("Identity", ["x"], ["i"], name="nothing"),
            helper.make_node("Relu", ["i"], ["y"], name="some"),
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
        value_info=[helper.make_tensor_value_info("nowhere", TensorProto.FLOAT, [2])],
    )
    graph.node[0].doc_string = "of an Identity"
    graph.value_info[0].doc_string = "of no value"
    graph.quantization_annotation.add(tensor_name="x")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.training_info.add()
    made = convert(load(model), to="openvino")
    assert [(item.what, item.count, item.example) for item in made.lost] == [
        ("metadata of nodes that are no operation of their own", 1, "nothing"),
        ("metadata of values that are not there", 1, "nowhere"),
        ("quantization annotations", 1, "x"),
        ("training information", 1, "graph"),
    ]


@pytest.mark.parametrize("value", ["", "<", "<net", "[]", "<!DOCTYPE net><net/>", '{"node": 1}', "\x01"])
def test_somebody_elses_text_under_our_keys(value: str) -> None:
    """It is metadata like any other."""
    model = _model()
    model.metadata_props.add(key="maxfold.openvino.net", value=value)
    model.graph.node[2].metadata_props.add(key="maxfold.openvino.layer", value=value)
    back = _there_and_back(model)
    assert _facts(back) == _facts(model)


@pytest.mark.parametrize(
    "value", ["", "[]", "3", '{"node": 3}', '{"metadata_props": [[1]]}', '{"graph": [1]}', "[" * 5000]
)
def test_somebody_elses_json_under_our_keys(value: str, tmp_path: Path) -> None:
    escaped = value.replace('"', "&quot;")
    text = IR.replace(
        '<user_data name="mine"', f'<user_data name="maxfold_onnx" value="{escaped}"/><user_data name="m"'
    )
    text = text.replace("<Runtime_version", f'<maxfold_onnx value="{escaped}"/><Runtime_version')
    (tmp_path / "m.xml").write_text(text, encoding="utf-8")
    onnx.checker.check_model(to_proto(convert(load(tmp_path / "m.xml"), to="onnx")))


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), max_size=6), st.text(max_size=8))
def test_any_text(pairs: list[tuple[str, str]], text: str) -> None:
    model = _model()
    model.ClearField("metadata_props")
    for key, value in pairs:
        model.metadata_props.add(key=key, value=value)
        model.graph.node[2].metadata_props.add(key=key, value=value)
    model.doc_string = model.graph.node[2].doc_string = text
    back = _there_and_back(model)
    assert _facts(back) == _facts(model)


def test_what_is_not_said_stays_away() -> None:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"], name="relu")],
        "graph",
        *([helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])] for name in "xy"),
    )
    source = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    back = to_proto(convert(convert(load(source), to="openvino"), to="onnx"))
    names = ("producer_name", "producer_version", "domain", "model_version", "doc_string")
    assert [name for name in names if back.HasField(name)] == [name for name in names if source.HasField(name)] == []
