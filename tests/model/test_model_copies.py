"""A copied model: equal field by field when written, and nothing that is done to it reaches the original."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import openvino
import pytest

from maxfold.model import Model, ModelError, read_onnx, read_openvino, write_onnx, write_openvino
from maxfold.model.edit import Edit
from maxfold.model.fixing import fix_dimensions
from maxfold.model.graph import Tensor, subgraphs
from maxfold.model.model_copies import copy_model
from tests.model import every_field
from tests.model.odd_models import ODD_MODELS, nested_branches, one_node_model
from tests.model.protobuf import assert_same
from tests.model.tensors import raw_tensor
from tests.text import model as model_of

VARIANTS = dict(every_field.variants())


def written(model: Model) -> onnx.ModelProto:
    """The model as a file says it."""
    stream = io.BytesIO()
    write_onnx(model, stream)
    return onnx.ModelProto.FromString(stream.getvalue())


@pytest.mark.parametrize("name", VARIANTS)
def test_a_copy_is_written_as_the_original(name: str) -> None:
    model = read_onnx(VARIANTS[name])
    assert_same(written(copy_model(model)), written(model))


@pytest.mark.parametrize("spoil", ODD_MODELS)
def test_a_copy_of_an_odd_model_is_written_as_the_original(spoil: Callable[[onnx.ModelProto], None]) -> None:
    made = one_node_model([raw_tensor("a", "FLOAT", 3)])
    spoil(made)
    try:
        model = read_onnx(made.SerializeToString())
    except ModelError:
        return
    assert_same(written(copy_model(model)), written(model))


@pytest.mark.parametrize("name", VARIANTS)
def test_what_is_done_to_a_copy_does_not_reach_the_original(name: str) -> None:
    model = read_onnx(VARIANTS[name])
    before = written(model)
    copied = copy_model(model)
    copied.set_opset(99)
    copied.proto.producer_name = "other"
    for scope in copied.scopes():
        scope.name = f"{scope.name}_new"
        for info in (*scope.value_info, *scope.output_info, *scope.input_info.values()):
            info.doc_string = "other"
        for node in scope.nodes:
            node.name, node.op = "other", "Other"
            node.attrs.clear()
            node.inputs.clear()
        for tensor in scope.constants:
            tensor.name = f"{tensor.name}_new"
        scope.nodes.clear()
        scope.constants.clear()
    copied.functions.clear()
    assert_same(written(model), before)


def test_a_copy_has_objects_of_its_own_and_shares_the_data_of_constants() -> None:
    model = read_onnx(nested_branches(3))
    copied = copy_model(model)
    ours, theirs = set(model.nodes()), set(copied.nodes())
    assert len(ours) == len(theirs)
    assert not ours & theirs
    assert not tensors(model) & tensors(copied)
    for node in theirs:
        assert {item for tensor in node.inputs for item in tensor.outputs} <= theirs
        assert all(graph.parent is node for graph in subgraphs(node))
    for one, other in zip(model.constants(), copied.constants(), strict=True):
        assert one.data is other.data


def tensors(model: Model) -> set[Tensor]:
    """All tensors of all scopes."""
    found: set[Tensor] = set()
    for scope in model.scopes():
        found.update((*scope.inputs, *scope.outputs, *scope.constants))
        found.update(tensor for node in scope.nodes for tensor in (*node.inputs, *node.outputs))
    return found


def test_rewriting_a_copy_leaves_the_original() -> None:
    model = read_onnx(model_of("agraph (float[N, 2] x) => (float[N, 2] y) { y = Relu(x) }"))
    before = written(model)
    copied = copy_model(model)
    fix_dimensions(copied, {"N": 3}, {})
    edit = Edit(copied)
    edit.become(next(iter(copied.nodes())), "Identity", [copied.graph.inputs[0]])
    edit.flush()
    assert_same(written(model), before)
    assert written(copied).graph.node[0].op_type == "Identity"


def test_an_ir_is_copied_with_what_its_layers_say(tmp_path: Path) -> None:
    from openvino import opset13 as ov

    x = ov.parameter([-1, 4], np.float32, name="x")
    result = ov.relu(ov.add(x, ov.constant(np.ones((1, 4), np.float32))))
    made = openvino.Model([result], [x], "named")
    made.set_rt_info("value", "key")
    openvino.serialize(made, tmp_path / "a.xml")
    model = read_openvino(tmp_path / "a.xml")
    copied = copy_model(model)
    write_openvino(model, tmp_path / "b.xml")
    write_openvino(copied, tmp_path / "c.xml")
    assert (tmp_path / "b.xml").read_bytes() == (tmp_path / "c.xml").read_bytes()
    assert (tmp_path / "b.bin").read_bytes() == (tmp_path / "c.bin").read_bytes()
    write_openvino(model, tmp_path / "d.xml")
    assert (tmp_path / "d.xml").read_bytes() == (tmp_path / "b.xml").read_bytes()
