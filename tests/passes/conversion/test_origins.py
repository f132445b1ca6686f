"""Names and metadata of an IR are those of the file, whatever preparation put in the places of its nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino
import pytest
from onnx import NodeProto, ValueInfoProto, helper, numpy_helper

from maxfold.model import Model, read_onnx
from maxfold.optimizer import save
from maxfold.optimizer.api import convert

SHAPE = [1, 2, 3, 4]


def _converted(node: NodeProto, *, opset: int, constants: dict[str, np.ndarray] | None = None) -> Model:
    """A Tanh, a node that says something, and a Relu."""
    node.doc_string = "what it is for"
    said = _info("u")
    said.metadata_props.add(key="from", value="file")
    nodes = [helper.make_node("Tanh", ["z"], ["t"]), node, helper.make_node("Relu", ["u"], ["y"])]
    held = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    graph = helper.make_graph(nodes, "graph", [_info("z")], [_info("y")], held, value_info=[said])
    imports = [helper.make_opsetid("", opset)]
    return convert(read_onnx(helper.make_model(graph, opset_imports=imports, ir_version=10)), to="openvino")


def _info(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, 1, SHAPE)


def _names(model: Model, folder: Path) -> dict[str, set[str]]:
    """The names of all tensors that OpenVINO reads, by friendly names of what makes them."""
    save(model, folder / "model.xml")
    read = openvino.Core().read_model(folder / "model.xml")
    return {item.get_friendly_name(): item.output(0).get_names() for item in read.get_ordered_ops()}


@pytest.mark.parametrize(
    ("node", "opset", "constants"),
    [
        (helper.make_node("Attention", ["t", "t", "t"], ["u"], "it"), 23, {}),
        (helper.make_node("Softmax", ["t"], ["u"], "it", axis=1), 11, {}),
        (helper.make_node("Add", ["t", "c"], ["u"], "it", broadcast=1, axis=1), 6, {"c": np.ones(2, np.float32)}),
    ],
    ids=lambda value: value.op_type if isinstance(value, NodeProto) else "",
)
def test_what_stands_for_a_node_has_its_names(
    node: NodeProto, opset: int, constants: dict[str, np.ndarray], tmp_path: Path
) -> None:
    model = _converted(node, opset=opset, constants=constants)
    assert not model.lost
    text = _names(model, tmp_path)
    assert text["it"] == {"u"}
    assert {name for names in text.values() for name in names} == {"z", "t", "u", "y", *constants}
    xml = (tmp_path / "model.xml").read_text()
    assert "what it is for" in xml
    assert "metadata_props" in xml


def test_inputs_and_outputs_have_no_names_of_definitions(tmp_path: Path) -> None:
    node = helper.make_node("Attention", ["z", "z", "z"], ["y"], "it")
    graph = helper.make_graph([node], "graph", [_info("z")], [_info("y")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    names = _names(convert(read_onnx(proto), to="openvino"), tmp_path)
    assert {key: value for key, value in names.items() if value} == {"z": {"z"}, "it": {"y"}, "y/sink_port_0": {"y"}}


def test_what_nothing_stands_for_is_lost() -> None:
    branches = {
        f"{name}_branch": helper.make_graph([helper.make_node(op, ["t"], [op])], name, [], [_info(op)])
        for name, op in (("then", "Abs"), ("else", "Neg"))
    }
    node = helper.make_node("If", ["c"], ["u"], "it", **branches)
    model = _converted(node, opset=17, constants={"c": np.array(True)})
    assert [(lost.what, lost.example) for lost in model.lost] == [
        ("metadata of nodes that are no operation of their own", "it"),
        ("metadata of values that are not there", "u"),
    ]


@pytest.mark.parametrize("opset", [17, 23])
def test_doc_strings_of_attributes_are_told_to_be_lost(opset: int) -> None:
    """Of a node that is converted as it is, and of one that is expanded."""
    op = "Attention" if opset == 23 else "LeakyRelu"
    node = helper.make_node(
        op, ["t"] * (3 if opset == 23 else 1), ["u"], "it", **{"scale" if opset == 23 else "alpha": 0.5}
    )
    node.attribute[0].doc_string = "why it is a half"
    model = _converted(node, opset=opset)
    assert [(lost.what, lost.example) for lost in model.lost] == [("doc strings of attributes", "it")]
