"""What rows see of an ONNX model: a copy at one operator set; and what definitions of operators become in OpenVINO."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

from maxfold.model import read_onnx
from maxfold.model.in_memory import to_proto
from maxfold.optimizer.api import convert
from maxfold.passes.conversion import TABLE
from maxfold.passes.conversion.errors import ConversionError
from maxfold.passes.conversion.prepare import prepare
from tests.effort import calls
from tests.passes.conversion import harness, judged

EXPANDED = (
    "BlackmanWindow", "CausalConvWithState", "CenterCropPad", "HammingWindow", "HannWindow",
    "NegativeLogLikelihoodLoss", "RMSNormalization", "RotaryEmbedding", "SoftmaxCrossEntropyLoss", "SwiGLU",
)  # fmt: skip
TEXT = """
    <ir_version: 9, opset_import: ["" : 11, "local" : 1]>
    g (float[2, 3] x) => (float[2, 3] y) { a = local.f (x)  b = Squeeze <axes = [0]> (a)  y = Softmax <axis = 1> (b) }
    <domain: "local", opset_import: ["" : 9]> f (q) => (r) { r = Unsqueeze <axes = [0]> (q) }
"""


def test_a_model_of_one_operator_set_and_the_original_untouched() -> None:
    model = read_onnx(parser.parse_model(TEXT))
    before = to_proto(model)
    prepared = prepare(model, TABLE.by_onnx)
    assert to_proto(model) == before
    assert not prepared.refused
    assert [node.op for node in prepared.model.nodes()] == ["Unsqueeze", "Squeeze", "Softmax"]
    assert {prepared.view.opset(node) for node in prepared.model.nodes()} == {min(28, onnx.defs.onnx_opset_version())}


FUNCTION = """
    <ir_version: 9, opset_import: ["" : 17, "local" : 1]>
    g (float[2, 3, 4] x, float[3] c) => (float[2, 3, 4] y) { y = local.outer (x, c) }
    <domain: "local", opset_import: ["local" : 1]> outer (q, c) => (r) { r = local.inner (q, c) }
    <domain: "local", opset_import: ["" : VERSION]> inner (q, c) => (r) { r = BODY }
"""


@pytest.mark.parametrize(
    ("version", "body", "reason"),
    [
        ("6", "Add <axis = 1, broadcast = 1> (q, c)", "Add in 'inner': its step Add 6 -> 7 is not covered"),
        ("11", "Add <other = 1> (q, c)", "Add in 'inner': its attribute 'other' does not exist in operator set 11"),
    ],
)
def test_calls_of_functions_with_nodes_that_cannot_come_along(version: str, body: str, reason: str) -> None:
    text = FUNCTION.replace("VERSION", version).replace("BODY", body)
    prepared = prepare(read_onnx(parser.parse_model(text)), TABLE.by_onnx)
    (call,) = prepared.model.graph.nodes
    assert prepared.refused[call].startswith(f"it calls a model-local function that cannot be inlined: {reason}")


def test_a_model_that_imports_nothing_but_its_functions() -> None:
    text = FUNCTION.replace('"" : 17, ', "").replace("VERSION", "17").replace("BODY", "Add (q, c)")
    prepared = prepare(read_onnx(parser.parse_model(text)), TABLE.by_onnx)
    assert not prepared.refused
    assert [node.op for node in prepared.model.nodes()] == ["Add"]


def test_refusals_have_the_names_of_the_file(tmp_path: Path) -> None:
    x = np.zeros((1, 1, 2, 2), np.float32)
    model, _ = judged.one_node("Upsample", {"x": x.astype(np.bool_)}, opset=8, scales=[1.0, 1.0, 2.0, 2.0])
    judged.assert_refused_in_openvino(model, tmp_path, "Upsample: of bool OpenVINO does not have it")


def test_what_an_expanded_node_became_is_refused_as_one_node_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
        <ir_version: 10, opset_import: ["" : 23]>
        g (float[2, 3] x, float[3] s) => (float[2, 3] y) { [it] y = RMSNormalization (x, s) }
    """
    monkeypatch.setattr("maxfold.passes.conversion.prepare.NEWEST_ONNX", 17)
    monkeypatch.setattr("maxfold.passes.conversion.versions.NEWEST_ONNX", 17)
    with pytest.raises(ConversionError) as caught:
        convert(read_onnx(parser.parse_model(text)), to="openvino")
    found = [(refusal.operator, refusal.count, refusal.example) for refusal in caught.value.refusals]
    assert found == [("RMSNormalization", 1, "it")]


