"""Optional values on the way to OpenVINO."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import parser

from tests.passes.conversion import harness, judged
from tests.passes.conversion.judged import assert_refused_in_openvino, assert_same_in_openvino, floats

CASES = [
    case for case in harness.cases_of("OptionalGetElement", "OptionalHasElement")
    if all(info.type.HasField("tensor_type") for info in case.model.graph.input)
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_node_tests(case: harness.Case, tmp_path: Path) -> None:
    judged.judge("openvino", case, tmp_path, refused={}, limited={}, rtol=0, atol=0)


def model_of(text: str) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}')


def test_an_optional_value_that_is_there(tmp_path: Path) -> None:
    text = """g (float[N] x) => (float[N] y, bool z)
        { o = Optional(x) z = OptionalHasElement(o) e = OptionalGetElement(o) y = Neg(e) }"""
    assert_same_in_openvino(model_of(text), [floats(3)], tmp_path)


def test_one_that_is_not(tmp_path: Path) -> None:
    model = model_of("g () => (bool z) { o = Optional() z = OptionalHasElement(o) }")
    kind = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [2])
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("type", kind))
    assert_refused_in_openvino(model, tmp_path, "Optional: it is of no value, which IR cannot hold")


def test_an_optional_output(tmp_path: Path) -> None:
    model = model_of("g (float[N] x) => (optional(float[N]) y) { y = Optional(x) }")
    assert_refused_in_openvino(model, tmp_path, "it is of type optional, which IR cannot hold")
