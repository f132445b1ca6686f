"""What a refused conversion says: every obstacle once, and what to do where something can be done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import openvino.opset1 as ov1
import pytest
from onnx import parser
from openvino import opset13

from maxfold.model import ModelError
from maxfold.model.in_memory import to_proto
from maxfold.optimizer import convert, load
from maxfold.passes.conversion import ConversionError
from maxfold.passes.conversion.versions import NEWEST_ONNX

FUNCTIONS = """
    <ir_version: 9, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x) => (float[2] y) { a = local.f (x)  b = local.f (a)  y = local.Neg (b) }
    <domain: "local", opset_import: ["" : 17]> f (q) => (r) { r = Abs (q) }
    <domain: "local", opset_import: ["" : 17]> Neg (q) => (r) { r = Abs (q) }
"""
BRANCHES = "then_branch = t () => (float[2] a) { a = Neg (x) }, else_branch = e () => (float[2] b) { b = Abs (x) }"

RECURSIVE = """
    <ir_version: 9, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x) => (float[2] y) { a = local.f (x)  b = local.f (a)  y = local.Neg (b) }
    <domain: "local", opset_import: ["" : 17, "local" : 1]> f (q) => (r) { r = local.f (q) }
    <domain: "local", opset_import: ["" : 17, "local" : 1]> Neg (q) => (r) { r = local.Neg (q) }
