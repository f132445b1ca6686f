"""What axes mean: read, compared with OpenVINO, kept where it keeps them."""

from __future__ import annotations

from pathlib import Path

import pytest

from maxfold.model import ModelError
from maxfold.model.openvino.layouts import parse_layout
from maxfold.optimizer import Model, convert, load, save
from tests.text import model

ov = pytest.importorskip("openvino")

SOURCE = """g (float[N,3,4,4] x, float[N] u) => (float[N,3,4,4] y, float[N] z) { y = Neg(x)  z = Abs(u) }"""


@pytest.mark.parametrize(
    "text",
    [
        "NCHW", "nchw", "N...C", "N?HW", "...", "?", "NC1", "[N,C,H,W]", "[ n, c ]",
        "[batch,channels,depth,height,width]", "[time,N,features_0]", "[N,...]", "[1,2]",
    ],
)  # fmt: skip
def test_as_openvino_reads_it(text: str) -> None:
    assert f"[{','.join(parse_layout(text))}]" == ov.Layout(text).to_string()


NO_LAYOUTS = ("N..C", "NN", "nN", "[a,,b]", "[]", "N...C...", "N_C", "N C", "[N", "N->C", "\N{GREEK SMALL LETTER NU}")


@pytest.mark.parametrize("text", NO_LAYOUTS)
def test_what_is_no_layout(text: str) -> None:
    with pytest.raises(ModelError, match="layout"):
        parse_layout(text)


def test_no_text_is_no_layout() -> None:
    with pytest.raises(ModelError, match=r"'' is no layout; give one as NCHW, N...C or \[N,C,H,W\]"):
        parse_layout("")


def written(made: Model, folder: Path) -> dict[str, str]:
    save(made, folder / "m.xml")
    read = ov.Core().read_model(folder / "m.xml")
    found = {tensor.any_name: ov.layout_helpers.get_layout(tensor) for tensor in (*read.inputs, *read.outputs)}
    return {name: layout.to_string() for name, layout in found.items() if not layout.empty}


def test_openvino_reads_them(tmp_path: Path) -> None:
    layouts = {"x": "nchw", "u": "[batch]", "y": "N...", "z": "?"}
    found = written(convert(model(SOURCE), to="openvino", layouts=layouts), tmp_path)
    assert found == {"x": "[N,C,H,W]", "u": "[N]", "y": "[N,...]", "z": "[?]"}
    again = load(tmp_path / "m.xml")
    save(again, tmp_path / "again.xml")
    assert (tmp_path / "again.xml").read_text().count('name="layout"') == 4


@pytest.mark.parametrize(
    ("layouts", "message"),
    [
        ({"X": "NCHW"}, "no input or output is named 'X'; did you mean 'x'?"),
        ({"image": "NCHW"}, "no input or output is named 'image'; they are y, z, x, u"),
        ({"x": "NC"}, "layout 'NC' has 2 axes, but 'x' has 4 dimensions"),
        ({"y": "NCDHW..."}, "layout 'NCDHW...' has 6 axes, but 'y' has 4 dimensions"),
        ({"": "N"}, "a layout without a name needs a model of one input; this one has 2"),
        ({"x": "N..C"}, "'N..C' is no layout"),
    ],
)
def test_layouts_that_cannot_be(layouts: dict[str, str], message: str) -> None:
    with pytest.raises(ModelError) as raised:
        convert(model(SOURCE), to="openvino", layouts=layouts)
    assert message in str(raised.value)


def test_an_ir_of_version_10_keeps_none() -> None:
    with pytest.raises(ModelError, match="version 11 alone"):
        convert(model(SOURCE), to="openvino", ir_version=10, layouts={"x": "NCHW"})


def test_the_only_input_needs_no_name(tmp_path: Path) -> None:
    source = model("g (float[N,3] x) => (float[N,3] y) { y = Neg(x) }")
    assert written(convert(source, to="openvino", layouts={"": "nc"}), tmp_path) == {"x": "[N,C]"}


def test_any_rank(tmp_path: Path) -> None:
    source = model("g (float x) => (float y) { y = Neg(x) }")
    source.graph.input[0].type.tensor_type.ClearField("shape")
    source.graph.output[0].type.tensor_type.ClearField("shape")
    made = convert(source, to="openvino")
    kept = made.graph.inputs[0].__dict__["parameter"].data["shape"]
    assert written(convert(source, to="openvino", layouts={"x": "NC"} if kept == "..." else {}), tmp_path) == (
        {"x": "[N,C]"} if kept == "..." else {}
    )
