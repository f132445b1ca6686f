"""Other tensors as the outputs of a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from maxfold.model import Model, ModelError
from maxfold.model.interface import keep_outputs
from maxfold.optimizer import convert, load, save
from tests.text import model

SOURCE = """g (float[N,3] x, float[N] u) => (float[N,3] y, float[N] z) {
    [first] m = Neg(x)  [second] y = Exp(m)  [third] z = Abs(u) }"""


def names(made: Model) -> list[str]:
    return [tensor.name for tensor in made.graph.outputs]


def test_the_order_is_that_of_the_names() -> None:
    made = load(model(SOURCE))
    keep_outputs(made, ["z", "m", "y"])
    assert names(made) == ["z", "m", "y"]
    assert [info.name for info in made.graph.output_info] == ["z", "m", "y"]


def test_an_inner_tensor_is_declared_as_it_is_derived() -> None:
    made = load(model(SOURCE))
    keep_outputs(made, ["m"])
    (info,) = made.to_proto().graph.output
    assert info.type.tensor_type.elem_type == 1
    assert [dim.dim_value for dim in info.type.tensor_type.shape.dim] == [0, 3]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (["y", "yy"], "nothing in the main graph is named 'yy'; did you mean 'y'"),
        (["something"], "nothing in the main graph is named 'something'; the outputs are y, z"),
        (["z", "y", "z"], "output 'z' is named twice; name each once"),
    ],
)
def test_names_that_are_none(wanted: list[str], message: str) -> None:
    for made in (load(model(SOURCE)), convert(model(SOURCE), to="openvino")):
        before = names(made)
        with pytest.raises(ModelError, match=message):
            keep_outputs(made, wanted)
        assert names(made) == before


def test_tensors_and_layers_of_an_ir(tmp_path: Path) -> None:
    save(convert(model(SOURCE), to="openvino"), tmp_path / "m.xml")
    for wanted in ("m", "first"):
        made = load(tmp_path / "m.xml")
        keep_outputs(made, [wanted, "z"])
        save(made, tmp_path / "cut.xml")
        assert names(convert(load(tmp_path / "cut.xml"), to="onnx")) == ["m", "z"]


def test_openvino_reads_it(tmp_path: Path) -> None:
    ov = pytest.importorskip("openvino")
    made = load(model(SOURCE))
    save(convert(made, to="openvino", outputs="m, z"), tmp_path / "m.xml")
    read = ov.Core().read_model(tmp_path / "m.xml")
    assert [output.any_name for output in read.outputs] == ["m", "z"]
    # As with OpenVINO's own converter, inputs stay.
    assert [tensor.any_name for tensor in read.inputs] == ["x", "u"]
    assert names(made) == ["y", "z"]


def test_what_no_output_needs_goes() -> None:
    made = convert(model(SOURCE), to="openvino", outputs=["y"])
    assert [node.op for node in made.graph.nodes] == ["Negative", "Exp"]
