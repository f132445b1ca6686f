"""Rows are found by the domain of the operator too."""

from __future__ import annotations

import onnx
import pytest

from maxfold.model import Model
from maxfold.optimizer import load
from maxfold.passes.conversion import ConversionError, convert_to_openvino
from maxfold.passes.conversion.row import from_onnx, pair
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.table import make_table


def _quick(site: OpenvinoSite) -> None:
    site.result(site.add("Sigmoid", [site.input(0)]))


_TABLE = make_table((*from_onnx("com.microsoft.QuickGelu", "Sigmoid-1", _quick), *pair("Relu", "ReLU-1")))


def _model(text: str) -> Model:
    header = '<ir_version: 9, opset_import: ["" : 18, "com.microsoft" : 1]> agraph (float[N] x) => (float[N] y)'
    return load(onnx.parser.parse_model(f"{header} {{ {text} }}"))


def test_row_of_another_domain() -> None:
    made = convert_to_openvino(_model("h = Relu(x) y = com.microsoft.QuickGelu(h)"), _TABLE)
    assert [node.op for node in made.graph.nodes] == ["ReLU", "Sigmoid"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("y = com.microsoft.Relu(x)", "the operator of domain 'com.microsoft' is not covered"),
        ("y = QuickGelu(x)", "QuickGelu"),
        ("y = other.QuickGelu(x)", "the operator of domain 'other' is not covered"),
        ("y = com.microsoft.QuickGelu <alpha = 1.702> (x)", "its attribute 'alpha' is not covered"),
        ("y = com.microsoft.QuickGelu(x, x)", "its operands do not fit together"),
    ],
)
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(ConversionError, match=reason):
        convert_to_openvino(_model(text), _TABLE)