@pytest.mark.parametrize("operator", ["RMSNormalization", "Relu"])
def test_names_that_xml_cannot_hold(operator: str) -> None:
    inputs = ["x", "s"] if operator == "RMSNormalization" else ["x"]
    node = helper.make_node(operator, inputs, ["y"], "a\x01b")
    infos = [helper.make_tensor_value_info(name, 1, [3]) for name in ("x", "s", "y")]
    graph = helper.make_graph([node], "graph", infos[:2], infos[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    with pytest.raises(ConversionError, match="has a character that XML cannot hold"):
        convert(read_onnx(model), to="openvino")


def test_a_largest_number_beside_a_limit_in_a_list() -> None:
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 13]> g (float[2, 3] x) => (bool[1] y)
        <float[1] lowest = {-inf}> { m = ReduceMax <keepdims = 0> (x)  y = Equal (m, lowest) }
    """)
    prepared = prepare(read_onnx(model), TABLE.by_onnx)
    assert [node.op for node in prepared.model.nodes()] == ["ReduceMax", "Equal"]


@pytest.mark.parametrize("operator", EXPANDED)
def test_operators_that_onnx_defines_by_others(operator: str, tmp_path: Path) -> None:
    for case in harness.cases_of(operator):
        actual = harness.to_openvino(case, tmp_path)
        harness.assert_right_in_openvino(actual, case, tmp_path, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("keepdims", [0, 1])
def test_rows_that_are_all_minus_infinity(keepdims: int, tmp_path: Path) -> None:
    x = np.array([[-np.inf, -np.inf], [0, -np.inf], [np.finfo(np.float32).min] * 2], np.float32)
    made = helper.make_node("ReduceMax", ["x", "axes"], ["largest"], keepdims=keepdims)
    compared = helper.make_node("Equal", ["largest", "lowest"], ["y"])
    info = helper.make_tensor_value_info("x", 1, [None, None])
    constants = {"axes": np.array([1]), "lowest": np.array(-np.inf, np.float32)}
    graph = helper.make_graph(
        [made, compared], "graph", [info], [helper.make_tensor_value_info("y", 9, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    expected = np.array([True, False, False]).reshape((3, 1) if keepdims else (3,))
    harness.assert_close(
        harness.run_openvino(judged.converted_to_openvino(model, tmp_path), [x]), [expected], rtol=0, atol=0
    )


def test_attention_with_rows_that_its_mask_leaves_empty(tmp_path: Path) -> None:
    for name in ("23_boolmask_fullymasked_row_nan_robustness", "causal_boolmask_nan_robustness"):
        case = harness.all_cases()[f"test_attention_{name}"]
        actual = harness.to_openvino(case, tmp_path)
        harness.assert_close(actual, case.outputs, rtol=1e-3, atol=1e-5)


def test_a_definition_by_what_is_not_covered(tmp_path: Path) -> None:
    model, _ = judged.one_node("Bernoulli", {"x": judged.floats(3)}, opset=15)
    judged.assert_refused_in_openvino(
        model, tmp_path, "the operator is not covered: nor is RandomUniformLike, of which"
    )


def test_a_branch_that_no_run_survives() -> None:
    """OpenVINO's CPU plugin has no results of changing ranks."""
    model = parser.parse_model("""
        <ir_version: 9, opset_import: ["" : 17]>
        g (float[1, 4, 2, T] x) => (float[1, 1, A, B] y) <int64[1] one = {1}, int64[1] axis = {-1}> {
            t = Shape <start = -1> (x)
            c = Equal (t, one)
            z = If (c) <then_branch = a () => (float[1, 4, 2] p) { p = Squeeze (x, axis) },
                else_branch = b () => (float[1, 4, 2, U] q) { q = Identity (x) }>
            y = DepthToSpace <blocksize = 2> (z)
        }""")
    prepared = prepare(read_onnx(model), TABLE.by_onnx)
    assert "If" not in [node.op for node in prepared.model.nodes()]


def test_bringing_all_nodes_along_costs_less_than_the_rest() -> None:
    """Squeeze and Unsqueeze, whose axes become an input."""
    newest = min(28, onnx.defs.onnx_opset_version())
    assert _preparing(500, newest) < _preparing(500, 11) < 2 * _preparing(500, newest)
    assert _preparing(2000, 11) < 5 * _preparing(500, 11)


def _preparing(count: int, opset: int) -> int:
    names = [f"t{index}" for index in range(count + 1)]
    nodes, held = [], []
    for index, (old, new) in enumerate(pairwise(names)):
        node = helper.make_node("Squeeze" if index % 2 else "Unsqueeze", [old], [new])
        if opset < 13:
            node.attribute.append(helper.make_attribute("axes", [0]))
        else:
            node.input.append(f"{new}_axes")
            held.append(numpy_helper.from_array(np.array([0]), f"{new}_axes"))
        nodes.append(node)
    infos = [helper.make_tensor_value_info(name, 1, [2, 3]) for name in (names[0], names[-1])]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], held)
    model = read_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10))
    return calls(lambda: prepare(model, TABLE.by_onnx))


def test_nodes_of_functions_are_of_the_operator_set_that_those_import(tmp_path: Path) -> None:
    """Softmax of operator set 11 is over all dimensions from its axis on."""
    text = """
        <ir_version: 9, opset_import: ["" : 13, "local" : 1]>
        g (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = local.f (x) }
        <domain: "local", opset_import: ["" : 11]> f (q) => (r) { r = Softmax <axis = 1> (q) }
    """
    x = judged.floats(2, 3, 4)
    flat = np.exp(x.reshape(2, -1)) / np.exp(x.reshape(2, -1)).sum(axis=1, keepdims=True)
    model = parser.parse_model(text)
    judged.assert_same_in_openvino(model, [x], tmp_path, expected=[flat.reshape(x.shape)], rtol=1e-5)
