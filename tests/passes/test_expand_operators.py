"""expand-operators: definitions of ONNX's operators in their places, right in ONNX's reference implementation."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from maxfold.model import read_onnx
from maxfold.model.edit import Edit
from maxfold.model.in_memory import to_proto
from maxfold.optimizer import optimize
from maxfold.passes import CATALOGUE
from maxfold.passes.expand_operators import ExpandOperators
from maxfold.passes.expansion import has_body
from maxfold.passes.targets import TARGETS, Target
from tests.passes.conversion import harness
from tests.text import model as model_of

OPERATORS = (
    "AffineGrid", "BlackmanWindow", "CenterCropPad", "Celu", "GreaterOrEqual", "HammingWindow", "HannWindow",
    "MeanVarianceNormalization", "NegativeLogLikelihoodLoss", "RMSNormalization", "RotaryEmbedding",
    "SoftmaxCrossEntropyLoss", "Softplus", "SwiGLU",
)  # fmt: skip
HAND_MADE = "agraph (float[2,3] x) => (float[2,3] y) { y = Celu <alpha = 2.0> (x) }"


def expanded(model: onnx.ModelProto, *operators: str) -> onnx.ModelProto:
    """The model after the pass, which changed it."""
    edit = Edit(read_onnx(model), math="relaxed")
    result = ExpandOperators(expand=operators).run(edit)
    assert result.changes, result.declines
    return to_proto(edit.model)


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_operators_own_tests(operator: str) -> None:
    cases = [case for case in harness.cases_of(operator) if "expanded" not in case.name]
    assert cases
    for case in cases:
        model = expanded(case.model, operator)
        assert operator not in {node.op_type for node in model.graph.node}
        onnx.checker.check_model(model, full_check=True)
        assert [info.name for info in model.graph.output] == [info.name for info in case.model.graph.output]
        feeds = {info.name: value for info, value in zip(model.graph.input, case.inputs, strict=True)}
        harness.assert_close(ReferenceEvaluator(model).run(None, feeds), case.outputs, rtol=1e-4, atol=1e-5)


def test_attributes_stand_in_place_of_references() -> None:
    model = expanded(model_of(HAND_MADE, opset=17), "Celu")
    x = np.array([[-1, 0, 2], [-3, 0.5, 1]], np.float32)
    wanted = np.maximum(x, 0) + np.minimum(0, 2 * (np.exp(x / 2) - 1))
    np.testing.assert_allclose(ReferenceEvaluator(model).run(None, {"x": x})[0], wanted, rtol=1e-6)


def test_definitions_are_expanded_too() -> None:
    text = """
        agraph (float[2,3] x, int64[2] t) => (float l) {
            l = SoftmaxCrossEntropyLoss <reduction = "mean"> (x, t)
        }"""
    model = expanded(model_of(text, opset=17), "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss", "LogSoftmax")
    operators = {node.op_type for node in model.graph.node}
    assert not operators & {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss", "LogSoftmax"}
    feeds = {"x": np.array([[1, 2, 3], [3, 1, 0]], np.float32), "t": np.array([2, 1])}
    wanted = ReferenceEvaluator(model_of(text, opset=17)).run(None, feeds)
    harness.assert_close(ReferenceEvaluator(model).run(None, feeds), wanted, rtol=1e-5, atol=1e-6)


def test_nothing_is_done_unless_asked_for() -> None:
    edit = Edit(read_onnx(model_of(HAND_MADE)), math="relaxed")
    assert ExpandOperators().run(edit).changes == 0
    report = optimize(model_of(HAND_MADE))
    assert not report.changed


@pytest.mark.parametrize(
    ("text", "operator", "reason"),
    [
        ("agraph (float[2] x) => (float[2] y) { y = Neg (x) }", "Neg", "ONNX has no definition by other operators"),
        ("agraph (float[2] x) => (float[2] y) { y = Mish (x) }", "Mish", "it does not exist in operator set 17"),
        ("agraph (x) => (float[2] y) { y = Clip (x) }", "Clip", "the element type of an input is not known"),
    ],
)
def test_what_is_declined(text: str, operator: str, reason: str) -> None:
    edit = Edit(read_onnx(model_of(text)), math="relaxed")
    result = ExpandOperators(expand=(operator,)).run(edit)
    assert result.changes == 0
    assert reason in result.declines[0].reason


def test_exact_mathematics_decline() -> None:
    result = ExpandOperators(expand=("Celu",)).run(Edit(read_onnx(model_of(HAND_MADE))))
    assert "--math relaxed" in result.declines[0].reason


def test_what_is_to_be_kept_stays() -> None:
    edit = Edit(read_onnx(model_of(HAND_MADE)), math="relaxed", keep=["y"])
    assert ExpandOperators(expand=("Celu",)).run(edit).declines[0].reason == "it is to be kept"


# Which of the operators that ONNX defines by others some pass makes of others.
MADE = {
    "Clip": "y = Clip (x, zero, one)",
    "Gelu": "y = Gelu (x)",
    "HardSigmoid": "y = HardSigmoid (x)",
    "HardSwish": "y = HardSwish (x)",
    "LayerNormalization": "y = LayerNormalization (x, scale)",
    "LeakyRelu": "y = LeakyRelu (x)",
    "LogSoftmax": "y = LogSoftmax (x)",
    "Mish": "y = Mish (x)",
    "RMSNormalization": "y = RMSNormalization (x, scale)",
    "ReduceSumSquare": "y = ReduceSumSquare (x)",
    "Relu": "y = Relu (x)",
    "Softmax": "y = Softmax (x)",
    "SpaceToDepth": "y = SpaceToDepth <blocksize = 2> (i)",
    "Swish": "y = Swish (x)",
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("operator", MADE)
def test_what_was_expanded_is_not_made_again(operator: str, target: Target) -> None:
    constants = {"zero": np.float32(0), "one": np.float32(1), "scale": np.ones(3, np.float32)}
    used = {name: np.asarray(value) for name, value in constants.items() if name in MADE[operator]}
    newest = onnx.defs.onnx_opset_version()
    if not has_body(operator, newest):
        pytest.skip("the installed onnx does not define it by others yet")
    result = "float[A,B,C,D] y" if operator == "SpaceToDepth" else "float[A,B] y"
    text = f"agraph (float[2,3] x, float[1,2,4,4] i) => ({result}) {{ {MADE[operator]} }}"
    source = model_of(text, opset=newest, constants=used)
    report = optimize(source, math="relaxed", expand=[operator], target=target)
    assert report.changed
    assert operator not in {node.op_type for node in source.graph.node}
    assert not optimize(source, math="relaxed", expand=[operator], target=target).changed


def test_all_that_passes_make_is_known() -> None:
    assert {operator for entry in CATALOGUE for operator in entry.makes} == set(MADE)