"""


def onnx_text(body: str, *, opset: int = 17) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> {body}')


def refusals(model: Any, to: str = "openvino", **options: Any) -> list[tuple[str, str, int]]:
    with pytest.raises(ConversionError) as caught:
        convert(load(model), to=to, **options)
    return [(refusal.operator, refusal.reason, refusal.count) for refusal in caught.value.refusals]


def operators(model: Any) -> list[str]:
    """The operations that a model becomes."""
    return [node.op for node in convert(load(model), to="openvino").nodes()]


def test_calls_of_functions_become_what_they_do() -> None:
    assert operators(parser.parse_model(FUNCTIONS)) == ["Abs", "Abs", "Abs"]


def test_a_function_of_another_operator_set_comes_to_the_same_one() -> None:
    source = parser.parse_model(FUNCTIONS.replace('opset_import: ["" : 17]> Neg', 'opset_import: ["" : 13]> Neg'))
    assert operators(source) == ["Abs", "Abs", "Abs"]


def test_a_call_that_cannot_be_inlined_is_listed_once() -> None:
    reason = "it calls a model-local function that cannot be inlined: it calls itself"
    assert refusals(parser.parse_model(RECURSIVE)) == [("f", reason, 2), ("Neg", reason, 1)]


def test_an_if_of_a_known_condition() -> None:
    known = onnx_text(f"g (float[2] x) => (float[2] y) <bool c = {{1}}> {{ y = If (c) <{BRANCHES}> }}")
    assert operators(known) == ["Negative"]
    computed = onnx_text(f"""
        g (float[2] x) => (float[2] y) <int64[1] two = {{2}}> {{
            s = Shape (x)
            c = Equal (s, two)
            y = If (c) <{BRANCHES}>
        }}""")
    assert "Negative" in operators(computed)
    assert "Abs" not in operators(computed)


def test_an_if_of_an_open_condition() -> None:
    source = onnx_text(f"g (float[2] x, bool c) => (float[2] y) {{ y = If (c) <{BRANCHES}> }}")
    assert sorted(operators(source)) == ["Abs", "If", "Negative"]


def test_a_sequence_that_goes() -> None:
    source = onnx_text("""
        g (float[2] x) => (float[4] y) {
            s = SequenceConstruct (x, x)
            y = ConcatFromSequence <axis = 0> (s)
        }""")
    assert operators(source) == ["Concat"]


def test_the_model_stays_as_it_is() -> None:
    source = parser.parse_model(FUNCTIONS)
    model = load(source)
    convert(model, to="openvino")
    assert to_proto(model) == to_proto(load(source))


def test_a_node_that_cannot_be_brought_to_the_newest_operator_set() -> None:
    source = onnx_text("g (float[2] x) => (float[2] y) { y = Dropout (x) }", opset=6)
    expected = "its step Dropout 6 -> 7 is not covered: without 'is_test' it is in training mode"
    assert refusals(source) == [("Dropout", expected, 1)]


def test_a_default_value() -> None:
    source = onnx_text("g (float[2] x) => (float[2] y) <float[2] x = {1, 2}> { y = Neg (x) }")
    assert refusals(source) == [
        ("graph input", "it has a default value, which IR cannot hold; remove its initializer", 1)
    ]


def test_an_operator_set_from_the_future() -> None:
    source = onnx_text("g (float[2] x) => (float[2] y) { y = Neg (x) }", opset=99)
    with pytest.raises(ModelError, match=r"the model is of operator set 99, .* knows is \d+; export it with an older"):
        convert(load(source), to="openvino")


def test_the_newest_known_operator_set() -> None:
    newest = min(NEWEST_ONNX, onnx.defs.onnx_opset_version())
    assert convert(load(onnx_text("g (float[2] x) => (float[2] y) { y = Neg (x) }", opset=newest)), to="openvino")


def test_a_version_before_the_first() -> None:
    source = onnx_text("g (float[2] x, float[2] z) => (float[2] y) { y = Sum (x, z) }", opset=5)
    source.graph.node[0].op_type = "GreaterOrEqual"
    assert refusals(source)[0][1] == "it does not exist in operator set 5"


def test_models_without_outputs(tmp_path: Path) -> None:
    source = onnx_text("g (float[2] x) => (float[2] y) { y = Neg (x) }")
    del source.graph.output[:]
    with pytest.raises(ModelError, match="graph 'g' has no outputs, so that nothing is left of it; give it some"):
        convert(load(source), to="openvino")
    model = load(_written(opset13.negative(opset13.parameter([2], np.float32, "x")), tmp_path))
    model.graph.outputs.clear()
    model.graph.results.clear()
    with pytest.raises(ModelError, match="has no outputs"):
        convert(model, to="onnx")


def _written(result: Any, folder: Path) -> Path:
    """The IR of a node that reads a Parameter."""
    openvino.serialize(openvino.Model([result], [result.input_value(0).get_node()]), folder / "made.xml")
    return folder / "made.xml"


def _edited(path: Path, old: str, new: str) -> Path:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("opset17", "its version 'opset17' is newer than opset16, the newest known"),
        ("opset99", "its version 'opset99' is newer than opset16, the newest known"),
        ("opsetx", "its version 'opsetx' is not covered"),
    ],
)
def test_layers_from_the_future(version: str, reason: str, tmp_path: Path) -> None:
    path = _written(opset13.negative(opset13.parameter([2], np.float32, "x")), tmp_path)
    _edited(path, 'type="Negative" version="opset1"', f'type="Negative" version="{version}"')
    assert refusals(path, "onnx") == [("Negative", reason, 1)]


def test_a_version_that_is_not_covered(tmp_path: Path) -> None:
    x, offsets, kernel = (ov1.parameter(shape, np.float32) for shape in ([1, 1, 4, 4], [1, 2, 4, 4], [1, 1, 1, 1]))
    ones, zeros = np.array([1, 1]), np.array([0, 0])
    result = ov1.deformable_convolution(x, offsets, kernel, ones, zeros, zeros, ones)
    openvino.serialize(openvino.Model([result], [x, offsets, kernel]), tmp_path / "made.xml")
    assert refusals(tmp_path / "made.xml", "onnx") == [
        ("DeformableConvolution", "its version 'opset1' is not covered; it is from opset8 on", 1)
    ]


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("f8e4m3", "Cast of operator set 17 has no float8e4m3fn; --opset 19 has it"),
        ("i4", "Cast of operator set 17 has no int4; --opset 21 has it"),
        ("f4e2m1", "Cast of operator set 17 has no float4e2m1; operator set 23 has it, and --opset goes to 21"),
    ],
)
def test_types_of_later_operator_sets(kind: str, hint: str, tmp_path: Path) -> None:
    path = _written(opset13.convert(opset13.parameter([2], getattr(openvino.Type, kind)), "f32"), tmp_path)
    assert refusals(path, "onnx", opset=17) == [("Convert", hint, 1)]
    if "; --opset" in hint:
        assert convert(load(path), to="onnx", opset=int(hint.split()[-3]))


def test_operators_of_later_operator_sets(tmp_path: Path) -> None:
    x = opset13.parameter([2], np.int32)
    result = opset13.bitwise_and(x, opset13.constant(np.array([1, 2], np.int32)))
    openvino.serialize(openvino.Model([result], [x]), tmp_path / "made.xml")
    assert refusals(tmp_path / "made.xml", "onnx", opset=17) == [
        ("BitwiseAnd", "BitwiseAnd does not exist in operator set 17; --opset 18 has it", 1)
    ]


def test_xor_of_the_first_operator_set(tmp_path: Path) -> None:
    x, z = (opset13.parameter([4], np.bool_, name) for name in "xz")
    openvino.serialize(openvino.Model([opset13.logical_xor(x, z)], [x, z]), tmp_path / "made.xml")
    _edited(tmp_path / "made.xml", 'type="LogicalXor" version="opset2"', 'type="LogicalXor" version="opset1"')
    assert openvino.Core().read_model(tmp_path / "made.xml")
    made = convert(load(tmp_path / "made.xml"), to="onnx")
    assert [node.op for node in made.nodes()] == ["Xor"]


def test_attributes_that_are_no_text(tmp_path: Path) -> None:
    path = _written(opset13.relu(opset13.parameter([2], np.float32, "x")), tmp_path)
    model = load(path)
    node = next(model.nodes())
    node.op, node.domain = "Elu", "openvino.opset1"
    node.attrs["alpha"] = 0.5
    made = convert(model, to="onnx")
    assert next(made.nodes()).attrs["alpha"] == 0.5
    node.attrs["alpha"] = object()
    with pytest.raises(ModelError, match="its attribute 'alpha' is no text"):
        convert(model, to="onnx")


def test_all_of_it_in_one_line() -> None:
    with pytest.raises(ConversionError) as caught:
        convert(load(parser.parse_model(RECURSIVE)), to="openvino")
    assert str(caught.value).isprintable()
